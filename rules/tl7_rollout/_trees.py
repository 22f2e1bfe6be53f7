"""Binary trees in arrays that Python walks node by node: sum trees and segment trees of prioritized replays."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.code.tree import is_number, walk

# Decorators of functions that do not run as Python.
_COMPILING = frozenset({"njit", "jit", "vectorize", "guvectorize", "cfunc", "pythran", "compile"})


def walks(facts: FileFacts, node: ast.AST) -> bool:
    """Return whether a ``while`` goes up or down a binary tree in an array, or a function does so by calling itself.

    The place in the tree is doubled (``2 * i + 1``) or halved (``(i - 1) // 2``) from round to round, and indexes.
    """
    if _COMPILING & set(_function(facts, node).decorator_names):
        return False
    if isinstance(node, ast.While):
        body: list[ast.AST] = [node.test, *node.body]
        moved = {name for name, value in _assigned(node.body) if _steps(value)}
        renamed = {name for name, value in _assigned(node.body) if isinstance(value, ast.Name) and value.id in moved}
        return _is_carried(body, moved | renamed) and _indexes(body, moved | renamed)
    if isinstance(node, ast.FunctionDef):
        scope = facts.scope_of(node.body[0])
        parts = list(nodes_of(node.body))
        calls = [part for part in parts if isinstance(part, ast.Call) and last_name(part.func) == scope.name]
        moved = {name for name, value in _assigned(node.body) if _steps(value)}
        given = [value for call in calls for value in call.args]
        steps = any(_steps(value) or (isinstance(value, ast.Name) and value.id in moved) for value in given)
        return steps and _indexes(node.body, moved | set(scope.params))
    return False


def _function(facts: FileFacts, node: ast.AST) -> Scope:
    """The function that a node is, or that it is in."""
    inner = node.body[0] if isinstance(node, FUNCTIONS) else node
    return facts.scope_of(inner).function


def _assigned(body: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """The names that code assigns, each with the value."""
    for part in nodes_of(body):
        if isinstance(part, ast.Assign):
            for target in part.targets:
                if isinstance(target, ast.Name):
                    yield target.id, part.value
                elif isinstance(target, ast.Tuple) and isinstance(part.value, ast.Tuple):
                    for one, value in zip(target.elts, part.value.elts, strict=False):
                        if isinstance(one, ast.Name):
                            yield one.id, value
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            shifted = ast.BinOp(left=ast.Name(part.target.id, ast.Load()), op=part.op, right=part.value)
            yield part.target.id, shifted


def _steps(value: ast.expr) -> bool:
    """Whether an expression doubles or halves a place: ``2 * i + 1``, ``(i - 1) // 2``, ``i >> 1``."""
    while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr, ast.BitXor)):
        value = value.left if isinstance(value.right, ast.Constant) else value.right
    if not isinstance(value, ast.BinOp):
        return isinstance(value, ast.Call) and last_name(value.func) == "int" and any(map(_halves, value.args))
    left, right = value.left, value.right
    if isinstance(value.op, ast.Mult):
        return is_number(left, 2) or is_number(right, 2)
    if isinstance(value.op, ast.FloorDiv):
        return is_number(right, 2)
    return isinstance(value.op, (ast.LShift, ast.RShift)) and is_number(right, 1)


def _halves(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and is_number(value.right, 2)


def _is_carried(body: Iterable[ast.AST], names: set[str]) -> bool:
    """Whether the loop computes a place from the place before: one of the names is also read in a step."""
    return any(
        _steps(value) and any(isinstance(part, ast.Name) and part.id in names for part in walk(value))
        for _, value in _assigned(body)
    )


def _indexes(body: Iterable[ast.AST], names: set[str]) -> bool:
    """Whether one of some names is, or is part of, an index of numbers: no attribute of an element is read."""
    parts = list(nodes_of(body))
    indexed = [
        part
        for part in parts
        if isinstance(part, ast.Subscript)
        and any(isinstance(inner, ast.Name) and inner.id in names for inner in walk(part.slice))
    ]
    return bool(indexed) and not any(isinstance(part, ast.Attribute) and part.value in indexed for part in parts)
