"""Which tensors are part of a recorded graph, and of which parameters."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.conversions import converted_parameter
from torchlint.facts.autograd.layers import is_kept_layer
from torchlint.facts.autograd.modes import Mode, Modes
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.autograd.parametric import Parametric
from torchlint.facts.autograd.tuples import Tuples, added_to
from torchlint.facts.code.callers import answers, passing, registered
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.reach import MOST_BINDINGS, Reaching
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import arguments_of, forms_of
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.dataflow.untaken import ALL_RUN, Untaken, UntakenArms
from torchlint.facts.values.join import TENSOR
from torchlint.facts.values.signatures import keyword
from torchlint.facts.values.tested import is_no_tensor, names_asked
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Word, function_names, last_names
from torchlint.rule import UNKNOWN, Kind, Value

ENDING = last_names(graph="ends") | last_names("torch.Tensor torch", about=True)
_MAKING = last_names("torch", makes=True)
_NO_GRAPH = frozenset({Kind.NDARRAY, Kind.SCALAR, Kind.ITEM, Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE}) | {
    *(Kind.DEVICE, Kind.DTYPE, Kind.ENV, Kind.OPTIMIZER)
}
_INTEGERS = last_names(dtype=("integer", "truth"))
_OUTPUT = Word("output of a model")
_PASSING = function_names("builtins", elements=True) | function_names("builtins", folds=True, number=False, graph=False)


class _AddedTo(NamedTuple):
    """What a function adds to the object of a name, which all reads of the name have in common."""

    function: Scope
    name: str


class _Entered(NamedTuple):
    """How one call enters a function: the arms that it leaves out, and the graphs of what it passes."""

    function: Scope | None = None
    untaken: Untaken = ALL_RUN
    passed: frozenset[tuple[str, Graph]] = frozenset()


class _Within(NamedTuple):
    """A question about a function, or an expression in it, as one call enters the function."""

    asked: tuple[FileFacts, ast.expr | Reaching] | Scope
    entered: _Entered


_Question = tuple[FileFacts, ast.expr | Reaching] | Scope | _AddedTo | _Within
_ANY_CALL = _Entered()


class Graph(enum.IntFlag):
    """What the graph that a tensor depends on comes from; ``NONE``: there is no graph."""

    NONE = 0
    TRAINED = 1  # parameters that ask for gradients and belong to no target network
    COPY = 2  # parameters of target networks
    OPEN = 4  # something that is not known


@dataclass(eq=False, slots=True)
class Graphs(Fact):
    """Answers what graphs tensors depend on, with a memory."""

    project: Project
    graph: CallGraph
    values: Values
    networks: Networks
    modes: Modes
    sources: Sources
    arms: UntakenArms
    parameters: Parametric
    _solver: Solver[_Question, Graph] = field(init=False)
    _leaves: ValueFlow[bool] = field(init=False)
    _tuples: Tuples = field(init=False)
    _asked: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _conversions: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _entered: _Entered = _ANY_CALL

    def __post_init__(self) -> None:
        self._solver = Solver(self._answer, Graph.OPEN)
        self._leaves = ValueFlow(self._leaf, lost=False)
        self._tuples = Tuples(self.sources, self._is_whole)

    def of(self, facts: FileFacts, node: ast.expr) -> Graph:
        """Return the sources of an expression's graph, with ``OPEN`` if some are not known."""
        found = self._solver.ask((facts, node))
        return Graph.OPEN if found is None else found

    def returned(self, functions: Iterable[Scope], call: ast.Call | None = None) -> Graph:
        """Return the sources of the graph that a result of any of these functions may have, or what a call gives."""
        found = _joined([self._result(each, call) if call else self._solver.ask(each) for each in functions])
        return Graph.OPEN if found is None else found

    def _result(self, function: Scope, call: ast.Call) -> Graph | None:
        """The graph of what a function returns to a call, without the arms that its arguments leave out.

        A function that is called where arms are left out is given what is computed without these.
        """
        caller = self.graph.caller(function, call)
        untaken = self.arms.of(function, caller, self.values)
        if caller is None or not (untaken.nodes or self._entered.function):
            return self._solver.ask(function)
        given = (
            (name, self._ask(caller.facts, node))
            for name, node in (passing(function, caller) if self._entered.function else ())
        )
        known = frozenset((name, found) for name, found in given if found is not None)
        return self._solver.ask(_Within(function, _Entered(function, untaken, known)))

    def _answer(self, question: _Question) -> Graph | None:
        """The graph of an expression, or of what a function returns; ``None`` before anything is known."""
        outer = self._entered
        self._entered = question.entered if isinstance(question, _Within) else _ANY_CALL
        try:
            return self._plain(question.asked if isinstance(question, _Within) else question)
        finally:
            self._entered = outer

    def _ask(self, facts: FileFacts, node: ast.expr | Reaching) -> Graph | None:
        """The graph of an expression of the function that is asked about, as the call enters it that is asked about."""
        asked = facts, node
        return self._solver.ask(_Within(asked, self._entered) if self._entered.function else asked)

    def _plain(self, question: tuple[FileFacts, ast.expr | Reaching] | Scope | _AddedTo) -> Graph | None:
        if isinstance(question, Scope):
            if not keeps_result(self.project, question):
                return Graph.OPEN
            returned = [each for each in question.results if not self._entered.untaken.holds(question.file, each)]
            return self._any(question.file, returned or question.results)
        if isinstance(question, _AddedTo):
            return self._any(question.function.file, added_to(*question))
        facts, node = question
        if isinstance(node, Reaching):
            return _joined([self._binding(facts, binding) for binding in node.bindings])
        value = self.values.of(facts, node)
        if value.kind in _NO_GRAPH or (value.kind is Kind.TENSOR and value.dtype in _INTEGERS):
            return Graph.NONE
        if isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp)) and self._is_quiet(facts, node):
            return Graph.NONE
        return self._expression(facts, node)

    def _expression(self, facts: FileFacts, node: ast.expr) -> Graph | None:
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(facts, node)
        if isinstance(node, ast.BinOp):
            return self._any(facts, [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            return self._any(facts, [node.operand])
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._any(facts, node.elts)
        if isinstance(node, ast.Dict):
            return self._any(facts, node.values)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._any(facts, [node.elt])
        if isinstance(node, ast.Subscript):
            return self._ask(facts, node.value)
        if forms := forms_of(node):
            return self._any(facts, [each for each in forms if each not in self._entered.untaken.nodes] or forms)
        return Graph.NONE if isinstance(node, (ast.Constant, ast.Compare, ast.JoinedStr, ast.Lambda)) else Graph.OPEN

    def _any(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> Graph | None:
        return _joined([self._ask(facts, node) for node in nodes])

    def _name(self, facts: FileFacts, node: ast.Name) -> Graph | None:
        reach = self.project.reaching(facts, node)
        if not reach.bindings:
            return Graph.OPEN
        if node.id in self._names_asked(facts.scope_of(node).function) and is_no_tensor(self.project, facts, node):
            return Graph.NONE
        if len(reach.bindings) > MOST_BINDINGS:  # many uses have them in common
            bound = [self._ask(facts, reach)]
        else:
            seen = self._entered.untaken.seen(facts, node, reach.bindings)
            cleared = [binding for binding in seen if _records(facts, binding.stmt, node.id)]
            known = self.values.of(facts, node).known
            bound = [self._binding(facts, binding, known=known) for binding in cleared or seen]
        added = _AddedTo(facts.scope_of(node).function, node.id)
        if next(added_to(*added), None) is not None:
            bound.append(self._solver.ask(added))
        return _joined(bound)

    def _names_asked(self, function: Scope) -> frozenset[str]:
        found = self._asked.get(function)
        if found is None:
            found = self._asked[function] = names_asked(function)
        return found

    def _binding(self, facts: FileFacts, binding: Binding, *, known: bool = True) -> Graph | None:
        """The graph of what a name is bound to, of which something is ``known`` beside that."""
        if binding.how is Bind.PARAM and binding.scope is not None:
            return self._parameter(binding, binding.scope)
        value = binding.value
        if value is None or binding.how not in (Bind.ASSIGN, Bind.ELEMENT, Bind.AUGMENT):
            return Graph.OPEN
        if binding.how is Bind.AUGMENT and isinstance(binding.stmt, ast.AugAssign):
            return self._any(facts, [binding.stmt.target, value])
        if not binding.path:
            return self._ask(facts, value)
        path = (None, *binding.path) if binding.how is Bind.ELEMENT else binding.path
        parts = list(self._tuples.at(facts, value, path))
        if not known and binding.how is Bind.ASSIGN and len(path) > 1 and parts == [(facts, value)]:
            return Graph.OPEN  # a part of a part: numbers for a log, as well as tensors
        return _joined([self._ask(*part) for part in parts])

    def _parameter(self, binding: Binding, function: Scope) -> Graph | None:
        if function.self_name == binding.target:
            return Graph.OPEN
        if self._entered.function is function:
            for name, passed in self._entered.passed:
                if name == binding.target:
                    return passed
        given = self.graph.arguments(function, binding.target)
        found = [self._solver.ask((each.facts, node)) if node is not None else Graph.OPEN for each, node in given]
        return _joined(found) if found else Graph.OPEN

    def _attribute(self, facts: FileFacts, node: ast.Attribute) -> Graph | None:
        if node.attr in ("data", "grad", "shape", "dtype", "device"):
            return Graph.NONE
        source = self.values.of(facts, node.value)
        if source.kind in (Kind.TENSOR, Kind.DISTRIBUTION) or (source.kind is Kind.TUPLE and node.attr == "values"):
            return self._ask(facts, node.value)
        stores = self.sources.stores(facts, node)
        if not stores:
            if self._is_buffer(source, node.attr):
                return Graph.NONE
            named = not source.known and _OUTPUT.fits(node.attr) and self.values.guess(TENSOR, UNKNOWN).known
            return self._ask(facts, node.value) if named else Graph.OPEN
        owners = self.sources.owners(facts, node)
        added = [part for cls in owners for part in self.networks.parts.additions.to(cls, node.attr)]
        return _joined([*(self._binding(s.scope.file, s.binding) for s in stores), *map(self._solver.ask, added)])

    def _is_buffer(self, owner: Value, attr: str) -> bool:
        """Whether all that a module keeps under a name is what ``register_buffer`` was given."""
        calls = (call for cls in owner.name.split("|") for call in registered(self.project, cls, attr))
        return owner.kind is Kind.MODULE and any(last_name(call.func) == "register_buffer" for call in calls)

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, node: ast.Call) -> Graph | None:
        func = node.func
        name = self.project.qualified(facts, func) or ""
        given = [part.value if isinstance(part, ast.Starred) else part for part in node.args]
        given.extend(part.value for part in node.keywords)
        if name.startswith("torch.nn.utils.clip_grad"):
            return Graph.NONE
        if name.startswith("torch.") and name.rpartition(".")[2] in _MAKING:
            asked = keyword(node, "requires_grad")
            return Graph.NONE if asked is None or _says(node, "requires_grad", False) else Graph.TRAINED
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return Graph.NONE if _says(node, "requires_grad", False) else Graph.TRAINED
        if name.startswith("torch.") and not name.startswith("torch.nn.modules") and name != "torch.utils.checkpoint":
            last = name.rpartition(".")[2]
            return Graph.NONE if last in ENDING else self._any(facts, given)
        if name.startswith("builtins."):
            return self._any(facts, given) if name in _PASSING else Graph.NONE
        if name.startswith(("numpy.", "math.", "random.")):
            return Graph.NONE
        callee = self.values.of(facts, func)
        if self.is_module(facts, func):
            return self._network(facts, func, node, given)
        if name in self.project.classes:
            return self._any(facts, given)  # an object holds what its constructor was given, as a list does
        targets = self.graph.sure(node)
        if targets:
            if (handed := self._handed(facts, node, targets)) is not None:
                return self._network(facts, handed, node, [each for each in given if each is not handed])
            if self._off(facts, node):
                return Graph.NONE
            converted = self._converted(node, targets)
            return self._function(facts, node, targets, given) if converted is None else self._any(facts, converted)
        if not callee.known and is_kept_layer(self.project, facts, func):
            fed = self._any(facts, given)
            return None if fed is None else fed | Graph.OPEN
        if isinstance(func, ast.Attribute):
            return self._method(facts, func, given)
        return Graph.OPEN

    def _function(
        self, facts: FileFacts, node: ast.Call, targets: Iterable[Scope], given: Sequence[ast.expr]
    ) -> Graph | None:
        """The result of project functions; of a method of a module, or of what holds some, it depends on which it is.

        Where some of the functions give tensors with a graph and others give none, it is not known which one runs.
        """
        func = node.func
        results = {target: self._result(target, node) for target in targets}
        found = _joined([*results.values()])
        if found and any(result is Graph.NONE and answers(target) for target, result in results.items()):
            return Graph.OPEN
        owner = self.values.of(facts, func.value).kind if isinstance(func, ast.Attribute) else Kind.UNKNOWN
        if not found or owner not in (Kind.MODULE, Kind.INSTANCE):
            return found
        if self.networks.toggled(facts, func):
            return Graph.OPEN
        if self.networks.frozen(facts, func):
            return self._any(facts, given)
        if found & Graph.TRAINED and self.networks.target(facts, func):
            fed = self._any(facts, given) or Graph.NONE
            return (found & ~Graph.TRAINED) | Graph.COPY | (fed & Graph.TRAINED)
        return found

    def _converted(self, node: ast.Call, targets: Sequence[Scope]) -> list[ast.expr] | None:
        """The arguments of which a call gives another form: moved, cast, reshaped, as by ``to_tensor(x)``.

        ``None`` where its results come from elsewhere too; other calls of the function do not count.
        """
        names = self._conversion(targets[0]) if len(targets) == 1 else frozenset()
        if not names:
            return None
        return [
            each for each in arguments_of(node) if any(taken in names for _, taken in self.graph.taking(node, each))
        ]

    def _conversion(self, function: Scope) -> frozenset[str]:
        """The parameters that a function gives in another form, if no other result of it has a graph; else none."""
        found = self._conversions.get(function)
        if found is None:
            self._conversions[function] = frozenset()  # while it is being asked
            names: set[str] = set()
            for result in function.results if keeps_result(self.project, function) and not function.yields else ():
                if self._solver.ask((function.file, result)) is Graph.NONE:
                    continue
                name = converted_parameter(self.project, function, result)
                if not name:
                    return frozenset()
                names.add(name)
            found = self._conversions[function] = frozenset(names)
        return found

    def _handed(self, facts: FileFacts, node: ast.Call, targets: Sequence[Scope]) -> ast.expr | None:
        """The module that a call hands to a function which only runs it: ``run(self.target, obs)``."""
        name = self._run_alone(targets[0]) if len(targets) == 1 else ""
        given = arguments_of(node) if name else ()
        handed = (each for each in given if any(taken == name for _, taken in self.graph.taking(node, each)))
        return next((each for each in handed if self.values.of(facts, each).kind is Kind.MODULE), None)

    def _run_alone(self, function: Scope) -> str:
        """The parameter that a function calls for all that it returns, an empty word where there is none."""
        called = {
            self._called_parameter(function, part)
            for result in function.results
            for part in (result.elts if isinstance(result, ast.Tuple) else [result])
        }
        return called.pop() if len(called) == 1 else ""

    def _called_parameter(self, function: Scope, node: ast.expr) -> str:
        """The parameter that an expression is a call of, also by a name of the function or with methods behind it."""
        origin = self._origin(function.file, node)
        if not isinstance(origin, ast.Call) or not isinstance(origin.func, ast.Name):
            return ""
        bound = self.project.reaching(function.file, origin.func).parameter
        return origin.func.id if bound is not None and bound.scope is function else ""

    def _origin(self, facts: FileFacts, node: ast.expr) -> ast.expr:
        """What an expression begins with, which a name may hold: ``net(x)`` of ``net(x).squeeze(-1)``."""
        seen: set[ast.expr] = set()
        while node not in seen:
            seen.add(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                node = node.func.value
            elif isinstance(node, ast.Name):
                node = self.project.reaching(facts, node).value or node
        return node

    def _method(self, facts: FileFacts, func: ast.Attribute, given: Sequence[ast.expr]) -> Graph | None:
        source = self.values.of(facts, func.value)
        if func.attr == "requires_grad_":
            return Graph.TRAINED
        if func.attr in ENDING:
            return Graph.NONE
        if source.kind in (Kind.TENSOR, Kind.DISTRIBUTION):
            return self._any(facts, [func.value, *given])
        if isinstance(self._origin(facts, func.value), ast.Compare):
            return self._any(facts, given)  # ``(labels != padding).sum()``, whatever the labels are
        if source.kind in (Kind.LIST, Kind.TUPLE, Kind.DICT):
            return self._ask(facts, func.value)
        found = self._ask(facts, func.value)
        return None if found is None else found | Graph.OPEN

    def _is_whole(self, facts: FileFacts, node: ast.Call) -> bool:
        """Whether the parts of what a call gives have its graph: nothing is recorded, or a target network runs."""
        if self._off(facts, node):
            return True
        return self.values.of(facts, node.func).kind is Kind.MODULE and self.networks.target(facts, node.func)

    def _off(self, facts: FileFacts, node: ast.AST) -> bool:
        return self.modes.at(facts, node) is Mode.OFF or self._is_quiet(facts, node)

    def _is_quiet(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether the function around a node stops recording there, in the call that is asked about."""
        mode, untaken = self.modes.inside(facts, node), self._entered.untaken
        chosen = mode is Mode.UNKNOWN and bool(untaken.nodes)
        return mode is Mode.OFF or (chosen and self.modes.is_off(facts, node, untaken))

    def _network(self, facts: FileFacts, func: ast.expr, node: ast.Call, given: Sequence[ast.expr]) -> Graph | None:
        """The result of a module: its parameters ask for gradients, or what it is given is part of a graph."""
        if self._off(facts, node):
            return Graph.NONE
        targets = self.graph.callees.get(node, ())
        if self.networks.toggled(facts, func):
            return Graph.OPEN
        frozen = self.networks.frozen(facts, func)
        if not frozen and self.parametric(facts, func):
            results = _joined([self._result(target, node) for target in targets]) if targets else Graph.OPEN
            if results is None or results is Graph.NONE:
                return results
            fed = self._any(facts, given) or Graph.NONE
            return (Graph.COPY if self.networks.target(facts, func) else Graph.TRAINED) | (fed & ~Graph.OPEN)
        if frozen or self.networks.made_of(facts, func) is not None:
            return self._any(facts, given)
        return _joined([self._result(target, node) for target in targets]) if targets else Graph.OPEN

    def is_module(self, facts: FileFacts, func: ast.expr) -> bool:
        """Return whether a callee is a module: by its class, or, where that is not known, by what is done with it."""
        value = self.values.of(facts, func)
        return value.kind is Kind.MODULE or (not value.known and self.networks.used_whole(facts, func))

    def parametric(self, facts: FileFacts, func: ast.expr) -> bool:
        """Return whether a module is known to have parameters."""
        return self.parameters.known(facts, func)

    def is_leaf(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor asks for gradients itself and was computed from nothing: it has no graph."""
        return set(self._leaves.ends(facts, node)) == {True}

    def _leaf(self, spot: Spot) -> Iterator[Spot | bool]:
        """From a tensor to whether what makes it is a leaf."""
        facts, node = spot.facts, spot.node
        if isinstance(node, ast.Call):
            name = self.project.qualified(facts, node.func) or ""
            if isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
                yield self.of(facts, node.func.value) is Graph.NONE
            else:
                made = name.startswith("torch.") and name.rpartition(".")[2] in _MAKING
                asks = made and keyword(node, "requires_grad") is not None
                yield asks or name.endswith("nn.Parameter") or name == "torch.nn.parameter.Parameter"
        elif isinstance(node, ast.Attribute) and self._is_weight(self.values.of(facts, node.value), node.attr):
            yield True
        elif isinstance(node, (ast.Name, ast.Attribute)) and not spot.path:
            yield from self.sources.crossing(spot, (Label.COPY, Label.FIELD), unknown=False)
        else:
            yield False

    def _is_weight(self, owner: Value, name: str) -> bool:
        return owner.kind is Kind.MODULE and name in ("weight", "bias") and owner.name.startswith("torch.nn.")


def _records(facts: FileFacts, stmt: ast.AST, name: str) -> bool:
    """Whether a statement runs for each value of a name that has a graph: ``if x.requires_grad: x = x.detach()``."""
    branch = facts.parent.get(stmt)
    if not isinstance(branch, ast.If) or stmt not in branch.body:
        return False
    match branch.test:
        case ast.Attribute(value=ast.Name(id=tested), attr="requires_grad"):
            return tested == name
    return False


def _joined(found: Sequence[Graph | None]) -> Graph | None:
    """The graph of something made of several; what is not known yet does not count."""
    known = [answer for answer in found if answer is not None]
    if found and not known:
        return None
    joined = Graph.NONE
    for answer in known:
        joined |= answer
    return joined


def _says(call: ast.Call, name: str, value: bool) -> bool:
    given = keyword(call, name)
    return isinstance(given, ast.Constant) and given.value is value
