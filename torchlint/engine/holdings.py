"""Questions about what collections hold, and about loops that fill, draw from or wait for them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.place import Place

if TYPE_CHECKING:
    import libcst as cst


class Holdings(Place):
    """Questions about lists, deques, buffers and datasets."""

    __slots__ = ()

    def regrown(self, call: cst.Call) -> str:
        """What a concatenation copies again in every round of a loop."""
        twin = self._expr(call)
        return self.analysis.regrowth.of(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def is_deque(self, node: cst.CSTNode) -> bool:
        """Whether a name or attribute is always a deque."""
        twin = self._expr(node)
        return twin is not None and self.analysis.queues.is_deque(self.facts, twin)

    def many(self, node: cst.CSTNode) -> bool:
        """Whether a deque may hold, or a number counts, very many things."""
        twin = self._expr(node)
        return twin is not None and self.analysis.queues.many(self.facts, twin)

    def long_list(self, call: cst.Call) -> bool:
        """Whether a call takes from or adds to the front of a list that may be long."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analysis.queues.long_list(self.facts, twin)

    def polls(self) -> bool:
        """Whether a ``while`` only asks whether something has happened."""
        return isinstance(self.twin, ast.While) and self.analysis.waiting.polls(self.facts, self.twin)

    def only_indexes(self, node: cst.CSTNode) -> bool:
        """Whether the elements that a ``for`` goes over only index tensors and arrays."""
        twin = self._expr(node)
        return twin is not None and self.analysis.indexing.only(self.facts, twin)

    def hoarded(self, call: cst.Call) -> str:
        """The list that a call appends to, if it only ever grows."""
        twin = self._expr(call)
        return self.analysis.hoards.grown(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def drawn_from(self, call: cst.Call) -> bool:
        """Whether a call appends to what batches are drawn from."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analysis.hoards.drawn(self.facts, twin)

    def in_memory(self, node: cst.CSTNode) -> bool:
        """Whether a dataset lies in memory."""
        twin = self._expr(node)
        return twin is not None and self.analysis.hoards.in_memory(self.facts, twin)
