"""What the variable of a loop is good for: whether it does nothing but index tensors and arrays."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import code_of
from torchlint.facts.code.tree import walk
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind
from torchlint.rule.site import Site


@dataclass(eq=False, slots=True)
class Indexing(Fact):
    """Answers what the elements of an iterable in a ``for`` head are used for."""

    values: Values

    def only(self, facts: FileFacts, over: ast.expr) -> frozenset[Kind]:
        """Return what the variable of a ``for`` over an expression indexes, if it only indexes tensors and arrays.

        The variable is a name that the function binds and reads nowhere else. Empty: it is used for more, or for less.
        The expression is in the head, or is what the statement right before gives to a name for the head alone.
        """
        loop = _loop_over(facts, over)
        if loop is None or not isinstance(loop.target, ast.Name):
            return frozenset()
        inside = {part for stmt in loop.body for part in walk(stmt)}
        name = loop.target.id
        uses = [
            part
            for part in code_of(facts.scope_of(loop).function)
            if isinstance(part, ast.Name) and part.id == name and part is not loop.target
        ]
        found = frozenset(self._indexed(facts, use) if use in inside else Kind.UNKNOWN for use in uses)
        return found if found <= {Kind.TENSOR, Kind.NDARRAY} else frozenset()

    def _indexed(self, facts: FileFacts, use: ast.Name) -> Kind:
        above = facts.parent.get(use)
        if not isinstance(above, ast.Subscript) or above.slice is not use or not isinstance(above.ctx, ast.Load):
            return Kind.UNKNOWN
        return self.values.of(facts, above.value).kind


def _loop_over(facts: FileFacts, over: ast.expr) -> ast.For | None:
    """The ``for`` that goes over an expression, itself or behind a name that nothing else reads or binds."""
    above = facts.parent.get(over)
    if isinstance(above, ast.For):
        return above if above.iter is over else None
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or not isinstance(above.targets[0], ast.Name):
        return None
    block, index = facts.places[above]
    after = block[index + 1] if index + 1 < len(block) else None
    scope = facts.scope_of(above)
    name = above.targets[0].id
    if not isinstance(after, ast.For) or scope.kind != "function" or name in scope.shared or name in scope.globals:
        return None
    mentions = {part for part in walk(scope.node) if isinstance(part, ast.Name) and part.id == name}
    return after if mentions == {above.targets[0], after.iter} else None


def only_indexes(site: Site, node: cst.CSTNode) -> frozenset[Kind]:
    """Return what the variable of a ``for`` indexes, if it indexes nothing but proven tensors and arrays.

    Empty: the variable is used for more, or not at all.
    """
    twin = site.expression(node)
    return site.fact(Indexing).only(site.file, twin) if twin is not None else frozenset()
