"""What becomes of the autograd graph of a tensor: where it goes on, where it ends, what runs backward through it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from torchlint.facts.code.handing_over import DIFFERENTIABLE
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.flow.carriers import Next
from torchlint.facts.flow.data import drawn, folded
from torchlint.facts.flow.store import Ground
from torchlint.facts.values.dtypes import is_counting
from torchlint.facts.values.operators import gathers
from torchlint.late import dataclass
from torchlint.models import function_names, last_names
from torchlint.rule import Kind, Use

Records = Callable[[FileFacts, ast.AST], bool | None]
"""Whether autograd records what runs at a node; ``None`` where that is not known."""

Graphed = Callable[[FileFacts, ast.expr], bool | None]
"""Whether a tensor is part of a recorded graph; ``None`` where that is not known."""

Differentiated = Callable[[FileFacts, ast.Call], bool]
"""Whether ``backward`` runs through what a call gives, as far as is known through nothing else."""

_ENDS = last_names(graph="ends")
_MAKES = last_names("torch torch.cuda", makes=("data", "legacy"))
_ABOUT = last_names(about=True)
_TOLD = last_names(graph="told")
_PAIRS = last_names(indices=True)
_SAME = last_names("builtins", elements="all")
_FOLDED = last_names("builtins", folds=True, number=False, graph=False)
_CONTAINERS = function_names("copy collections", elements="all")
_EXCHANGED = function_names("accelerate.utils", exchanges="values")


@dataclass(frozen=True, slots=True)
class GraphCarrier:
    """Follows the graph: through every operation that is recorded.

    ``proves``: only through what takes tensors alone. A constructor takes arrays and lists as well.
    """

    ground: Ground
    records: Records
    graphed: Graphed
    proves: bool = False
    differentiated: Differentiated = lambda _facts, _call: False
    text: Use = Use.LOGGED

    def _kind(self, spot: Spot, node: ast.expr) -> Kind:
        return self.ground.values.of(spot.facts, node).kind

    def quiet(self, spot: Spot, call: ast.Call) -> bool:
        """Return whether autograd is off in what a call runs."""
        return spot.quiet or self.records(spot.facts, call) is False

    def branch(self, _spot: Spot) -> Next:
        """Return the sink for a graph in a condition: a decision has no gradient."""
        return iter((Use.DETACHED,))

    def index(self, _spot: Spot) -> Use:
        """Return an index has no gradient."""
        return Use.DETACHED

    def operation(self, spot: Spot, node: ast.expr) -> Next:
        """Follow the graph into the result of an operation if that is recorded; a comparison has no gradient."""
        if isinstance(node, ast.Compare) or spot.quiet or self.records(spot.facts, node) is False:
            yield Use.DETACHED
        else:
            yield spot.at(node)

    def attribute(self, spot: Spot, node: ast.Attribute) -> Next:
        """Follow the value to an attribute.

        ``data`` cuts the graph; shape and the like are no use of it; parameters of a distribution go on.
        """
        if node.attr == "data":
            yield Use.DETACHED
        elif node.attr in _PAIRED:
            yield from self.operation(spot, node)
        elif node.attr in _TOLD or (node.attr != "grad" and node.attr not in _ABOUT):
            yield Use.PASSED

    def method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        """Follow the graph through a method of the tensor, or of the distribution made of it."""
        if name == "backward":
            yield Use.BACKWARD
        elif name in _ENDS and self._cuts(spot, call):
            yield Use.DETACHED
        elif name in ("register_hook", "retain_grad"):
            yield Use.BACKWARD
        elif name not in _ABOUT:
            yield from self._result(spot, call, name)

    def _cuts(self, spot: Spot, call: ast.Call) -> bool:
        """Whether a method that ends a graph does so here; a class may draw a ``sample`` that gradients go through."""
        return not self.ground.graph.sure(call) or self.graphed(spot.facts, call) is False

    def _result(self, spot: Spot, call: ast.Call, name: str) -> Next:
        """The result of an operation; of those that also give positions the first part."""
        for after in self.operation(spot, call):
            paired = name in _PAIRS and self._kind(spot, call) is Kind.TUPLE
            yield replace(after, path=(0,)) if paired and isinstance(after, Spot) else after

    def given(self, spot: Spot, call: ast.Call, method: str) -> Next | None:
        """Follow the graph as an argument of a method of another tensor, a module or a distribution."""
        assert isinstance(call.func, ast.Attribute)
        kind = self._kind(spot, call.func.value)
        if method in ("backward", "manual_backward"):
            return iter((Use.BACKWARD,))
        if method == "scale" and kind not in (Kind.TENSOR, Kind.NDARRAY):
            return self.operation(spot, call)
        if kind in (Kind.TENSOR, Kind.DISTRIBUTION):
            return iter((Use.DETACHED,)) if method in _ENDS else self._changing(spot, call, call.func)
        if kind is Kind.MODULE or (method == "apply" and self._is_operation(spot, call.func.value)):
            return self.operation(spot, call)
        if kind in (Kind.NDARRAY, Kind.SCALAR, Kind.NUMBER) or gathers(method, call):
            return iter((Use.DETACHED,))
        return None

    def _is_operation(self, spot: Spot, node: ast.expr) -> bool:
        """Whether a node is a class of a program's own operations with gradients."""
        name = self.ground.project.qualified(spot.facts, node)
        return name is not None and not DIFFERENTIABLE.isdisjoint(self.ground.project.ancestry(name))

    def _changing(self, spot: Spot, call: ast.Call, func: ast.Attribute) -> Next:
        """An operation with another tensor, which it may change in place."""
        for after in self.operation(spot, call):
            yield after
            if isinstance(after, Spot) and func.attr.endswith("_") and not func.attr.endswith("__"):
                if not (isinstance(func.value, ast.Attribute) and func.value.attr == "data"):
                    yield spot.inside(func.value)

    def stepped(self, spot: Spot, call: ast.Call) -> Next:
        """Follow the graph into what a step computes with tensors: in the project, or in an unknown simulator."""
        if self.quiet(spot, call):
            return
        functions = self.ground.graph.sure(call)
        for function in functions:
            for result in function.results:
                parts = enumerate(result.elts) if isinstance(result, ast.Tuple) else ()
                yield from (spot.at(call, place) for place, part in parts if self.graphed(function.file, part))
        unknown = isinstance(call.func, ast.Attribute) and self._kind(spot, call.func.value) is not Kind.ENV
        if unknown and not functions and self.differentiated(spot.facts, call):
            yield spot.at(call)

    def summary(self, _spot: Spot, _call: ast.Call, _function: Scope) -> Next | None:
        """Return ``None``: graphs are followed into every function."""
        return None

    def handed_back(self, function: Scope, calls: Next) -> Next:
        """Follow the graph to all calls; of what a closure returns the end is open, it may be differentiated there."""
        yield from calls
        if self.ground.is_closure(function):
            yield Use.RETURNED

    def stored(self, spot: Spot, target: ast.Subscript) -> Next | None:
        """Follow the graph into a tensor that it is written to; an array keeps no graph, nor do whole numbers."""
        value = self.ground.values.of(spot.facts, target.value)
        kind = value.kind
        if kind is Kind.NDARRAY or (kind is Kind.TENSOR and is_counting(value.dtype)):
            return iter((Use.DETACHED,))
        if kind is not Kind.TENSOR:
            return None
        return (
            spot.inside(target.value) if isinstance(after, Spot) else after for after in self.operation(spot, target)
        )

    def library(self, spot: Spot, call: ast.Call, name: str) -> Next | None:
        """Follow the value as an argument of a library function."""
        head, _, last = name.partition(".")
        if head == "builtins":
            return self._builtin(spot, call, last)
        last = name.rpartition(".")[2]
        if name in _CONTAINERS:
            return iter((spot.same(call),))
        if name in _EXCHANGED:
            return iter((Use.DETACHED,))
        if name.startswith("torch.autograd."):
            return iter((Use.BACKWARD,))
        if head in ("torch", "einops", "tensordict", "torchrl", "torchvision", "functorch"):
            if last in _ENDS:
                return iter((Use.DETACHED,))
            if self.proves and last in _MAKES:
                return iter(())
            return iter(()) if last in _ABOUT else self._result(spot, call, last)
        if (elements := drawn(spot, call, name)) is not None:
            return elements
        return iter((Use.DETACHED,)) if head in ("numpy", "math", "scipy", "random", "time") else None

    def _builtin(self, spot: Spot, call: ast.Call, last: str) -> Next | None:
        if last in ("float", "int", "bool", "len", "range", "str", "repr", "format", "any", "all", "round"):
            return iter((Use.DETACHED,))
        if last in ("isinstance", "type", "hasattr", "callable", "id"):
            return iter(())
        if last in _SAME:
            return iter((spot.same(call),))
        if last in _FOLDED:
            if spot.path:
                return self.operation(spot, call) if not isinstance(spot.path[0], str) else iter(())
            return self.operation(spot, call)
        return folded(spot, call, last)


_PAIRED = frozenset(
    {"T", "mT", "H", "mH", "real", "imag", "mean", "mode", "loc", "scale", "logits", "probs", "stddev", "variance"}
)
