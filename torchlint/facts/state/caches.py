"""What is kept beyond a call and made only where it is missing or does not fit: dictionaries, tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.callers import Caller, passed
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import conjuncts, is_false, is_none, parts_of, subscripted, walk
from torchlint.models import Word

_LIMIT = Word("greatest size")
# What makes a key of all elements of its argument.
_CONTENTS = frozenset({"hash", "tobytes"})


def renews(branch: Sequence[ast.stmt], test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a branch makes what its condition found missing or not fitting, and keeps it."""
    return (
        _rebuilds(branch, test)
        or any(_fills(branch, kept, facts) for kept in (*_missing_from(test), *_found_empty(test, facts)))
        or any(_grows_to(branch, size, kept, facts) for size, kept in _outgrown(branch, test))
        or _replaces_unfit(branch, test)
        or _comes_first(test, facts)
        or _moves_on_change(branch, test)
        or _repairs(branch, test)
    )


def _moves_on_change(branch: Sequence[ast.stmt], test: ast.expr) -> bool:
    """Whether a branch runs where a device is not the one that it notes: ``if self.device != device``."""
    for part, truth in conjuncts(test, True):
        match part:
            case ast.Compare(left=left, ops=[ast.NotEq() | ast.Eq() as op], comparators=[right]):
                asks = isinstance(op, ast.NotEq) is truth and (_is_device(left) or _is_device(right))
                if asks and _notes(branch, (left, right)):
                    return True
    return False


def _repairs(branch: Sequence[ast.stmt], test: ast.expr) -> bool:
    """Whether a branch makes fit what an attribute keeps, and asserts so: what is kept does not need it again.

    ``if self.rates.dtype != torch.float32:`` and then ``assert self.rates.dtype == torch.float32``.
    """
    match test:
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.IsNot() as op], comparators=[right]) if _sized(left):
            same = ast.Eq if isinstance(op, ast.NotEq) else ast.Is
            asserted = (stmt.test for stmt in branch if isinstance(stmt, ast.Assert))
            return any(
                isinstance(part, ast.Compare)
                and isinstance(part.ops[0], same)
                and alike(part.left, left)
                and alike(part.comparators[0], right)
                for part in asserted
            )
    return False


def _notes(branch: Sequence[ast.stmt], sides: Sequence[ast.expr]) -> bool:
    """Whether a branch stores one side of a comparison in the attribute that is the other one."""
    noted = ((kept, stmt.value) for stmt in branch if isinstance(stmt, ast.Assign) for kept in _stored(stmt))
    return any(among(kept, sides) and among(value, sides) for kept, value in noted)


def _is_device(node: ast.expr) -> bool:
    return last_name(node) == "device"


def _replaces_unfit(branch: Sequence[ast.stmt], test: ast.expr) -> bool:
    """Whether a branch stores again each attribute of which a condition finds one that is unset, too small or unfit.

    ``if self.table is None or n > self.max_len or self.table.dtype != dtype:``: each part asks for a stored attribute.
    """
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
        return False
    stored = [part for stmt in branch for part in _stored(stmt)]
    unset = (part.left for part in test.values if isinstance(part, ast.Compare) and _is_unset(part))
    asked = (list(walk(part)) for part in test.values)
    return any(among(left, stored) for left in unset) and all(any(among(s, part) for s in stored) for part in asked)


def _stored(stmt: ast.stmt) -> Iterator[ast.expr]:
    """The attributes that a statement gives a value itself."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else ()
    return (part for target in targets for part in parts_of(target) if isinstance(part, ast.Attribute))


def _comes_first(test: ast.expr, facts: FileFacts) -> bool:
    """Whether a flag for each key says that a branch has not run, and the function takes it back for good.

    ``first = self.fresh[key]``, ``if first: ...``, and then ``self.fresh[key] = False``.
    """
    flag: ast.expr | None = test
    function = facts.scope_of(test).function
    if isinstance(test, ast.Name):
        bindings = function.bindings.get(test.id, ())
        flag = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
    if not isinstance(flag, ast.Subscript) or not _outlives(flag.value, facts):
        return False
    assigned = (node for node in walk(function.node) if isinstance(node, ast.Assign))
    return any(is_false(node.value) and among(flag, node.targets) for node in assigned)


def kept_already(block: Sequence[ast.stmt], facts: FileFacts) -> list[tuple[int, int]]:
    """Return the ``if key in self.tables: return ...`` (or ``continue``) of a block, and what fills the tables last."""
    asked = [
        (place, kept)
        for place, stmt in enumerate(block)
        if isinstance(stmt, ast.If) and isinstance(stmt.body[-1], (ast.Return, ast.Continue))
        for kept in _missing_from(ast.UnaryOp(ast.Not(), stmt.test))
        if _outlives(kept, facts) and not _is_of_contents(stmt.test, facts)
    ]
    if not asked:
        return []
    filled = [(last, kept) for last, stmt in enumerate(block) for kept in _filled(stmt)]
    ends = ((place, max((last for last, each in filled if alike(each, kept)), default=None)) for place, kept in asked)
    return [(place, last) for place, last in ends if last is not None]


def _is_of_contents(test: ast.expr, facts: FileFacts) -> bool:
    """Whether a key is made of all that an input holds: ``hash(tuple(ids)) in self.answers`` misses each new input."""
    for key in (part.left for part in walk(test) if isinstance(part, ast.Compare)):
        values: Iterable[ast.expr | None] = (key,)
        if isinstance(key, ast.Name):
            values = (binding.value for binding in facts.scope_of(test).function.bindings.get(key.id, ()))
        made = [part for value in values if value is not None for part in walk(value)]
        if any(isinstance(part, ast.Call) and last_name(part.func) in _CONTENTS for part in made):
            return True
    return False


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


def _found_empty(test: ast.expr, facts: FileFacts) -> Iterator[ast.expr]:
    """The container in which a condition finds nothing.

    ``held is None`` of ``held = state.get(key)``, also where what is held may not fit, and ``len(state) == 0`` of
    ``state = self.state[key]``.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        first, *rest = test.values
        if isinstance(first, ast.Compare) and _is_unset(first):
            if all(among(first.left, list(walk(part))) for part in rest):
                yield from _found_empty(first, facts)
        return
    held = _asked_to_be_empty(test)
    if isinstance(held, ast.Attribute):
        yield held
    asked = test.left if isinstance(test, ast.Compare) and _is_unset(test) else held
    if not isinstance(asked, ast.Name):
        return
    for binding in facts.scope_of(test).function.bindings.get(asked.id, ()):
        match None if binding.path else binding.value:
            case ast.Call(func=ast.Attribute(attr="get", value=container)) if asked is not held:
                yield container
            case ast.expr() as value if asked is held and _is_of_attribute(value):
                yield asked


def _asked_to_be_empty(test: ast.expr) -> ast.expr | None:
    """``state`` of ``len(state) == 0`` and of ``not state``."""
    match test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[held]), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ):
            return held
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() as held):
            return held
    return None


def _outgrown(branch: Sequence[ast.stmt], test: ast.expr) -> Iterator[tuple[ast.expr, ast.Attribute]]:
    """A size and the attribute that it is greater than: ``n > self.max_len``.

    Also where that may be unset, or the branch notes another thing beside it that has changed.
    """
    match test:
        case ast.BoolOp(op=ast.Or(), values=parts):
            others = [part for part in parts if not _is_unset(part) and not _notes_change(branch, part)]
            if len(others) == 1:
                yield from _outgrown(branch, others[0])
        case ast.BoolOp(op=ast.And(), values=parts):  # ``n is not None and n > self.max_len``
            for part in parts:
                yield from _outgrown(branch, part)
        case ast.Compare(left=size, ops=[ast.Gt()], comparators=[ast.Attribute() as kept]) if _LIMIT.fits(kept.attr):
            yield size, kept
        case ast.Compare(left=ast.Attribute() as kept, ops=[ast.Lt()], comparators=[size]) if _LIMIT.fits(kept.attr):
            yield size, kept


def _notes_change(branch: Sequence[ast.stmt], part: ast.expr) -> bool:
    """Whether a test is for a change of what its branch stores: ``scale != self.scale``."""
    match part:
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            return _notes(branch, (left, right))
    return False


def _grows_to(block: Iterable[ast.stmt], size: ast.expr, kept: ast.Attribute, facts: FileFacts) -> bool:
    """Whether statements store a size in the attribute that holds the greatest one, or a method of the class does."""
    for node in (node for stmt in block for node in walk(stmt)):
        if isinstance(node, ast.Assign) and _is_at_least(node.value, size) and among(kept, node.targets):
            return True
        if isinstance(node, ast.Call) and among(size, _stored_by(node, kept.attr, facts)):
            return True
    return False


def _is_at_least(value: ast.expr, size: ast.expr) -> bool:
    """Whether a number is a size or a greater one: ``n``, ``2 * n``, ``max(2 * n, 16)``."""
    match value:
        case ast.Call(func=ast.Name(id="max"), args=parts):
            return any(_is_at_least(part, size) for part in parts)
        case ast.BinOp(op=ast.Mult() | ast.Add(), left=left, right=right):
            sides = (left, right), (right, left)
            return any(_is_natural(times) and _is_at_least(part, size) for times, part in sides)
    return alike(value, size)


def _is_natural(node: ast.expr) -> bool:
    """Whether an expression is a literal whole number above zero."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0


def _stored_by(call: ast.Call, attribute: str, facts: FileFacts) -> Iterator[ast.expr | None]:
    """The arguments that a call of a method of the same class stores in an attribute; overrides aside."""
    method = _own_method(call, facts)
    owner = method.method_of if method is not None else None
    for store in owner.stores.get(attribute, ()) if method is not None and owner is not None else ():
        if store.scope is method and isinstance(store.binding.value, ast.Name):
            yield passed(method, store.binding.value.id, Caller(facts, call, 1))


def _own_method(call: ast.Call, facts: FileFacts) -> Scope | None:
    """The method of the same class that a call on the object itself runs; overrides aside."""
    function = facts.scope_of(call).function
    owner, func = function.method_of, call.func
    if owner is None or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return None
    methods = owner.bindings.get(func.attr, ())
    return methods[0].scope if func.value.id == function.self_name and len(methods) == 1 else None


def _fills(block: Iterable[ast.stmt], container: ast.expr, facts: FileFacts) -> bool:
    """Whether statements store an item in a container that outlives the call."""
    if not _outlives(container, facts):
        return False
    return any(among(container, _filled(stmt)) for stmt in block) or any(
        among(container, _filled(method.node))
        for stmt in block
        for call in walk(stmt)
        if isinstance(call, ast.Call) and (method := _own_method(call, facts)) is not None
    )


def _filled(stmt: ast.AST) -> Iterator[ast.expr]:
    """The containers that a statement stores an item in."""
    stored = (node for node in walk(stmt) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
    return (node.value for node in stored)


def _outlives(container: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression is an attribute or an item of one, or a name of it or of what was there before the call."""
    if isinstance(container, ast.Name):
        function = facts.scope_of(container).function
        return function.kind == "function" and all(
            binding.how is Bind.PARAM or (not binding.path and _is_of_attribute(binding.value))
            for binding in function.bindings.get(container.id, ())
        )
    return isinstance(container, ast.Attribute)


def _is_of_attribute(value: ast.expr | None) -> bool:
    """``self.state``, ``self.state[key]``."""
    return value is not None and isinstance(subscripted(value), ast.Attribute)


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
    targets = [target for stmt in block if isinstance(stmt, ast.Assign) for target in stmt.targets]
    renewed = [part for target in targets for part in parts_of(target)]
    return any(owner is not None and among(owner, renewed) for owner in owners)


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
