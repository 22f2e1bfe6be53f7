"""Templates with holes, filled at random from tables."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

_HOLE = re.compile(r"<([A-Z])>")

Table = Mapping[str, Sequence[str]]


class Filler:
    """Fills the holes of templates: ``<A>`` with something of kind ``A``, which may have holes itself.

    Args:
        choice: where all that is random comes from.
        leaves: expressions without holes, by kind. expressions: those with holes.
        deepest: how deep holes lie in each other.
        stop: how often a hole gets a leaf although a deeper expression is allowed.
    """

    def __init__(
        self, choice: random.Random, leaves: Table, expressions: Table, deepest: int = 3, stop: float = 0.35
    ) -> None:
        """Keep the tables; what is random follows from ``choice`` alone."""
        self.random = choice
        self.leaves = leaves
        self.expressions = expressions
        self.deepest = deepest
        self.stop = stop

    def expression(self, kind: str, depth: int = 0) -> str:
        """An expression of a kind."""
        if depth >= self.deepest or self.random.random() < self.stop:
            return self.random.choice(self.leaves[kind])
        return self.filled(self.random.choice(self.expressions[kind]), depth + 1)

    def filled(self, template: str, depth: int = 0) -> str:
        """A template with its holes filled."""

        def fill(hole: re.Match[str]) -> str:
            text = self.expression(hole[1], depth)
            bare = self.random.random() >= 0.04 and " if " not in text
            return text if bare and not self.loose(text, template[hole.end() :]) else f"({text})"

        return _HOLE.sub(fill, template)

    def loose(self, text: str, rest: str) -> bool:
        """Whether an expression needs parentheses before what follows its hole."""
        return False
