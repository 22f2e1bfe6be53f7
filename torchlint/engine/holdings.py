"""Questions about what the lists of objects and datasets hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.place import Place
from torchlint.facts.state.hoards import Hoards

if TYPE_CHECKING:
    import libcst as cst


class Holdings(Place):
    """Questions about what only grows, what batches are drawn from, and what lies in memory."""

    __slots__ = ()

    def hoarded(self, call: cst.Call) -> str:
        """The list that a call appends to, if it only ever grows."""
        twin = self._expr(call)
        return self.analyses[Hoards].grown(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def drawn_from(self, call: cst.Call) -> bool:
        """Whether a call appends to what batches are drawn from."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Hoards].drawn(self.facts, twin)

    def in_memory(self, node: cst.CSTNode) -> bool:
        """Whether a dataset lies in memory."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Hoards].in_memory(self.facts, twin)
