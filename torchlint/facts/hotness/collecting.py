"""Loops that collect a whole rollout in each round."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.closure import Closure
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.phases import GENERATION, ITERATION, STEP
from torchlint.late import dataclass
from torchlint.rule import Frequency


@dataclass(eq=False, slots=True)
class RolloutLoops(Fact):
    """Answers whether the loop around a statement calls, in each round, code that collects a rollout in a loop.

    Such a loop steps environments, or has a model generate.
    """

    project: Project
    heat: Heat
    _collecting: Closure[Scope] = field(init=False)

    def __post_init__(self) -> None:
        loops = {loop for loop, kinds in self.heat.roots.loops.items() if STEP in kinds} | self.heat.roots.generating
        holding = {
            facts.scope_of(loop).function
            for facts in self.project.files.values()
            for loop in loops
            if loop in facts.parent
        }
        self._collecting = Closure(holding.__contains__, self._surely_called)

    def _surely_called(self, scope: Scope) -> Iterator[Scope]:
        """The functions that a function calls; a call that may mean one of several would lead to any loop."""
        return (meant[0] for call in scope.calls if len(meant := self.heat.graph.sure(call)) == 1)

    def around(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether a node is in a loop that collects a rollout, or has a model generate one, in each round."""
        loop = next((part for part in facts.ancestors(node) if isinstance(part, LOOPS)), None)
        if loop in self.heat.roots.generating:
            return True
        calls = (part for part in walk(loop) if isinstance(part, ast.Call)) if loop is not None else ()
        return any(self._collects(facts, call) for call in calls)

    def generates(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether a node runs in rounds in which a model generates, and in none that steps or updates."""
        phases = self.heat.phases(facts, node)
        return GENERATION in phases and phases <= {ITERATION, GENERATION}

    def _collects(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call runs such code, and not at intervals, as one that evaluates."""
        collecting = any(map(self._collecting.leads, self.heat.graph.sure(call)))
        return collecting and self.heat.frequency(facts, call) >= Frequency.UPDATE
