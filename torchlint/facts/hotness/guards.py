"""What keeps code from running often: a table of conditions, blocks that raise or empty what is full, early exits."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torchlint.facts.code.model import COMPREHENSIONS, Binding, FileFacts
from torchlint.facts.code.reach import leaves
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.conditions import (
    NONFINITE,
    is_debug_flag,
    is_ended,
    is_filled,
    is_finite,
    is_first_call,
    is_full,
    is_not,
    is_out_of_range,
    is_over,
    is_past_end,
    is_reset,
    is_there,
    is_uniform,
    tests_for,
    was_due,
)
from torchlint.facts.hotness.intervals import is_between_intervals, is_interval, is_last, is_modulo, is_on
from torchlint.late import regex
from torchlint.models import last_names, method_names
from torchlint.rule import Frequency

_ALARM = regex(r"\W*(warning|warn|error|alert)\b", re.IGNORECASE)
_ANY = frozenset({"any"})
_SETS_UP = regex(r"_*(setup|set_up|init|initialize|initialise|build|allocate)(_\w+)?$")
_RENDERS = regex(r"render(_\w+)?$")
_ACTS = method_names(environment="acts")
_LEARNS = frozenset({"act", "backward", "learn", "select_action", "train", "update"})
_MANY = 10  # what happens every so many times is seldom
_WARNINGS = method_names(says="alarm")
_MESSAGES = last_names(says=True)

_NO_NUMBERS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda, *COMPREHENSIONS)
_OPPOSITES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.NotEq: ast.Eq}


class Bound(NamedTuple):
    """The most often that guarded code runs, and the name of the guard."""

    limit: Frequency
    guard: str


class Guard(NamedTuple):
    """A condition that keeps code from running often.

    ``limit`` is the most often that the code runs for which the condition has the value ``truth``.
    """

    name: str
    truth: bool
    holds: Callable[[ast.expr, FileFacts], bool]
    limit: Frequency


def _plain(recognise: Callable[[ast.expr], bool]) -> Callable[[ast.expr, FileFacts], bool]:
    """A recogniser that asks nothing of the file."""
    return lambda test, _facts: recognise(test)


# The first row that holds decides. ``not``, ``and`` and ``or`` are taken apart by ``bound``.
GUARDS = (
    Guard("debug flag", True, _plain(is_debug_flag), Frequency.ONCE),
    Guard("interval", True, _plain(is_interval), Frequency.ONCE),
    Guard("interval", False, _plain(is_modulo), Frequency.ONCE),
    Guard("interval", False, _plain(is_between_intervals), Frequency.ONCE),
    Guard("first call", True, is_first_call, Frequency.ONCE),
    Guard("first call", False, _plain(is_filled), Frequency.ONCE),
    Guard("first call", True, _plain(lambda test: is_not(test, is_there)), Frequency.ONCE),
    Guard("broken number", True, _plain(lambda test: tests_for(test, NONFINITE)), Frequency.ONCE),
    Guard("broken number", True, _plain(lambda test: is_not(test, is_finite)), Frequency.ONCE),
    Guard("value out of range", True, _plain(is_out_of_range), Frequency.ONCE),
    Guard("end of an episode", True, _plain(is_reset), Frequency.EPISODE),
    Guard("end of an episode", False, _plain(lambda test: is_reset(test, running=True)), Frequency.EPISODE),
    Guard("end of an episode", True, is_ended, Frequency.EPISODE),
    Guard("full buffer", True, is_full, Frequency.EPISODE),
    Guard("batch of equal numbers", True, _plain(is_uniform), Frequency.EPISODE),
    Guard("end of a plan", True, _plain(is_past_end), Frequency.EPISODE),
    Guard("work that is seldom due", True, was_due, Frequency.ONCE),
)


def bound(test: ast.expr, facts: FileFacts, truth: bool = True) -> Bound | None:
    """The guard on code that runs when a condition has a truth value, ``None`` when the condition limits nothing."""
    if truth and is_on(test, facts):
        return None
    for guard in GUARDS:
        if guard.truth is truth and guard.holds(test, facts):
            return Bound(guard.limit, guard.name)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return bound(test.operand, facts, not truth)
    if isinstance(test, ast.BoolOp):
        found = [bound(part, facts, truth) for part in test.values]
        if isinstance(test.op, ast.And) is truth:
            return least(*found)
        return _of_any(test.values, found, facts) if truth else None
    asked = _predicate(test, facts)
    return bound(asked, facts, truth) if asked is not None else None


def _of_any(parts: Sequence[ast.expr], found: Sequence[Bound | None], facts: FileFacts) -> Bound | None:
    """The guard on code that runs when any of some conditions is true: the last round may stand beside an interval."""
    found = [
        Bound(Frequency.ONCE, "last round") if is_last(part, facts) else each
        for part, each in zip(parts, found, strict=True)
    ]
    known = [each for each in found if each is not None]
    unlimited = [part for part, each in zip(parts, found, strict=True) if each is None]
    if any(is_reset(part) for part in parts) and all(is_over(part) for part in unlimited):
        return max(*known, Bound(Frequency.EPISODE, "end of an episode"))
    return max(known) if known and not unlimited else None


def least(*bounds: Bound | None) -> Bound | None:
    """The tightest of some bounds."""
    return min((each for each in bounds if each is not None), default=None)


def _predicate(test: ast.expr, facts: FileFacts) -> ast.expr | None:
    """What a function of the same file gives, or a method of the same class: ``if self.is_due(): ...``."""
    if not isinstance(test, ast.Call) or test.args or test.keywords:
        return None
    bindings: Sequence[Binding] = ()
    if isinstance(test.func, ast.Name):
        bindings = facts.top.bindings.get(test.func.id, ())
    elif isinstance(test.func, ast.Attribute) and isinstance(test.func.value, ast.Name):
        method = facts.scope_of(test).function
        if method.method_of is not None and method.self_name == test.func.value.id:
            bindings = method.method_of.bindings.get(test.func.attr, ())
    scope = bindings[0].scope if len(bindings) == 1 else None
    if scope is None or scope.kind != "function" or len(scope.returns) != 1:
        return None
    given = scope.returns[0].value
    return None if isinstance(given, ast.Call) else given


def raises(block: Sequence[ast.stmt]) -> bool:
    """Whether a block exists to raise: every way through it ends in ``raise``."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Raise):
        return True
    if isinstance(last, ast.Assert):
        return isinstance(last.test, ast.Constant) and not last.test.value
    if isinstance(last, ast.If):
        return raises(last.body) and raises(last.orelse)
    return isinstance(last, (ast.With, ast.AsyncWith)) and raises(last.body)


def reports(block: Sequence[ast.stmt]) -> bool:
    """Whether all that a block does is to write messages: ``print(...)``, ``logging.warning(...)``."""
    return all(
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Call)
        and getattr(stmt.value.func, "attr", getattr(stmt.value.func, "id", "")) in _MESSAGES
        for stmt in block
    )


def values_of(block: Sequence[ast.stmt]) -> list[ast.expr]:
    """The numbers and tensors that a block gives to names or returns; none where it does anything else."""
    found = [
        stmt.value
        for stmt in block
        if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)) and stmt.value is not None
    ]
    plain = (not isinstance(value, _NO_NUMBERS) and not _is_no_number(value) for value in found)
    return found if len(found) == len(block) and all(plain) else []


def _is_no_number(value: ast.expr) -> bool:
    """Whether a value is a literal text, truth value or ``None``."""
    return isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, (str, bytes, bool)))


def branch_bound(branch: Sequence[ast.stmt], test: ast.expr | None = None) -> Bound | None:
    """The guard that what a branch does puts on all of it: it raises, warns, empties a full list, starts a count again.

    ``test`` is the condition that leads into the branch, if it is one.
    """
    if raises(branch):
        return Bound(Frequency.ONCE, "branch that raises")
    if _warns(branch):
        return Bound(Frequency.ONCE, "branch that warns")
    if test is None:
        return None
    if tests_for(test, _ANY) and _prints(branch):
        return Bound(Frequency.ONCE, "branch that warns")
    if _sets_up(branch, test):
        return Bound(Frequency.ONCE, "first call")
    if _renders(branch):
        return Bound(Frequency.ONCE, "branch that renders")
    return _full(branch, test)


def _renders(block: Sequence[ast.stmt]) -> bool:
    """Whether a branch draws frames and does nothing that belongs to learning: no environment steps, no updates."""
    called = {name for stmt in block for node in walk(stmt) if (name := _attribute_called(node))}
    return any(map(_RENDERS.match, called)) and not any(name in _ACTS or name in _LEARNS for name in called)


def _attribute_called(node: ast.AST) -> str:
    """The name of the method that a node calls, empty where it calls none."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _full(block: Sequence[ast.stmt], test: ast.expr) -> Bound | None:
    """The guard on a block that empties the list that its condition finds full, or sets its counter back."""
    if _empties(block, test):
        return Bound(Frequency.EPISODE, "full list")
    return Bound(Frequency.EPISODE, "counter that starts again") if _restarts(block, test) else None


def _opposite(test: ast.expr) -> ast.Compare | None:
    """The comparison that is true where another is false: ``count >= n`` of ``count < n``."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in _OPPOSITES:
            return ast.Compare(left, [_OPPOSITES[type(op)]()], others)
    return None


def _sets_up(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if self.count == 0: self._init_storage(item)``: what the first of many rounds does."""
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    compared = [t for t in tests if isinstance(t, ast.Compare) and isinstance(t.ops[0], ast.Eq)]
    if not any(_is_zero(part.comparators[0]) for part in compared):
        return False
    names = (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in _calls(block))
    return any(_SETS_UP.match(name) for name in names)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_many(value: object) -> bool:
    return isinstance(value, int) and value >= _MANY


def _restarts(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if count == n:`` and in the branch ``count = 0``: every so many steps."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(_restarts(block, part) for part in test.values)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.Gt, ast.GtE)):
        return False
    counter = test.left
    few = isinstance(test.comparators[0], ast.Constant) and not _is_many(test.comparators[0].value)
    if few or not isinstance(counter, (ast.Name, ast.Attribute)):
        return False
    starts = (stmt for stmt in block if isinstance(stmt, ast.Assign) and _is_zero(stmt.value))
    return ast.unparse(counter) in (ast.unparse(target) for stmt in starts for target in stmt.targets)


def _calls(block: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """What the call statements of a block call."""
    return (stmt.value.func for stmt in block if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call))


def _warns(block: Sequence[ast.stmt]) -> bool:
    if any(isinstance(func, ast.Attribute) and func.attr in _WARNINGS for func in _calls(block)):
        return True
    return _prints(block) and any(_ALARM.match(text) for text in _printed(block))


def _printed(block: Sequence[ast.stmt]) -> Iterator[str]:
    """How the texts begin that the call statements of a block are given."""
    for stmt in block:
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and stmt.value.args:
            text = stmt.value.args[0]
            first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def _prints(block: Sequence[ast.stmt]) -> bool:
    return any(isinstance(func, ast.Name) and func.id == "print" for func in _calls(block))


def _empties(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if len(storage) == n:`` and in the branch ``storage = []`` or ``storage.clear()``: every so many steps."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.Gt, ast.GtE)):
        return False
    length = test.left
    if not (isinstance(length, ast.Call) and isinstance(length.func, ast.Name) and length.func.id == "len"):
        return False
    full = {ast.unparse(argument) for argument in length.args}
    for stmt in block:
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.List) and not stmt.value.elts:
            if any(ast.unparse(target) in full for target in stmt.targets):
                return True
    return any(
        isinstance(f, ast.Attribute) and f.attr == "clear" and ast.unparse(f.value) in full for f in _calls(block)
    )


def early_exits(block: Sequence[ast.stmt], facts: FileFacts) -> Iterator[tuple[int, ast.stmt, Bound]]:
    """The guards that ``if not debug: return`` statements of a block put on what follows them, with their places."""
    for place, stmt in enumerate(block):
        if isinstance(stmt, ast.If) and leaves(stmt.body) and not raises(stmt.body):
            found = bound(stmt.test, facts, truth=False)
            if isinstance(stmt.test, ast.UnaryOp) and tests_for(stmt.test.operand, _ANY) and _prints(block):
                found = Bound(Frequency.ONCE, "branch that warns")
            opposite = _opposite(stmt.test)
            if found is None and opposite is not None:
                found = _full(block[place + 1 :], opposite)
            if found is not None:
                yield place, stmt, found
        elif isinstance(stmt, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            yield place, stmt, Bound(Frequency.ONCE, "statement that nothing comes behind")
        elif isinstance(stmt, ast.For) and isinstance(stmt.body[0], ast.Return):
            yield place, stmt, Bound(Frequency.ONCE, "first item")  # ``for p in self.parameters(): return p.device``
