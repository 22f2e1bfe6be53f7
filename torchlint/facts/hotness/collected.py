"""Loops over what another loop collects: they have as many rounds as that one.

``for step in range(n): ...; rewards.append(reward)`` and behind it ``for reward in reversed(rewards): ...``: the second
loop runs once for each step of the environment.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from torchlint.facts.code.callers import unpacked
from torchlint.facts.code.model import COMPREHENSIONS, LOOPS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.around import around
from torchlint.models import function_names

Reader = ast.For | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_ALL = function_names(elements=("all", "pairs"))


class _Grown(NamedTuple):
    """A list that a loop grows: its name, the key under which it lies where the name is that of a dict, what makes it.

    The first two say what reads the list: ``losses`` or ``metrics["loss"]``.
    """

    name: str
    key: str | None
    made: Binding


def loops_over_collected(
    project: Project, facts: FileFacts, loops: Iterable[ast.AST]
) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Find the loops and comprehensions over local lists that some loops of a file grow by one element in each round.

    Gives pairs of such a loop and the one that collects for it. A list counts that begins empty before the loop, and
    to which nothing but ``append`` adds; it may lie in a local dict under a literal key.
    """
    for loop in loops:
        scope = facts.scope_of(loop).function
        for name, key, made in _grown(scope, loop):
            for reader in _behind(facts, scope, loop):
                over = [each for each, under in _sources(project, facts, reader) if (each.id, under) == (name, key)]
                if any(project.reaching(facts, each).bindings == (made,) for each in over):
                    yield reader, loop


def _grown(scope: Scope, loop: ast.AST) -> Iterator[_Grown]:
    """The local lists that each round of a loop grows by one element, with what makes them."""
    for name, added in scope.appends.items():
        made = _made(scope, loop, name, _is_empty)
        if made is not None and all(how == "append" for how, _ in added):
            if _each_round(scope, [node for _, node in added], loop):
                yield _Grown(name, None, made)
    for name, stored in scope.keyed.items():
        for key in dict.fromkeys(key for key, _ in stored):
            nodes = [node for each, node in stored if each == key]
            adding = [node for node in nodes if node in scope.file.grows]
            replaced = any(_starts(node) <= _ends(loop) for node in nodes if node not in scope.file.grows)
            made = _made(scope, loop, name, partial(_has_empty, key=key)) if adding and not replaced else None
            if made is not None and _each_round(scope, adding, loop):
                yield _Grown(name, key, made)


def _made(scope: Scope, loop: ast.AST, name: str, begins: Callable[[ast.expr], bool]) -> Binding | None:
    """The one binding of a name that begins what a loop grows, if that stands before the loop."""
    found = [binding for binding in scope.bindings.get(name, ()) if _value(binding, begins)]
    return found[0] if len(found) == 1 and loop not in around(scope, found[0].stmt) else None


def _value(binding: Binding, begins: Callable[[ast.expr], bool]) -> bool:
    if binding.how is not Bind.ASSIGN or binding.value is None:
        return False
    return begins(unpacked(binding.value, binding.path))


def _is_empty(node: ast.expr) -> bool:
    """Whether an expression makes an empty list: ``[]``, ``list()``."""
    if isinstance(node, ast.Call):
        return rightmost_name(node.func) == "list" and not node.args
    return isinstance(node, ast.List) and not node.elts


def _has_empty(node: ast.expr, key: str) -> bool:
    """Whether an expression makes a dict with an empty list under a key: ``{"loss": []}``, ``defaultdict(list)``."""
    match node:
        case ast.Dict(keys=keys, values=values):
            held = zip(keys, values, strict=True)
            return any(isinstance(at, ast.Constant) and at.value == key and _is_empty(value) for at, value in held)
        case ast.DictComp(value=value):
            return _is_empty(value)
        case ast.Call(func=func, args=[ast.Name(id="list")]):
            return rightmost_name(func) == "defaultdict"
    return False


def _each_round(scope: Scope, added: Sequence[ast.AST], loop: ast.AST) -> bool:
    """Whether each round of a loop comes to one of some nodes: under no condition, or on both sides of one."""
    held = {stmt for node in added if (stmt := scope.file.statement(node)) is not None}
    return isinstance(loop, LOOPS) and _comes_to(loop.body, held)


def _comes_to(block: Sequence[ast.stmt], wanted: Container[ast.stmt]) -> bool:
    """Whether a block runs one of some statements whichever branch it takes."""
    for stmt in block:
        if stmt in wanted:
            return True
        if isinstance(stmt, (ast.With, ast.AsyncWith)) and _comes_to(stmt.body, wanted):
            return True
        if isinstance(stmt, ast.If) and _comes_to(stmt.body, wanted) and _comes_to(stmt.orelse, wanted):
            return True
    return False


def _starts(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _ends(node: ast.AST) -> int:
    return getattr(node, "end_lineno", 0)


def _behind(facts: FileFacts, scope: Scope, loop: ast.AST) -> Iterator[Reader]:
    """The loops and comprehensions of a function that begin behind a loop."""
    for node in walk(scope.node):
        if isinstance(node, (ast.For, ast.AsyncFor, *COMPREHENSIONS)) and node.lineno > _ends(loop):
            if facts.scope_of(node).function is scope:
                yield node


def _sources(project: Project, facts: FileFacts, reader: Reader) -> Iterator[tuple[ast.Name, str | None]]:
    """The names that a loop goes over from end to end, with a key where it is what lies under that in a dict.

    Of a comprehension those of its first clause.
    """
    todo = [reader.iter if isinstance(reader, (ast.For, ast.AsyncFor)) else reader.generators[0].iter]
    while todo:
        match todo.pop():
            case ast.Name() as name:
                yield name, None
            case ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=str(key))):
                yield name, key
            case ast.Call(func=func, args=args) if project.qualified(facts, func) in _ALL:
                todo += args
            case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None)):
                todo.append(inner)
