"""What a site knows of networks, graphs, gradients and modes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.place import Place, place_of
from torchlint.facts.autograd.attention import Attention
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.autograd.averages import Averages
from torchlint.facts.autograd.backward import Backwards
from torchlint.facts.autograd.beside import Beside
from torchlint.facts.autograd.makers import Makers
from torchlint.facts.autograd.members import Members
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.autograd.switching import Switching
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.project import Project
from torchlint.facts.flow.flow import Flow
from torchlint.facts.loops.growth import Growth
from torchlint.facts.state.contracts import Contracts
from torchlint.facts.state.escape import Escapes
from torchlint.facts.state.sequel import Sequel
from torchlint.rule import EVERY_USE, Average, Network, Run, Use

if TYPE_CHECKING:
    import libcst as cst


class Learning(Place):
    """Questions about networks, graphs, gradients and modes."""

    __slots__ = ()

    def graph_uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the autograd graph of a tensor goes."""
        twin = self._expr(node)
        return self.analyses[Flow].graph_uses(self.facts, twin, within) if twin is not None else frozenset({Use.PASSED})

    def differentiated(self, node: cst.CSTNode) -> bool:
        """Whether ``backward()`` runs through what a name or attribute holds."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Flow].differentiated(self.facts, twin)

    def records(self) -> bool | None:
        """Whether autograd records what runs at the node."""
        return self.analyses[Autograd].records(self.facts, place_of(self.twin))

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Whether a tensor hangs on a recorded graph."""
        twin = self._expr(node)
        return self.analyses[Autograd].has_graph(self.facts, twin, trained=trained) if twin is not None else None

    def is_leaf(self, node: cst.CSTNode) -> bool:
        """Whether a tensor asks for gradients itself and has no graph behind it."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Autograd].graphs.is_leaf(self.facts, twin)

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

    def average(self, node: cst.CSTNode) -> Average | None:
        """The average of two networks that an expression keeps up."""
        twin = self._expr(node)
        return self.analyses[Averages].of(self.facts, twin) if twin is not None else None

    def made_by(self, node: cst.CSTNode) -> str:
        """The function that made a tensor."""
        twin = self._expr(node)
        return self.analyses[Makers].of(self.facts, twin) if twin is not None else ""

    def contract(self, test: cst.CSTNode, *, finite: bool) -> bool:
        """Whether a test that raises is a contract on what comes from outside."""
        twin = self._expr(test)
        return twin is not None and self.analyses[Contracts].of(self.facts, twin, finite=finite)

    def is_loss(self, node: cst.CSTNode) -> bool:
        """Whether backward() is called on what an expression stands for."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Growth].is_loss(self.facts, twin)

    def backpropagated(self, node: cst.CSTNode) -> bool:
        """Whether backward() runs through what an expression is made of."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Growth].backpropagated(self.facts, twin)

    def beside_module(self, node: cst.CSTNode) -> bool:
        """Whether a tensor lives where the module lives whose method it is in."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Beside].of(self.facts, twin)

    def of_parameter(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a parameter of its function."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Members].of_parameter(self.facts, twin)

    def scaled(self, node: cst.CSTNode) -> bool:
        """Whether a tensor is divided by 255 further on."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Sequel].scaled(self.facts, twin)

    def moved_later(self, node: cst.CSTNode) -> str:
        """The move of a fresh tensor in the next statement that speaks of it."""
        twin = self._expr(node)
        return self.analyses[Sequel].moved(self.facts, twin) if twin is not None else ""

    def switches_mode(self, call: cst.Call) -> bool:
        """Whether a call makes a context manager that switches modules."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Switching].switches(self.facts, twin)

    def hands_mode_on(self) -> bool:
        """Whether the node stands where somebody else's switch is carried out."""
        return self.analyses[Switching].hands_on(self.facts, self.twin)

    def mode_matters(self, node: cst.CSTNode) -> bool:
        """Whether a module may compute something else in the other mode."""
        twin = self._expr(node)
        return twin is None or self.analyses[Switching].matter(self.facts, twin)

    def keeps_graph_for_nothing(self, call: cst.Call) -> bool:
        """Whether a backward pass keeps a graph that no other runs through again."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Backwards].kept_for_nothing(self.facts, twin)

    def function_reaches(self, node: cst.CSTNode, names: frozenset[str]) -> bool:
        """Whether a function given as a value may run one of these."""
        function = self.analyses[Project].functions.get(self.value(node).name)
        return function is not None and self.analyses[Autograd].reaches(function, names)

    def weighs_values(self, call: cst.Call, scores: cst.BaseExpression) -> bool:
        """Whether a softmax belongs to attention that is written out."""
        twin, inner = self._expr(call), self._expr(scores)
        return isinstance(twin, ast.Call) and inner is not None and self.analyses[Attention].of(self.facts, twin, inner)
