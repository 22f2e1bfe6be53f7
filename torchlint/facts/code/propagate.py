"""What spreads along edges until nothing changes: the least fixed point, in whatever order the nodes are visited."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from torchlint.late import dataclass

Node = TypeVar("Node")
Edge = TypeVar("Edge")
Value = TypeVar("Value")


@dataclass(eq=False, slots=True)
class Reached(Generic[Node, Value]):
    """The values of the nodes that something has come to; while it spreads, also which nodes read those of others."""

    values: dict[Node, Value] = field(default_factory=dict)
    _readers: dict[Node, set[Node]] = field(default_factory=dict)
    _visited: Node | None = None

    def get(self, node: Node) -> Value | None:
        """Return the value of a node; the node whose edges are being followed depends on it from now on."""
        if self._visited is not None and node is not self._visited:
            self._readers.setdefault(node, set()).add(self._visited)
        return self.values.get(node)

    def propagate(
        self,
        seeds: Mapping[Node, Value],
        edges: Callable[[Node], Iterable[Edge]],
        transfer: Callable[[Edge], tuple[Node, Value] | None],
        join: Callable[[Value, Value], Value],
    ) -> list[Node]:
        """Propagate seeds to a fixed point, and return the nodes that were visited.

        ``transfer`` says what an edge carries to which node, by the values of any nodes; where one of these changes, it
        is asked again. It never carries less where values grow, and ``join`` gives the least value above two others,
        so the result does not depend on the order. It ends where no value can grow for ever.
        """
        todo = deque(seeds)
        waiting = set(todo)
        visited = dict.fromkeys(seeds)

        def take(node: Node, value: Value) -> None:
            old = self.values.get(node)
            new = value if old is None else join(old, value)
            if old is not None and new == old:
                return
            self.values[node] = new
            for each in (node, *self._readers.get(node, ())):
                if each not in waiting:
                    waiting.add(each)
                    todo.append(each)

        for node, value in seeds.items():
            take(node, value)
        while todo:
            node = todo.popleft()
            waiting.discard(node)
            visited[node] = None
            self._visited = node
            for edge in edges(node):
                carried = transfer(edge)
                if carried is not None:
                    take(*carried)
        self._visited = None
        return list(visited)
