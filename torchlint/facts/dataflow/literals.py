"""Which texts an expression may be, as far as literals say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import inserted
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.late import dataclass

_CROSSED = (Label.COPY, Label.ITEM, Label.ELEMENT)


@dataclass(eq=False, slots=True)
class Texts(Fact):
    """Answers which texts expressions may be."""

    sources: Sources
    _flow: ValueFlow[str | None] = field(init=False)
    _open: set[ast.AST] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=None)

    def of(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """Return all texts that an expression may be: literals, names bound to them, items of literal lists.

        Otherwise the result is empty.
        """
        return frozenset(text for text in self._flow.ends(facts, node) if text is not None)

    def _step(self, spot: Spot) -> Iterator[Spot | str | None]:
        if isinstance(spot.node, ast.Constant):
            yield spot.node.value if isinstance(spot.node.value, str) and not spot.path else None
        elif isinstance(spot.node, ast.JoinedStr):
            yield self._joined(spot.facts, spot.node)
        else:
            yield from self.sources.crossing(spot, _CROSSED, None)

    def _joined(self, facts: FileFacts, node: ast.JoinedStr) -> str | None:
        """The text of ``f"{PREFIX}_mean"``, where each part is one text."""
        if node in self._open:
            return None  # a text that is made of itself
        self._open.add(node)
        texts: list[str] = []
        for part in node.values:
            plain = inserted(part)
            ways = self.of(facts, plain) if plain is not None else ()
            if len(ways) != 1:
                break
            texts.extend(ways)
        self._open.discard(node)
        return "".join(texts) if len(texts) == len(node.values) else None
