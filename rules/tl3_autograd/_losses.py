"""Which values backward() is called on, and through which it runs by another way than the value itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TypeGuard

from torchlint.facts.analyses import Fact
from torchlint.facts.code.closure import reached
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.model import LOOPS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.uses import Uses
from torchlint.facts.flow.flow import Flow
from torchlint.facts.values.signatures import keyword
from torchlint.late import dataclass
from torchlint.rule import Use

_AVERAGING = frozenset({"mean", "sum"})
_MAKING = ("__init__", "__new__", "__post_init__")
_KEPT_ON = frozenset({Use.RETURNED, Use.STORED, Use.PASSED})


@dataclass(eq=False, slots=True)
class Losses(Fact):
    """Answers what backward() is called on, with a memory."""

    project: Project
    flow: Flow
    uses: Uses
    _forward: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._forward = ValueFlow(self._step, lost=False)

    def called_on(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether backward() is called on what a name stands for, here or in a function that it is handed to.

        The sum of such values counts too.
        """
        names = self._names(facts, node, _terms)
        return any(True in self._forward.ends(facts, use) for name in names for use in self._other_uses(facts, name))

    def is_term(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a name is a term of a sum that backward() is called on: ``pg_loss + 0.5 * value_loss``."""
        if not isinstance(node, ast.Name):
            return False
        return any(
            isinstance(read, ast.Name) and self.called_on(facts, read)
            for use in self._other_uses(facts, node)
            for read in self._sums_of(facts, use)
        )

    def given(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a call gives what its function calls backward() on, alone or in a tuple, dict or record.

        Where that keeps the graph (``retain_graph``), someone may run through it again.
        """
        path: tuple[int | str | None, ...] = ()
        if isinstance(node, ast.Name):
            binding = self.project.reaching(facts, node).only
            if binding is None or binding.how is not Bind.ASSIGN or binding.value is None:
                return False
            node, path = binding.value, binding.path
        targets = self.uses.graph.sure(node)
        return bool(targets) and all(self._gives(target, path) for target in targets)

    def _gives(self, function: Scope, path: tuple[int | str | None, ...]) -> bool:
        """Whether a function returns a name that it calls backward() on, at a position or anywhere."""
        again = any(keyword(call, "retain_graph") is not None for call in function.calls)
        if again or not keeps_result(self.project, function):
            return False
        results = [result for result in function.results if not isinstance(result, ast.Constant)]
        return bool(results) and all(
            any(self.called_on(function.file, part) for part in self._held(function.file, result, path))
            for result in results
        )

    def _held(self, facts: FileFacts, node: ast.expr, path: tuple[int | str | None, ...]) -> list[ast.expr]:
        """The names that a result is or holds: in a display, or in a record that keeps what it is given as it is."""
        bound = self.project.reaching(facts, node).only if isinstance(node, ast.Name) else None
        whole = bound is not None and bound.how is Bind.ASSIGN and not bound.path
        made = bound.value if bound is not None and whole else node  # ``stats = Stats(loss=loss)``
        found = [node]
        if isinstance(made, (ast.Tuple, ast.List)):
            found = made.elts
        elif isinstance(made, ast.Dict):
            found = made.values
        elif isinstance(made, ast.Call) and (name := self.project.qualified(facts, made.func)) in self.project.classes:
            alters = any(self.project.implementations(name or "", each) for each in _MAKING)
            found = [] if alters else list(arguments_of(made))
        if path:
            place = path[0] if len(path) == 1 and isinstance(path[0], int) and isinstance(made, ast.Tuple) else None
            found = found[place : place + 1] if place is not None else []
        return [part for part in found if isinstance(part, ast.Name)]

    def _sums_of(self, facts: FileFacts, name: ast.Name) -> Iterator[ast.Name]:
        """The reads of a name that stands for a sum with this term in it, scaled or not."""
        for node, above in facts.climb(name):
            if isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
                continue
            if isinstance(above, ast.Assign) and node is not name and above.value is node:
                for target in (each for each in above.targets if isinstance(each, ast.Name)):
                    yield from self.uses.mentions.of_binding(facts, target.id, above)
            if not isinstance(above, ast.UnaryOp):
                return

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """Follow a value to its mean, through a scaler and into functions; ``True`` where backward() is called."""
        facts, node = spot.facts, spot.node
        above = facts.parent.get(node)
        call = facts.parent.get(above) if isinstance(above, (ast.Attribute, ast.keyword)) else above
        if not isinstance(call, ast.Call):
            return
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method == "backward":
            yield True
        elif method in _AVERAGING if call.func is above else method == "scale":
            yield spot.same(call)
        elif call.func is not above:
            yield from self.uses.taken(call, node, named=True)

    def outlived(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the graph of a name may be a part of what its function returns, stores or hands on."""
        return self._used_for(facts, node, _KEPT_ON)

    def returned(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the graph of a name is a part of what its function returns."""
        return self._used_for(facts, node, frozenset({Use.RETURNED}))

    def _used_for(self, facts: FileFacts, node: ast.expr, ends: frozenset[Use]) -> bool:
        if not isinstance(node, ast.Name):
            return False
        return any(self.flow.graph_uses(facts, other) & ends for other in self._other_uses(facts, node))

    def runs_through(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether ``backward()`` runs through what an expression is made of, on a path around the expression.

        A backward through another result of the call that gave it frees what both were computed from.
        """
        return any(Use.BACKWARD in self.flow.graph_uses(facts, use) for use in self._shared(facts, node))

    def runs_in_round(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether it does so in the round of the innermost loop around the expression, not behind that loop."""
        loop = next((part for part in facts.ancestors(node) if isinstance(part, LOOPS)), None)
        if loop is None:
            return False
        home = facts.scope_of(loop).function
        ways = (self.flow.way(facts, use, (Use.BACKWARD,), graph=True) for use in self._shared(facts, node))
        return any(way and all(_runs_in(spot, loop, home) for spot in way) for way in ways)

    def _shared(self, facts: FileFacts, node: ast.expr) -> Iterator[ast.Name]:
        """The other reads of what an expression is made of, and those of what the same calls gave."""
        names = (name for part in nodes_of([node]) for name in self._names(facts, part, _operands))
        return (use for name in names for use in self._kin(facts, name))

    def _names(
        self, facts: FileFacts, node: ast.AST, parts: Callable[[ast.AST], Iterable[ast.AST]]
    ) -> Iterator[ast.Name]:
        """The names in some parts of an expression, also of the expressions that these names stand for."""

        def inner(part: ast.AST) -> Iterable[ast.AST]:
            if _is_read(part):
                bindings = self.project.reaching(facts, part).bindings
                return [binding.value for binding in bindings if binding.value is not None and not binding.path]
            return parts(part)

        return filter(_is_read, reached([node], inner))

    def _kin(self, facts: FileFacts, name: ast.Name) -> Iterator[ast.Name]:
        """The other reads of what a name stands for, and those of what one call gave beside it."""
        yield from self._other_uses(facts, name)
        for binding in self.project.reaching(facts, name).bindings:
            yield from _beside(facts, binding)

    def _other_uses(self, facts: FileFacts, name: ast.Name) -> Iterator[ast.Name]:
        """The other places that read what a name was assigned where this one reads it."""
        for binding in self.project.reaching(facts, name).bindings:
            if binding.how in (Bind.ASSIGN, Bind.AUGMENT):
                reads = self.uses.mentions.of_binding(facts, name.id, binding.stmt)
                yield from (read for read in reads if read is not name and isinstance(read.ctx, ast.Load))


def _runs_in(spot: Spot, loop: ast.AST, home: Scope) -> bool:
    """Whether a spot is in a loop, or in another function than that loop."""
    return spot.facts.scope_of(spot.node).function is not home or loop in spot.facts.ancestors(spot.node)


def _is_read(node: ast.AST) -> TypeGuard[ast.Name]:
    """Whether a node is a name that is read."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _terms(node: ast.AST) -> list[ast.AST]:
    """The terms of a sum."""
    sums = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
    return [node.left, node.right] if sums and isinstance(node, ast.BinOp) else []


def _operands(node: ast.AST) -> list[ast.AST]:
    """All that arithmetic is made of."""
    return list(nodes_of([node])) if isinstance(node, (ast.BinOp, ast.UnaryOp)) else []


def _beside(facts: FileFacts, binding: Binding) -> Iterator[ast.Name]:
    """The reads of the other names that one call was unpacked into: ``log_prob`` of ``probs, log_prob = net(x)``."""
    stmt = binding.stmt
    if len(binding.path) != 1 or not isinstance(stmt, ast.Assign) or not isinstance(stmt.value, ast.Call):
        return
    others = {part.id for part in walk(stmt.targets[0]) if isinstance(part, ast.Name)} - {binding.target}
    for part in walk(facts.scope_of(stmt).function.node):
        if isinstance(part, ast.Name) and part.id in others and isinstance(part.ctx, ast.Load):
            yield part
