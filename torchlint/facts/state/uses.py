"""Whether what an expression is assigned to is changed in place later, or added up."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import subscripted, walk


def mutated(facts: FileFacts, node: ast.expr) -> bool:
    """Whether the name that an expression is assigned to is changed in place in the same function."""
    parent, text = _target(facts, node)
    if not text:
        return False
    for part in walk(facts.scope_of(parent).function.node):
        if isinstance(part, ast.AugAssign) and text in map(ast.unparse, (part.target, subscripted(part.target))):
            return True
        if isinstance(part, ast.Assign) and part is not parent:
            if any(isinstance(t, ast.Subscript) and ast.unparse(subscripted(t)) == text for t in part.targets):
                return True
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr.endswith("_"):
            if not part.func.attr.endswith("__") and ast.unparse(part.func.value) == text:
                return True
    return False


def accumulated(facts: FileFacts, node: ast.expr) -> bool:
    """Whether the name that an expression is assigned to is later given what is made of itself: ``x = x + y``."""
    parent, text = _target(facts, node)
    if not text:
        return False
    for part in walk(facts.scope_of(parent).function.node):
        if isinstance(part, ast.AugAssign) and ast.unparse(part.target) == text:
            return True
        if isinstance(part, ast.Assign) and part is not parent and text in map(ast.unparse, part.targets):
            if any(isinstance(inner, ast.expr) and ast.unparse(inner) == text for inner in walk(part.value)):
                return True
    return False


def _target(facts: FileFacts, node: ast.expr) -> tuple[ast.AST, str]:
    """The statement that assigns an expression, and the text of the one thing that it assigns it to."""
    parent: ast.AST = facts.parent.get(node, node)
    held: ast.expr | None = None
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        held = parent.targets[0]
    elif isinstance(parent, ast.AnnAssign):
        held = parent.target
    elif isinstance(parent, ast.Tuple) and isinstance(around := facts.parent.get(parent), ast.Assign):
        targets = around.targets[0]
        if len(around.targets) == 1 and isinstance(targets, ast.Tuple) and len(targets.elts) == len(parent.elts):
            held = targets.elts[parent.elts.index(node)]
            parent = around
    return parent, ast.unparse(held) if held is not None else ""
