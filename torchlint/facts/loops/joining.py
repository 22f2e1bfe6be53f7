"""Whether what a loop collects becomes one tensor or array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts, Scope
from torchlint.facts.code.naming import own_mentions
from torchlint.facts.code.nesting import LoopNode, code_of, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import names_in, walk
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.uses import Uses
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Kind

JOINS = function_names(joins=("parts", "elements"))
"""Functions that make one tensor or array of many."""

_SAME = function_names("builtins", makes="sequence")
_ADDING = method_names("list", adds=True)


@dataclass(eq=False, slots=True)
class Joining(Fact):
    """Finds where collections become one tensor or array, in the function that makes them or where it returns to."""

    project: Project
    uses: Uses
    _flow: ValueFlow[bool] = field(init=False)
    _padding: dict[tuple[Scope, str], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=False)

    def joins(self, facts: FileFacts, node: ast.expr, loop: LoopNode) -> bool:
        """Return whether the collection that a loop puts an expression into is joined."""
        if isinstance(loop, COMPREHENSIONS):
            return self.joined(facts, loop)
        collector = _collector(facts, node)
        function = facts.scope_of(loop).function
        names = own_mentions(function, code_of(function), collector.id) if collector is not None else ()
        return any(True in self._flow.ends(facts, name) for name in names if isinstance(name.ctx, ast.Load))

    def joined(self, facts: FileFacts, collection: ast.expr) -> bool:
        """Return whether a collection is joined, by itself or under a name."""
        return True in self._flow.ends(facts, collection)

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """From a collection, by itself or under a name, to functions that join it."""
        facts, node = spot.facts, spot.node
        parent = facts.parent.get(node)
        holder = facts.parent.get(parent) if isinstance(parent, ast.keyword) else parent
        match holder:
            case ast.Call(func=func) if func is not node:
                name = self.project.qualified(facts, func)
                if name in JOINS:
                    yield True
                elif name in _SAME:
                    yield spot.same(holder)
                elif any(self._pads(target, taken) for target, taken in self.uses.graph.taking(holder, node)):
                    yield True
            case ast.Return():
                yield from self.uses.of(spot)
            case ast.Subscript(value=value, slice=index) if value is node and not isinstance(index, ast.Constant):
                yield spot.same(holder, Label.ELEMENT)  # each item in turn, or some of them
            case ast.Tuple() if isinstance(facts.parent.get(holder), ast.Return):
                for call in self.uses.of(spot.same(holder)):
                    yield from self._unpacked(call, holder.elts.index(node), len(holder.elts))
            case ast.Tuple() | ast.List() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield spot.same(holder, Label.ITEM)
            case ast.Assign():
                uses = (use for use in self.uses.of(spot) if use.label is Label.COPY)
                yield from (use for use in uses if facts.statement(use.node) is not holder)

    def _unpacked(self, call: Spot, place: int, count: int) -> Iterator[Spot]:
        """The reads of the name that takes one of the values that a call gives: ``rows, total = collect()``."""
        match call.facts.parent.get(call.node):
            case ast.Assign(targets=[ast.Tuple(elts=targets)]) as stmt if len(targets) == count:
                yield from self.uses.stored(call.facts, stmt, targets[place])

    def _pads(self, function: Scope, name: str) -> bool:
        """Return whether a function makes one tensor of the elements of a parameter, which a loop of it pads.

        The loop puts each into a row, or into a list that the function joins; all that the function returns is tensors.
        """
        found = self._padding.get((function, name))
        if found is None:
            facts, results = function.file, list(function.results)
            joins = any(self.project.qualified(facts, call.func) in JOINS for call in function.calls)
            loops = (node for node in walk(function.node) if isinstance(node, ast.For) and _goes_over(node, name))
            found = bool(results) and any(_fills(loop) or (joins and _grows(loop)) for loop in loops)
            found = found and all(self.uses.values.of(facts, each).kind is Kind.TENSOR for each in results)
            self._padding[function, name] = found
        return found


def _goes_over(loop: ast.For, name: str) -> bool:
    """Whether a loop goes over what a name stands for, perhaps with a count: ``for i, row in enumerate(rows)``."""
    over = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1 else loop.iter
    return isinstance(over, ast.Name) and over.id == name


def _fills(loop: ast.For) -> bool:
    """Whether a loop puts an element into a place that it counts: ``padded[i, : len(row)] = row``."""
    if not isinstance(loop.target, ast.Tuple) or not isinstance(loop.target.elts[0], ast.Name):
        return False
    count = loop.target.elts[0].id
    stores = (target for stmt in nodes_of(loop.body) if isinstance(stmt, ast.Assign) for target in stmt.targets)
    return any(isinstance(target, ast.Subscript) and count in names_in(target.slice) for target in stores)


def _grows(loop: ast.For) -> bool:
    """Whether a loop adds elements to a list."""
    calls = (node.func for node in nodes_of(loop.body) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in _ADDING for func in calls)


def _collector(facts: FileFacts, node: ast.expr) -> ast.Name | None:
    """The name of the list that an expression is appended to, perhaps in a tuple or after further calls."""
    for child, above in facts.climb(node, ast.stmt):
        match above:
            case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method) as func) if func is not child:
                if method in _ADDING:
                    return name
    return None
