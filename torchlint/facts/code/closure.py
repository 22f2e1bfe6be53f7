"""Reachability in a directed graph: what edges lead to, and which nodes lead to one with a property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Generic, TypeVar

from torchlint.late import dataclass

Node = TypeVar("Node")


def reached(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield some nodes and all that edges lead to from them, each once and before those that follow it."""
    todo, seen = list(starts), set[Node]()
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo.extend(following(node))


@dataclass(eq=False, repr=False, slots=True)
class Closure(Generic[Node]):
    """Remembers of every node that a search met whether it leads to one with the property.

    All questions together visit each edge once.
    The search is Tarjan's for strongly connected components, without recursion. It ends at the first node with the
    property: all nodes whose component is not complete then lead to it. Of a component that is complete none does.

    Attributes:
        has: whether a node has the property.
        following: the nodes that an edge leads to from a node.
    """

    has: Callable[[Node], bool]
    following: Callable[[Node], Iterable[Node]]
    _known: dict[Node, bool] = field(default_factory=dict)

    def leads(self, node: Node) -> bool:
        """Return whether a node, or one that it leads to, has the property."""
        if node not in self._known:
            self._search(node)
        return self._known[node]

    def _search(self, start: Node) -> None:
        numbers: dict[Node, int] = {start: 0}
        lowest: dict[Node, int] = {start: 0}
        waiting = [start]  # nodes whose component is not complete
        path: list[tuple[Node, Iterator[Node]]] = [(start, iter(self.following(start)))]
        found = self.has(start)
        while path and not found:
            node, following = path[-1]
            new = next(following, None)
            if new is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == numbers[node]:
                    self._known[node] = False
                    while (last := waiting.pop()) is not node:
                        self._known[last] = False
            elif new in self._known:
                found = self._known[new]
            elif new in numbers:
                lowest[node] = min(lowest[node], numbers[new])
            else:
                numbers[new] = lowest[new] = len(numbers)
                waiting.append(new)
                path.append((new, iter(self.following(new))))
                found = self.has(new)
        self._known.update(dict.fromkeys(waiting, True))
