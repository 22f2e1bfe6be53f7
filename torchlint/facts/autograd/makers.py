"""Which function made a tensor: followed back through names, picked elements and what project functions return."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind

_PICKING = method_names("torch.Tensor torch", elements=("all", "some"), integral=False)
_CROSSED = frozenset({Label.COPY, Label.ITEM, Label.RETURN})


@dataclass(eq=False, slots=True)
class Makers(Fact):
    """Answers what made a tensor."""

    sources: Sources
    _flow: ValueFlow[str] = field(init=False)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost="")

    def of(self, facts: FileFacts, node: ast.expr) -> str:
        """Return the last word of the one function or module that makes an expression on all paths, else an empty text.

        ``softmax`` of ``F.softmax(x, -1)``, ``x.softmax(-1)``, ``nn.Softmax(-1)(x)``, of ``p.gather(1, a)`` where
        ``p`` is one of these, of a call of a project function that returns one, and of a network that ends in one;
        ``sub`` of ``x - y``.
        """
        made = set(self._flow.ends(facts, node))
        return made.pop() if len(made) == 1 else ""

    def _step(self, spot: Spot) -> Iterator[Spot | str]:
        """The words for all ways to a value, or to a part of it; empty words for those that are not known."""
        match spot.node:
            case ast.Subscript(value=whole) if self._is_tensor(spot.facts, whole):
                yield spot.same(whole)
            case ast.Call() as call if not self.sources.graph.callees.get(call):
                yield self._called(spot, call)
            case ast.BinOp(op=ast.Sub()):
                yield "sub"  # as of the function
            case _:
                yield from self.sources.crossing(spot, _CROSSED, "")

    def _called(self, spot: Spot, call: ast.Call) -> Spot | str:
        """What a function of a library or a method of a tensor makes, or the tensor that it picks from."""
        func = call.func
        name = self.sources.project.qualified(spot.facts, func) or ""
        word = name.rpartition(".")[2]
        if name.startswith("torch."):
            return spot.same(call.args[0], Label.OPERAND) if word in _PICKING and call.args else word
        if isinstance(func, ast.Attribute) and self._is_tensor(spot.facts, func.value):
            return spot.same(func.value, Label.RECEIVER) if func.attr in _PICKING else func.attr
        return self._last_layer(spot.facts, func)

    def _is_tensor(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.sources.values.of(facts, node).kind is Kind.TENSOR

    def _last_layer(self, facts: FileFacts, func: ast.expr) -> str:
        """Of a module of the library what it computes last: ``softmax`` of ``nn.Sequential(..., nn.Softmax(-1))``."""
        value = self.sources.values.of(facts, func)
        if value.kind is not Kind.MODULE or not value.name.startswith("torch.nn."):
            return ""
        word = value.name.rpartition(".")[2]
        return self._sequence(facts, func) if word == "Sequential" else word.lower()

    def _sequence(self, facts: FileFacts, func: ast.expr) -> str:
        """What the last part of an ``nn.Sequential`` computes that an attribute of an object of ours holds."""
        if not isinstance(func, ast.Attribute):
            return ""
        stores = self.sources.stores(facts, func)
        last = {self._last_part(store.scope.file, store.binding.value) for store in stores}
        return last.pop() if len(last) == 1 else ""

    def _last_part(self, facts: FileFacts, value: ast.expr | None) -> str:
        if not isinstance(value, ast.Call) or not value.args or isinstance(value.args[-1], ast.Starred):
            return ""
        part = value.args[-1]
        name = self.sources.values.of(facts, part).name
        return name.rpartition(".")[2].lower() if name.startswith("torch.nn.") else ""
