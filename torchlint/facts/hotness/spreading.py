"""Spreads hotness: seeds, what an edge of the call graph carries, and in which order the seeds are taken.

Hotness spreads in strata. What is certain is found first, then what only the name of a method says, and that gives no
function another frequency that a certain path enters. The seeds of a later stratum are guesses about functions that the
earlier ones did not find to be hot. Inside a stratum the order does not matter (``Reached.propagate``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.facts.code.graph import How
from torchlint.facts.code.model import Scope
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.hotness.coldness import SETS_UP
from torchlint.facts.hotness.criteria import is_criterion
from torchlint.facts.hotness.edges import Edge
from torchlint.facts.hotness.entering import Entered, Entry, Seed
from torchlint.facts.hotness.iterations import rolls_out
from torchlint.facts.hotness.observed import LABEL
from torchlint.facts.hotness.phases import ITERATION, STEP, UPDATE
from torchlint.facts.hotness.unseen import called_elsewhere, forwards, lies_idle
from torchlint.rule import Frequency

if TYPE_CHECKING:
    from torchlint.facts.hotness.hotness import Heat


class Spreading:
    """Fills in how often the functions of a project are entered."""

    def __init__(self, heat: Heat) -> None:
        """Sort the edges of the call graph by the function that they leave."""
        self.heat = heat
        self.certain = True
        heat.edges.update(_sorted(heat))

    def spread(self) -> None:
        """Spread hotness from the roots down the call graph to a fixed point."""
        for seeds in (self._known, self._unseen, self._ran):
            self.certain = True
            found = seeds()
            self.heat.seeded += (scope for scope, entered in found.items() if entered.entry is not None)
            visited = self._propagate(found)
            self.certain = False
            self._propagate(dict.fromkeys(visited, Entered()))

    def _propagate(self, seeds: Mapping[Scope, Entered]) -> Sequence[Scope]:
        edges = self.heat.edges
        return self.heat.reached.propagate(seeds, lambda scope: edges.get(scope, ()), self._transfer, Entered.joined)

    # seeds ----------------------------------------------------------------------------------------------------------

    def _known(self) -> dict[Scope, Entered]:
        """Functions that hold a root or are one, that a framework calls, or that are hot by the settings."""
        heat = self.heat
        roots = heat.roots
        found: dict[Scope, Entered] = {}
        for scope, point in roots.protocols.items():
            frequency = heat.observed.held(scope, point.frequency)
            label = ", ".join(filter(None, (f"called by {point.framework}", point.when)))
            seed = Seed(frequency, label, point.when, point.guessed)
            entered = _by_seed(seed, point.kinds)
            if scope.yields:  # the framework draws the items, of which a call gives many
                called = Seed(min(frequency, Frequency.EPISODE), label, point.when, point.guessed)
                entered = replace(_by_seed(called, point.kinds), items=entered.entry)
            found[scope] = entered
        for scope in self._functions():
            if f"{scope.file.module}:{scope.qualname}" in heat.hot or scope.file.marks.get(scope.row) == "hot":
                mark = _by_seed(Seed(Frequency.STEP, "hot by your settings"), frozenset({STEP}))
                found[scope] = replace(found.get(scope, Entered()), entry=None).joined(mark)
        for scope in itertools.filterfalse(heat.live.is_uncalled, roots.rollouts):
            made = _by_seed(Seed(Frequency.EPISODE, "function that generates", guessed=True), frozenset({ITERATION}))
            found[scope] = found.get(scope, Entered()).joined(made)
        for scope, classes in roots.receivers.items():
            for cls, kinds in classes.items():
                rate = Frequency.STEP if STEP in kinds else heat.per_update(scope, scope.node)
                entered = Entered(rates=_rates((heat.rates.noted(scope, cls), rate)))
                found[scope] = found.get(scope, Entered()).joined(entered)
        for scope in self._rooted():
            found.setdefault(scope, Entered())
        return found

    def _rooted(self) -> Iterator[Scope]:
        """The functions that are roots, or hold one or a loop around one."""
        roots = self.heat.roots
        for facts in self.heat.project.files.values():
            for stmt in facts.places:
                if stmt in roots.loops or stmt in roots.episodes:
                    yield facts.scope_of(stmt).function
        yield from roots.functions

    def _unseen(self) -> dict[Scope, Entered]:
        """``forward`` of a module that is built but that no known call reaches: code that is not seen calls it."""
        heat = self.heat
        return {
            scope: self._guess(scope)
            for scope in forwards(heat.project, heat.graph)
            if not heat.live.is_dead(scope)
            and not heat.is_cold(scope)
            # the whole of a training, under the name of a pass
            and scope not in heat.roots.fitting
            and scope not in heat.roots.cycling
            and not self._is_hot(scope)
            and not called_elsewhere(heat.receivers, scope, self._is_set_up)
            and not lies_idle(heat.project, heat.graph, scope)
        }

    def _is_set_up(self, scope: Scope) -> bool:
        """Whether a function is cold although a program may come to it."""
        return self.heat.is_cold(scope) and not self.heat.live.is_left(scope)

    def _guess(self, forward: Scope) -> Entered:
        """How often ``forward`` of a module runs that no known call reaches: as often as its kind of module does."""
        heat = self.heat
        if rolls_out(heat.graph, forward):
            label = "forward of a module that generates"
            return _by_seed(Seed(Frequency.EPISODE, label, guessed=True), frozenset({ITERATION}))
        loss = is_criterion(heat.project, forward)
        frequency = heat.observed.held(forward, Frequency.UPDATE if loss else Frequency.STEP)
        label, kinds = ("criterion", {UPDATE}) if loss else ("module", {STEP, UPDATE})
        when = "" if loss or self._steps() else "once per forward pass"
        return _by_seed(Seed(frequency, f"forward of a {label}", when, guessed=True), frozenset(kinds))

    def _steps(self) -> bool:
        """Whether anything in the project steps an environment."""
        roots = self.heat.roots
        rooted = (*roots.loops.values(), *roots.functions.values())
        return any(STEP in kinds for kinds in rooted) or any(
            entry.frequency is Frequency.STEP and entry.kinds == {STEP} for entry in roots.protocols.values()
        )

    def _ran(self) -> dict[Scope, Entered]:
        """Functions that were seen to run often although nothing in the code says so."""
        heat = self.heat
        found = {}
        for scope in self._functions():
            seen = heat.observed.often(scope)
            if seen is None or heat.is_cold(scope) or scope in heat.roots.functions or self._is_hot(scope):
                continue
            found[scope] = _by_seed(Seed(seen, LABEL), frozenset({STEP if seen >= Frequency.STEP else UPDATE}))
        return found

    def _functions(self) -> list[Scope]:
        files = self.heat.project.files.values()
        return [scope for facts in files for scope in facts.scopes if scope.kind == "function"]

    def _is_hot(self, scope: Scope) -> bool:
        entry = self.heat.entered_by(scope, items=False)
        return entry is not None and entry.frequency >= Frequency.UPDATE

    # edges ----------------------------------------------------------------------------------------------------------

    def _transfer(self, edge: Edge) -> tuple[Scope, Entered] | None:
        """How often an edge makes its function run, by how often the places run that lead to it."""
        heat, target = self.heat, edge.target
        scope = edge.facts.scope_of(edge.node).function
        if target is scope or heat.is_cold(target):
            return None
        if edge.weak and (SETS_UP.fits(target.name) or SETS_UP.fits(scope.name)):
            return None
        if not self._may_enter(edge, scope):
            return None
        held = heat.observed.held
        passed = heat.passed(edge)
        frequency = held(target, max((each for _, _, each in passed), default=Frequency.ONCE))
        if frequency is Frequency.ONCE:
            return None
        kinds = frozenset() if heat.evaluates(target) else heat.phases(edge.facts, edge.node)
        entry = Entry(frequency, kinds, weak=not self.certain)
        if edge.how is How.ITEMS:
            return target, Entered(items=entry)
        rates = _rates(*((heat.rates.noted(target, receiver), held(target, each)) for _, receiver, each in passed))
        return target, Entered(entry, rates=rates)

    def _may_enter(self, edge: Edge, scope: Scope) -> bool:
        """Whether an edge counts in this stratum: a certain path, or a name alone into what no certain path enters."""
        heat, target = self.heat, edge.target
        if self.certain:
            return not edge.weak and not self._is_weak(edge, scope)
        known = heat.entered_by(target, items=edge.how is How.ITEMS)
        return target not in heat.roots.programs and (known is None or known.weak)

    def _is_weak(self, edge: Edge, scope: Scope) -> bool:
        """Whether nothing but the name of a method, on the way here, says that an edge is hot."""
        local = self.heat.local(edge.facts, edge.node, scope)
        entry = self.heat.entry(scope, local)
        return local.root is None and entry is not None and entry.weak


def _by_seed(seed: Seed, kinds: frozenset[str]) -> Entered:
    return Entered(Entry(seed.frequency, kinds, seed), rates=_rates((ANY, seed.frequency)))


def _rates(*rates: tuple[Receiver, Frequency]) -> dict[Receiver, Frequency]:
    """How often a function is entered on objects of each class, of those that make it run more than once."""
    found: dict[Receiver, Frequency] = {}
    for receiver, rate in rates:
        if rate > found.get(receiver, Frequency.ONCE):
            found[receiver] = rate
    return found


def _sorted(heat: Heat) -> dict[Scope, list[Edge]]:
    """The edges of the call graph, by the function that they leave."""
    edges: dict[Scope, list[Edge]] = {}
    weak = heat.graph.weak - heat.graph.identified
    doubtful = weak - heat.graph.sole
    for facts in heat.project.files.values():
        for scope in facts.scopes:
            found = [
                Edge(facts, call, target, weak=call in weak, override=place > 0, doubtful=call in doubtful)
                for call in scope.calls
                for place, target in enumerate(heat.graph.callees.get(call, ()))
            ]
            if found:
                edges[scope] = found
    for runs in heat.graph.runs.values():
        for run in runs:
            home = run.facts.scope_of(run.node).function
            edges.setdefault(home, []).append(Edge(run.facts, run.node, run.target, run.how))
    return edges
