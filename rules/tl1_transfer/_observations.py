"""What TL104 asks of a list of which nothing is known but the names of its elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Word
from torchlint.rule import Kind

_NAME = Word("observation by its name")
_CROSSED = frozenset({Label.COPY, Label.ITEM, Label.ELEMENT, Label.ARGUMENT, Label.RETURN})


@dataclass(eq=False, slots=True)
class CalledObservations(Fact):
    """Answers whether all that a list holds is called an observation, so that it is likely an array."""

    sources: Sources
    values: Values
    _flow: ValueFlow[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=False)

    def in_list(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether all elements of a list are called observations: ``states.append(step.state)``."""
        return set(self._flow.trace(Spot(facts, node, (None,))).ends) == {True}

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        """From a list to what is put into it, and what that is called."""
        if spot.path:
            yield from self.sources.crossing(spot, _CROSSED, False)
        else:
            unknown = self.values.of(spot.facts, spot.node).kind is Kind.UNKNOWN
            yield unknown and _NAME.fits(last_name(spot.node))
