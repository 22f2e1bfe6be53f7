"""Where control leaves a block or a round of a loop before its end."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import TypeGuard

from torchlint.facts.code.model import LOOPS
from torchlint.facts.code.tree import children

Loop = ast.For | ast.AsyncFor | ast.While
_WITH = (ast.With, ast.AsyncWith)
if sys.version_info >= (3, 11):
    _TRY = (ast.Try, ast.TryStar)
else:
    _TRY = (ast.Try,)


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Return whether control never reaches the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and leaves(last.body) and leaves(last.orelse)
    if isinstance(last, _WITH):
        return leaves(last.body)
    return False


def jumps(stmts: Sequence[ast.stmt]) -> list[ast.Break | ast.Continue]:
    """Return the ``break`` and ``continue`` in statements that belong to the loop around them."""
    found: list[ast.Break | ast.Continue] = []
    todo: list[ast.AST] = list(stmts)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Break, ast.Continue)):
            found.append(node)
        elif isinstance(node, LOOPS):
            todo.extend(node.orelse)
        elif isinstance(node, (ast.If, *_WITH, ast.ExceptHandler, ast.match_case)):
            todo.extend(part for part in children(node) if isinstance(part, ast.stmt))
        elif isinstance(node, (*_TRY, ast.Match)):
            todo.extend(children(node))
    return found


def is_endless(loop: ast.While) -> bool:
    """Return whether the test of a loop never ends it: ``while True``."""
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def breaks(stmt: ast.stmt) -> bool:
    """Return whether a statement may leave the loop it is in."""
    return any(isinstance(jump, ast.Break) for jump in jumps([stmt]))


def is_try(node: ast.AST | None) -> TypeGuard[ast.Try]:
    """Return whether a node is ``try`` with ``except`` or ``except*``, which have the same fields."""
    return isinstance(node, _TRY)
