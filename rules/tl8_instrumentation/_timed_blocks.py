"""Blocks that a context manager times: where TL805 looks besides readings of a clock."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.tree import walk
from torchlint.facts.finders import Finder
from torchlint.facts.flow.clocks import CLOCKS, Clocks
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Kind

_TIMERS = function_names(clock="block")
_WAITING = method_names(waits=("reads", "queue"))
_DEPTH = 2


@dataclass(eq=False, slots=True)
class TimedBlocks(Finder):
    """Finds the calls that make context managers which read a clock before a block and behind it.

    A timer is one of a library, an object of the project that reads a clock in ``__enter__`` and in ``__exit__``, or a
    generator that does so around its ``yield``. One that waits for the device itself is none.
    """

    autograd: Autograd
    clocks: Clocks
    _timers: dict[tuple[Scope, ...], bool] = field(default_factory=dict)

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        for stmt in file.compounds:
            for item in stmt.items if isinstance(stmt, ast.With) else ():
                call = item.context_expr
                if isinstance(call, ast.Call) and wanted(call) and self._is_timer(file, call):
                    yield call

    def unsynchronised(self, facts: FileFacts, call: ast.Call) -> str | None:
        """Return the device work that nothing waits for at the end of a timed block, or ``None``.

        A block around many updates measures them well enough: at most the last one is missing. Of nested timers the
        inner ones count.
        """
        item = facts.parent.get(call)
        stmt = facts.parent.get(item) if isinstance(item, ast.withitem) else None
        if not isinstance(stmt, ast.With) or not self._is_timer(facts, call):
            return None
        for part in (part for each in stmt.body for part in walk(each)):
            if isinstance(part, LOOPS) and self._updates(facts, part):
                return None
            if isinstance(part, ast.withitem) and isinstance(part.context_expr, ast.Call):
                if self._is_timer(facts, part.context_expr):
                    return None
        return self.clocks.left_over(facts, stmt)

    def _updates(self, facts: FileFacts, loop: ast.AST) -> bool:
        """Whether a loop runs a backward pass or an optimizer step in each round."""
        calls = [part for part in walk(loop) if isinstance(part, ast.Call)]
        if any(self.clocks.steps(facts, call.func) or _attr(call.func) == "backward" for call in calls):
            return True
        return any(self.autograd.updates(each) for call in calls for each in self.autograd.graph.sure(call))

    def _is_timer(self, facts: FileFacts, call: ast.Call) -> bool:
        project = self.autograd.project
        if project.qualified(facts, call.func) in _TIMERS:
            return True
        made = self.autograd.values.of(facts, call)
        if made.kind is Kind.INSTANCE and made.name:
            ends = tuple(project.method(made.name, name) for name in ("__enter__", "__exit__"))
            return None not in ends and self._times(tuple(end for end in ends if end is not None))
        return any(len(target.yields) == 1 and self._times((target,)) for target in self.autograd.graph.sure(call))

    def _times(self, ends: tuple[Scope, ...]) -> bool:
        """Whether two methods read a clock, or a generator reads it on both sides of its ``yield``."""
        if ends not in self._timers:
            self._timers[ends] = False  # while it is being asked: a generator that times with itself
            if len(ends) == 1:
                times = self._times_what_it_yields(ends[0])
            else:
                times = all(self._reads_clock(end, _DEPTH) for end in ends)
            self._timers[ends] = times and not any(self._waits(end, _DEPTH) for end in ends)
        return self._timers[ends]

    def _times_what_it_yields(self, generator: Scope) -> bool:
        facts, given = generator.file, generator.yields[0]
        place = (getattr(given, "lineno", 0), getattr(given, "col_offset", 0))
        sides = {
            (call.lineno, call.col_offset) < place for call in generator.calls if self._is_clock(facts, call, _DEPTH)
        }
        if len(sides) == 2:
            return True
        around = [node for node in facts.ancestors(given) if isinstance(node, ast.With)]
        managers = [item.context_expr for stmt in around for item in stmt.items if facts.scope_of(stmt) is generator]
        return any(isinstance(call, ast.Call) and self._is_timer(facts, call) for call in managers)

    def _reads_clock(self, scope: Scope, depth: int) -> bool:
        return any(self._is_clock(scope.file, call, depth) for call in scope.calls)

    def _is_clock(self, facts: FileFacts, call: ast.Call, depth: int) -> bool:
        """Whether a call reads a clock, itself or in a function of the project."""
        if self.autograd.project.qualified(facts, call.func) in CLOCKS:
            return True
        return depth > 0 and any(self._reads_clock(target, depth - 1) for target in self.autograd.graph.sure(call))

    def _waits(self, scope: Scope, depth: int) -> bool:
        """Whether a function may wait for a device: it synchronizes, reads a tensor, or asks for events."""
        for call in scope.calls:
            name = self.autograd.project.qualified(scope.file, call.func) or ""
            method = _attr(call.func) or name.rpartition(".")[2]
            if method in _WAITING or "synchronize" in method or name.startswith("torch."):
                return True
            targets = self.autograd.graph.sure(call) if depth else ()
            if any(self._waits(target, depth - 1) for target in targets):
                return True
        return False


def _attr(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else ""
