"""The path of calls that makes a function hot: of all that do, the one that needs the least faith."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from torchlint.facts.code.exporting import exported
from torchlint.facts.code.graph import How
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.late import dataclass
from torchlint.models import Word
from torchlint.rule import Frequency, Hop

if TYPE_CHECKING:
    from torchlint.facts.hotness.choosing import Arrival
    from torchlint.facts.hotness.edges import Edge
    from torchlint.facts.hotness.entering import Entry
    from torchlint.facts.hotness.hotness import Heat
    from torchlint.facts.values.chosen import Choice

Key = tuple[Scope, bool]
"""A function, and whether this mentions what it runs for each item that it yields."""
State = tuple[Scope, bool, Receiver, Receiver]
"""A key, the receiver under which the rate of the function is noted, and the object that a path brings to it."""

# What an edge costs: a method that some relative of the class has, one that a single class has with all that is asked
# of the object, one that several classes have. Paths are short, so one step down this scale outweighs any length.
_CALL, _OVERRIDE, _WEAK, _DOUBTFUL = 1, 20, 200, 1000
# A root in code for evaluation is a worse witness than one in training.
_EVALUATION, _EPISODE = 20, 40
# A module of which no call is known is a worse one than any loop.
_GUESSED = 60
# The method of a class that no code mentions is the worst witness: no object of it may ever be made.
_DEAD = 5000
_EVALUATING = Word("evaluation by its place")


@dataclass(eq=False, slots=True)
class Paths:
    """Finds the paths of functions whose frequencies are known."""

    heat: Heat
    _into: dict[State, tuple[Edge | None, State | None]] = field(default_factory=dict)
    _nearest: dict[Key, State] = field(default_factory=dict)
    _mentioned: dict[str, bool] = field(default_factory=dict)
    _ranked: bool = False

    def of(self, facts: FileFacts, node: ast.AST, scope: Scope) -> tuple[tuple[Hop, ...], Entry | None]:
        """Return the hops that lead to a node of a function, outermost first, and how its first function is entered.

        No hops where even the best path has an edge that may as well lead to another class: that is not a proof.
        """
        if not self._ranked:
            self._ranked = True
            self._rank()
        hops: list[Hop] = []
        seen: set[Scope] = set()
        entry: Entry | None = None
        proven = True
        state: State | None = None
        handed: tuple[Choice, ...] = ()
        while True:
            local = self.heat.local(facts, node, scope).under(handed)
            entry = self.heat.entry(scope, local)
            loop = local.root if local.root is not scope.node else None
            if loop is None and (entry is None or entry.frequency <= Frequency.EPISODE):
                loop = local.episode
            if loop is not None:
                hops.append(Hop(facts.path, getattr(loop, "lineno", 1), "loop"))
                entry = None
                break
            if state is None:
                state = self._nearest.get((scope, local.item is not None))
            edge, state = self._into[state] if state is not None else (None, None)
            allowed = self.heat.choosing.of(scope, local)
            if allowed and (chosen := self._chosen(scope, allowed, edge)) is not None:
                edge, state = chosen, None
            handed = next((way.handed for way in allowed or () if edge is not None and way.node is edge.node), ())
            at = (getattr(edge.node, "lineno", 0), getattr(edge.node, "col_offset", 0)) if edge else (0, 0)
            hops.append(Hop(facts.path, scope.row, scope.qualname or scope.name, at))
            if scope.kind != "function" or edge is None or scope in seen:
                break
            seen.add(scope)
            proven = proven and not edge.doubtful
            facts, node = edge.facts, edge.node
            scope = facts.scope_of(node).function
        return tuple(reversed(hops)) if proven else (), entry

    def _chosen(self, scope: Scope, allowed: Sequence[Arrival], nearest: Edge | None) -> Edge | None:
        """The most frequent edge whose constants lead to a node, where those of the nearest one do not."""
        heat = self.heat
        often = {way.node: heat.choosing.frequency(way) for way in allowed}
        if nearest is not None and often.get(nearest.node) is max(often.values()):
            return None
        # In the order of the calls: that of a set of scopes depends on where they lie in memory.
        homes = dict.fromkeys(way.facts.scope_of(way.node).function for way in allowed)
        edges = [edge for home in homes for edge in heat.edges.get(home, ())]
        fitting = [edge for edge in edges if edge.node in often and edge.target is scope]
        return max(fitting, key=lambda edge: (min(heat.delivered(edge), often[edge.node]), -weight(edge)), default=None)

    def _rank(self) -> None:
        """Find for each function the edge by which the cheapest path enters it (Dijkstra's way).

        A path that enters a method on an object of one class goes on to what this class overrides, so the states of the
        search hold the class.
        """
        heap: list[tuple[int, int, State, Edge | None, State | None]] = []
        count = 0
        for cost, state, edge in self._starts():
            heappush(heap, (cost, count := count + 1, state, edge, None))
        while heap:
            cost, _, state, edge, before = heappop(heap)
            if state in self._into:
                continue
            self._into[state] = edge, before
            scope, items, noted, brought = state
            if items or self.heat.rates.fastest(scope, noted):
                self._nearest.setdefault((scope, items), state)
            for out in self.heat.edges.get(scope, ()):
                local = self.heat.local(out.facts, out.node, scope)
                if _inner_root(local.root, scope) is None and (local.item is not None) == items:
                    for onward in self._onward(out, noted, brought):
                        heappush(heap, (cost + weight(out), count := count + 1, onward, out, state))

    def _starts(self) -> Iterator[tuple[int, State, Edge | None]]:
        """What begins a path: functions that are entry points, and calls in root loops."""
        heat = self.heat
        for scope in heat.seeded:
            entry = heat.entered_by(scope, items=False)
            seed = entry.first if entry is not None else None
            if seed is not None:
                yield _GUESSED if seed.guessed else 0, (scope, False, ANY, ANY), None
        for scope, receivers in heat.roots.receivers.items():
            for receiver in receivers:
                # A loop around a call of it tells more.
                cost = _DEAD if self._is_dead(scope) else _EPISODE
                yield cost, (scope, False, heat.rates.known(scope, receiver), receiver), None
        for scope, edges in heat.edges.items():
            if not heat.holds_root(scope):
                continue
            doubt = _EVALUATION if _EVALUATING.fits(f"{scope.file.path}:{scope.qualname}") else 0
            doubt += _DEAD if self._is_dead(scope) else 0
            for edge in edges:
                local = heat.local(edge.facts, edge.node, scope)
                inside = _inner_root(local.root, scope) is not None
                if inside or local.episode is not None:
                    for state in self._onward(edge, None, ANY):
                        yield weight(edge) + doubt + (0 if inside else _EPISODE), state, edge

    def _is_dead(self, scope: Scope) -> bool:
        """Whether a method belongs to a class that no code makes an object of, hands on, or derives another from."""
        owner, project = scope.method_of, self.heat.project
        if owner is None or owner.dotted in self.heat.graph.built or owner.dotted in project.children:
            return False
        found = self._mentioned.get(owner.dotted)
        if found is None:
            found = exported(project, owner) or project.mentions(owner.name)
            self._mentioned[owner.dotted] = found
        return not found

    def _onward(self, edge: Edge, noted: Receiver | None, brought: Receiver) -> Iterator[State]:
        """What an edge enters as often as it is entered at all, from a function that runs on an object."""
        heat, target = self.heat, edge.target
        entry = heat.entered_by(target, items=edge.how is How.ITEMS)
        own = heat.receivers.named(edge.node) is None
        most = heat.entered(edge, noted) if noted is not None and entry is not None else Frequency.INNER
        for caller, each, frequency in heat.passed(edge) if entry is not None else ():
            if entry is None or caller not in (None, noted):
                continue
            onward = heat.receivers.both(brought, each) if own else each
            if onward is None or not heat.receivers.fits(onward, target):
                continue
            known = heat.rates.known(target, each)
            needed = entry.frequency if edge.how is How.ITEMS else heat.rates.rate(target, known)
            if heat.observed.held(target, min(frequency, most)) >= needed:
                yield (*key_of(edge), known, onward)


def _inner_root(root: ast.AST | None, scope: Scope) -> ast.AST | None:
    return root if root is not scope.node else None


def weight(edge: Edge) -> int:
    """Return the confidence cost of an edge."""
    if edge.weak:
        return _DOUBTFUL if edge.doubtful else _WEAK
    return _OVERRIDE if edge.override else _CALL


def key_of(edge: Edge) -> Key:
    """Return the key of what an edge enters."""
    return edge.target, edge.how is How.ITEMS
