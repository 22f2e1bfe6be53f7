"""Which calls read a number back that the host does not need: what TL203 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.flow.flow import Flow
from torchlint.facts.values.tested import is_tensor
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Device, Kind, Use
from torchlint.rule.site import Site

NUMBERS = frozenset({"builtins.float", "builtins.int"})
"""The functions of Python that read the number of a tensor."""
_MAKER = "torch.tensor"
_PICKING = method_names("list deque dict", returns="element")
_TO_HOST = frozenset({"cpu", "to", "detach"})
_BARE = frozenset({"cpu", "detach"})
_COPYING = frozenset({"cpu", "to"})
_REDUCING = method_names(reduces=True)
_SAME_ELEMENTS = method_names("torch.Tensor", elements="all")
_ELSEWHERE = frozenset({Use.RETURNED, Use.PASSED, Use.STORED})
_ENOUGH = frozenset({Use.LOGGED, Use.REPORTED, Use.TENSOR})
_ALLOWED = _ENOUGH | _ELSEWHERE
_KEPT = frozenset({Label.COPY, Label.ITEM, Label.ELEMENT, Label.STORE})


@dataclass(frozen=True, eq=False, slots=True)
class Read:
    """A call that reads a number: how (``.item()``), what, and where the number goes.

    ``copied``: the expression copies a whole tensor to the host and reduces it there.
    """

    call: ast.Call
    how: str
    tensor: ast.expr
    uses: frozenset[Use]
    copied: bool = False

    @property
    def source(self) -> ast.expr:
        """What is read, without a copy to the host or a ``detach()`` on top: another read makes both needless."""
        node = self.tensor
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _BARE:
            if node.args or node.keywords:
                break
            node = node.func.value
        return node


def _behind_array(node: ast.expr) -> ast.expr:
    """The copied tensor whose array has its number read, ``loss.cpu()`` of ``loss.cpu().numpy()``, else the node."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="numpy"), args=[], keywords=[]):
            link = tensor
            while isinstance(link, ast.Call) and isinstance(link.func, ast.Attribute):
                if link.func.attr in _COPYING:
                    return tensor  # without a copy it lies on the host, or belongs to another library
                link = link.func.value
    return node


def _behind_index(node: ast.expr) -> ast.expr:
    """The copy of a tensor of which an index takes a part, ``x.cpu()`` of ``x.cpu()[1]``, else the node."""
    match node:
        case ast.Subscript(value=ast.Call(func=ast.Attribute(attr=method)) as copy) if method in _COPYING:
            return copy
    return node


@dataclass(eq=False, slots=True)
class Readbacks(Fact):
    """Finds calls that read a number from a tensor on a device, where only a log, a sum or a tensor takes it."""

    project: Project
    values: Values
    flow: Flow
    sources: Sources
    _known: dict[ast.Call, Read | None] = field(default_factory=dict)
    _put: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._put = ValueFlow(self._step, lost=False)

    def of(self, facts: FileFacts, call: ast.Call) -> Read | None:
        """Return what a call reads back that the host does not need; ``None`` of any other call."""
        if call not in self._known:
            self._known[call] = self._of(facts, call)
        return self._known[call]

    def _of(self, facts: FileFacts, call: ast.Call) -> Read | None:
        read = self._read(facts, call)
        if read is None or not (self.on_device(facts, read[1]) or self._holds_tensors(facts, call)):
            return None
        if isinstance(facts.parent.get(call), ast.Expr):
            return None  # a statement of its own: the wait is what it is for, before a clock is read
        # What is followed is a number already: a branch that reads tensors never sees it.
        uses = self.flow.uses(facts, call, _ALLOWED | {Use.READ}) - {Use.READ}
        wasteful = uses <= _ALLOWED and (not uses or uses & _ENOUGH)
        return Read(call, read[0], read[1], uses, self._is_copied_whole(facts, read[1])) if wasteful else None

    def _read(self, facts: FileFacts, call: ast.Call) -> tuple[str, ast.expr] | None:
        """How a call reads a number, and the expression that it reads; ``None`` for any other call."""
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "item":
            return (".item()", _behind_array(func.value)) if not call.args and not call.keywords else None
        name = self.project.qualified(facts, func)
        if name in NUMBERS and len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred):
            return f"{name.removeprefix('builtins.')}()", call.args[0]
        return None

    def _holds_tensors(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether ``item()`` is asked of what is a tensor or a number, wherever it was put: no number has it."""
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name() as held, attr="item")):
                return set(self._put.ends(facts, held)) == {True}
        return False

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """From what is read to what was put where it is read from, and whether that is a tensor on a device."""
        if not spot.path:
            kind = self.values.of(spot.facts, spot.node).kind
            if kind is Kind.NUMBER:
                return
            if kind is not Kind.UNKNOWN or self._is_tensor(spot.facts, spot.node):
                yield self.on_device(spot.facts, spot.node)
                return
        yield from self.sources.crossing(spot, _KEPT, False)

    def on_device(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether what is read is a tensor that this very expression moves to the host."""
        if not self._is_tensor(facts, node):
            return False
        peeled = _TO_HOST | _REDUCING.all | _SAME_ELEMENTS.all
        node = _behind_index(node)
        while isinstance(node, ast.Call) and last_name(node.func) in peeled:
            if isinstance(node.func, ast.Attribute) and self.project.qualified(facts, node.func) is None:
                node = node.func.value
            elif node.args:  # ``torch.mean(x)``
                node = node.args[0]
            else:
                break
        return self.values.of(facts, node).device is not Device.CPU and not self._from_data(facts, node)

    def _is_copied_whole(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression copies a tensor to the host before it reduces it: ``logits.cpu().mean()``."""
        source = _behind_index(node)
        reduced = source is not node
        node = source
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if reduced and node.func.attr in _COPYING:
                return self.values.of(facts, node).device is Device.CPU
            reduced = reduced or node.func.attr in _REDUCING
            node = node.func.value
        return False

    def _from_data(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether what is read is computed from a tensor made of unknown data, which is a list far more often."""
        passed: set[ast.expr] = set()
        while node not in passed:
            passed.add(node)
            match node:
                case ast.Name():
                    value = self.project.reaching(facts, node).value
                    if value is None:
                        return False
                    node = value
                case ast.Call(args=[given, *_], keywords=named) if self.project.qualified(facts, node.func) == _MAKER:
                    placed = any(keyword.arg in ("device", None) for keyword in named)
                    return not placed and not self.values.of(facts, given).known
                case ast.Call(func=ast.Attribute(value=inner)) if self.project.qualified(facts, node.func) is None:
                    node = inner
                case ast.BinOp(left=left, right=right):
                    sides = [each for each in (left, right) if self.values.of(facts, each).kind is Kind.TENSOR]
                    if len(sides) != 1:
                        return False  # beside a tensor of a device it would be one of that device, if it has no rank
                    node = sides[0]
                case ast.Compare(left=inner) | ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
                    node = inner
                case _:
                    return False
        return False

    def _is_number(self, facts: FileFacts, node: ast.Name) -> bool:
        """Whether callers give a parameter numbers, as far as is known, and no tensor: what is tested never comes."""
        kinds = self.values.handed(facts, node)
        return Kind.NUMBER in kinds and Kind.TENSOR not in kinds

    def _is_tensor(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is proven a tensor: by its value, by the branch, or since backward runs through it."""
        kind = self.values.of(facts, node).kind
        if isinstance(node, ast.Name) and is_tensor(self.project, facts, node):
            return not self._is_number(facts, node)
        if kind is not Kind.UNKNOWN:
            return kind is Kind.TENSOR
        while (link := _link(node)) is not None:
            if link.attr in _PICKING:
                return False  # settings.get("low", 0.0)
            node = link.value
        if not isinstance(node, (ast.Name, ast.Attribute)) or self._has_default(facts, node):
            return False
        return self.flow.differentiated(facts, node)

    def _has_default(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a parameter has a number as its default: a loss that it divides is no reason to take it for one."""
        parameter = self.project.reaching(facts, node).parameter
        default = parameter.value if parameter is not None else None
        return isinstance(default, ast.Constant) and isinstance(default.value, (int, float))


def _link(node: ast.expr) -> ast.Attribute | None:
    """The method that an expression calls, or ``data`` of it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func
    return node if isinstance(node, ast.Attribute) and node.attr == "data" else None


def read_at(site: Site, call: cst.Call) -> Read | None:
    """Return what a call reads back that the host does not need; ``None`` of any other call."""
    twin = site.expression(call)
    return site.fact(Readbacks).of(site.file, twin) if isinstance(twin, ast.Call) else None
