"""What a site knows of networks, graphs, gradients and modes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.place import Place, place_of
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.autograd.makers import Makers
from torchlint.facts.autograd.members import Members
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.flow.flow import Flow
from torchlint.facts.state.escape import Escapes
from torchlint.rule import EVERY_USE, Network, Run, Use

if TYPE_CHECKING:
    import libcst as cst


class Learning(Place):
    """Questions about networks, graphs, gradients and modes."""

    __slots__ = ()

    def graph_uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the autograd graph of a tensor goes."""
        twin = self._expr(node)
        return self.analyses[Flow].graph_uses(self.facts, twin, within) if twin is not None else frozenset({Use.PASSED})

    def records(self) -> bool | None:
        """Whether autograd records what runs at the node."""
        return self.analyses[Autograd].records(self.facts, place_of(self.twin))

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Whether a tensor hangs on a recorded graph."""
        twin = self._expr(node)
        return self.analyses[Autograd].has_graph(self.facts, twin, trained=trained) if twin is not None else None

    def run(self, node: cst.CSTNode) -> Run | None:
        """What a call does that runs a network."""
        twin = self._expr(node)
        if not isinstance(twin, ast.Call) or not self.analyses[Autograd].runs(self.facts, twin):
            return None
        keeps = not self.analyses[Escapes].keep_nothing(self.analyses[CallGraph].callees.get(twin, ()))
        return self.analyses[Autograd].run(self.facts, twin, keeps=keeps)

    def network(self, node: cst.CSTNode) -> Network:
        """What is known of a module."""
        twin = self._expr(node)
        return self.analyses[Networks].of(self.facts, twin) if twin is not None else Network()

    def reaches(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node may run one of these."""
        return self.analyses[Autograd].reaches(self.facts.scope_of(place_of(self.twin)).function, names)

    def made_by(self, node: cst.CSTNode) -> str:
        """The function that made a tensor."""
        twin = self._expr(node)
        return self.analyses[Makers].of(self.facts, twin) if twin is not None else ""

    def of_parameter(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a parameter of its function."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Members].of_parameter(self.facts, twin)
