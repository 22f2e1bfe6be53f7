"""Questions about work that is timed, done again, or done for nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.place import Place
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.idle import Idle
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.flow.again import Again
from torchlint.facts.flow.clocks import Clocks
from torchlint.facts.loops.filling import Filling
from torchlint.facts.loops.trees import walks
from torchlint.facts.state.enumerating import Enumerating
from torchlint.facts.state.narrowing import Narrowing

if TYPE_CHECKING:
    import libcst as cst


class Rework(Place):
    """Questions about clocks, and about work that is done twice or that nobody needs."""

    __slots__ = ()

    def unsynchronised(self, call: cst.Call) -> str:
        """The work on a device that a clock is read after, and that nothing waits for."""
        twin = self._expr(call)
        return self.analyses[Clocks].unsynchronised(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def warms_up(self, call: cst.Call) -> str:
        """What is compiled in a loop while a clock runs."""
        twin = self._expr(call)
        if not isinstance(twin, ast.Call):
            return ""
        return self.analyses[Clocks].warms_up(self.facts, twin, self.analyses[Inside].names())

    def unread(self, node: cst.CSTNode, index: int | None = None) -> bool:
        """Whether nobody reads what a value is assigned to."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Idle].unread(self.facts, twin, index)

    def ran_before(self, call: cst.Call) -> int:
        """The row of an equal run of a network."""
        twin = self._expr(call)
        return self.analyses[Again].earlier(self.facts, twin) if isinstance(twin, ast.Call) else 0

    def repeated(self, node: cst.CSTNode) -> bool:
        """Whether an equal run of a network in an expression comes before or after."""
        twin = self._expr(node)
        calls = [part for part in walk(twin) if isinstance(part, ast.Call)] if twin is not None else []
        runs = [call for call in calls if self.analyses[Autograd].runs(self.facts, call)]
        again = self.analyses[Again]
        return any(again.earlier(self.facts, call) or again.later(self.facts, call) for call in runs)

    def runs_in_vain(self, call: cst.Call) -> int:
        """The row of the random choice that makes a run of a network needless."""
        twin = self._expr(call)
        return self.analyses[Again].in_vain(self.facts, twin) if isinstance(twin, ast.Call) else 0

    def walks_tree(self) -> bool:
        """Whether a loop or function walks a tree in an array."""
        return walks(self.facts, self.twin)

    def narrowed(self, call: cst.Call) -> int:
        """The row where rows of a kept array become float32."""
        twin = self._expr(call)
        return self.analyses[Narrowing].cast(self.facts, twin) if isinstance(twin, ast.Call) else 0

    def listed(self, call: cst.Call) -> str:
        """The collection that is listed for a random draw."""
        twin = self._expr(call)
        return self.analyses[Enumerating].listed(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def filled(self) -> str:
        """The tensor that a loop fills with numbers."""
        return self.analyses[Filling].filled(self.facts, self.twin) if isinstance(self.twin, ast.For) else ""
