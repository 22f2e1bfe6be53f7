"""The calls that choose a branch: how often code runs that not every call of its function comes to."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.facts.code.callers import Caller
from torchlint.facts.code.exporting import exported
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.values.chosen import Choice
from torchlint.late import dataclass
from torchlint.rule import Frequency

if TYPE_CHECKING:
    from torchlint.facts.hotness.hotness import Heat
    from torchlint.facts.hotness.places import Local


@dataclass(frozen=True, slots=True)
class Arrival:
    """A place that runs a function with what leads to some of its code; who runs the place chooses ``handed``."""

    facts: FileFacts
    node: ast.AST
    handed: tuple[Choice, ...] = ()


@dataclass(eq=False, slots=True)
class Choosing:
    """Answers which places run a function so that they come to a node of it, and how often these do.

    ``cuts`` counts the questions that led back to themselves: what was answered meanwhile may lack what is being asked.
    """

    heat: Heat
    _known: dict[Arrival, Frequency] = field(default_factory=dict)
    _ways: dict[tuple[Scope, tuple[Choice, ...], bool], list[Arrival] | None] = field(default_factory=dict)
    _asked: set[Scope] = field(default_factory=set)
    _settled: bool = False
    cuts: int = 0

    @property
    def idle(self) -> bool:
        """Whether no question is open."""
        return not self._asked

    def settle(self) -> None:
        """Cache answers from here on: hotness no longer spreads."""
        self._settled = True

    def most(self, scope: Scope, local: Local) -> Frequency:
        """Return the highest frequency of calls that enter a function, without those whose constants skip the node."""
        if scope in self._asked:
            self.cuts += 1
            return Frequency.INNER
        entry = self.heat.entry(scope, local)
        if entry is None or (allowed := self.of(scope, local)) is None:
            return Frequency.INNER
        self._asked.add(scope)
        found = max((self.frequency(each) for each in allowed), default=Frequency.ONCE)
        self._asked.discard(scope)
        return found if entry.seed is None else max(found, entry.seed.frequency)

    def frequency(self, way: Arrival) -> Frequency:
        """Return how often a place runs a function with arguments that lead to some of its code."""
        if not way.handed:
            return self.heat.frequency(way.facts, way.node)
        found = self._known.get(way) if self._settled else None
        if found is None:
            cuts = self.cuts
            found = self.heat.handed(way.facts, way.node, way.handed)
            if self._settled and (self.idle or cuts == self.cuts):
                self._known[way] = found
        return found

    def of(self, scope: Scope, local: Local) -> list[Arrival] | None:
        """Return the places that run a function and may come to a node, ``None`` where all may.

        Where none may, constants are settings, which people change, but types are not.
        """
        heat = self.heat
        entry = heat.entry(scope, local)
        if not local.choices or local.root not in (None, scope.node) or local.item is not None:
            return None
        if entry is None or entry.first is not None:
            return None
        key = scope, tuple(local.choices), entry.weak
        if key not in self._ways:
            self._ways[key] = self._found(*key)
        return self._ways[key]

    def _found(self, scope: Scope, choices: tuple[Choice, ...], weak: bool) -> list[Arrival] | None:
        """The same for tests of parameters; ``weak``: calls that only a name links count, too."""
        heat = self.heat
        if any(heat.places.options.maybe_given(scope, choice.name) for choice in choices):
            return None
        callers = [c for c in heat.graph.callers.get(scope, ()) if weak or c.call not in heat.graph.weak]
        allowed = [c for c in callers if all(choice.allows(c, heat.values) for choice in choices)]
        ways = [Arrival(c.facts, c.call, self._handed(choices, c)) for c in allowed]
        if len(allowed) == len(callers) and not any(way.handed for way in ways):
            return None
        typed = any(choice.kind is not None for choice in choices) and not self._is_exported(scope)
        ways += [Arrival(run.facts, run.node) for run in heat.graph.runs.get(scope, ())]
        return ways if ways or typed else None

    def _handed(self, choices: Iterable[Choice], caller: Caller) -> tuple[Choice, ...]:
        """The choices that a caller leaves to its callers, if any of these is known."""
        found = (choice.handed(self.heat.project, caller) for choice in choices)
        return tuple(choice for choice in found if choice is not None)

    def _is_exported(self, scope: Scope) -> bool:
        return exported(self.heat.project, scope.method_of if scope.method_of is not None else scope)
