"""Tensors that a loop fills with numbers, one element after the other."""

from __future__ import annotations

import ast

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.code.tree import is_number
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_NUMBERS = frozenset({Kind.NUMBER, Kind.SCALAR, Kind.ITEM})
_MADE = function_names("torch", makes="filled")


@dataclass(eq=False, slots=True)
class Filling(Fact):
    """Answers what a loop fills."""

    values: Values

    def filled(self, facts: FileFacts, loop: ast.For) -> str | None:
        """Return the name of a new one-dimensional tensor that a loop fills with numbers, or ``None``.

        ``for i, x in enumerate(xs): t[i] = f(x)`` in the function that makes the tensor, which the loop never reads.
        """
        counts = set(self._counts(facts, loop))
        for stmt in loop.body:
            target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
            if not isinstance(stmt, ast.Assign) or not isinstance(target, ast.Subscript):
                continue
            base, place = target.value, target.slice
            if isinstance(base, ast.Name) and isinstance(place, ast.Name) and place.id in counts:
                number = self.values.of(facts, stmt.value).kind in _NUMBERS
                if number and self._made_flat(facts, base) and not _is_read(loop, base.id, target):
                    return base.id
        return None

    def _counts(self, facts: FileFacts, loop: ast.For) -> list[str]:
        """The names of a loop that count its rounds."""
        over, target = loop.iter, loop.target
        name = self.values.project.qualified(facts, over.func) if isinstance(over, ast.Call) else None
        if name == "builtins.range" and isinstance(target, ast.Name):
            return [target.id]
        if name == "builtins.enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
            return [target.elts[0].id]
        return []

    def _made_flat(self, facts: FileFacts, base: ast.Name) -> bool:
        """Whether a name holds a new tensor of one dimension, or of a column."""
        made = self.values.project.reaching(facts, base).value
        if not isinstance(made, ast.Call) or self.values.project.qualified(facts, made.func) not in _MADE:
            return False
        value = self.values.of(facts, base)
        column = isinstance(made.args[0], ast.Tuple) and is_number(made.args[0].elts[-1], 1) if made.args else False
        return value.kind is Kind.TENSOR and (value.rank == 1 or (value.rank == 2 and column))


def _is_read(loop: ast.For, name: str, target: ast.Subscript) -> bool:
    """Whether a loop mentions a name besides storing into it."""
    return any(
        isinstance(part, ast.Name) and part.id == name and part is not target.value for part in nodes_of(loop.body)
    )


def filled(site: Site) -> str | None:
    """Return the one-dimensional tensor that a ``for`` fills with numbers one by one, else ``None``."""
    return site.fact(Filling).filled(site.file, site.twin) if isinstance(site.twin, ast.For) else None
