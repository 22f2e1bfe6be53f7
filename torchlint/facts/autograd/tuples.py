"""One part of a container that code hands around: through names, attributes and what functions return."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Key, Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.late import dataclass

_Place = tuple[FileFacts, ast.expr]
_CROSSED = frozenset(Label) - {Label.OPERAND, Label.RECEIVER, Label.STORE}


@dataclass(eq=False, slots=True)
class Tuples:
    """Finds the expressions that give a part; ``whole`` says of which calls the parts are not told apart."""

    sources: Sources
    whole: Callable[[FileFacts, ast.Call], bool]
    _flow: ValueFlow[_Place | None] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=None)

    def at(self, facts: FileFacts, whole: ast.expr, path: tuple[Key, ...]) -> Iterable[_Place]:
        """Yield the expressions that a part of a value may be, and the whole if some of them are not known."""
        start = Spot(facts, whole, path)
        ends = self._flow.trace(start).ends
        if None in ends:
            start = self.sources.drawn(start)
            return [(start.facts, start.node)]
        return [place for place in ends if place is not None]

    def _step(self, spot: Spot) -> Iterator[Spot | _Place | None]:
        if not spot.path:
            yield spot.facts, spot.node
        elif isinstance(spot.node, ast.Call) and self.whole(spot.facts, spot.node):
            yield None
        else:
            yield from self.sources.crossing(spot, _CROSSED, None)


def added_to(function: Scope, name: str) -> Iterator[ast.expr]:
    """Yield what a function adds to the object of a name: appended, or stored under a key."""
    yield from (value for _, value in function.appends.get(name, ()))
    for _, call in function.keyed.get(name, ()):
        if isinstance(call, ast.Call) and call in function.file.grows:
            yield call.args[-1]
