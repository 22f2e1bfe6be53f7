"""Grows the contexts of a profile, one call or sample after the other, and the slices of its timeline."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from torchlint.profile.model import MOST_SLICES, Frame, Node, Slice

# Contexts beyond this many are not told from the one above: recursion without end, or names with numbers in them.
MOST_NODES = 200_000

FrameKey = tuple[str, int, str]
"""File, line and name of a frame."""


class Numbers:
    """Numbers frames as they come up."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._numbers: dict[FrameKey, int] = {}

    def number(self, key: FrameKey) -> int:
        """Return the number of a frame."""
        return self._numbers.setdefault(key, len(self._numbers))

    def keys(self) -> list[FrameKey]:
        """Return all frames in the order of their numbers."""
        return list(self._numbers)


class Tree:
    """Contexts that are still growing, of frames that are told by numbers. Parents are numbered before children."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._children: dict[tuple[int, int], int] = {}
        self._frames: list[int] = []
        self._parents: list[int] = []
        self._calls: list[int] = []
        self._self_us: list[float] = []

    def child(self, parent: int, frame: int) -> int:
        """Return the context of a frame below another, -1 for none; ``parent`` itself where there are too many."""
        node = self._children.get((parent, frame), -1)
        if node < 0:
            if len(self._frames) >= MOST_NODES and parent >= 0:
                return parent
            node = self._children[parent, frame] = len(self._frames)
            self._frames.append(frame)
            self._parents.append(parent)
            self._calls.append(0)
            self._self_us.append(0.0)
        return node

    def path(self, frames: Iterable[int]) -> list[int]:
        """Return the contexts of frames inside each other, the outermost first."""
        found: list[int] = []
        for frame in frames:
            found.append(self.child(found[-1] if found else -1, frame))
        return found

    def add(self, node: int, calls: int, self_us: float) -> None:
        """Count calls of a context and time in it alone."""
        self._calls[node] += calls
        self._self_us[node] += self_us

    def nodes(self) -> tuple[Node, ...]:
        """Return the contexts, with totals."""
        totals = list(self._self_us)
        for node in range(len(totals) - 1, -1, -1):
            if self._parents[node] >= 0:
                totals[self._parents[node]] += totals[node]
        return tuple(map(Node, self._frames, self._parents, self._calls, self._self_us, totals))


def frames_of(nodes: Sequence[Node], keys: Sequence[FrameKey]) -> tuple[Frame, ...]:
    """Return the frames with the sums of their contexts; a context below the same frame adds nothing to the total."""
    calls = [0] * len(keys)
    own = [0.0] * len(keys)
    totals = [0.0] * len(keys)
    for node in nodes:
        calls[node.frame] += node.calls
        own[node.frame] += node.self_us
        above = node.parent
        while above >= 0 and nodes[above].frame != node.frame:
            above = nodes[above].parent
        if above < 0:
            totals[node.frame] += node.total_us
    sums = zip(keys, calls, own, totals, strict=True)
    return tuple(Frame(*key, count, self_us, total_us) for key, count, self_us, total_us in sums)


class Timeline:
    """Keeps the largest slices; ``least_us`` is what the next has to exceed."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.least_us = 0.0
        self._seen = 0
        self._kept: list[tuple[float, int, Slice]] = []

    def add(self, one: Slice) -> None:
        """Keep a slice, and drop the smallest where there are too many."""
        self._seen += 1
        entry = (one.duration_us, self._seen, one)
        if len(self._kept) < MOST_SLICES:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)
            self.least_us = self._kept[0][0]

    def slices(self, origin_us: float) -> tuple[Slice, ...]:
        """Return what was kept, from an origin on, by thread and start, outer ones before inner ones."""
        moved = (
            Slice(one.thread, one.depth, max(0.0, one.start_us - origin_us), one.duration_us, one.node, one.operator)
            for *_, one in self._kept
        )
        return tuple(sorted(moved, key=lambda one: (one.thread, one.start_us, one.depth)))
