"""Numbers that a function reads from a tensor a second time: what TL203 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import bound_alike
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts, Scope
from torchlint.facts.code.nesting import OUTSIDE, around, unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Device, Kind
from torchlint.rule.site import Site


@dataclass(eq=False, slots=True)
class ReadAgain(Fact):
    """Answers whether the number of a tensor was read before, by the same function, since the tensor was made."""

    project: Project
    values: Values
    _reads: dict[Scope, dict[str, list[tuple[ast.Call, ast.Name]]]] = field(default_factory=dict)

    def of(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether ``x.item()`` follows another ``x.item()`` of the same ``x``, which surely ran."""
        name = _read(call)
        value = self.values.of(facts, name) if name is not None else None
        if name is None or value is None or value.kind is not Kind.TENSOR or value.device is Device.CPU:
            return False
        function = facts.scope_of(call).function
        found = self._reads.get(function)
        if found is None:
            found = self._reads[function] = _reads_of(function)
        loops = list(around(facts, call))
        return any(
            other is not call
            and bound_alike(self.project, facts, read, name)
            and list(around(facts, other)) == loops
            and _runs_before(facts, other, call)
            for other, read in found.get(name.id, ())
        )


def _read(call: ast.Call) -> ast.Name | None:
    """The name that a call reads the number of."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr="item"), args=[], keywords=[]):
            return name
    return None


def _reads_of(function: Scope) -> dict[str, list[tuple[ast.Call, ast.Name]]]:
    """By name what a function reads of it; nothing of what it changes in place."""
    reads: dict[str, list[tuple[ast.Call, ast.Name]]] = {}
    changed: set[str] = set()
    for call in function.run_calls():
        name = _read(call)
        if name is not None:
            reads.setdefault(name.id, []).append((call, name))
        elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            if call.func.attr.endswith("_"):
                changed.add(call.func.value.id)
    return {name: found for name, found in reads.items() if name not in changed and len(found) > 1}


def _runs_before(facts: FileFacts, one: ast.Call, other: ast.Call) -> bool:
    """Whether a call surely ran where another one runs: in an earlier statement, or as the condition of an element."""
    for child, holder in facts.climb(other, *OUTSIDE):
        if isinstance(holder, COMPREHENSIONS) and not isinstance(child, ast.comprehension):
            if any(one in set(unconditional(test)) for part in holder.generators for test in part.ifs):
                return True
    statement = facts.statement(one)
    if statement is None or one not in set(_surely(statement)):
        return False
    for block, index in facts.blocks(other):
        if statement in block and block.index(statement) < index:
            return True
    return isinstance(statement, (ast.If, ast.While)) and any(
        holder is statement and child is not statement.test for child, holder in facts.climb(other, *OUTSIDE)
    )


def _surely(statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement runs in any case: of a compound one its test."""
    if isinstance(statement, (ast.If, ast.While)):
        return iter(unconditional(statement.test))
    plain = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert))
    return iter(unconditional(statement)) if plain else iter(())


def read_again(site: Site, call: cst.Call) -> bool:
    """Return whether a call reads a number that the function has read before."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(ReadAgain).of(site.file, twin)
