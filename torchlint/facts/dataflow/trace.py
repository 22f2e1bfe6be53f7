"""Follows a value from node to node of the value-flow graph, and keeps the way by which it came."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Container, Hashable, Iterable
from dataclasses import field
from typing import Generic, TypeVar

from torchlint.facts.code.model import FileFacts
from torchlint.facts.dataflow.spots import Key, Spot
from torchlint.late import dataclass

_MOST = 3000
End = TypeVar("End", bound=Hashable)


@dataclass(eq=False, slots=True)
class Trace(Generic[End]):
    """Where a value was followed to: each end with the spot at which it was found, each spot with the one before."""

    ends: dict[End, Spot] = field(default_factory=dict)
    before: dict[Spot, Spot | None] = field(default_factory=dict)

    def witness(self, end: End) -> list[Spot]:
        """Return the path from the start to an end as spots, the start first."""
        way: list[Spot] = []
        spot: Spot | None = self.ends[end]
        while spot is not None:
            way.append(spot)
            spot = self.before[spot]
        return way[::-1]


@dataclass(eq=False, slots=True)
class ValueFlow(Generic[End]):
    """Follows values forward or backward, with a memory of each step.

    Attributes:
        step: the policy: from one spot the next ones, and the ends that the value comes to there.
        lost: the end of a value that goes more ways, or lies deeper in containers, than is followed.
        deep: the end where it lies too deep, if that is another one.
        most: how many spots are followed.
    """

    step: Callable[[Spot], Iterable[Spot | End]]
    lost: End
    deep: End | None = None
    most: int = _MOST
    _after: dict[Spot, tuple[Spot | End, ...]] = field(default_factory=dict)

    def ends(self, facts: FileFacts, node: ast.expr, *path: Key) -> Collection[End]:
        """Return all sinks that the value of an expression reaches, or what lies in it at an access path."""
        return self.trace(Spot(facts, node, path)).ends

    def trace(self, start: Spot, stop: Container[End] = ()) -> Trace[End]:
        """Follow a value to all its ends, or to the first that is one of ``stop``."""
        found = Trace[End](before={start: None})
        before = found.before
        todo, known = [start], 1
        while todo:
            spot = todo.pop()
            ways = self._after.get(spot)
            if ways is None:
                ways = self._after[spot] = tuple(self.step(spot))
            for after in ways:
                if not isinstance(after, Spot):
                    found.ends.setdefault(after, spot)
                    if after in stop:
                        return found
                elif after.deep:
                    found.ends.setdefault(self.lost if self.deep is None else self.deep, spot)
                else:
                    before.setdefault(after, spot)
                    if len(before) > known:
                        known += 1
                        todo.append(after)
            if known > self.most:
                found.ends.setdefault(self.lost, spot)
                break
        return found
