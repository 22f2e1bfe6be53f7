"""The code that is meant where a rule looks at a statement."""

from __future__ import annotations

import ast


def place_of(twin: ast.AST) -> ast.AST:
    """Return the node whose hotness counts: the body of a function, else the node itself."""
    return twin.body[0] if isinstance(twin, (ast.FunctionDef, ast.AsyncFunctionDef)) else twin
