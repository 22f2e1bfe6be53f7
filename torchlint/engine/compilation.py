"""What a site knows of ``torch.compile``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.engine.place import Place
from torchlint.rule import CallSite

if TYPE_CHECKING:
    import libcst as cst


class Compilation(Place):
    """Questions about what the project compiles."""

    __slots__ = ()

    def calls_of(self, node: cst.CSTNode) -> Sequence[CallSite]:
        """All places that call what an expression compiles."""
        twin = self._expr(node)
        return self.analysis.compiling.calling.of(self.facts, twin) if twin is not None else []
