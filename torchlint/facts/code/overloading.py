"""Which methods of the project's classes an operator runs: ``__iadd__`` of ``meter += x``, ``__sub__`` of ``a - b``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.rule import Kind, Value

_NAMES: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.MatMult: "matmul",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.LShift: "lshift",
}
OPERATORS = frozenset(f"__{in_place}{name}__" for in_place in ("", "i") for name in _NAMES.values())
"""The names of all methods that these operators may run."""


def overloads(project: Project, left: Value, node: ast.BinOp | ast.AugAssign) -> list[Scope]:
    """Return the methods that the object on the left of an operator runs for it; none where it is no object of ours."""
    if left.kind not in (Kind.INSTANCE, Kind.MODULE) or not left.name:
        return []
    names = _methods(project, node)
    return [scope for cls in left.name.split("|") for scope in _first(project, cls, names)] if names else []


def left_of(node: ast.BinOp | ast.AugAssign) -> ast.expr:
    """Return the expression on the left of an operator."""
    return node.target if isinstance(node, ast.AugAssign) else node.left


def _methods(project: Project, node: ast.BinOp | ast.AugAssign) -> list[str]:
    """The names of methods of the project that an operator asks for, the first one first."""
    name = _NAMES.get(type(node.op), "")
    asked = (f"__i{name}__", f"__{name}__") if isinstance(node, ast.AugAssign) else (f"__{name}__",)
    return [each for each in asked if each in project.methods]


def _first(project: Project, cls: str, names: Sequence[str]) -> Iterator[Scope]:
    """The methods of the first of some names that a class has."""
    for name in names:
        if found := list(project.implementations(cls, name)):
            yield from found
            return
