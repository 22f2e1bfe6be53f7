"""Questions about work that is timed, done again, or done for nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.place import Place

if TYPE_CHECKING:
    import libcst as cst


class Rework(Place):
    """Questions about clocks, and about work that is done twice or that nobody needs."""

    __slots__ = ()

    def unsynchronised(self, call: cst.Call) -> str:
        """The work on a device that a clock is read after, and that nothing waits for."""
        twin = self._expr(call)
        return self.analysis.clocks.unsynchronised(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def warms_up(self, call: cst.Call) -> str:
        """What is compiled in a loop while a clock runs."""
        twin = self._expr(call)
        if not isinstance(twin, ast.Call):
            return ""
        return self.analysis.clocks.warms_up(self.facts, twin, self.analysis.compiled())
