"""What the branch around a name says of its type: ``if isinstance(x, int): ...``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.join import FLOAT, INT, NUMBER, STRING
from torchlint.rule import Kind, Value

_TYPES = {
    "builtins.int": INT,
    "builtins.float": FLOAT,
    "builtins.bool": NUMBER,
    "builtins.str": STRING,
}
_OTHERS = frozenset(
    {Kind.UNKNOWN, Kind.NDARRAY, Kind.TENSOR, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.NUMBER, Kind.STRING}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)


def within_test(project: Project, facts: FileFacts, node: ast.Name, value: Value) -> Value:
    """Return the value of a name where it is read, given what its bindings make it.

    In a branch for numbers or texts a name is one, even where all that the project is known to bind it to is not: what
    comes there is from callers that are not known.
    """
    if value.kind not in _OTHERS:
        return value
    for test in _tests(facts, node):
        said = _said(project, facts, test, node)
        if said is not None and said.kind is not value.kind:
            return said
    return value


def _tests(facts: FileFacts, node: ast.Name) -> Iterator[ast.expr]:
    """The conditions in the same function that hold where a node is evaluated, if nothing changes in between."""
    child: ast.AST = node
    parent = facts.parent.get(node)
    while parent is not None and not isinstance(parent, _FUNCTIONS):
        if isinstance(parent, (ast.If, ast.IfExp)):
            body = parent.body if isinstance(parent, ast.If) else [parent.body]
            if any(child is part for part in body):
                yield from _parts(parent.test)
        child, parent = parent, facts.parent.get(parent)


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        yield from test.values
    else:
        yield test


def _said(project: Project, facts: FileFacts, test: ast.expr, node: ast.Name) -> Value | None:
    """What a test says that a name is; ``None`` where it asks for no type, or of another binding of the name."""
    match test:
        case ast.Call(func=asked, args=[ast.Name(id=node.id) as name, named], keywords=[]):
            wanted = "builtins.isinstance"
        case ast.Compare(
            left=ast.Call(func=asked, args=[ast.Name(id=node.id) as name], keywords=[]),
            ops=[ast.Is() | ast.Eq()],
            comparators=[named],
        ):
            wanted = "builtins.type"
        case _:
            return None
    if project.qualified(facts, asked) != wanted:
        return None
    said = _TYPES.get(project.qualified(facts, named) or "")
    same = set(project.reaching(facts, name).bindings) == set(project.reaching(facts, node).bindings)
    return said if same else None
