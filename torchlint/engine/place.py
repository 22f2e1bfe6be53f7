"""The code that is meant where a rule looks at a statement."""

from __future__ import annotations

import ast


def place_of(twin: ast.AST) -> ast.AST:
    """The node whose hotness is meant: of a function its body, else the node itself."""
    return twin.body[0] if isinstance(twin, (ast.FunctionDef, ast.AsyncFunctionDef)) else twin
