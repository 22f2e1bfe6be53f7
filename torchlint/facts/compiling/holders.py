"""Who holds what was compiled: followed from the compilation on, through names, attributes, arguments and returns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.origins import SAME
from torchlint.facts.code.alike import alike
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions, holder_of
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.compiling.compiled import Compilation
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind

Held = tuple[FileFacts, ast.expr]


@dataclass(eq=False, slots=True)
class Holders(Fact):
    """Finds the expressions that stand for an object."""

    graph: CallGraph
    values: Values
    mentions: Mentions
    _flow: ValueFlow[None] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._further, lost=None)

    def of(self, facts: FileFacts, node: ast.expr) -> list[Held]:
        """All expressions known to give what an expression gives, itself first."""
        return self._all([(facts, node)])

    def of_compiled(self, compilation: Compilation) -> list[Held]:
        """All expressions known to give what a compilation compiled; none under a decorator."""
        if compilation.given is None:
            return []
        held = self.of if compilation.holds else self.of_same
        return held(compilation.facts, compilation.place if compilation.holds else compilation.given)

    def kept(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether what an expression gives is stored in an attribute or a container, at once or by another name."""
        for where, held in self.of(facts, node):
            above = where.parent.get(held)
            targets = above.targets if isinstance(above, ast.Assign) and above.value is held else ()
            if any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets):
                return True
        return False

    def of_same(self, facts: FileFacts, node: ast.expr) -> list[Held]:
        """All expressions known to give what a name or attribute holds, read after the statement that holds it."""
        stmt = facts.statement(node) or facts.tree
        if isinstance(node, ast.Name):
            bound = self.values.project.reaching(facts, node).bindings
            return self._all([(facts, read) for each in bound for read in self._read(facts, node.id, each.stmt)])
        return self._all(self._stored(facts, stmt, node))

    def _read(self, facts: FileFacts, name: str, stmt: ast.AST) -> Iterator[ast.Name]:
        return self.mentions.of_binding(facts, name, stmt)

    def _all(self, starts: Iterable[Held]) -> list[Held]:
        """The expressions that values come to: those at which they start, then the others in the order of the text."""
        found = [*starts]
        spots = [spot for start in found for spot in self._flow.trace(Spot(*start)).before]
        spots.sort(key=lambda spot: (spot.facts.path, spot.node.lineno, spot.node.col_offset))
        return list(dict.fromkeys((*found, *((spot.facts, spot.node) for spot in spots))))

    def _further(self, spot: Spot) -> Iterator[Spot | None]:
        return (spot.elsewhere(*place, Label.COPY) for place in self._next(spot.facts, spot.node))

    def _next(self, facts: FileFacts, node: ast.expr) -> Iterator[Held]:
        """Where the object is found next, from one expression that gives it."""
        above = facts.parent.get(node)
        match above:
            case ast.Assign(value=value) if value is node:
                for target in above.targets:
                    yield from self._stored(facts, above, target)
            case ast.AnnAssign(value=value) if value is node:
                yield from self._stored(facts, above, above.target)
            case ast.IfExp(test=test) if test is not node:
                yield facts, above
            case ast.NamedExpr():
                yield facts, above
                yield from self._stored(facts, above, above.target)
            case ast.Return():
                yield from self._given_to(facts.scope_of(above).function)
            case ast.Lambda(body=body) if body is node:
                yield from self._given_to(facts.scope_of(node).function)
                call = facts.parent.get(above)
                if isinstance(call, ast.Call) and call.func is above:
                    yield facts, call
            case ast.Attribute(attr=attr) if attr in SAME:
                call = facts.parent.get(above)
                if isinstance(call, ast.Call) and call.func is above:
                    yield facts, call
            case ast.Call() if above.func is not node:
                yield from self._handed(above, node)
            case ast.keyword():
                call = facts.parent.get(above)
                if isinstance(call, ast.Call):
                    yield from self._handed(call, node)

    def _given_to(self, function: Scope) -> Iterator[Held]:
        """The calls that get what a function returns."""
        for caller in self.graph.callers.get(function, ()):
            if caller.call not in self.graph.weak:
                yield caller.facts, caller.call

    def _stored(self, facts: FileFacts, stmt: ast.AST, target: ast.expr) -> Iterator[Held]:
        """The places that read what was stored."""
        if isinstance(target, ast.Name):
            yield from ((facts, read) for read in self.mentions.of_binding(facts, target.id, stmt))
        elif isinstance(target, ast.Attribute):
            owner = self.values.of(facts, target.value)
            if owner.kind in (Kind.INSTANCE, Kind.MODULE) and owner.name:
                for where, read in self.mentions.of_field(facts, owner.name, target.attr):
                    if self.values.of(where, holder_of(read)).known and not is_before(facts, read, stmt):
                        yield where, read
            else:
                yield from self._of_name(facts, stmt, target)

    def _of_name(self, facts: FileFacts, stmt: ast.AST, target: ast.Attribute) -> Iterator[Held]:
        """``model.policy`` in the same function, of a ``model`` whose class is not known."""
        for where, read in self.mentions.of_field(facts, "", target.attr):
            same = where is facts and facts.scope_of(read).function is facts.scope_of(target).function
            if same and alike(read, target) and not is_before(facts, read, stmt):
                yield where, read

    def _handed(self, call: ast.Call, node: ast.expr) -> Iterator[Held]:
        """The parameter of a project function that gets it as an argument."""
        for function, name in self.graph.taking(call, node):
            yield from ((function.file, read) for read in self._read(function.file, name, function.node))


def is_before(facts: FileFacts, node: ast.expr, stmt: ast.AST) -> bool:
    """Whether an expression runs before a statement of the same function, which no loop runs again."""
    function = facts.scope_of(stmt).function
    if facts.parent.get(node) is None or facts.scope_of(node).function is not function:
        return False
    if any(isinstance(above, LOOPS) for above in _up_to(facts, stmt, function.node)):
        return False
    row = getattr(stmt, "lineno", 0)
    return node.lineno < row or any(above is stmt for above in facts.ancestors(node))


def _up_to(facts: FileFacts, node: ast.AST, top: ast.AST) -> Iterator[ast.AST]:
    """What a node stands in, below another node."""
    for above in facts.ancestors(node):
        if above is top:
            return
        yield above
