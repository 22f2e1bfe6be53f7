"""Whether another backward pass may run through a graph that one has gone through."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.autograd.graphs import ENDING
from torchlint.facts.code.closure import reached
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children, parts_of, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.flow.flow import Flow
from torchlint.facts.values.signatures import starred
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import names
from torchlint.rule import Kind, Use
from torchlint.rule.site import Site

_BACKWARD = names(autograd=("backward", "gradient"))
_LOST = frozenset({Use.STORED, Use.COLLECTED, Use.REPORTED, Use.RETURNED, Use.PASSED})
_ELSEWHERE = _LOST | {Use.BACKWARD}
_CARRIERS = frozenset({Kind.UNKNOWN, Kind.TENSOR, Kind.TUPLE, Kind.LIST, Kind.DICT, Kind.DISTRIBUTION})
_ENGINES = ("accelerator", "engine", "fabric")
_MOST_CALLS_UP = 3


class _UnsureError(Exception):
    """A part of the graph cannot be followed."""


@dataclass(eq=False, slots=True)
class Backwards(Fact):
    """Answers whether a graph is gone through again."""

    project: Project
    graph: CallGraph
    values: Values
    flow: Flow
    autograd: Autograd
    sources: Sources
    _literals: ValueFlow[bool] = field(init=False)
    _from_elsewhere: dict[Scope, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._literals = ValueFlow(self._literal, lost=False)

    def kept_for_nothing(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether an ``x.backward(...)`` keeps its graph although no backward pass runs through it again.

        ``torch.autograd.backward(x, ...)`` and ``engine.backward(x, ...)`` are such calls, too.
        """
        kept = [keyword.value for keyword in call.keywords if keyword.arg == "retain_graph"]
        if not isinstance(call.func, ast.Attribute) or not kept or False in self._literals.ends(facts, kept[0]):
            return False
        root = call.func.value
        if self.project.qualified(facts, call.func) in _BACKWARD:
            tensors = [keyword.value for keyword in call.keywords if keyword.arg == "tensors"]
            if not call.args and not tensors:
                return False
            root = call.args[0] if call.args else tensors[0]
        elif len(call.args) == 1 and self._is_engine(facts, root):
            root = call.args[0]
        try:
            return not self._again(facts, call, [root], 0)
        except _UnsureError:
            return False

    def _is_engine(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an object whose ``backward`` is called is no tensor, but what trains a model, or the model in it."""
        return last_name(node).endswith(_ENGINES) or self.autograd.graphs.is_module(facts, node)

    def _literal(self, spot: Spot) -> Iterator[Spot | bool]:
        """From an argument to where it is spelled out; ``False`` where it may be anything but true."""
        if isinstance(spot.node, ast.Constant):
            yield spot.node.value is True
        else:
            yield from self.sources.crossing(spot, (Label.COPY, Label.ARGUMENT), False)

    def _again(self, facts: FileFacts, call: ast.Call, roots: list[ast.expr], depth: int) -> bool:
        """The same for the graph of what a call goes back through, and for what its callers give it."""
        scope = facts.scope_of(call).function
        parts = set(self._parts(facts, roots))
        names = [part for part in parts if isinstance(part, ast.Name)]
        if any(self._outlives(facts, call, name) for name in names) or self._leaks(facts, scope, parts, names):
            return True
        for left in _exits(scope):
            if parts.intersection(self._parts(facts, [left], careful=False)):
                if self.flow.graph_uses(facts, left) & _ELSEWHERE:
                    return True
        for other in self._later(facts, scope, call):
            if parts.intersection(self._parts(facts, _handed(other), careful=False)) - set(names):
                return True
        parameters = {binding.target for name in names for binding in self._parameters(facts, name)}
        return any(self._again_above(scope, parameter, depth) for parameter in sorted(parameters))

    def _again_above(self, scope: Scope, parameter: str, depth: int) -> bool:
        """The same for what the callers of a function pass for a parameter."""
        callers = self.graph.callers.get(scope, [])
        if not callers or depth == _MOST_CALLS_UP or scope.name in self.graph.open:
            return True
        for caller, given in self.graph.arguments(scope, parameter):
            if given is None or starred(caller.call) or self._again(caller.facts, caller.call, [given], depth + 1):
                return True
        return False

    # what a tensor is computed from ---------------------------------------------------------------------------------

    def _parts(self, facts: FileFacts, roots: Iterable[ast.expr], *, careful: bool = True) -> Iterator[ast.expr]:
        """The expressions of a function that the graph of some tensors goes through.

        Raises:
            _UnsureError: an attribute may hold a graph from elsewhere, also one that a called function reads (only
                when ``careful``).
        """

        def operands(node: ast.expr) -> Iterator[ast.expr]:
            if isinstance(node, ast.Name):
                yield from self.project.reaching(facts, node).operands
                yield from (value for _, value in facts.scope_of(node).function.appends.get(node.id, ()))
            elif isinstance(node, ast.Attribute):
                if self._is_kept(facts, node):
                    if careful:
                        raise _UnsureError
                elif self.values.of(facts, node.value).kind in _CARRIERS:
                    yield node.value
            else:
                called = self.graph.callees.get(node, ()) if careful and isinstance(node, ast.Call) else ()
                if any(self._hands_out(target) for target in called):
                    raise _UnsureError
                yield from _operands(node)

        def carriers(nodes: Iterable[ast.expr]) -> Iterator[ast.expr]:
            return (node for node in nodes if self._carries(facts, node))

        return reached(carriers(roots), lambda node: carriers(operands(node)))

    def _hands_out(self, scope: Scope) -> bool:
        """Whether what a function returns may be part of a graph that an attribute keeps: ``policy.divergence()``."""
        if scope not in self._from_elsewhere:
            self._from_elsewhere[scope] = False  # until it is known, of one that calls itself
            try:
                for _ in self._parts(scope.file, scope.results):
                    pass
            except _UnsureError:
                self._from_elsewhere[scope] = True
        return self._from_elsewhere[scope]

    def _carries(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a graph may go through an expression."""
        if isinstance(node, (ast.Constant, ast.Compare, ast.Lambda)) or _ends(node):
            return False
        if self.values.of(facts, node).kind not in _CARRIERS or self._is_definition(facts, node):
            return False
        if isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.ListComp, ast.GeneratorExp)):
            return True
        return self.autograd.has_graph(facts, node) is not False

    def _is_definition(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a name is that of a module, a function or a class, or a builtin."""
        if not isinstance(node, ast.Name):
            return False
        bindings = self.project.reaching(facts, node).bindings
        return all(binding.how in (Bind.IMPORT, Bind.FUNCTION, Bind.CLASS) for binding in bindings)

    def _is_kept(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether an attribute may hold a tensor with a graph of its own, not a parameter."""
        base = self.values.of(facts, node.value)
        if base.kind not in (Kind.INSTANCE, Kind.MODULE):
            return False
        stores = self.sources.stores(facts, node)
        if not stores:
            return base.kind is not Kind.MODULE
        return not all(store.binding.value is not None and _is_leaf(store.binding.value) for store in stores)

    def _parameters(self, facts: FileFacts, name: ast.Name) -> Iterator[Binding]:
        return (b for b in self.project.reaching(facts, name).bindings if b.how is Bind.PARAM)

    # who else goes through it ---------------------------------------------------------------------------------------

    def _outlives(self, facts: FileFacts, call: ast.Call, name: ast.Name) -> bool:
        """Whether a name is bound before a loop that runs the call again with the same graph."""
        loops = [node for node in facts.ancestors(call) if isinstance(node, LOOPS)]
        bindings = self.project.reaching(facts, name).bindings
        return any(
            loop not in (binding.stmt, *facts.ancestors(binding.stmt))
            for loop in loops
            for binding in bindings
            if not any(name is part for part in walk(loop.iter if not isinstance(loop, ast.While) else loop.test))
        )

    def _leaks(self, facts: FileFacts, scope: Scope, parts: set[ast.expr], names: list[ast.Name]) -> bool:
        """Whether a tensor of the graph goes where it cannot be followed."""
        bound = {(name.id, binding.stmt) for name in names for binding in self.project.reaching(facts, name).bindings}
        words = {name.id for name in names}
        for part in walk(scope.node):
            if not isinstance(part, ast.Name) or part.id not in words or part in parts:
                continue
            if isinstance(part.ctx, ast.Load) and facts.scope_of(part).function is scope:
                reach = {(part.id, binding.stmt) for binding in self.project.reaching(facts, part).bindings}
                if reach & bound and self.flow.graph_uses(facts, part) & _LOST:
                    return True
        return False

    def _later(self, facts: FileFacts, scope: Scope, call: ast.Call) -> Iterator[ast.Call]:
        """The calls of a function that may go back through a graph once the call at hand has."""
        loops = {node for node in facts.ancestors(call) if isinstance(node, LOOPS)}
        arms = dict(_arms(facts, call))
        for other in scope.calls:
            if other is call or not self._goes_back(facts, other):
                continue
            after = (other.lineno, other.col_offset) > (call.lineno, call.col_offset)
            if any(arms.get(branch, arm) != arm for branch, arm in _arms(facts, other)):
                continue
            if after or not loops.isdisjoint(facts.ancestors(other)):
                yield other

    def _goes_back(self, facts: FileFacts, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _BACKWARD:
            return True
        if (self.project.qualified(facts, call.func) or "") in _BACKWARD:
            return True
        return any(self.autograd.reaches(target, _BACKWARD.all) for target in self.graph.callees.get(call, ()))


def _handed(call: ast.Call) -> list[ast.expr]:
    """What a call is given: its arguments, and the tensor whose method it is."""
    own = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return [*own, *call.args, *(keyword.value for keyword in call.keywords)]


def _exits(scope: Scope) -> Iterator[ast.expr]:
    """What leaves a function: the parts of what it returns, and what it keeps on objects or in containers."""
    todo = scope.results
    for part in walk(scope.node):
        if isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            if any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets):
                todo.append(part.value)
    return (part for node in todo for part in parts_of(node))


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions inside another that may hand a graph on to it."""
    for part in children(node):
        if isinstance(part, ast.expr):
            method = isinstance(node, ast.Call) and part is node.func
            yield part.value if method and isinstance(part, ast.Attribute) else part
        elif isinstance(part, (ast.keyword, ast.comprehension)):
            yield part.value if isinstance(part, ast.keyword) else part.iter


def _ends(node: ast.expr) -> bool:
    """Whether a graph ends in an expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ENDING
    return isinstance(node, ast.Attribute) and node.attr in ("data", "shape", "dtype", "device", "grad")


def _is_leaf(node: ast.expr) -> bool:
    """Whether an expression makes a parameter, or no tensor at all."""
    if isinstance(node, ast.Constant):
        return True
    for part in walk(node):
        if isinstance(part, ast.Call):
            last = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
            if last in ("Parameter", "requires_grad_") or any(k.arg == "requires_grad" for k in part.keywords):
                return True
    return False


def _arms(facts: FileFacts, node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """The ``if`` statements around a node, each with whether the node is in its body."""
    for inner, outer in facts.climb(node):
        if isinstance(outer, ast.If) and inner is not outer.test:
            yield outer, inner in outer.body


def keeps_graph_for_nothing(site: Site, call: cst.Call) -> bool:
    """Return whether ``x.backward(retain_graph=...)`` keeps its graph and no backward pass runs through it again.

    Proven in the function, in its callers and over the rounds of loops; false when unsure.
    """
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Backwards).kept_for_nothing(site.file, twin)
