"""Whether what an expression is assigned to is changed in place later, or added up."""

from __future__ import annotations

import ast

from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import subscripted, unpacked_to, walk


def mutated(facts: FileFacts, node: ast.expr) -> bool:
    """Return whether the name that an expression is assigned to is changed in place in the same function."""
    stmt, held = _target(facts, node)
    if held is None:
        return False
    changed: list[ast.expr] = []
    for part in walk(facts.scope_of(stmt).function.node):
        match part:
            case ast.AugAssign(target=target):
                changed += (target, subscripted(target))
            case ast.Assign(targets=targets) if part is not stmt:
                changed += (subscripted(each) for each in targets if isinstance(each, ast.Subscript))
            case ast.Call(func=ast.Attribute(value=whole, attr=name)) if name.endswith("_") and name[-2:] != "__":
                changed.append(whole)
    return among(held, changed)


def accumulated(facts: FileFacts, node: ast.expr) -> bool:
    """Return whether the name that an expression is assigned to is later updated from itself: ``x = x + y``."""
    stmt, held = _target(facts, node)
    if held is None:
        return False
    for part in walk(facts.scope_of(stmt).function.node):
        match part:
            case ast.AugAssign(target=target) if alike(target, held):
                return True
            case ast.Assign(targets=targets, value=value) if part is not stmt and among(held, targets):
                if among(held, walk(value)):
                    return True
    return False


def _target(facts: FileFacts, node: ast.expr) -> tuple[ast.AST, ast.expr | None]:
    """The statement that assigns an expression, and the one thing that it assigns it to."""
    stmt = facts.statement(node)
    held = list(unpacked_to(stmt, node)) if isinstance(stmt, (ast.Assign, ast.AnnAssign)) else []
    return stmt or node, held[0] if len(held) == 1 else None
