"""Who holds what was compiled: followed from the compilation on, through names, attributes, arguments and returns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import LOOPS, FileFacts
from torchlint.facts.code.tree import unpacked_to
from torchlint.facts.compiling.compiled import Compilation
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.uses import Uses
from torchlint.facts.values.torch_objects import KEEPING
from torchlint.late import dataclass

Held = tuple[FileFacts, ast.expr]


@dataclass(eq=False, slots=True)
class Holders(Fact):
    """Finds the expressions that stand for an object."""

    uses: Uses
    _flow: ValueFlow[None] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=None)

    def of(self, facts: FileFacts, node: ast.expr) -> list[Held]:
        """Return all expressions known to give what an expression gives, itself first."""
        return self._all([(facts, node)])

    def of_compiled(self, compilation: Compilation) -> list[Held]:
        """Return all expressions known to give what a compilation compiled; none under a decorator."""
        if compilation.given is None:
            return []
        held = self.of if compilation.holds else self.of_same
        return held(compilation.facts, compilation.place if compilation.holds else compilation.given)

    def kept(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the value of an expression is stored in an attribute or a container, also through an alias."""
        for where, held in self.of(facts, node):
            above = where.parent.get(held)
            targets = above.targets if isinstance(above, ast.Assign) and above.value is held else ()
            if any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets):
                return True
        return False

    def of_same(self, facts: FileFacts, node: ast.expr) -> list[Held]:
        """Return all expressions known to be what a name or attribute holds, read after the statement that sets it."""
        project, stmt = self.uses.values.project, facts.statement(node) or facts.tree
        stmts = [each.stmt for each in project.reaching(facts, node).bindings] if isinstance(node, ast.Name) else [stmt]
        spots = (spot for each in stmts for spot in self._stored(facts, each, node))
        return self._all((spot.facts, spot.node) for spot in spots)

    def _all(self, starts: Iterable[Held]) -> list[Held]:
        """The expressions that values come to: those at which they start, then the others in the order of the text."""
        found = [*starts]
        spots = [spot for start in found for spot in self._flow.trace(Spot(*start)).before]
        spots.sort(key=lambda spot: (spot.facts.path, spot.node.lineno, spot.node.col_offset))
        return list(dict.fromkeys((*found, *((spot.facts, spot.node) for spot in spots))))

    def _step(self, spot: Spot) -> Iterator[Spot | None]:
        """Where the object is found next, from one expression that gives it."""
        facts, node = spot.facts, spot.node
        match facts.parent.get(node):
            case ast.Attribute(attr=attr) as func if attr in KEEPING:
                call = facts.parent.get(func)
                if isinstance(call, ast.Call) and call.func is func:
                    yield spot.same(call, Label.RECEIVER)
            case ast.Assign() | ast.AnnAssign() as stmt:
                for target in unpacked_to(stmt, node):
                    yield from self._stored(facts, stmt, target)
            case _:
                yield from self.uses.of(spot)

    def _stored(self, facts: FileFacts, stmt: ast.AST, target: ast.expr) -> Iterator[Spot]:
        """The places that read what was stored, after it was; of an object of no known class those of its function."""
        found = list(self.uses.stored(facts, stmt, target))
        if not found and isinstance(target, ast.Attribute) and not self.uses.values.of(facts, target.value).name:
            for where, read in self.uses.mentions.of_field(facts, "", target.attr):
                same = where is facts and facts.scope_of(read).function is facts.scope_of(target).function
                if same and alike(read, target):
                    found.append(Spot(where, read, label=Label.FIELD))
        return (use for use in found if use.label is Label.COPY or not is_before(facts, use.node, stmt))


def is_before(facts: FileFacts, node: ast.expr, stmt: ast.AST) -> bool:
    """Return whether an expression runs before a statement of the same function, which no loop runs again."""
    function = facts.scope_of(stmt).function
    if facts.parent.get(node) is None or facts.scope_of(node).function is not function:
        return False
    if any(isinstance(above, LOOPS) for above in _up_to(facts, stmt, function.node)):
        return False
    row = getattr(stmt, "lineno", 0)
    return node.lineno < row or any(above is stmt for above in facts.ancestors(node))


def _up_to(facts: FileFacts, node: ast.AST, top: ast.AST) -> Iterator[ast.AST]:
    """What a node is in, below another node."""
    for above in facts.ancestors(node):
        if above is top:
            return
        yield above
