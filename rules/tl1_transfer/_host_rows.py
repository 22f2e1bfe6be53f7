"""Tensors of a device that a loop puts into one on the host, each copied there alone: what TL107 asks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.alike import alike
from torchlint.facts.code.closure import reached
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import around
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.finders import Finder
from torchlint.facts.loops.elements import Elements
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Device, Kind
from torchlint.rule.site import Site

_MADE = function_names("torch", makes="filled")
_LIKE = function_names("torch", makes="like")
_PLACING = method_names(moves=True)
_HOLDING = frozenset({Kind.TENSOR, Kind.DISTRIBUTION, Kind.TUPLE})  # a tuple as `max(dim=0)` gives: `.values`
_PLACED = frozenset({"device", "pin_memory"})


@dataclass(eq=False, slots=True)
class HostRows(Finder):
    """Finds where a loop fills a tensor of the host with tensors that a network gave on a device."""

    project: Project
    values: Values
    autograd: Autograd
    elements: Elements
    sources: Sources
    _flow: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=False)

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts that are assigned to."""
        return (node for node in file.subscripts if isinstance(node.ctx, ast.Store) and wanted(node))

    def fills(self, facts: FileFacts, place: ast.Subscript) -> bool:
        """Return whether the rounds of a loop fill a new tensor of the host, each with a tensor of a device."""
        stmt = facts.parent.get(place)
        if not isinstance(stmt, ast.Assign) or not isinstance(place.value, ast.Name):
            return False
        parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
        return (
            any(self.elements.counted(facts, place.value, part) for part in parts)
            and self._is_on_host(facts, place.value)
            and self._is_away(facts, stmt.value)
            and not self._meets(facts, place.value)
        )

    def lies_there(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether all that is known to give a value are networks and tensors of a device."""
        return set(self._flow.ends(facts, node)) == {True}

    def copied(self, facts: FileFacts, moved: ast.expr) -> str | None:
        """Return the tensor that a loop fills so and moves to a device in each round, of a move of it; else ``None``.

        A move of all of it, or of all up to some row or column, also under another name: ``seen = tokens[:, :n]``.
        """
        loop = next(around(facts, moved), None)
        if loop is None:
            return None
        for name in self._wholes(facts, moved):
            places = (each for each in facts.subscripts if isinstance(each.ctx, ast.Store) and alike(each.value, name))
            if any(loop in around(facts, place) and self.fills(facts, place) for place in places):
                return name.id
        return None

    def _wholes(self, facts: FileFacts, node: ast.expr) -> Iterator[ast.Name]:
        """The names of what an expression is the whole or the first part of."""

        def wider(part: ast.expr) -> Iterator[ast.expr]:
            if isinstance(part, ast.Name):
                yield from self.project.reaching(facts, part).operands
            elif isinstance(part, ast.Subscript) and _begins(part):
                yield part.value

        return (part for part in reached([node], wider) if isinstance(part, ast.Name))

    def _is_on_host(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a name holds a tensor that its function makes on the host, without saying that it shall lie there."""
        value, binding = self.values.of(facts, name), self.project.reaching(facts, name).only
        if value.kind is not Kind.TENSOR or value.device is not Device.CPU:
            return False
        if binding is None or binding.how is not Bind.ASSIGN or binding.path or binding.value is None:
            return False
        calls = [part for part in walk(binding.value) if isinstance(part, ast.Call)]
        placed = any(
            (isinstance(call.func, ast.Attribute) and call.func.attr in _PLACING)
            or any(keyword.arg in _PLACED for keyword in call.keywords)
            for call in calls
        )
        return not placed and any(self._makes_on_host(facts, call) for call in calls)

    def _makes_on_host(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call makes a tensor on the host: ``torch.zeros(n)``, ``zeros_like`` of one that lies there so."""
        name = self.project.qualified(facts, call.func)
        like = call.args[0] if name in _LIKE and call.args else None
        return name in _MADE or (isinstance(like, ast.Name) and self._is_on_host(facts, like))

    def _is_away(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is a tensor that a network gave, or that lies on a device."""
        value = self.values.of(facts, node)
        return value.kind is Kind.TENSOR and value.device is not Device.CPU and True in self._flow.ends(facts, node)

    def _meets(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether an operation takes a tensor of the host and one of a network, so that both lie on the host."""
        uses = mentions_of(facts, facts.scope_of(name).function.node, name.id)
        return any(self._is_away(facts, other) for use in uses for other in self._operands(facts, use))

    def _operands(self, facts: FileFacts, name: ast.Name) -> Iterator[ast.expr]:
        """What operations of the same statement take beside a tensor, as far as it is not moved before."""
        for child, parent in facts.climb(name, ast.stmt):
            if isinstance(parent, ast.Attribute) and parent.attr in _PLACING:
                return
            if isinstance(parent, ast.BinOp):
                yield parent.left if parent.right is child else parent.right
            elif isinstance(parent, ast.Call) and parent.func is not child:
                if (self.project.qualified(facts, parent.func) or "").startswith("torch."):
                    yield from (each for each in arguments_of(parent) if each is not child)

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """From a tensor to what it is computed from, and to runs of networks."""
        facts, node = spot.facts, spot.node
        device = Device.UNKNOWN if spot.path else self.values.of(facts, node).device
        if device is not Device.UNKNOWN:
            yield device is not Device.CPU
        elif isinstance(node, ast.Call) and self.autograd.runs(facts, node):
            yield True
        elif isinstance(node, ast.Call) and (self.project.qualified(facts, node.func) or "").startswith("torch."):
            yield from (spot.at(each) for each in arguments_of(node))
        elif (base := self._base(facts, node)) is not None:
            yield spot.at(base)
        else:
            yield from (each for each in self.sources.of(spot) if isinstance(each, Spot))

    def _base(self, facts: FileFacts, node: ast.expr) -> ast.expr | None:
        """The tensor, distribution or named tuple of which an expression is an attribute, or a method's result."""
        func = node.func if isinstance(node, ast.Call) else node
        if not isinstance(func, ast.Attribute):
            return None
        return func.value if self.values.of(facts, func.value).kind in _HOLDING else None


def _begins(node: ast.Subscript) -> bool:
    """Whether a subscript takes all up to some row or column: ``x[:n]``, ``x[:, :n]``."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(isinstance(part, ast.Slice) and part.lower is None for part in parts)


def copied_again(site: Site, node: cst.CSTNode) -> str | None:
    """Return the tensor on the host that a loop fills and moves to a device in each round, of what is moved."""
    twin = site.expression(node)
    return None if twin is None else site.fact(HostRows).copied(site.file, twin)


def lies_there(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is what a network gave, and so lies on its device already."""
    twin = site.expression(node)
    return twin is not None and site.fact(HostRows).lies_there(site.file, twin)


def fills_host(site: Site) -> bool:
    """Return whether a node is the place in a tensor of the host that each round of a loop copies a tensor to."""
    return isinstance(site.twin, ast.Subscript) and site.fact(HostRows).fills(site.file, site.twin)
