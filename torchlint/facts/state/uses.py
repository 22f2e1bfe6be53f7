"""Whether what an expression is assigned to is changed in place later."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import walk


def mutated(facts: FileFacts, node: ast.expr) -> bool:
    """Whether the name that an expression is assigned to is changed in place in the same function."""
    parent = facts.parent.get(node)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    text = ast.unparse(target)
    scope = facts.scope_of(parent).function
    for part in walk(scope.node):
        if isinstance(part, ast.AugAssign) and ast.unparse(_base(part.target)) == text:
            return True
        if isinstance(part, ast.Assign) and part is not parent:
            if any(isinstance(t, ast.Subscript) and ast.unparse(_base(t)) == text for t in part.targets):
                return True
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr.endswith("_"):
            if not part.func.attr.endswith("__") and ast.unparse(part.func.value) == text:
                return True
    return False


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
