"""Loops over what another loop collects: they have as many rounds as that one.

``for step in range(n): ...; rewards.append(reward)`` and behind it ``for reward in reversed(rewards): ...``: the second
loop runs once for each step of the environment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.facts.code.callers import unpacked
from torchlint.facts.code.model import COMPREHENSIONS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.around import around
from torchlint.models import function_names

Reader = ast.For | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_ALL = function_names(elements=("all", "pairs"))


def loops_over_collected(
    project: Project, facts: FileFacts, loops: Iterable[ast.AST]
) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Find the loops and comprehensions over local lists that some loops of a file grow by one element in each round.

    Gives pairs of such a loop and the one that collects for it. A list counts that begins empty before the loop, and
    to which nothing but ``append`` adds.
    """
    for loop in loops:
        scope = facts.scope_of(loop).function
        for name, made in _grown(scope, loop):
            for reader in _behind(facts, scope, loop):
                over = [node for node in _sources(project, facts, reader) if node.id == name]
                if any(project.reaching(facts, node).bindings == (made,) for node in over):
                    yield reader, loop


def _grown(scope: Scope, loop: ast.AST) -> Iterator[tuple[str, Binding]]:
    """The local lists that each round of a loop grows by one element, with what makes them."""
    for name, added in scope.appends.items():
        empty = [binding for binding in scope.bindings.get(name, ()) if _is_empty(binding)]
        if len(empty) != 1 or loop in around(scope, empty[0].stmt) or any(how != "append" for how, _ in added):
            continue
        if any(_each_round(scope, node, loop) for _, node in added):
            yield name, empty[0]


def _is_empty(binding: Binding) -> bool:
    """Whether a binding makes an empty list: ``[]``, ``list()``."""
    if binding.how is not Bind.ASSIGN or binding.value is None:
        return False
    node = unpacked(binding.value, binding.path)
    if isinstance(node, ast.Call):
        return rightmost_name(node.func) == "list" and not node.args
    return isinstance(node, ast.List) and not node.elts


def _each_round(scope: Scope, node: ast.AST, loop: ast.AST) -> bool:
    """Whether each round of a loop comes to a node: no branch and no other loop lies between."""
    for holder in around(scope, node):
        if holder is loop:
            return True
        if isinstance(holder, ast.stmt) and not isinstance(holder, (ast.Expr, ast.With, ast.AsyncWith)):
            return False
    return False


def _behind(facts: FileFacts, scope: Scope, loop: ast.AST) -> Iterator[Reader]:
    """The loops and comprehensions of a function that begin behind a loop."""
    end = getattr(loop, "end_lineno", 0)
    for node in walk(scope.node):
        if isinstance(node, (ast.For, ast.AsyncFor, *COMPREHENSIONS)) and node.lineno > end:
            if facts.scope_of(node).function is scope:
                yield node


def _sources(project: Project, facts: FileFacts, reader: Reader) -> Iterator[ast.Name]:
    """The names that a loop goes over from end to end; of a comprehension those of its first clause."""
    todo = [reader.iter if isinstance(reader, (ast.For, ast.AsyncFor)) else reader.generators[0].iter]
    while todo:
        match todo.pop():
            case ast.Name() as name:
                yield name
            case ast.Call(func=func, args=args) if project.qualified(facts, func) in _ALL:
                todo += args
            case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None)):
                todo.append(inner)
