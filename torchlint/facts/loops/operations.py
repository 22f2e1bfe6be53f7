"""What a loop computes with elements: how many operations need nothing of an earlier round, and what it hands on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts.code.alike import among
from torchlint.facts.code.tree import parts_of, walk

READING = frozenset(
    {"item", "max", "min", "clamp", "clip", "abs", "exp", "log", "mul", "add", "sub", "pow", "clone", "mean", "sum"}
)
"""Methods of a tensor that compute with it or read it."""
_COMPUTING = READING - {"item", "clone"} | {"float", "long", "int"}


def bare(value: ast.expr) -> ast.expr:
    """Return what is copied or detached: ``x`` of ``x.clone()`` and ``x.data``."""
    while True:
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr="clone" | "detach"), args=[]):
                value = inner
            case ast.Attribute(value=inner, attr="data"):
                value = inner
            case _:
                return value


def wholes(value: ast.expr) -> list[ast.expr]:
    """Return what an element is a part of, by its first index: ``x[i]`` of ``x[i, 0]`` and ``x[i][0]``."""
    match value:
        case ast.Subscript(value=whole, slice=ast.Tuple(elts=[first, *_])):
            return [ast.Subscript(value=whole, slice=first, ctx=ast.Load())]
        case ast.Subscript(value=ast.Subscript() as whole):
            return [whole]
    return []


def ahead(parts: Sequence[ast.AST], carrying: Sequence[ast.stmt], rows: Sequence[ast.expr]) -> tuple[int, bool]:
    """Return how many operations on elements need nothing of an earlier round, and whether one takes two elements.

    Factors of one product, and terms of one sum, may be taken in any order: ``discount * last * mask[i]`` has one such
    operation. ``rows`` are names of elements.
    """
    stmts = [part for part in parts if isinstance(part, (ast.Assign, ast.AugAssign))]
    late = [target for stmt in carrying for target in _set_by(stmt)]
    while True:
        more = [target for stmt in stmts if _reads_any(stmt.value, late) for target in _set_by(stmt)]
        new = [target for target in more if not among(target, late)]
        if not new:
            break
        late += new
    made = [*rows, *(target for stmt in stmts if _takes(stmt.value) for target in _set_by(stmt))]
    count, paired = 0, False
    for operations, operands in _chains(parts):
        free = [each for each in operands if not _reads_any(each, late)]
        elements = sum(_takes(each) or _reads_any(each, made) for each in free)
        if elements:
            run = sum(_takes(each) or _reads_any(each, [*late, *made]) for each in operations)
            count += run - (len(operands) - len(free))
            paired = paired or elements > 1
    calls = (part for part in parts if isinstance(part, ast.Call) and _computes(part) and not _reads_any(part, late))
    return count + sum(_takes(call.func) or _reads_any(call.func, made) for call in calls), paired


def _computes(call: ast.Call) -> bool:
    """Whether a call is a method that computes something new of an element: ``x[i].clamp(max=1.0)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _COMPUTING


def _chains(parts: Sequence[ast.AST]) -> Iterator[tuple[list[ast.BinOp], list[ast.expr]]]:
    """The operations and factors of each product, those and the terms of each sum, others with their two sides."""
    inner = {side for part in parts if isinstance(part, ast.BinOp) for side in _sides(part) if _continues(part, side)}
    for part in parts:
        if isinstance(part, ast.BinOp) and part not in inner:
            operations: list[ast.BinOp] = []
            operands: list[ast.expr] = []
            todo: list[ast.expr] = [part]
            while todo:
                each = todo.pop()
                if isinstance(each, ast.BinOp) and (each is part or each in inner):
                    operations.append(each)
                    todo += _sides(each)
                else:
                    operands.append(each)
            yield operations, operands


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right


def _continues(node: ast.BinOp, side: ast.expr) -> bool:
    """Whether a side of a product is a product, or one of a sum a sum."""
    return isinstance(side, ast.BinOp) and any(
        isinstance(node.op, ops) and isinstance(side.op, ops) for ops in ((ast.Mult,), (ast.Add, ast.Sub))
    )


def added_to_end(stmt: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the list and what a statement adds to one of its ends."""
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=grown, attr="append" | "appendleft"), args=[value])):
            return grown, value
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=grown, attr="insert"), args=[ast.Constant(value=0), value])
        ):
            return grown, value
    return None


def scaled_by(stmt: ast.AST) -> tuple[ast.Name, ast.expr] | None:
    """Return the name that a statement multiplies by something, and by what: ``x = x * factor``, not in place."""
    match stmt:
        case ast.Assign(targets=[ast.Name() as name], value=ast.BinOp(left=left, op=ast.Mult(), right=right)):
            sides = ((left, right), (right, left))
            found = (factor for read, factor in sides if isinstance(read, ast.Name) and read.id == name.id)
            factor = next(found, None)
            return None if factor is None else (name, factor)
    return None


def _set_by(stmt: ast.stmt) -> Iterator[ast.expr]:
    """The names that a statement sets, and the collections that it writes to."""
    if (added := added_to_end(stmt)) is not None:
        yield added[0]
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target] if isinstance(stmt, ast.AugAssign) else []
    for target in (part for each in targets for part in parts_of(each)):
        if isinstance(target, ast.Name):
            yield target
        elif isinstance(target, ast.Subscript):
            yield target.value


def _takes(node: ast.expr) -> bool:
    """Whether an expression takes something out of a collection."""
    return any(isinstance(part, ast.Subscript) for part in walk(node))


def _reads_any(node: ast.expr, others: Sequence[ast.expr]) -> bool:
    return any(isinstance(part, (ast.Name, ast.Attribute)) and among(part, others) for part in walk(node))
