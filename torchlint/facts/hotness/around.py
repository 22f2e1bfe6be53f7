"""What of its function a node stands in: all of it, the conditions, and what no loop lies between."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from torchlint.facts.code.model import Scope

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def around(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that hold a node."""
    current = scope.file.parent.get(node)
    while current is not None and current is not scope.node:
        yield current
        current = scope.file.parent.get(current)


def branches(scope: Scope, node: ast.AST) -> list[ast.If]:
    """The conditions that a node of a function stands under, innermost first."""
    return [current for current in around(scope, node) if isinstance(current, ast.If)]


def unlooped(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that hold a node, up to the innermost loop around it."""
    return takewhile(lambda current: not isinstance(current, _LOOPS), around(scope, node))
