"""Whether what a loop collects becomes one tensor or array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts
from torchlint.facts.code.naming import own_mentions
from torchlint.facts.code.nesting import LoopNode, code_of
from torchlint.facts.code.project import Project
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.uses import Uses
from torchlint.late import dataclass
from torchlint.models import function_names, method_names

JOINS = function_names(joins=("parts", "elements"))
"""Functions that make one tensor or array of many."""

_SAME = function_names("builtins", makes="sequence")
_ADDING = method_names("list", adds=True)


@dataclass(eq=False, slots=True)
class Joining(Fact):
    """Finds where collections become one tensor or array, in the function that makes them."""

    project: Project
    uses: Uses
    _flow: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=False)

    def joins(self, facts: FileFacts, node: ast.expr, loop: LoopNode) -> bool:
        """Return whether the collection that a loop puts an expression into is joined."""
        if isinstance(loop, COMPREHENSIONS):
            return True in self._flow.ends(facts, loop)
        collector = _collector(facts, node)
        function = facts.scope_of(loop).function
        names = own_mentions(function, code_of(function), collector.id) if collector is not None else ()
        return any(True in self._flow.ends(facts, name) for name in names if isinstance(name.ctx, ast.Load))

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
            case ast.Tuple() | ast.List() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield spot.same(holder, Label.ITEM)
            case ast.Assign():
                uses = (use for use in self.uses.of(spot) if use.label is Label.COPY)
                yield from (use for use in uses if facts.statement(use.node) is not holder)


def _collector(facts: FileFacts, node: ast.expr) -> ast.Name | None:
    """The name of the list that an expression is appended to, perhaps in a tuple or after further calls."""
    for child, above in facts.climb(node, ast.stmt):
        match above:
            case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method) as func) if func is not child:
                if method in _ADDING:
                    return name
    return None
