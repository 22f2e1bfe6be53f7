"""What a loop that steps an environment does for each step: ask a policy for one action, run a gradient update."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.closure import reached
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.nesting import LoopNode, around, inside, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.guards import Guards
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Kind

_ONE = regex(r"(train_|training_)?env(ironment)?$")
_MANY = regex(r"(vec|vector|envs|async|parallel|sync|batch|pool)", re.IGNORECASE)
_SEVERAL = regex(r"(^|_|\.)actions$")
_DEPTH = 4


@dataclass(eq=False, slots=True)
class Pacing(Fact):
    """Answers what goes with each step of an environment."""

    project: Project
    graph: CallGraph
    values: Values
    autograd: Autograd
    guards: Guards

    def alone(self, facts: FileFacts, step: ast.Call) -> bool:
        """Return whether a call in a loop steps one environment, with an action that a network chose in that round."""
        loop = next(iter(around(facts, step)), None)
        if loop is None or not isinstance(step.func, ast.Attribute) or not step.args:
            return False
        if not self._is_one(facts, step.func.value) or _SEVERAL.search(dotted(step.args[0])):
            return False
        body = set(nodes_of(inside(loop)))
        acting = list(self._made_by(facts, step.args[0], body))
        if not any(self._asks_network(facts, call) for call in acting):
            return False
        return self._keeps(body, step, {step, *acting}, facts)

    def _keeps(self, body: set[ast.AST], step: ast.Call, acting: set[ast.Call], facts: FileFacts) -> bool:
        """Whether the observation that a step gives goes elsewhere than to the next action: it is learned from."""
        whole = facts.statement(step)
        target = whole.targets[0] if isinstance(whole, ast.Assign) else None
        seen = target.elts[0] if isinstance(target, (ast.Tuple, ast.List)) and target.elts else target
        names = _names(seen) if seen is not None else set()
        if isinstance(whole, ast.Assign) and isinstance(seen, ast.Subscript):
            return True
        names |= {
            target.id
            for part in body
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Name) and part.value.id in names
            for target in part.targets
            if isinstance(target, ast.Name)
        }
        within = {part for call in acting for part in walk(call)}
        return any(
            isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Load)
            and part.id in names
            and part not in within
            and _is_handed_on(facts, part)
            for part in body
        )

    def _is_one(self, facts: FileFacts, env: ast.expr) -> bool:
        """Whether an expression is one environment: made by name, or called so and nothing says otherwise."""
        value, last = self.values.of(facts, env), dotted(env).rpartition(".")[2]
        if (
            _MANY.search(last)
            or _MANY.search(value.name)
            or any(_MANY.search(base) for base in self.project.ancestry(value.name))
        ):
            return False
        return value.kind is Kind.ENV or (not value.known and bool(_ONE.match(last)))

    def _made_by(self, facts: FileFacts, node: ast.expr, body: set[ast.AST]) -> Iterator[ast.Call]:
        """The calls that an expression is computed with in the same round, through names."""

        def bound(part: ast.expr) -> Iterator[ast.expr]:
            for name in walk(part):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
                    bindings = self.project.reaching(facts, name).bindings
                    yield from (each.value for each in bindings if each.stmt in body and each.value is not None)

        parts = (part for value in reached([node], bound) for part in walk(value))
        return (part for part in parts if isinstance(part, ast.Call))

    def _asks_network(self, facts: FileFacts, call: ast.Call) -> bool:
        return self.autograd.runs(facts, call) or self.autograd.reach_module(self.graph.callees.get(call, ()))

    # updates --------------------------------------------------------------------------------------------------------

    def updated(self, facts: FileFacts, step: ast.Call) -> ast.Call | None:
        """Return the call in a loop around a step that runs a gradient update in each round, not on that step alone.

        ``None`` where updates are due at intervals, come in runs of several, or learn from the step just made.
        """
        loop = next(iter(around(facts, step)), None)
        if loop is None or not isinstance(loop, (ast.For, ast.While)):
            return None
        fresh = _fresh(loop, step)
        calls = [part for part in nodes_of(inside(loop)) if isinstance(part, ast.Call)]
        for call in sorted(calls, key=lambda part: (part.lineno, part.col_offset)):
            if (
                call is step
                or next(iter(around(facts, call)), None) is not loop
                or not self._is_each_time(facts, call, loop)
            ):
                continue
            if self._updates(facts, call, _DEPTH) and not fresh & _names(call):
                return call
        return None

    def _updates(self, facts: FileFacts, call: ast.Call, depth: int) -> bool:
        """Whether a call runs a gradient update whenever it is made."""
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "step":
            return self.values.of(facts, func.value).kind is Kind.OPTIMIZER
        targets = self.graph.callees.get(call, ())
        return depth > 0 and bool(targets) and all(self._always(target, depth) for target in targets)

    def _always(self, function: Scope, depth: int) -> bool:
        """Whether a function runs a gradient update on the way through it: not in a branch that is seldom taken."""
        return self.autograd.updates(function) and any(
            self._updates(function.file, call, depth - 1)
            for call in function.calls
            if self._is_each_time(function.file, call, function.node) and not list(around(function.file, call))
        )

    def _is_each_time(self, facts: FileFacts, node: ast.AST, top: ast.AST) -> bool:
        """Whether no condition between a node and what holds it is known to be true seldom."""
        for child, above in facts.climb(node):
            if above is top:
                return True
            if isinstance(above, ast.If) and (child in above.orelse or not self._is_open(facts, above)):
                return False
        return False

    def _is_open(self, facts: FileFacts, branch: ast.If) -> bool:
        """Whether a condition, once true, stays so: a warm-up, not an interval or a full buffer."""
        exact = any(
            isinstance(part, ast.Compare) and any(isinstance(op, (ast.Eq, ast.NotEq)) for op in part.ops)
            for part in walk(branch.test)
        )
        return not exact and self.guards.bound(branch.test, facts) is None


def _fresh(loop: LoopNode, step: ast.Call) -> set[str]:
    """The names that hold what a step gave, in the same round."""
    stmts = [part for part in nodes_of(inside(loop)) if isinstance(part, ast.Assign)]
    found: set[str] = set()
    while True:
        before = len(found)
        for stmt in stmts:
            if found & _names(stmt.value) or step in walk(stmt.value):
                found.update(name for target in stmt.targets for name in _names(target))
        if len(found) == before:
            return found


def _is_handed_on(facts: FileFacts, name: ast.Name) -> bool:
    """Whether a name is an argument of a call, or is put into a container."""
    for child, above in facts.climb(name):
        if isinstance(above, ast.Call) and child is not above.func:
            return True
        if not isinstance(above, ast.expr):
            return isinstance(above, ast.Assign) and any(isinstance(target, ast.Subscript) for target in above.targets)
    return False


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name) and part.id != "self"}
