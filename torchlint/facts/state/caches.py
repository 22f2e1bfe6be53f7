"""What is kept beyond a call and made only where it is missing or does not fit: dictionaries, tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.conditions import is_none


def renews(branch: Sequence[ast.stmt], test: ast.expr, facts: FileFacts) -> bool:
    """Whether a branch makes what its condition found missing or not fitting, and keeps it."""
    return _rebuilds(branch, test) or any(_fills(branch, kept, facts) for kept in _missing_from(test))


def kept_already(block: Sequence[ast.stmt], facts: FileFacts) -> list[tuple[int, int]]:
    """Where ``if key in self.tables: return ...`` (or ``continue``) stands in a block, and what fills them last."""
    asked = [
        (place, ast.unparse(kept))
        for place, stmt in enumerate(block)
        if isinstance(stmt, ast.If) and isinstance(stmt.body[-1], (ast.Return, ast.Continue))
        for kept in _missing_from(ast.UnaryOp(ast.Not(), stmt.test))
        if _outlives(kept, facts)
    ]
    if not asked:
        return []
    filled = {text: place for place, stmt in enumerate(block) for text in _filled(stmt)}
    return [(place, filled[text]) for place, text in asked if text in filled]


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
    return any(text in _filled(stmt) for stmt in block)


def _filled(stmt: ast.stmt) -> Iterator[str]:
    """The containers that a statement stores an item in, as source text."""
    for node in walk(stmt):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield ast.unparse(node.value)


def _outlives(container: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression is an attribute, or a name that the function does not give a value."""
    if isinstance(container, ast.Name):
        bindings = facts.scope_of(container).function.bindings.get(container.id, ())
        return facts.scope_of(container).function.kind == "function" and all(
            binding.how is Bind.PARAM for binding in bindings
        )
    return isinstance(container, ast.Attribute)


def _rebuilds(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if self.mask.shape[0] != n:`` and then ``self.mask = ...``: what does not fit is made again and kept."""
    if isinstance(test, ast.BoolOp):
        parts = [_rebuilds(block, part) for part in test.values if not _is_unset(part)]
        return any(parts) if isinstance(test.op, ast.And) else bool(parts) and all(parts)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    (op,), left, (right,) = test.ops, test.left, test.comparators
    sides = {ast.NotEq: (left, right), ast.Lt: (left,), ast.Gt: (right,)}.get(type(op), ())
    owners = [_sized(side) for side in sides]
    if isinstance(op, ast.Eq) and isinstance(right, ast.Constant):
        owners.append(_sampled(left))
    tested = {ast.unparse(owner) for owner in owners if owner is not None}
    targets = [target for stmt in block if isinstance(stmt, ast.Assign) for target in stmt.targets]
    renewed = {ast.unparse(part) for target in targets for part in _parts(target)}
    return bool(tested & renewed)


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    """What an assignment gives a value: the target, or each one of several."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _parts(part)
    else:
        yield target


def _sampled(node: ast.expr) -> ast.expr | None:
    """The attribute one fixed element of which shows that it was not filled: ``self.table`` of ``self.table[0, 0]``."""
    match node:
        case ast.Subscript(value=ast.Attribute() as owner, slice=ast.Constant() | ast.Tuple() as index):
            fixed = index.elts if isinstance(index, ast.Tuple) else [index]
            return owner if all(isinstance(part, ast.Constant) for part in fixed) else None
    return None


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
