"""What a block of statements does where it seldom runs: it raises, warns, sets up, empties what is full."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.model import COMPREHENSIONS
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.conditions import tests_for
from torchlint.models import Word, last_names, method_names

_ALARM = Word("start of a warning")
_ADDING = method_names("list", adds="element")
_ANY = frozenset({"any"})
_ALL = frozenset({"all"})
_SETS_UP = Word("set-up")
_RENDERS = Word("drawing of frames")
_ACTS = method_names(environment="acts")
_LEARNS = Word("acting or learning")
_DRAWS = last_names("random", draws="items") | last_names("numpy.random", draws="items")
_MANY = 10  # what happens at most every tenth time is seldom
_WARNINGS = method_names(says="alarm")
_MESSAGES = last_names(says=True)
_STOPPING = last_names(stops=True)

_LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Yield, ast.YieldFrom)
_NO_NUMBERS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda, *COMPREHENSIONS)
_OPPOSITES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.NotEq: ast.Eq}


def raises(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block exists to raise: every way through it ends in ``raise``, or the program in an error."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Raise):
        return True
    if isinstance(last, ast.Assert):
        return isinstance(last.test, ast.Constant) and not last.test.value
    if isinstance(last, ast.If):
        return raises(last.body) and raises(last.orelse)
    return _fails(last) or (isinstance(last, (ast.With, ast.AsyncWith)) and raises(last.body))


def only_raises(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block exists to raise, and no branch in it returns or goes on before."""
    return raises(block) and not any(isinstance(part, _LEAVING) for stmt in block for part in walk(stmt))


def ends_program(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block ends with the end of the program: ``exit(0)``, ``sys.exit()``."""
    match block[-1] if block else None:
        case ast.Expr(
            value=ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="sys" | "os"), attr=name))
        ):
            return name in _STOPPING
    return False


def _fails(stmt: ast.stmt) -> bool:
    """Whether a statement ends the program with an error: ``sys.exit("NaN")``, ``exit(1)``, but not ``exit()``."""
    match stmt:
        case ast.Expr(
            value=ast.Call(
                func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="sys" | "os"), attr=name), args=[given]
            )
        ) if name in _STOPPING:
            said = isinstance(given, (ast.JoinedStr, ast.UnaryOp))  # ``exit(-1)``
            return said or (isinstance(given, ast.Constant) and bool(given.value))
    return False


def reports(block: Sequence[ast.stmt]) -> bool:
    """Return whether all that a block does is to write messages: ``print(...)``, ``logging.warning(...)``."""
    return all(
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Call)
        and getattr(stmt.value.func, "attr", getattr(stmt.value.func, "id", "")) in _MESSAGES
        for stmt in block
    )


def values_of(block: Sequence[ast.stmt]) -> list[ast.expr]:
    """Return the numbers and tensors that a block assigns or returns; none if it does anything else."""
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


def opposite(test: ast.expr) -> ast.expr:
    """Return the condition that is true where another is false: ``count >= n`` of ``count < n``, ``x`` of ``not x``."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in _OPPOSITES:
            return ast.Compare(left, [_OPPOSITES[type(op)]()], others)
    return ast.UnaryOp(ast.Not(), test)


def sets_up(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch sets up in the first iteration: ``if self.count == 0: self._init_storage(item)``."""
    if test is None:
        return False
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    compared = [t for t in tests if isinstance(t, ast.Compare) and isinstance(t.ops[0], ast.Eq)]
    if not any(_is_zero(part.comparators[0]) for part in compared):
        return False
    names = (last_name(func) for func in _calls(block))
    return any(_SETS_UP.fits(name) for name in names)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_many(value: object) -> bool:
    return isinstance(value, int) and value >= _MANY


def restarts(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch runs every n steps: ``if count == n:`` with ``count = 0`` in its body."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(restarts(block, part) for part in test.values)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.Gt, ast.GtE)):
        return False
    counter = test.left
    few = isinstance(test.comparators[0], ast.Constant) and not _is_many(test.comparators[0].value)
    if few or not isinstance(counter, (ast.Name, ast.Attribute)):
        return False
    starts = (stmt for stmt in block if isinstance(stmt, ast.Assign) and _is_zero(stmt.value))
    return among(counter, (target for stmt in starts for target in stmt.targets))


def moves_due(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch runs when a count has come to a number, and moves that on by several.

    ``if step > next_log: next_log += log_frequency``, or ``next_log = step + 100``.
    """
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(moves_due(block, part) for part in parts)
        case ast.Compare(left=counter, ops=[ast.Gt() | ast.GtE() | ast.Eq()], comparators=[due]):
            pass
        case ast.Compare(left=due, ops=[ast.Lt() | ast.LtE()], comparators=[counter]):
            pass
        case _:
            return False
    if not all(isinstance(each, (ast.Name, ast.Attribute)) for each in (counter, due)):
        return False
    for stmt in block:
        match stmt:
            case ast.AugAssign(target=target, op=ast.Add(), value=step) if alike(target, due):
                return _is_several(step)
            case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=step)):
                if alike(target, due) and among(left, (counter, due)):
                    return _is_several(step)
    return False


def _is_several(node: ast.expr) -> bool:
    """Whether a number that is added may be large."""
    return _is_many(node.value) if isinstance(node, ast.Constant) else isinstance(node, (ast.Name, ast.Attribute))


def _calls(block: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """What the call statements of a block call."""
    return (stmt.value.func for stmt in block if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call))


def warns(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block writes a warning, or prints one."""
    if any(isinstance(func, ast.Attribute) and func.attr in _WARNINGS for func in _calls(block)):
        return True
    return _prints(block) and any(_ALARM.fits(text) for text in _printed(block))


def skips(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block only says that a round of a loop is left out: ``logger.info(...)``, ``continue``."""
    return len(block) > 1 and isinstance(block[-1], ast.Continue) and reports(block[:-1])


def prints_any(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch prints for bad values among many: ``if bad.any()``, ``if not good.all(): print(...)``."""
    if test is None or not _prints(block):
        return False
    fails = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and tests_for(test.operand, _ALL)
    return fails or tests_for(test, _ANY)


def fills_empty(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch fills an empty list.

    ``if not found:`` with ``found.append(...)`` in its body: the list is seldom empty.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])):
            pass
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            pass
        case _:
            return False
    parts = [part for stmt in block for part in walk(stmt)]
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in _ADDING
        and isinstance(part.func.value, ast.Name)
        and part.func.value.id == name
        for part in parts
    )


def renders(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch renders frames and does no learning: no environment steps, no updates."""
    called = {name for stmt in block for node in walk(stmt) if (name := _attribute_called(node))} if test else set()
    return any(map(_RENDERS.fits, called)) and not any(name in _ACTS or _LEARNS.fits(name) for name in called)


def draws_fewer(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch draws all there is: ``if n < size: batch = random.sample(rows, n)``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
        return False
    calls = (node for stmt in block for node in walk(stmt) if isinstance(node, ast.Call))
    return any(last_name(call.func) in _DRAWS and among(test.left, call.args[1:]) for call in calls)


def _attribute_called(node: ast.AST) -> str:
    """The name of the method that a node calls, empty where it calls none."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


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


def empties(block: Sequence[ast.stmt], test: ast.expr | None) -> bool:
    """Return whether a branch runs every n steps to empty a list or a buffer.

    ``if len(storage) == n:`` with ``storage = []`` or ``storage.clear()`` in its body, and ``if game.is_full():`` with
    ``game = Game()`` or ``game.reset()``.
    """
    match test:
        case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=full), ops=[ast.Eq() | ast.Gt() | ast.GtE(), *_]):
            pass
        case ast.Call(func=ast.Attribute(value=asked), args=[], keywords=[]):
            full = [asked]
        case _:
            return False
    assigned = (stmt for stmt in block if isinstance(stmt, ast.Assign) and _is_new(stmt.value))
    if any(among(target, full) for stmt in assigned for target in stmt.targets):
        return True
    called = (func for func in _calls(block) if isinstance(func, ast.Attribute) and func.attr in ("clear", "reset"))
    return any(among(func.value, full) for func in called)


def _is_new(value: ast.expr) -> bool:
    """Whether an expression makes an empty list, or an object of a class."""
    match value:
        case ast.List(elts=[]):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name[:1].isupper()
    return False
