"""What becomes of a tensor further on: whether it is divided by 255, or moved in a later statement."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.model import FUNCTIONS, FileFacts
from torchlint.facts.code.tree import forms_of, parts_of, receiver_of, walk
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.uses import Uses
from torchlint.late import dataclass
from torchlint.models import method_names

_LARGEST_BYTE = 255
# Methods and functions whose result has the elements of the tensor, in another form.
_KEEPING = method_names("torch.Tensor torch", elements="all", integral=False, waits=False)
_GIVING = method_names("torch.Tensor torch", elements="all", waits=False)
_DIVIDING = frozenset({"div", "div_", "true_divide", "divide"})
_MOVES = method_names(moves=("device", "given"))


def is_move(call: ast.Call) -> bool:
    """Return whether a call is one of a method that moves a tensor to a device: ``x.cuda()``, ``x.to(device)``."""
    attr = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return attr in _MOVES and (attr == "cuda" or bool(call.args or call.keywords))


@dataclass(eq=False, slots=True)
class Sequel(Fact):
    """Answers what the code after an expression does with its value."""

    uses: Uses
    _flow: ValueFlow[bool] = field(init=False)
    _spoken: dict[ast.stmt, dict[str, list[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=False)

    def scaled(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor is divided by 255 further on: in its function, or in one that it is passed to.

        Followed through names, views, casts, arguments of known functions and results that are returned as they are.
        """
        return not _is_told_apart(facts, node) and True in self._flow.ends(facts, node)

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """To the expressions that hold the same elements next, and to divisions."""
        node = spot.node
        if _divides(spot.facts, node):
            yield True
        match spot.facts.parent.get(node):
            case ast.Attribute(attr=method) as func if method in _KEEPING:
                call = spot.facts.parent.get(func)
                if isinstance(call, ast.Call) and call.func is func:
                    yield spot.same(call, Label.RECEIVER)
            case ast.Subscript(value=whole, ctx=ast.Load()) as item if whole is node:
                yield spot.same(item, Label.ITEM)
            case ast.DictComp(value=value) as whole if value is node:
                yield spot.same(whole, Label.ITEM)
            case _:
                yield from (use for use in self.uses.of(spot) if use.label is not Label.FIELD)

    def moved(self, facts: FileFacts, node: ast.expr) -> str:
        """Return the move of a fresh tensor in the next statement that mentions it, as source: ``x.cuda()``.

        Otherwise the result is empty.

        ``x = x.to(device)`` or ``return x.to(device)``, also in a branch: ``if use_cuda:``; also once it is cast or
        reshaped: ``x = x.long().to(device)``, of which the result is the last call alone: ``.to(device)``.
        """
        call = self.replaced(facts, node)
        if call is None or not isinstance(call.func, ast.Attribute):
            return ""
        if not is_target(facts, node, receiver_of(call.func.value, _GIVING)):
            return ""
        if not is_move(call):
            return ""
        below = call.func.value
        return ast.unparse(call).removeprefix("" if is_target(facts, node, below) else ast.unparse(below))

    def replaced(self, facts: FileFacts, node: ast.expr) -> ast.Call | None:
        """Return the call whose result replaces a fresh value in the next statement that mentions it.

        ``to_device(x)`` of ``x = to_device(x)`` or ``return to_device(x), y``, or of the first such statement of an
        ``if`` that leaves the value as it is otherwise.
        """
        stmt = facts.statement(node)
        if not isinstance(stmt, ast.Assign) or stmt.value is not node or len(stmt.targets) != 1:
            return None
        block, index = facts.places[stmt]
        return self._replacing(block, index + 1, stmt.targets[0])

    def _replacing(self, block: Sequence[ast.stmt], start: int, target: ast.expr) -> ast.Call | None:
        """The call that replaces a target in the first statement of a block that mentions it."""
        stmt = next(self._mentioning(block, start, target), None)
        match stmt:
            case ast.If(test=test, body=body, orelse=orelse) if not among(target, walk(test)):
                others = self._mentioning(orelse, 0, target)
                return self._replacing(body, 0, target) if all(_gives(each, target) for each in others) else None
            case ast.Assign(targets=[again], value=value) if alike(again, target):
                return _instead(value, target)
            case ast.Return(value=ast.expr() as value):
                parts = [part for part in parts_of(value) if among(target, walk(part))]
                return _instead(parts[0], target) if len(parts) == 1 else None
        return None

    def _mentioning(self, block: Sequence[ast.stmt], start: int, target: ast.expr) -> Iterator[ast.stmt]:
        """The statements of a block from one of them on that mention a name or attribute."""
        places = self._mentions(block).get(ast.unparse(target), ()) if block else ()
        return (block[place] for place in places[bisect_left(places, start) :])

    def _mentions(self, block: Sequence[ast.stmt]) -> dict[str, list[int]]:
        """The statements of a block that hold a name or attribute, by its source."""
        found = self._spoken.get(block[0])
        if found is None:
            found = self._spoken[block[0]] = {}
            for place, stmt in enumerate(block):
                parts = (part for part in walk(stmt) if isinstance(part, (ast.Name, ast.Attribute)))
                for text in set(map(ast.unparse, parts)):
                    found.setdefault(text, []).append(place)
        return found


def _divides(facts: FileFacts, node: ast.expr) -> bool:
    """``x / 255``, ``x /= 255.0``, ``x.div_(255)``."""
    parent = facts.parent.get(node)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Div) and parent.left is node and _is_255(parent.right)
    if isinstance(parent, ast.Attribute) and parent.attr in _DIVIDING:
        call = facts.parent.get(parent)
        return isinstance(call, ast.Call) and len(call.args) == 1 and _is_255(call.args[0])
    return isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Div) and _is_255(parent.value)


def _is_told_apart(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a branch around a node asks whether something holds bytes: ``if frames.dtype == np.uint8:``."""
    branches = (around for _, around in facts.climb(node, *FUNCTIONS) if isinstance(around, (ast.If, ast.IfExp)))
    parts = (part for branch in branches for part in walk(branch.test))
    return any(isinstance(part, ast.Attribute) and part.attr == "uint8" for part in parts)


def _is_255(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == _LARGEST_BYTE


def is_target(facts: FileFacts, node: ast.expr, other: ast.expr) -> bool:
    """Return whether an expression reads the same as the target of the assignment of a value."""
    stmt = facts.statement(node)
    return isinstance(stmt, ast.Assign) and among(other, stmt.targets)


def _instead(value: ast.expr, target: ast.expr) -> ast.Call | None:
    """The call that an expression is, or ``x.cuda()`` of ``x.cuda() if use_cuda else x``."""
    if isinstance(value, ast.Call):
        return value
    if not isinstance(value, ast.IfExp) or among(target, walk(value.test)):
        return None
    kept = [form for form in forms_of(value) if alike(form, target)]
    calls = [form for form in forms_of(value) if isinstance(form, ast.Call)]
    return calls[0] if len(calls) == len(kept) == 1 else None


def _gives(stmt: ast.stmt, target: ast.expr) -> bool:
    """Whether a statement returns a value as it is, alone or as a part of a tuple."""
    return isinstance(stmt, ast.Return) and stmt.value is not None and among(target, parts_of(stmt.value))
