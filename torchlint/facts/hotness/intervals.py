"""Conditions that hold at intervals: every few steps, after so much time, in one round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.alike import alike
from torchlint.facts.code.callers import Caller, passing
from torchlint.facts.code.model import LOOPS, Bind, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import conjuncts, is_number, names_in, walk
from torchlint.late import regex
from torchlint.models import Word

_SINCE = Word("last time of a report")
_COUNTED_SINCE = Word("count since")
_SHOWN = Word("interval that shows")
_LOGGERS = (Word("logger in use"), Word("function that logs"))
_START = Word("start")
_EVERY = Word("interval")
_ACCUMULATED = Word("accumulation of gradients")
_PROCESS = Word("number of a process")
_ALL_STEPS = Word("count of all steps")
_NEXT = Word("step that is due next")

# Where the number of the round is in what a call gives, and calls that only show how far it has come.
_COUNTING = {"range": (), "trange": (), "enumerate": (0,)}
_BARS = frozenset({"tqdm", "track", "progress"})


# Through how many names a counter is followed.
_MOST_NAMES = 4
# Rounds of a loop of steps or updates that are few beside all of them.
_FEW = 20
_BEGINNING = regex(r"warm|burn")


def has_modulo(node: ast.AST) -> bool:
    """Return whether a remainder is taken anywhere in an expression that counts something else than micro-batches.

    ``i % accumulation_steps == 0`` holds when the gradients of the last micro-batch are there, so once per update.
    ``get_rank() % 8 == 0`` holds in every round of some processes, and never in the others.
    """
    return any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Mod)
        and not any(map(_ACCUMULATED.fits, names_in(part.right)))
        and not _is_process(part.left)
        for part in walk(node)
    )


def _is_process(node: ast.expr) -> bool:
    """``rank``, ``dist.get_rank()``."""
    counted = node.func if isinstance(node, ast.Call) else node
    return isinstance(counted, (ast.Name, ast.Attribute)) and _PROCESS.fits(_last(counted))


def is_interval(test: ast.expr) -> bool:
    """Return whether a test is due at intervals.

    ``step % n == 0``, ``step - last > interval``, ``self.log_frequency.check()``, ``eval_every_step(step)``.
    """
    if isinstance(test, ast.Call):
        asked = test.func.value if isinstance(test.func, ast.Attribute) else test.func
        return isinstance(asked, (ast.Name, ast.Attribute)) and _EVERY.fits(_last(asked))
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        op = test.ops[0]
        if isinstance(op, (ast.Eq, ast.Lt, ast.LtE)) and has_modulo(test.left):
            return True
        if isinstance(op, ast.Eq) and has_modulo(test.comparators[0]):
            return True  # 0 == step % n
        if isinstance(op, (ast.Gt, ast.GtE)) and _is_elapsed(test.left, _SINCE):
            return True
        if isinstance(op, (ast.Gt, ast.GtE)) and any(map(_COUNTED_SINCE.fits, names_in(test.left))):
            return True  # steps_since_save >= 1000
        if isinstance(op, ast.Eq) and _is_elapsed(test.left, _START):
            return True
        if isinstance(op, ast.Eq) and any(map(_is_due_next, (test.left, test.comparators[0]))):
            return True
        if isinstance(test.comparators[0], ast.Constant) and isinstance(test.comparators[0].value, str):
            return False  # a kind of event that has this name
        words = [word for word in names_in(test) if _EVERY.fits(word) and not _BEGINNING.search(word)]
        return bool(words) and isinstance(op, (ast.Gt, ast.GtE, ast.Eq, ast.Lt, ast.LtE))
    return False


def _is_due_next(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and _NEXT.fits(_last(node))


def is_first_step(test: ast.expr) -> bool:
    """Return whether a test is for the first step of all: ``state.global_step == 0``, ``state_steps[0] == 0``."""
    match test:
        case ast.Compare(left=count, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            count = count.value if isinstance(count, ast.Subscript) else count
            return isinstance(count, (ast.Name, ast.Attribute)) and _ALL_STEPS.fits(_last(count))
    return False


def is_next(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test asks if a whole number of intervals has grown: ``step // n > self.last``.

    ``index = step // n`` may stand before it.
    """
    match test:
        case ast.Compare(left=count, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Name() | ast.Attribute()]):
            bound = facts.scope_of(count).function.bindings.get(count.id, ()) if isinstance(count, ast.Name) else ()
            counts = [binding.value for binding in bound] or [count]
            return all(isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv) for each in counts)
    return False


def shows_at_intervals(test: ast.expr) -> bool:
    """Return whether a test shows or evaluates something at intervals.

    ``step - last_demo >= demo_interval``, also among other conditions; an interval and ``self.logger is not None``.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        logged = any(map(_has_logger, test.values)) and any(map(is_interval, test.values))
        return logged or any(map(shows_at_intervals, test.values))
    return is_interval(test) and any(map(_SHOWN.fits, names_in(test)))


def _has_logger(test: ast.expr) -> bool:
    """Whether a condition asks whether there is a logger: ``self.logger is not None``, ``writer``."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            test = left
    return isinstance(test, (ast.Name, ast.Attribute)) and any(words.fits(_last(test)) for words in _LOGGERS)


def is_between_intervals(test: ast.expr) -> bool:
    """Return whether a test is false at intervals: ``step % n != 0``."""
    match test:
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.Gt()]):
            return has_modulo(left)
    return False


def period(test: ast.expr) -> ast.expr | None:
    """Return what a counter is divided by: ``n`` of ``step % n == 0``, ``step % n != 0`` and ``step % n``."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            test = left if is_modulo(left) else right
    return test.right if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) else None


def remainder(test: ast.Call, project: Project, facts: FileFacts) -> ast.Compare | None:
    """Return the comparison of a remainder with zero that a function of the project makes, of what a call passes.

    ``step % 100 == 0`` for ``divisible_by(step, 100)``.
    """
    function = project.functions.get(project.qualified(facts, test.func) or "")
    if function is None or len(function.results) != 1:
        return None
    match function.results[0]:
        case ast.Compare(
            left=ast.BinOp(left=count, op=ast.Mod() as op, right=every),
            ops=[ast.Eq() | ast.NotEq()] as ops,
            comparators=[ast.Constant(value=0)] as zero,
        ):
            given = dict(passing(function, Caller(facts, test, 0)))
            count, every = (given.get(each.id, each) if isinstance(each, ast.Name) else each for each in (count, every))
            return ast.Compare(ast.BinOp(count, op, every), ops, zero)
    return None


def answered(test: ast.Call, project: Project, facts: FileFacts) -> Iterator[tuple[FileFacts, ast.expr] | None]:
    """Yield the intervals at which methods of the project that a call may mean by name are true, ``None`` of others.

    What a counter is divided by, and the file that says it: ``self.every`` where ``agent.is_due(step)`` returns ``step
    % self.every == 0``. A method that returns nothing or ``False`` is left for derived classes to write, or never true.
    """
    if not isinstance(test.func, ast.Attribute) or project.qualified(facts, test.func) is not None:
        return
    for method in project.methods.get(test.func.attr, ()):
        for result in method.results:
            if isinstance(result, ast.Constant) and not result.value:
                continue
            due = [part for part, truth in conjuncts(result, True) if truth and is_interval(part)]
            rounds = next(filter(None, map(period, due)), None)
            if not due:
                yield None
            elif isinstance(rounds, ast.Name) and rounds.id in method.params:
                given = dict(passing(method, Caller(facts, test, 1))).get(rounds.id)
                yield (method.file, rounds) if given is None else (facts, given)
            else:
                yield method.file, due[0] if rounds is None else rounds


def is_on(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test asks if there is an interval: ``log_interval > 0``, true by default.

    That holds in every round, unless the file gives the interval a default that turns it off.
    """
    match test:
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as left, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]
        ):
            word = _last(left)
            return _EVERY.fits(word) and not any(
                isinstance(value, ast.Constant) and not value.value for value in _given(facts, word)
            )
    return False


def _given(facts: FileFacts, word: str) -> Iterator[ast.expr]:
    """The values that a file gives to variables, attributes, fields and parameters of a name, under no condition."""
    for node in facts.nodes(ast.Assign):
        if any(isinstance(part, (ast.Name, ast.Attribute)) and _last(part) == word for part in node.targets):
            if not isinstance(facts.parent.get(node), ast.If):
                yield node.value
    for field in facts.nodes(ast.AnnAssign):
        if field.value is not None and isinstance(field.target, (ast.Name, ast.Attribute)):
            if _last(field.target) == word:
                yield field.value
    for parameters in facts.nodes(ast.arguments):
        named = [*parameters.posonlyargs, *parameters.args]
        pairs = [*zip(reversed(named), reversed(parameters.defaults), strict=False)]
        keywords = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        pairs += [(arg, value) for arg, value in keywords if value]
        yield from (value for arg, value in pairs if arg.arg == word)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def is_last(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test is for the last round.

    ``i == n - 1`` or ``step == total`` of a counter, next to an interval.

    Or a flag that ends the loop further down.
    """
    match test:
        case ast.Name():
            return _ends_loop(test, facts)
        case ast.Compare(left=ast.Name() as left, ops=[ast.Eq()], comparators=[right]):
            if isinstance(right, ast.Name):
                counted = _counts(left, right, facts) or loop_counted(left, right, facts) is not None
                return counted or _is_bound(left, right, facts)
            return isinstance(right, ast.BinOp) and isinstance(right.op, ast.Sub) and is_number(right.right, 1)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return loop_counted(left, right, facts) is not None
    return False


def _ends_loop(flag: ast.Name, facts: FileFacts) -> bool:
    """Whether the loop around a flag ends in the round in which it is true: ``if last_step: break``."""
    child: ast.AST = flag
    for parent in facts.ancestors(flag):
        if isinstance(parent, LOOPS):
            break
        child = parent
    else:
        return False
    if facts.scope_of(parent) is not facts.scope_of(flag) or child not in parent.body:
        return False
    bound = {binding.stmt for binding in facts.scope_of(flag).bindings.get(flag.id, ())}
    for later in parent.body[parent.body.index(child) + 1 :]:
        match later:
            case ast.If(test=ast.Name(id=name), body=[*_, ast.Break() | ast.Return()]) if name == flag.id:
                return True
        if not bound.isdisjoint(walk(later)):
            return False
    match parent:
        case ast.While(test=ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name))):
            return name == flag.id
    return False


def _is_bound(count: ast.Name, total: ast.Name, facts: FileFacts) -> bool:
    """Whether the loop around a test goes on until a count comes to a total: ``while state["step"] < total + 1``."""
    loop = next((part for part in facts.ancestors(count) if isinstance(part, LOOPS)), None)
    match loop:
        case ast.While(test=ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[bound])):
            bindings = facts.scope_of(count).function.bindings.get(count.id, ())
            bound = bound.left if isinstance(bound, ast.BinOp) and isinstance(bound.right, ast.Constant) else bound
            read = len(bindings) == 1 and bindings[0].value is not None and alike(bindings[0].value, left)
            return alike(bound, total) and (alike(count, left) or read)
    return False


def _counts(name: ast.Name, total: ast.Name, facts: FileFacts) -> bool:
    """Whether a name counts the rounds of loops that leave a total alone: ``for i, batch in enumerate(loader)``."""
    paths = {"range": (), "enumerate": (0,)}
    bound = facts.scope_of(name).function.bindings
    loops = [b for b in bound.get(name.id, ()) if b.how is Bind.ELEMENT]
    inside = {part for b in loops for part in walk(b.stmt)}
    totals = bound.get(total.id, ())
    return (
        bool(loops and totals)
        and not any(b.stmt in inside for b in totals)
        and all(
            isinstance(b.value, ast.Call)
            and isinstance(b.value.func, ast.Name)
            and paths.get(b.value.func.id) == b.path
            for b in loops
        )
    )


def one_round(test: ast.expr, facts: FileFacts, truth: bool = True) -> ast.AST | None:
    """Return the loop in at most one of whose rounds a condition has a truth value: ``i == n - 1``, ``i < n - 1``.

    Or in its first few ones: ``step <= 10``.
    """
    loops = (_loop_of_round(part, facts, way) for part, way in conjuncts(test, truth))
    return next((loop for loop in loops if loop is not None), None)


def _loop_of_round(test: ast.expr, facts: FileFacts, truth: bool) -> ast.AST | None:
    """The same for a comparison."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if isinstance(op, ast.Eq if truth else ast.NotEq):
                return loop_counted(left, right, facts) or loop_counted(right, left, facts)
            if _is_end(left, right) and isinstance(op, ast.GtE if truth else ast.Lt):
                return loop_counted(left, right, facts)
            few = isinstance(right, ast.Constant) and type(right.value) is int and right.value <= _FEW
            if few and isinstance(op, (ast.Lt, ast.LtE) if truth else (ast.Gt, ast.GtE)):
                return loop_counted(left, right, facts)
    return None


def _is_end(counter: ast.expr, number: ast.expr) -> bool:
    """Whether a comparison is one with the last round: ``i`` with ``n - 1``, ``i + 1`` with ``len(times)``."""
    match counter, number:
        case _, ast.BinOp(op=ast.Sub(), right=one):
            return is_number(one, 1)
        case ast.BinOp(op=ast.Add(), right=one), ast.Call(func=ast.Name(id="len")):
            return is_number(one, 1)
    return False


def loop_counted(counter: ast.expr, number: ast.expr, facts: FileFacts) -> ast.AST | None:
    """Return the loop around an expression that counts its rounds in it, if a number stays the same in all of them."""
    counter = _moved_on(counter, facts)
    loop = _loop_counted_by_hand(counter, facts)
    if loop is not None:
        return loop if _stays(number, loop, facts) else None
    if not isinstance(counter, ast.Name):
        return None
    around = set(facts.ancestors(counter))
    bindings = facts.scope_of(counter).function.bindings.get(counter.id, ())
    inside = [binding for binding in bindings if binding.stmt in around]
    if len(inside) != 1 or inside[0].how is not Bind.ELEMENT or inside[0].path != _place_of_counter(inside[0].value):
        return None
    loop = inside[0].stmt
    return loop if isinstance(loop, (ast.For, ast.AsyncFor)) and _stays(number, loop, facts) else None


def _moved_on(counter: ast.expr, facts: FileFacts) -> ast.expr:
    """The counter in ``step + 1`` or ``i // every``, also behind a name: ``done = step + 1``; else the expression."""
    for _ in range(_MOST_NAMES):
        if isinstance(counter, ast.Name):
            bindings = facts.scope_of(counter).function.bindings.get(counter.id, ())
            values = [each.value for each in bindings if each.how is Bind.ASSIGN and not each.path]
            moved = values[0] if len(values) == len(bindings) == 1 else None
        else:
            moved = counter
        match moved:
            case ast.BinOp(left=ast.Name() | ast.Attribute() as left, op=ast.Add() | ast.Sub(), right=ast.Constant()):
                counter = left
            case ast.BinOp(left=ast.Name() as left, op=ast.FloorDiv()):
                counter = left
            case _:
                break
    return counter


def _loop_counted_by_hand(counter: ast.expr, facts: FileFacts) -> ast.AST | None:
    """The loop around a comparison that adds to a counter in each round, and sets it to nothing else: ``step += 1``."""
    if not isinstance(counter, (ast.Name, ast.Attribute)):
        return None
    for loop in facts.ancestors(counter):
        if not isinstance(loop, LOOPS):
            continue
        adds = [stmt for stmt in loop.body if isinstance(stmt, ast.AugAssign) and alike(stmt.target, counter)]
        if adds:
            sets = [n for n in walk(loop) if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Store)]
            alone = len(adds) == 1 == sum(alike(target, counter) for target in sets)
            return loop if alone and isinstance(adds[0].op, ast.Add) else None
    return None


def _place_of_counter(rounds: ast.expr | None) -> tuple[int, ...] | None:
    """Where the number of the round is in what an iterable gives: ``range(n)``, ``enumerate(tqdm(loader))``."""
    while isinstance(rounds, ast.Call):
        name = _last(rounds.func) if isinstance(rounds.func, (ast.Name, ast.Attribute)) else ""
        if name in _COUNTING:
            return _COUNTING[name]
        if name not in _BARS or not rounds.args:
            return None
        rounds = rounds.args[0]
    return None


def _stays(number: ast.expr, loop: ast.AST, facts: FileFacts) -> bool:
    """Whether a number is the same in all rounds of a loop: made of constants, and of names that it does not bind."""
    bindings = facts.scope_of(loop).function.bindings
    for part in walk(number):
        if isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id == "len"):
            return False
        if isinstance(part, ast.Name) and any(
            binding.stmt is loop or loop in facts.ancestors(binding.stmt) for binding in bindings.get(part.id, ())
        ):
            return False
        if isinstance(part, ast.Attribute) and any(
            isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == part.attr
            for node in walk(loop)
        ):
            return False
    return True


def _is_elapsed(node: ast.expr, words: Word) -> bool:
    """``step - last_log``: what has passed since something was done."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return any(words.fits(word) for word in names_in(node.right))


def is_modulo(test: ast.expr) -> bool:
    """Return whether a test is ``step % n``, false at intervals and true between them."""
    return isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod)
