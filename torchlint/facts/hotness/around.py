"""What of its function a node is in: all of it, the conditions, and what no loop lies between."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from typing import TypeGuard

from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.relaying import fans_out


def around(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that hold a node."""
    return takewhile(lambda current: current is not scope.node, scope.file.ancestors(node))


def branches(scope: Scope, node: ast.AST) -> list[ast.If]:
    """Return the conditions around a node of a function, innermost first."""
    return [current for current in around(scope, node) if isinstance(current, ast.If)]


def unlooped(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that hold a node, up to the innermost loop around it."""
    return takewhile(lambda current: not isinstance(current, LOOPS), around(scope, node))


def runs_each_time(node: ast.AST, child: ast.AST) -> TypeGuard[ast.For | ast.AsyncFor | ast.While]:
    """Return whether a node is a loop that runs a child again and again: its body, or its test."""
    return isinstance(node, LOOPS) and (child in node.body or (isinstance(node, ast.While) and child is node.test))


def enclosing_loop(facts: FileFacts, node: ast.AST, scope: Scope) -> ast.AST | None:
    """Return the innermost loop of the same function that runs a node in its body."""
    for child, current in facts.climb(node):
        if current is scope.node:
            break
        if runs_each_time(current, child) and not fans_out(node, current):
            return current
    return None
