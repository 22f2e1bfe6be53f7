"""Whether a block, or the rest of a function, runs a training or rollout loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.closure import Closure
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.hotness import Heat
from torchlint.late import dataclass
from torchlint.rule import Frequency


@dataclass(eq=False, slots=True)
class Covering(Fact):
    """Follows calls from a block to a loop that steps environments or runs gradient updates."""

    heat: Heat
    _driving: Closure[Scope] = field(init=False)

    def __post_init__(self) -> None:
        self._driving = Closure(self.heat.roots.drivers.__contains__, self.heat.graph.called_by)

    def trains(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether the body of a ``with``, or what follows a node in its function, reaches a training loop."""
        held = facts.parent.get(node)
        block = held if isinstance(held, ast.withitem) else None
        around = facts.parent.get(block) if block is not None else None
        if isinstance(around, (ast.With, ast.AsyncWith)):
            inside = {part for stmt in around.body for part in walk(stmt)}
        else:
            inside = set(self._after(facts, node))
        if any(loop in inside for loop in self.heat.roots.loops):
            return True
        calls = [part for part in inside if isinstance(part, ast.Call)]
        return any(self._reaches_loop(call) or self._hot(facts, call) for call in calls)

    def _after(self, facts: FileFacts, node: ast.AST) -> Iterator[ast.AST]:
        scope = facts.scope_of(node).function
        row = getattr(node, "lineno", 0)
        for part in walk(scope.node):
            if getattr(part, "lineno", 0) > row and facts.scope_of(part).function is scope:
                yield part

    def _hot(self, facts: FileFacts, call: ast.Call) -> bool:
        return self.heat.frequency(facts, call) >= Frequency.UPDATE

    def _reaches_loop(self, call: ast.Call) -> bool:
        """Whether a call comes to a function with a root loop, through known callees."""
        return any(map(self._driving.leads, self.heat.graph.callees.get(call, ())))
