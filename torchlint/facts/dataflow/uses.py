"""The edges of the value-flow graph, walked forward: which expressions have the value of an expression next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions, holder_of
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.tree import unpacked_to
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind


@dataclass(eq=False, slots=True)
class Uses(Fact):
    """Finds where values go as they are, one edge at a time: under names, in attributes, as parameters and results.

    What an operation or a method makes of a value is for the policy that follows it to say.
    """

    graph: CallGraph
    values: Values
    mentions: Mentions

    def of(self, spot: Spot) -> Iterator[Spot]:
        """Yield the expressions that have the value of a spot next, each with the label of the edge."""
        facts, node = spot.facts, spot.node
        parent = facts.parent.get(node)
        match parent:
            case ast.Assign() | ast.AnnAssign() | ast.Tuple():
                yield from self._assigned(spot)
            case ast.NamedExpr(target=target, value=value) if value is node:
                yield spot.same(parent)
                yield from self.stored(facts, parent, target)
            case ast.IfExp(test=test) if test is not node:
                yield spot.same(parent)
            case ast.BoolOp() | ast.Await():
                yield spot.same(parent)
            case ast.Call(func=func) if func is not node:
                yield from self.taken(parent, node)
            case ast.keyword():
                call = facts.parent.get(parent)
                yield from self.taken(call, node) if isinstance(call, ast.Call) else ()
            case ast.Return():
                yield from self._returned(facts.scope_of(parent).function)
            case ast.Lambda(body=body) if body is node:
                yield from self._returned(facts.scope_of(node).function)
                call = facts.parent.get(parent)
                if isinstance(call, ast.Call) and call.func is parent:
                    yield Spot(facts, call, label=Label.RETURN)

    def taken(self, call: ast.Call, node: ast.expr, *, named: bool = False) -> Iterator[Spot]:
        """Yield the reads of the parameters that an argument of a call fills.

        ``named``: also in functions that the call means by the name of a method alone.
        """
        for function, name in self.graph.taking(call, node, named=named):
            for read in self.mentions.of_binding(function.file, name, function.node):
                yield Spot(function.file, read, label=Label.ARGUMENT)

    def stored(self, facts: FileFacts, stmt: ast.AST, target: ast.expr) -> Iterator[Spot]:
        """Yield the reads of what a statement stores: of a name, or of an attribute of objects whose class is known."""
        if isinstance(target, ast.Name):
            yield from (Spot(facts, read) for read in self.mentions.of_binding(facts, target.id, stmt))
        elif isinstance(target, ast.Attribute):
            owner = self.values.of(facts, target.value)
            known = owner.kind in (Kind.INSTANCE, Kind.MODULE) and owner.name
            for where, read in self.mentions.of_field(facts, owner.name, target.attr) if known else ():
                if self.values.of(where, holder_of(read)).known:
                    yield Spot(where, read, label=Label.FIELD)

    def _assigned(self, spot: Spot) -> Iterator[Spot]:
        stmt = spot.facts.statement(spot.node)
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)):
            for target in unpacked_to(stmt, spot.node):
                yield from self.stored(spot.facts, stmt, target)

    def _returned(self, function: Scope) -> Iterator[Spot]:
        """The calls that surely give what a function returns."""
        for caller in self.graph.callers.get(function, ()):
            if caller.call not in self.graph.weak:
                yield Spot(caller.facts, caller.call, label=Label.RETURN)
