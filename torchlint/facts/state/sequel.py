"""What becomes of a tensor further on: whether it is divided by 255, or moved in a later statement."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import FUNCTIONS, FileFacts
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.late import dataclass
from torchlint.models import method_names

_LARGEST_BYTE = 255
# Methods and functions whose result has the elements of the tensor, in another form.
_KEEPING = method_names("torch.Tensor torch", elements="all", integral=False, waits=False)
_DIVIDING = frozenset({"div", "div_", "true_divide", "divide"})
_MOVES = method_names(moves=("device", "given"))


@dataclass(eq=False, slots=True)
class Sequel(Fact):
    """Answers what the code after an expression does with its value."""

    graph: CallGraph
    mentions: Mentions
    _flow: ValueFlow[bool] = field(init=False)
    _spoken: dict[ast.stmt, dict[str, list[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=False)

    def scaled(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a tensor is divided by 255 further on: in its function, or in one that it is passed to.

        Followed through names, views, casts, arguments of known functions and results that are returned as they are.
        """
        return not _is_told_apart(facts, node) and True in self._flow.ends(facts, node)

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        if _divides(spot.facts, spot.node):
            yield True
        for place in self._onward(spot.facts, spot.node):
            yield spot.elsewhere(*place, Label.COPY)

    def _onward(self, facts: FileFacts, node: ast.expr) -> Iterator[tuple[FileFacts, ast.expr]]:
        """The expressions that hold the same elements next."""
        parent = facts.parent.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr in _KEEPING:
            call = facts.parent.get(parent)
            if isinstance(call, ast.Call) and call.func is parent:
                yield facts, call
        elif isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            yield facts, parent
        elif isinstance(parent, ast.Call) and node is not parent.func:
            yield from self._given(parent, node)
        elif isinstance(parent, ast.keyword):
            call = facts.parent.get(parent)
            if isinstance(call, ast.Call):
                yield from self._given(call, node)
        elif isinstance(parent, (ast.Assign, ast.Tuple, ast.DictComp, ast.NamedExpr)):
            yield from self._assigned(facts, node, parent)
        elif isinstance(parent, ast.Return):
            scope = facts.scope_of(parent).function
            callers = self.graph.callers.get(scope, ())
            yield from ((caller.facts, caller.call) for caller in callers if caller.call not in self.graph.weak)

    def _given(self, call: ast.Call, node: ast.expr) -> Iterator[tuple[FileFacts, ast.expr]]:
        """The places where known callees read the parameter that an argument fills."""
        for function, name in self.graph.taking(call, node):
            for read in self.mentions.of_binding(function.file, name, function.node):
                yield function.file, read

    def _assigned(self, facts: FileFacts, node: ast.expr, parent: ast.AST) -> Iterator[tuple[FileFacts, ast.expr]]:
        """The places that may read a name that an expression is assigned to, by itself, in a tuple or as an item."""
        stmt = facts.statement(node)
        name = _target(node, stmt) if stmt is not None else ""
        if stmt is not None and name and not (isinstance(parent, ast.DictComp) and parent.value is not node):
            yield from ((facts, read) for read in self.mentions.of_binding(facts, name, stmt))

    def moved(self, facts: FileFacts, node: ast.expr) -> str:
        """The move of a fresh tensor in the next statement that mentions it, as source: ``x.cuda()``; else empty.

        ``x = x.to(device)`` right after it, or as all that an ``if use_cuda:`` holds.
        """
        stmt = facts.statement(node)
        if not isinstance(stmt, ast.Assign) or stmt.value is not node or len(stmt.targets) != 1:
            return ""
        target = stmt.targets[0]
        block, index = facts.places[stmt]
        places = self._mentions(block).get(ast.unparse(target), ())
        later = bisect_right(places, index)
        return _move_of(block[places[later]], target) if later < len(places) else ""

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


def _target(node: ast.expr, stmt: ast.stmt) -> str:
    """The name that a value is assigned to: alone, side by side with others, or as all items of a dict."""
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return ""
    target, value = stmt.targets[0], stmt.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        target, value = next(((t, v) for t, v in pairs if v is node), (target, value))
    whole = value is node or (isinstance(value, ast.DictComp) and value.value is node)
    return target.id if whole and isinstance(target, ast.Name) else ""


def _move_of(stmt: ast.stmt, moved: ast.expr) -> str:
    """``x = x.cuda()``, or an ``if`` that holds nothing else, as the source of the call."""
    if isinstance(stmt, ast.If) and len(stmt.body) == 1 and not stmt.orelse:
        return "" if among(moved, walk(stmt.test)) else _move_of(stmt.body[0], moved)
    match stmt:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(value=receiver, attr=attr)) as call):
            moves = attr in _MOVES and (attr == "cuda" or call.args or call.keywords)
            return ast.unparse(call) if moves and alike(target, moved) and alike(receiver, moved) else ""
    return ""
