"""Whether autograd records what runs somewhere, which tensors are part of a graph, and what runs networks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.graphs import ENDING, Graph, Graphs
from torchlint.facts.autograd.layers import is_kept_layer
from torchlint.facts.autograd.modes import Mode, Modes
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.code.backends import is_foreign
from torchlint.facts.code.closure import Closure, reached
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import NESTED, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, children, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import names
from torchlint.rule import Kind, Run

_GRADIENTS = names(autograd=("backward", "gradient", "hooks", "records", "sets"))
_BACKWARD = names(autograd="backward")


@dataclass(eq=False, slots=True)
class Autograd(Fact):
    """Whether autograd records what runs somewhere, which tensors are part of a graph, and what runs networks."""

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    networks: Networks
    modes: Modes
    graphs: Graphs
    sources: Sources
    _constructors: ValueFlow[ast.AST | None] = field(init=False)
    _names: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _handed: dict[Scope, frozenset[ast.AST]] = field(default_factory=dict)
    _modules: Closure[Scope] = field(init=False)
    _reaching: dict[frozenset[str], Closure[Scope]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._constructors = ValueFlow(self._constructor, lost=None)
        self._modules = Closure(self._runs_module, self.graph.called_by)

    def records(self, facts: FileFacts, node: ast.AST) -> bool | None:
        """Return whether autograd records what runs at a node; ``None`` if that is not known."""
        mode = self.modes.at(facts, node)
        return None if mode is Mode.UNKNOWN else mode is Mode.ON

    def has_graph(self, facts: FileFacts, node: ast.expr, *, trained: bool = False) -> bool | None:
        """Return whether a tensor is part of a recorded graph.

        With ``trained``, a graph of target networks alone does not count.
        """
        found = self.graphs.of(facts, node)
        if found & (Graph.TRAINED if trained else Graph.TRAINED | Graph.COPY):
            return True
        return None if found & Graph.OPEN else False

    # runs of networks -----------------------------------------------------------------------------------------------

    def runs(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a call runs a network: a module, or a project function that returns a network's tensors."""
        if is_foreign(facts):
            return False
        func = call.func
        if self.graphs.is_module(facts, func):
            return self.graphs.parametric(facts, func)
        targets = self.graph.sure(call)
        if not targets or any(target.name == "__init__" or is_foreign(target.file) for target in targets):
            return False
        return self.reach_module(targets) and bool(self.graphs.returned(targets, call) & (Graph.TRAINED | Graph.COPY))

    def reach_module(self, functions: Iterable[Scope]) -> bool:
        """Return whether one of some functions runs a module with parameters, itself or through known callees."""
        return any(map(self._modules.leads, functions))

    def _runs_module(self, scope: Scope) -> bool:
        facts = scope.file
        return any(
            (self.values.of(facts, call.func).kind is Kind.MODULE and self.graphs.parametric(facts, call.func))
            or is_kept_layer(self.project, facts, call.func)
            for call in scope.run_calls()
        )

    def run(self, facts: FileFacts, call: ast.Call, *, keeps: bool, stores: bool = False) -> Run:
        """Return how a call runs a network; ``keeps`` and ``stores`` say whether it may keep, or stores, a tensor."""
        scope = facts.scope_of(call).function
        targets = self.graph.callees.get(call, ())
        return Run(
            returned=call in self._given_back(scope),
            keeps=keeps,
            stores=stores,
            differentiates=any(self.reaches(target, _GRADIENTS.all) for target in targets),
            apart=self._apart(facts, call),
        )

    def is_given_back(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the graph of what a function gives back is computed from an expression in it."""
        return node in self._given_back(facts.scope_of(node).function)

    def _given_back(self, scope: Scope) -> frozenset[ast.AST]:
        """All that the graph of what a function returns or yields is computed from in the function itself."""
        found = self._handed.get(scope)
        if found is None:
            given = scope.results
            if scope.yields:
                yields = (part for part in walk(scope.node) if isinstance(part, (ast.Yield, ast.YieldFrom)))
                given.extend(part.value for part in yields if part.value is not None)
            found = self._handed[scope] = frozenset(self._computed_from(scope.file, given))
        return found

    def _computed_from(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> Iterator[ast.expr]:
        """Expressions that others are computed from, as far as the graph goes, through names of the same function."""

        def operands(node: ast.expr) -> Iterator[ast.expr]:
            if self.values.of(facts, node).is_data:
                return
            if isinstance(node, ast.Name):
                yield from self.project.reaching(facts, node).operands
                yield from (value for _, value in facts.scope_of(node).function.appends.get(node.id, ()))
            elif not (_ends(node) or self.graphs.of(facts, node) is Graph.NONE):
                parts = [node.value] if isinstance(node, ast.Subscript) else children(node)  # an index has no graph
                yield from (part for part in parts if isinstance(part, ast.expr) and not isinstance(part, NESTED))
                if isinstance(node, ast.Call):
                    yield from (keyword.value for keyword in node.keywords)

        return reached(nodes, operands)

    # whose gradients are applied ------------------------------------------------------------------------------------

    def _apart(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether an argument is part of the graph of another network, whose optimizer alone steps after the call."""
        given = arguments_of(call)
        for node in self._computed_from(facts, given):
            if isinstance(node, ast.Call) and self.runs(facts, node) and self.networks.of(facts, node.func).trained:
                if self.networks.moved_together(facts, call.func, node.func) is False:
                    movers = self.networks.movers(facts, node.func)
                    stepping = self._steps_after(facts, call, 0)
                    if stepping & movers and not stepping & self.networks.movers(facts, call.func):
                        return True
        return False

    def _steps_after(self, facts: FileFacts, node: ast.AST, depth: int) -> frozenset[ast.AST]:
        """The constructors of the optimizers that step next after a node, in its function or after a call of that.

        Those that step together, with no new gradients between them, apply the same ones.
        """
        scope = facts.scope_of(node).function
        after = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        later = (call for call in scope.calls if (call.lineno, call.col_offset) > after)
        made: set[ast.AST] = set()
        for call in sorted(later, key=lambda call: (call.lineno, call.col_offset)):
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if made and method in ("backward", "zero_grad"):
                break
            if isinstance(call.func, ast.Attribute) and method == "step":
                held = self._constructors.ends(facts, call.func.value)
                made.update(each for each in held if each is not None)
        callers = self.graph.callers.get(scope, ()) if not made and depth < 2 else ()
        for caller in callers:
            made.update(self._steps_after(caller.facts, caller.call, depth + 1))
        return frozenset(made)

    def _constructor(self, spot: Spot) -> Iterator[Spot | ast.AST | None]:
        """From a name or attribute that holds an optimizer to the calls that may have made it."""
        if isinstance(spot.node, (ast.Name, ast.Attribute)) or spot.path:
            yield from (source for source in self.sources.of(spot) if isinstance(source, Spot))
        else:
            yield spot.node

    # what functions run ---------------------------------------------------------------------------------------------

    def reaches(self, function: Scope, names: frozenset[str]) -> bool:
        """Return whether a function may run one of these, itself or through known callees.

        Modules and functions that are not the project's are taken to run none of them.
        """
        known = self._reaching.get(names)
        if known is None:
            known = self._reaching[names] = Closure(
                lambda scope: bool(names & self._called(scope)), self.graph.called_by
            )
        return known.leads(function)

    def updates(self, function: Scope) -> bool:
        """Return whether a function may run a backward pass, itself or through known callees."""
        return self.reaches(function, _BACKWARD.all)

    def _called(self, scope: Scope) -> frozenset[str]:
        """Qualified names and names of methods that a function calls itself."""
        found = self._names.get(scope)
        if found is None:
            names: set[str] = set()
            for call in scope.run_calls():
                names.add(self.project.qualified(scope.file, call.func) or "")
                if isinstance(call.func, ast.Attribute):
                    names.add(call.func.attr)
            found = self._names[scope] = frozenset(names)
        return found


def _ends(node: ast.expr) -> bool:
    """Whether no graph goes through an expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ENDING
    return isinstance(node, (ast.Compare, ast.Constant)) or (isinstance(node, ast.Attribute) and node.attr == "data")
