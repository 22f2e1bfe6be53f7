"""What is kept beyond a call and made only where it is missing or does not fit: dictionaries, tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.guards import is_none


def renews(branch: Sequence[ast.stmt], test: ast.expr, facts: FileFacts) -> bool:
    """Whether a branch makes what its condition found missing or not fitting, and keeps it."""
    return _rebuilds(branch, test) or any(_fills(branch, kept, facts) for kept in _missing_from(test))


def kept_already(block: Sequence[ast.stmt], index: int, facts: FileFacts) -> bool:
    """Whether ``if key in self.tables: return ...`` stands before a statement of a block that then fills the tables."""
    later = block[index:]
    return any(
        isinstance(stmt, ast.If)
        and isinstance(stmt.body[-1], ast.Return)
        and any(_fills(later, kept, facts) for kept in _missing_from(ast.UnaryOp(ast.Not(), stmt.test)))
        for stmt in block[:index]
    )


def _missing_from(test: ast.expr) -> Iterator[ast.expr]:
    """The containers that a condition finds something missing from: ``key not in tables``."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from _missing_from(part)
        case ast.Compare(ops=[ast.NotIn()], comparators=[container]):
            yield container
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[ast.In()], comparators=[container])):
            yield container


def _fills(block: Iterable[ast.stmt], container: ast.expr, facts: FileFacts) -> bool:
    """Whether statements store an item in a container that outlives the call."""
    if not _outlives(container, facts):
        return False
    text = ast.unparse(container)
    return any(
        isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == text
        for stmt in block
        for node in walk(stmt)
    )


def _outlives(container: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression is an attribute, or a name that the function does not give a value."""
    if isinstance(container, ast.Name):
        bindings = facts.scope_of(container).function.bindings.get(container.id, ())
        return facts.scope_of(container).function.kind == "function" and all(
            binding.how is Bind.PARAM for binding in bindings
        )
    return isinstance(container, ast.Attribute)


def _rebuilds(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if self.mask.shape[0] != n:`` and then ``self.mask = ...``: what is kept is made anew where it does not fit."""
    if isinstance(test, ast.BoolOp):
        parts = [_rebuilds(block, part) for part in test.values if not _is_unset(part)]
        return any(parts) if isinstance(test.op, ast.And) else bool(parts) and all(parts)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    (op,), left, (right,) = test.ops, test.left, test.comparators
    sides = {ast.NotEq: (left, right), ast.Lt: (left,), ast.Gt: (right,)}.get(type(op), ())
    sized = {ast.unparse(owner) for side in sides if (owner := _sized(side)) is not None}
    renewed = {ast.unparse(target) for stmt in block if isinstance(stmt, ast.Assign) for target in stmt.targets}
    return bool(sized & renewed)


def _is_unset(test: ast.expr) -> bool:
    """``self.mask is None``."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and is_none(test.comparators[0])


def _sized(node: ast.expr) -> ast.expr | None:
    """The attribute or item whose size, device or dtype an expression is: ``self.mask`` of ``len(self.mask)``."""
    match node:
        case ast.Subscript(value=inner) if not isinstance(inner, ast.Name):
            return _sized(inner)
        case ast.Call(func=ast.Name(id="len"), args=[(ast.Attribute() | ast.Subscript()) as owner]):
            return owner
        case ast.Call(
            func=ast.Attribute(attr="size" | "numel" | "dim", value=(ast.Attribute() | ast.Subscript()) as owner)
        ):
            return owner
        case ast.Attribute(attr="shape" | "device" | "dtype", value=(ast.Attribute() | ast.Subscript()) as owner):
            return owner
    return None
