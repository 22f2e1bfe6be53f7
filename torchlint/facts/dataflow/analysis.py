"""Answers to one question about expressions, each computed from the answers for what the value comes from.

``ValueFlow`` gives the union of the ends that a value comes from. Here operations compute answers of their own from
those of their operands, so circles have to be solved and not only visited.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from typing import Generic, TypeVar

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.solver import Solver
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Key, Label, Spot
from torchlint.late import dataclass

Answer = TypeVar("Answer")
_Question = tuple[FileFacts, ast.expr, tuple[Key, ...]]


@dataclass(eq=False, slots=True)
class Analysis(Generic[Answer]):
    """Answers a question about expressions: a monotone framework over the value-flow graph.

    Attributes:
        sources: the edges.
        transfer: the answer for a spot; it may ask for those of others (``at``, ``through``). ``None``: not yet known.
        join: the least answer that promises no more than each of some answers, of which there is one at least.
        unknown: the answer that promises nothing.
    """

    sources: Sources
    transfer: Callable[[Spot], Answer | None]
    join: Callable[[Iterable[Answer]], Answer]
    unknown: Answer
    _solver: Solver[_Question, Answer] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(lambda question: self.transfer(Spot(*question)), self.unknown)

    def of(self, facts: FileFacts, node: ast.expr, *path: Key) -> Answer:
        """Return the answer for the value of an expression, or for what lies in it at an access path."""
        found = self._solver.ask((facts, node, path))
        return self.unknown if found is None else found

    def at(self, spot: Spot) -> Answer | None:
        """Return the answer for a spot; ``None`` where nothing is known yet, in a circle."""
        return self._solver.ask((spot.facts, spot.node, spot.path))

    def joined(self, spots: Iterable[Spot]) -> Answer | None:
        """Return the join of the answers for some spots; those of which nothing is known yet do not count."""
        answers = [self.at(spot) for spot in spots]
        known = [answer for answer in answers if answer is not None]
        return self.join(known) if known else None if answers else self.unknown

    def through(self, spot: Spot, labels: Collection[Label]) -> Answer | None:
        """Return the join over all sources of a value along edges of some kinds; unknown if there is another edge."""
        sources = list(self.sources.of(spot))
        spots = [source for source in sources if isinstance(source, Spot) and source.label in labels]
        return self.joined(spots) if len(spots) == len(sources) else self.unknown
