"""Branches for data that is empty: what takes the place of a result when there is nothing to compute it from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.model import LOOPS, Bind, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.conditions import is_reset
from torchlint.late import dataclass
from torchlint.models import Word, last_names, method_names

_SIZES = frozenset({"numel", "nelement", "size", "__len__"})
_SELECTED = frozenset({"any", "sum", "count_nonzero"})
_ABOUT = last_names("Tensor torch", about=True)
_FILLED = last_names("Tensor torch", makes="filled")
_SPREADS = frozenset({"std", "var", "std_mean", "var_mean"})
_SHELLS = frozenset({"item", "bool", "int", "float"})
_FOUND = Word("found places")
_TAKES = method_names("list deque", removes=True, returns="element")
_ADDS_ALL = method_names("list deque", adds="elements")
# Calls that make a value from nothing, or only change how it is held.
_MAKERS = frozenset(
    """tensor as_tensor zeros ones full empty zeros_like ones_like full_like empty_like new_zeros new_ones new_full
    new_tensor new_empty array float int bool list dict tuple set to float long half double cpu cuda detach item append
    requires_grad_ device len print warn warning info debug nan inf log""".split()
)


@dataclass(frozen=True, slots=True)
class _EmptinessTest:
    """What a test says of data: the data, at which truth value it is empty, and whether its size says so.

    Where a number of true elements is asked for instead, the branch without any may be the common one. ``alone``: one
    element is too few as well, which says something only where a spread is computed from more, or a constant returned
    in place of what is computed.
    """

    data: ast.expr
    empty: bool
    sized: bool
    alone: bool = False

    def negated(self) -> _EmptinessTest:
        return _EmptinessTest(self.data, not self.empty, self.sized, self.alone)


def for_empty(
    test: ast.expr, body: Sequence[ast.AST], orelse: Sequence[ast.AST], facts: FileFacts, *, after: bool = False
) -> bool | None:
    """Return which branch of a test handles empty data: ``True`` its body, ``False`` the other, ``None`` neither.

    ``after``: the other is what follows a body that leaves the block.
    """
    asked = _asked(test, facts)
    if asked is None:
        return None
    arm, other = (body, orelse) if asked.empty else (orelse, body)
    if not arm or _fills(arm, asked.data):
        return None
    if asked.alone and _returns_constant(arm[-1]) and _reads(other, asked.data):
        return asked.empty
    if asked.alone and not _spreads(other):
        return None
    sure = asked.sized and not (after and not asked.empty) and not _FOUND.fits(_last(asked.data))
    if sure or (_is_made_of_nothing(arm) and _reads(other, asked.data)):
        return asked.empty
    return None


def _asked(test: ast.expr, facts: FileFacts) -> _EmptinessTest | None:
    """What a test asks of data; ``None`` where it asks for something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asked(test.operand, facts)
        return inner.negated() if inner is not None else None
    if isinstance(test, ast.BoolOp):
        return _joined(test, facts)
    if isinstance(test, ast.Compare):
        return _compared(test, facts) if len(test.ops) == 1 else None
    counted = _counted(test, facts)
    if counted is not None:
        return _EmptinessTest(counted[0], False, counted[1])
    if isinstance(test, (ast.Name, ast.Attribute)) and _is_container(test, facts):
        return _EmptinessTest(test, False, True)
    return None


def _joined(test: ast.BoolOp, facts: FileFacts) -> _EmptinessTest | None:
    """``x is not None and len(x) > 0``, ``x is None or len(x) == 0``: of data that may be missing too.

    Of several pieces all sizes are asked for, alike: ``len(x) > 0 and len(y) > 0``. What stands under ``fast and
    mask.sum() == 0`` is for empty data whatever the other condition says; the other branch is for more than that.
    """
    missing = isinstance(test.op, ast.Or)
    found = [asked for part in test.values if (asked := _asked(part, facts)) is not None]
    if len(found) == 1 and found[0].empty is not missing:
        return _EmptinessTest(found[0].data, found[0].empty, False, found[0].alone)
    others = [part for part in test.values if _asked(part, facts) is None]
    if not found or any(asked.empty is not missing for asked in found):
        return None
    if len(found) > 1 and not all(asked.sized for asked in found):
        return None
    return found[0] if all(_asks_presence(part, missing) for part in others) else None


def _asks_presence(test: ast.expr, missing: bool) -> bool:
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Is if missing else ast.IsNot):
        return False
    return isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None


def _compared(test: ast.Compare, facts: FileFacts) -> _EmptinessTest | None:
    """``len(x) == 0``, ``x.shape[0] > 0``, ``mask.sum() < 1``, ``x.numel() > 1``, ``x.size(0) == 1``."""
    counted, op, bound = _counted(test.left, facts), test.ops[0], test.comparators[0]
    if counted is None or not isinstance(bound, ast.Constant) or bound.value not in (0, 1, 2):
        return None
    data, sized = counted
    least = bound.value + isinstance(op, (ast.LtE, ast.Gt))
    if least == 2 and isinstance(op, (ast.LtE, ast.Lt, ast.GtE, ast.Gt)):
        return _EmptinessTest(data, isinstance(op, (ast.LtE, ast.Lt)), False, True) if sized else None
    if bound.value == 1 and isinstance(op, (ast.Eq, ast.NotEq)):
        return _EmptinessTest(data, isinstance(op, ast.Eq), False, True) if sized else None
    if bound.value == 2:
        return None
    zero = bound.value == 0
    if isinstance(op, (ast.Eq, ast.LtE) if zero else ast.Lt):
        return _EmptinessTest(data, True, sized)
    if isinstance(op, (ast.NotEq, ast.Gt) if zero else ast.GtE):
        return _EmptinessTest(data, False, sized)
    return None


def _counted(node: ast.expr, facts: FileFacts) -> tuple[ast.expr, bool] | None:
    """The data that an expression counts, and whether it counts all of it and not what is true of it."""
    while isinstance(node, ast.Call):
        func = node.func
        name = last_name(func)
        if name == "min" and len(node.args) > 1:  # no more than there are: `min(n, len(x))`
            found = [counted for each in node.args if (counted := _counted(each, facts)) is not None]
            return (found[0][0], False) if found else None
        inner = node.args[0] if node.args and not _is_number(node.args[0]) else None
        if inner is None:
            inner = func.value if isinstance(func, ast.Attribute) else None
        if inner is None:
            return None
        if name == "len" or name in _SIZES:
            return inner, True
        if name in _SELECTED:
            return (inner, False) if not is_reset(inner) else None
        if name not in _SHELLS:
            return None
        node = inner
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return node.value.value, True
    if isinstance(node, ast.Attribute) and node.attr == "size":
        return node.value, True
    if isinstance(node, ast.Name):
        bindings = facts.scope_of(node).function.bindings.get(node.id, [])
        only = bindings[0] if len(bindings) == 1 and bindings[0].how is Bind.ASSIGN else None
        if only is not None and isinstance(only.value, (ast.Call, ast.Subscript)) and not only.path:
            return _counted(only.value, facts)
    return None


def _is_number(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _last(node: ast.expr) -> str:
    """The last name in an expression, of a comparison that on its left."""
    while True:
        match node:
            case ast.Compare(left=inner) | ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner)):
                node = inner
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name
            case _:
                return ""


def refills(test: ast.expr, asking: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test leads to a branch that fills an empty queue, of which code behind takes one item at a time.

    ``if len(queue) == 0: queue.extend(self.plan(obs))``, and then ``return queue.popleft()``. ``asking`` is what the
    test stands for, which a method may return.
    """
    branching = next((above for _, above in facts.climb(test) if not _is_and(above)), None)
    if not isinstance(branching, ast.If):
        return False
    match asking:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Attribute() | ast.Name() | ast.Subscript()):
            queue = asking.operand
        case _:
            asked = _asked(asking, facts)
            if asked is None or not asked.empty or not asked.sized:
                return False
            queue = asked.data
    if not any(_adds_many(stmt, queue) for stmt in branching.body):
        return False
    around = set(facts.ancestors(branching))
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKES
        and alike(node.func.value, queue)
        and node.lineno > branching.lineno
        and not any(isinstance(above, LOOPS) and above not in around for above in facts.ancestors(node))
        for node in walk(facts.scope_of(branching).function.node)
    )


def _is_and(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)


def _adds_many(stmt: ast.stmt, queue: ast.expr) -> bool:
    """Whether a statement gives a queue several items: ``queue.extend(...)``, ``queue = deque(...)``."""
    for node in walk(stmt):
        match node:
            case ast.Assign(targets=targets) if among(queue, targets):
                return True
            case ast.AugAssign(target=target, op=ast.Add()) if alike(target, queue):
                return True
            case ast.Call(func=ast.Attribute(value=held, attr=how)) if alike(held, queue):
                if how in _ADDS_ALL or (how == "append" and isinstance(stmt, LOOPS)):
                    return True
    return False


# what a function does with a name -------------------------------------------------------------------------------------


def _is_container(node: ast.expr, facts: FileFacts) -> bool:
    """Whether a function makes a name a collection, counts it or goes over it; a flag is neither."""
    scope, text = facts.scope_of(node).function, ast.unparse(node)
    if isinstance(node, ast.Name):
        bound = [binding.value for binding in scope.bindings.get(node.id, ())]
        if any(isinstance(value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp)) for value in bound):
            return True
    handled = facts.handled.get(scope)
    if handled is None:
        sources = (source for part in walk(scope.node) if (source := _handled(part)) is not None)
        handled = facts.handled[scope] = frozenset(map(ast.unparse, sources))
    return text in handled


def _handled(node: ast.AST) -> ast.expr | None:
    """The collection that a node counts or goes over."""
    match node:
        case ast.For(iter=source) | ast.comprehension(iter=source):
            return source
        case ast.Call(func=ast.Name(id="len" | "zip" | "enumerate" | "list" | "sum" | "sorted"), args=[source, *_]):
            return source.value if isinstance(source, ast.Starred) else source
        case ast.Call(func=ast.Attribute(attr="stack" | "cat" | "concatenate"), args=[source, *_]):
            return source
    return None


def _fills(arm: Sequence[ast.AST], data: ast.expr) -> bool:
    """Whether a branch puts something into the data that is empty, so that it runs again and again."""
    text = ast.unparse(data)
    for node in _nodes(arm):
        match node:
            case ast.Assign(targets=targets):
                stored = list(targets)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                stored = [target]
            case ast.Call(func=ast.Attribute(value=holder, attr="append" | "extend" | "put" | "update" | "add")):
                stored = [holder]
            case _:
                continue
        if any(ast.unparse(each).startswith(text) for each in stored):
            return True
    return False


def _is_made_of_nothing(arm: Sequence[ast.AST]) -> bool:
    """Whether a branch computes nothing: all its calls make constants."""
    for node in _nodes(arm):
        if isinstance(node, (ast.For, ast.While, ast.Try)):
            return False
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name not in _MAKERS:
                return False
    return True


def _returns_constant(stmt: ast.AST) -> bool:
    """Whether a branch ends in a return of a tensor or number that is made of no data: ``torch.zeros(x.size(0))``."""
    return isinstance(stmt, ast.Return) and stmt.value is not None and _is_constant(stmt.value)


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is not None
        case ast.Attribute(value=ast.Name(id="torch" | "np" | "math")):
            return True
        case ast.Attribute(attr=name):
            return name in _ABOUT
        case ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
            return _is_constant(inner)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(_is_constant, parts))
        case ast.Call(func=func, args=args, keywords=words):
            if (name := last_name(func)) in _ABOUT or name.endswith("_like"):
                return True
            return (name == "tensor" or name in _FILLED) and all(
                map(_is_constant, [*args, *(word.value for word in words)])
            )
    return False


def _spreads(arm: Sequence[ast.AST]) -> bool:
    """Whether a branch computes a spread, which one number alone has none of."""
    return any(isinstance(part, ast.Call) and last_name(part.func) in _SPREADS for part in _nodes(arm))


def _reads(arm: Sequence[ast.AST], data: ast.expr) -> bool:
    """Whether a branch mentions the data that a test counts, or what that is made of."""
    words = {part.id for part in walk(data) if isinstance(part, ast.Name)}
    words |= {part.attr for part in walk(data) if isinstance(part, ast.Attribute)}
    words -= {"self", "torch", "np"}
    mentioned = (part.id if isinstance(part, ast.Name) else getattr(part, "attr", "") for part in _nodes(arm))
    return any(word in words for word in mentioned)


def _nodes(arm: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for part in arm:
        yield from walk(part)
