"""The arms of a function that one of its calls leaves out, by what it passes: ``net(obs, with_grad=False)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import Caller
from torchlint.facts.code.jumps import leaves
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.values.chosen import Choice, choices
from torchlint.facts.values.tested import comes_by, is_before
from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.facts.values.values import Values


class Untaken(NamedTuple):
    """What a call does not run of a function, and the statements of the arms that it runs in their place.

    Also the flags of guards that it switches off: ``with set_grad_enabled(train)``.
    """

    nodes: frozenset[ast.AST] = frozenset()
    taken: frozenset[ast.AST] = frozenset()

    def holds(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether a node is in what the call does not run."""
        return node in self.nodes or any(above in self.nodes for above in facts.ancestors(node))

    def bindings(self, project: Project, facts: FileFacts, node: ast.Name) -> Sequence[Binding]:
        """Return the bindings that a read of a name may see in the call."""
        return self.seen(facts, node, project.reaching(facts, node).bindings)

    def seen(self, facts: FileFacts, node: ast.AST, bindings: Sequence[Binding]) -> Sequence[Binding]:
        """Return the bindings of a name that a read of it may see in the call, all of them where none is left."""
        run = [each for each in bindings if not self.holds(facts, each.stmt)]
        for last in [each for each in run if each.stmt in self.taken and each.how is Bind.ASSIGN]:
            choice = facts.parent[last.stmt]
            if isinstance(choice, ast.stmt) and comes_by(facts, choice, node):
                run = [each for each in run if each is last or not is_before(each, choice)]
        return run or bindings


ALL_RUN = Untaken()


class _Arm(NamedTuple):
    """What runs only where a test of a parameter has a truth value, and the statements of the other arm."""

    choice: Choice
    nodes: Sequence[ast.AST]
    other: Sequence[ast.stmt]


@dataclass(eq=False, slots=True)
class UntakenArms(Fact):
    """Answers which arms of a function a call leaves out, with a memory."""

    project: Project
    _arms: dict[Scope, list[_Arm]] = field(default_factory=dict)

    def of(self, function: Scope, caller: Caller | None, values: Values | None) -> Untaken:
        """Return what a call does not run of a function that it reaches; without values by its literals alone."""
        if function not in self._arms:
            self._arms[function] = list(self._chosen(function))
        arms = self._arms[function] if caller is not None else ()
        left = [arm for arm in arms if caller is not None and not arm.choice.allows(caller, values)]
        if not left:
            return ALL_RUN
        taken = (node for arm in left for node in arm.other)
        return Untaken(frozenset(node for arm in left for node in arm.nodes), frozenset(taken))

    def _chosen(self, function: Scope) -> Iterator[_Arm]:
        """The arms of a function that tests of its parameters choose."""
        facts = function.file
        for node in walk(function.node):
            if not isinstance(node, (ast.If, ast.IfExp, ast.withitem)) or facts.scope_of(node).function is not function:
                continue
            if isinstance(node, ast.withitem):
                yield from self._switched(facts, node.context_expr)
                continue
            for truth in (True, False):
                arm, other = _arms(facts, node, truth)
                for choice in choices(self.project, facts, node.test, truth):
                    yield _Arm(choice, arm, other)

    def _switched(self, facts: FileFacts, guard: ast.expr) -> Iterator[_Arm]:
        """The flag of a guard that a parameter switches off: ``with set_grad_enabled(train)``."""
        match guard:
            case ast.Call(args=[flag], keywords=[]):
                for choice in choices(self.project, facts, flag, truth=True):
                    yield _Arm(choice, [flag], ())


def _arms(facts: FileFacts, node: ast.If | ast.IfExp, truth: bool) -> tuple[Sequence[ast.AST], Sequence[ast.stmt]]:
    """What runs only where a test has a truth value, with what the other arm keeps from running, and that arm."""
    if isinstance(node, ast.IfExp):
        return [node.body if truth else node.orelse], ()
    arm, other = (node.body, node.orelse) if truth else (node.orelse, node.body)
    block, place = facts.places[node]
    return [*arm, *(block[place + 1 :] if leaves(other) else ())], other
