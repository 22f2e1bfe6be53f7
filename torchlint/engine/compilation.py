"""What a site knows of ``torch.compile``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.engine.place import Place
from torchlint.facts.compiling.breaks import Breaks
from torchlint.facts.compiling.bypass import Bypasses
from torchlint.facts.compiling.calling import Calling, refused
from torchlint.facts.compiling.holders import Holders
from torchlint.facts.compiling.integers import Integers
from torchlint.facts.compiling.machines import Machines
from torchlint.rule import Break, Bypass, CallSite, Changing, Taken

if TYPE_CHECKING:
    import libcst as cst


class Compilation(Place):
    """Questions about what the project compiles."""

    __slots__ = ()

    def calls_of(self, node: cst.CSTNode) -> Sequence[CallSite]:
        """All places that call what an expression compiles."""
        twin = self._expr(node)
        return self.analyses[Calling].of(self.facts, twin) if twin is not None else []

    def bypassed(self, call: cst.Call) -> Bypass | None:
        """How runs get past what a call compiles."""
        twin = self._expr(call)
        return self.analyses[Bypasses].of(twin) if twin is not None else None

    def takes_uncompiled(self, call: cst.Call) -> Taken | None:
        """What a call takes before it is compiled."""
        twin = self._expr(call)
        return self.analyses[Bypasses].takers(self.facts).get(twin) if isinstance(twin, ast.Call) else None

    def breaks_graph(self) -> Break | None:
        """How the node breaks the graph of compiled code."""
        twin = self.twin
        return self.analyses[Breaks].of(self.facts).get(twin) if isinstance(twin, ast.expr) else None

    def kept(self, call: cst.Call) -> bool:
        """Whether what a call gives is stored in an attribute or a container."""
        twin = self._expr(call)
        return twin is not None and self.analyses[Holders].kept(self.facts, twin)

    def refused(self, node: cst.CSTNode) -> bool:
        """Whether the function raises for some values of an expression."""
        twin = self._expr(node)
        return twin is not None and refused(self.facts, twin)

    def recompiles(self) -> Changing | None:
        """The changing integer that the node reads in compiled code."""
        twin = self.twin
        return self.analyses[Integers].of(self.facts).get(twin) if isinstance(twin, ast.expr) else None

    def compiles_anywhere(self, node: cst.CSTNode) -> bool:
        """Whether an expression compiles on every machine."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Machines].unguarded(twin)
