"""Loops that ask again and again whether something has happened."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import FileFacts, Scope, decorators
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import body_of, conjuncts, names_in, walk
from torchlint.facts.state.effects import Sides
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, last_names
from torchlint.rule.site import Site

_CLOCKS = last_names(clock=("wall", "cpu", "date"))
_KERNELS = function_names(kernel=True)  # no other thread is there to block on
_BLOCKING = frozenset(
    {"poll", "recv", "wait", "get", "join", "acquire", "select", "accept", "read", "readline", "readinto"}
)
_AT_ONCE = frozenset({"get_nowait", "recv_nowait"})
_MISSING = frozenset({"KeyError", "Empty"})
_COUNTING = frozenset({"empty", "qsize"})


@dataclass(eq=False, slots=True)
class Waiting(Fact):
    """Answers whether a loop only waits."""

    values: Values
    sides: Sides

    def polls(self, facts: FileFacts, loop: ast.While, short: float) -> bool:
        """Return whether a loop does nothing but ask, at once again or after a sleep of at most ``short`` seconds.

        ``while not flag: pass``; ``while True`` around a test whose one branch only waits; around a read that raises
        when there is nothing yet. Not where the test asks a clock, itself blocks, or does the work.
        """
        if self._is_kernel(facts.scope_of(loop).function):
            return False
        forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        if not forever and self._waits(facts, loop.body, short):
            return _asks(loop.test) and not self._works(facts, loop.test)
        if self._spins_while_empty(facts, loop, short) or self._asks_a_queue(facts, loop, short):
            return True
        if self._tries_again(loop):
            return True
        if len(loop.body) != 1:
            return False
        only = loop.body[0]
        if isinstance(only, ast.If):
            if self._works(facts, only.test):
                return False
            if not (forever and _asks(only.test)):
                return False
            if self._sleeps(facts, only.orelse, short):
                return isinstance(only.body[-1], (ast.Break, ast.Return))
            return self._sleeps(facts, only.body, short) and _leaves(only.orelse)
        if isinstance(only, ast.Try) and forever:
            reads = any(isinstance(part, ast.Call) and _is_read_at_once(part) for part in _walk(only.body))
            return (
                reads
                and all(self._waits(facts, handler.body, short) for handler in only.handlers)
                and _leaves(only.body)
            )
        return False

    def _spins_while_empty(self, facts: FileFacts, loop: ast.While, short: float) -> bool:
        """Whether each round begins with a read that raises when there is nothing, and then asks again at once.

        ``try: batch = batches.get_nowait()`` with ``except Empty: continue``. A loop that asks whether the queue is
        empty takes what is there, and ends.
        """
        first, *rest = loop.body
        if not isinstance(first, ast.Try) or _methods_in(loop.test) & _COUNTING:
            return False
        reads = any(isinstance(part, ast.Call) and _is_read_at_once(part) for part in walk(first.body[0]))
        waits = bool(first.handlers) and all(self._waits(facts, each.body, short) for each in first.handlers)
        again = not rest or all(isinstance(each.body[-1], ast.Continue) for each in first.handlers)
        return reads and waits and again and not first.finalbody

    def _asks_a_queue(self, facts: FileFacts, loop: ast.While, short: float) -> bool:
        """Whether all that each round does where a queue is empty is to ask that, and to sleep for a very short time.

        ``if not tasks.empty(): work(tasks.get_nowait())``, then ``sleep(0.01)``; ``if tasks.empty(): continue``. So
        where ``recv()`` of a pipe would wait by itself: ``if pipe.poll(): work(pipe.recv())``.
        """
        first, *rest = loop.body
        if not isinstance(first, ast.If) or _methods_in(loop.test) & _COUNTING:
            return False
        if _polls_a_pipe(first):
            return self._waits(facts, [*first.orelse, *rest], short)
        if self._works(facts, first.test) or _methods_in(first.test) & _BLOCKING:
            return False
        again = isinstance(first.body[-1], ast.Continue)
        for test, truth in conjuncts(first.test, True):
            if not isinstance(test, ast.Call) or "empty" not in _methods_in(test):
                continue
            if not truth:
                return self._waits(facts, [*first.orelse, *rest], short)
            return test is first.test and self._waits(facts, [*first.body, *([] if again else rest)], short)
        return False

    def _tries_again(self, loop: ast.While) -> bool:
        """Whether each round only calls a function that does nothing and comes back at once if nothing has come.

        ``while len(rows) < n: self.take()`` around ``while not queue.empty(): ...``; ``while not there: there =
        self.load()`` around a read of what may be missing.
        """
        match loop.body:
            case [ast.Expr(value=ast.Call() as call)] if _asks(loop.test):
                return self._only_calls(call, _takes_what_is_there, _BLOCKING - {"get"})
            case [ast.Assign(targets=[ast.Name(id=flag)], value=ast.Call() as call)] if flag in names_in(loop.test):
                return self._only_calls(call, _reads_what_may_miss, _BLOCKING)
        return False

    def _only_calls(self, call: ast.Call, does: Callable[[ast.stmt], bool], blocking: Set[str]) -> bool:
        """Whether all functions that a call may run consist of one statement of a kind, and none sleeps or blocks."""
        targets = self.sides.graph.sure(call)
        bodies = [body_of(target.node) for target in targets]
        calm = (_methods_in(target.node).isdisjoint(blocking | {"sleep"}) for target in targets)
        return bool(targets) and all(len(body) == 1 and does(body[0]) for body in bodies) and all(calm)

    def _is_kernel(self, function: Scope) -> bool:
        """Whether a decorator compiles a function to a kernel: its loops run on the device."""
        qualified = self.values.project.qualified
        return any(qualified(function.file, node) in _KERNELS for node in decorators(function.node))

    def _works(self, facts: FileFacts, test: ast.expr) -> bool:
        """Whether a test calls something of the project that changes anything: ``while not self.step(): pass``."""
        calls = (part for part in walk(test) if isinstance(part, ast.Call))
        return any(call in self.sides.graph.callees and self.sides.call(facts, call).writes for call in calls)

    def _waits(self, facts: FileFacts, block: Sequence[ast.stmt], short: float) -> bool:
        """Whether a block does nothing, or sleeps for a very short time."""
        return all(isinstance(stmt, (ast.Pass, ast.Continue)) or self._is_nap(facts, stmt, short) for stmt in block)

    def _sleeps(self, facts: FileFacts, block: Sequence[ast.stmt], short: float) -> bool:
        return self._waits(facts, block, short) and any(
            isinstance(stmt, (ast.Expr, ast.Continue, ast.Pass)) for stmt in block
        )

    def _is_nap(self, facts: FileFacts, stmt: ast.stmt, short: float) -> bool:
        if not isinstance(stmt, ast.Expr):
            return False
        call = stmt.value
        if isinstance(call, ast.Constant):
            return True
        if not isinstance(call, ast.Call) or len(call.args) != 1:
            return False
        if self.values.project.qualified(facts, call.func) != "time.sleep":
            return False
        literal = self.values.of(facts, call.args[0]).literal
        return isinstance(literal, (int, float)) and literal <= short


def _asks(test: ast.expr) -> bool:
    """Whether a test reads something that others change: no clock, and nothing that blocks."""
    words = set(names_in(test))
    called = _methods_in(test)
    shared = any(isinstance(part, (ast.Attribute, ast.Subscript, ast.Call)) for part in walk(test))
    return shared and not words & _CLOCKS.all and "deadline" not in words and not called & _BLOCKING


def _polls_a_pipe(branch: ast.If) -> bool:
    """Whether a branch takes from a pipe that it asks without waiting: ``if pipe.poll(): task = pipe.recv()``."""
    match branch.test:
        case ast.Call(func=ast.Attribute(value=pipe, attr="poll"), args=[], keywords=[]):
            calls = (part.func for part in _walk(branch.body[:1]) if isinstance(part, ast.Call))
            takes = (func for func in calls if isinstance(func, ast.Attribute) and func.attr == "recv")
            return any(alike(func.value, pipe) for func in takes)
    return False


def _methods_in(test: ast.AST) -> set[str]:
    """The names of the methods that a test or function calls."""
    calls = (part.func for part in walk(test) if isinstance(part, ast.Call))
    return {func.attr for func in calls if isinstance(func, ast.Attribute)}


def _takes_what_is_there(stmt: ast.stmt) -> bool:
    """``while not queue.empty(): work(queue.get())``, also with ``if``."""
    if not isinstance(stmt, (ast.While, ast.If)) or stmt.orelse:
        return False
    return any("empty" in _methods_in(test) and not truth for test, truth in conjuncts(stmt.test, True))


def _reads_what_may_miss(stmt: ast.stmt) -> bool:
    """``try: net.load_state_dict(shared["net"]); return True`` and ``except KeyError: return False``."""
    if not isinstance(stmt, ast.Try) or not stmt.handlers or not isinstance(stmt.body[-1], ast.Return):
        return False
    return all(
        isinstance(each.type, (ast.Name, ast.Attribute))
        and last_name(each.type) in _MISSING
        and len(each.body) == 1
        and isinstance(given := each.body[0], ast.Return)
        and isinstance(given.value, ast.Constant)
        and not given.value.value
        for each in stmt.handlers
    )


def _is_read_at_once(call: ast.Call) -> bool:
    """``queue.get_nowait()`` and ``queue.get(block=False)``."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    first = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "block"), None)
    blocking = not (isinstance(first, ast.Constant) and first.value is False)
    return func.attr in _AT_ONCE or (func.attr == "get" and not blocking)


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block may end the loop."""
    return any(isinstance(part, (ast.Break, ast.Return)) for part in _walk(block))


def _walk(block: Sequence[ast.stmt]) -> list[ast.AST]:
    return [part for stmt in block for part in walk(stmt)]


def polls(site: Site, short: float) -> bool:
    """Return whether a ``while`` only polls, without a pause or after ``short`` seconds."""
    return isinstance(site.twin, ast.While) and site.fact(Waiting).polls(site.file, site.twin, short)
