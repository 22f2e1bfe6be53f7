"""Whether expressions read the same: one syntax tree, wherever they stand and however they are laid out."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.facts.code.model import FileFacts
    from torchlint.facts.code.project import Project


def alike(one: ast.AST, other: ast.AST | None) -> bool:
    """Return whether two nodes have the same text, whether they are read or stored into."""
    todo: list[tuple[object, object]] = [(one, other)]
    while todo:
        mine, theirs = todo.pop()
        if mine.__class__ is not theirs.__class__:
            return False
        if isinstance(mine, ast.AST):
            fields = (name for name in mine._fields if name != "ctx")
            todo += [(getattr(mine, name, None), getattr(theirs, name, None)) for name in fields]
        elif isinstance(mine, list) and isinstance(theirs, list):
            if len(mine) != len(theirs):
                return False
            todo += zip(mine, theirs, strict=True)
        elif mine != theirs:
            return False
    return True


def among(node: ast.AST, others: Iterable[ast.AST | None]) -> bool:
    """Return whether one of some nodes has the same text as another."""
    return any(alike(node, other) for other in others)


def bound_alike(project: Project, facts: FileFacts, one: ast.Name, other: ast.Name) -> bool:
    """Return whether the same bindings reach two reads of a name."""
    return project.reaching(facts, one).bindings == project.reaching(facts, other).bindings


def comes_with(project: Project, facts: FileFacts, name: ast.Name, other: ast.Name) -> bool:
    """Return whether a name has a value wherever another one has: the same statements bind both."""
    return project.reaching(facts, name).comes_with(project.reaching(facts, other))
