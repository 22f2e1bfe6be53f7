"""Questions about work that is timed, done again, or done for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.engine.place import Place
from torchlint.facts.code.idle import Idle

if TYPE_CHECKING:
    import libcst as cst


class Rework(Place):
    """Questions about clocks, and about work that is done twice or that nobody needs."""

    __slots__ = ()

    def unread(self, node: cst.CSTNode, index: int | None = None) -> bool:
        """Whether nobody reads what a value is assigned to."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Idle].unread(self.facts, twin, index)
