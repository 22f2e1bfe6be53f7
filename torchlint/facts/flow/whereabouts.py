"""Which tensors lie on one device: by what they are computed from, and what they met on the way."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.parts import Parts
from torchlint.facts.code.callers import Caller, passed, unpacked
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.exporting import of_library
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.hierarchy import is_external_module
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.nesting import is_above
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.flow.flow import Flow
from torchlint.facts.values.signatures import rules, table
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import last_names
from torchlint.rule import UNKNOWN, Device, Kind

_OTHERS = ("cuda:1", "cuda:2", "cuda:3")
_NOT_TENSORS = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE, Kind.DTYPE, Kind.SCALAR})
# Operations that compute each element from those at its place: what goes in with a dimension comes out with one.
_ELEMENTWISE = frozenset({"binary", "bool", "divide", "float", "unary", "same_rank", "move", "where"})
# Operations whose other operands must lie where the first one lies, unless they are numbers as tensors.
_TOGETHER = frozenset({"binary", "bool", "divide", "loss", "where"})
# Operations whose result lies where the first operand lies, where the others are options.
_OF_FIRST = frozenset(
    ("reduce", "reduce_bool", "index", "reshape", "move", "unsqueeze", "flatten", "same_rank", "loose_view", "float")
)
# Layers of torch that give a tensor of at least one dimension.
_WIDE = last_names("torch.nn", layer=True)
# Modules that run others on devices of their own choice.
_MOVING = frozenset({"Module", "DataParallel", "DistributedDataParallel"})
_DISTRIBUTIONS = "torch.distributions."

_Source = ast.expr | Binding
_Sources = frozenset[_Source]


@dataclass(frozen=True, slots=True)
class _Lie:
    """Where a tensor lies.

    Attributes:
        sources: what it is computed from. beside: what is proven to lie on the same device.
        wide: whether it has at least one dimension. away: whether it lies on an accelerator where there is one.
    """

    sources: _Sources
    beside: _Sources
    wide: bool = False
    away: bool = False


@dataclass(frozen=True, slots=True)
class _Result:
    """Where a part of what a function returns lies: beside which of its parameters."""

    beside: frozenset[str]
    wide: bool
    away: bool


_Question = tuple[FileFacts, ast.expr]
_NOWHERE = _Lie(frozenset(), frozenset())
_ANYWHERE = _Result(frozenset(), wide=False, away=False)


@dataclass(eq=False, slots=True)
class Whereabouts(Fact):
    """Answers whether tensors lie on one device, in every run that comes to them without an error.

    Operations of torch take tensors of one device, and beside them numbers as tensors on the host; the result lies on
    the accelerator where any operand does. So a result lies where its *sources* say that are not computed in the
    function themselves, together, and results of the same sources lie on the same device.

    More is known of operands with a dimension, and of all that ``cat`` and ``stack`` take: they lie on one device, or
    the operation raises. So does what a layer of torch is given and what it gives. Tensors that met this way, or that
    share an operand that did, lie on one device.
    """

    project: Project
    graph: CallGraph
    values: Values
    flow: Flow
    occurrences: Occurrences
    parts: Parts
    _solver: Solver[_Question, _Lie] = field(init=False)
    _results: Solver[tuple[Scope, int | None], _Result] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(lambda question: self._expression(*question), _NOWHERE)
        self._results = Solver(lambda question: self._result(*question), _ANYWHERE)

    def on_accelerator(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor lies on an accelerator where there is one, else on the CPU."""
        return self.values.of(facts, node).device in (Device.CUDA, Device.EITHER)

    def on_the_accelerator(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a tensor is on the one accelerator of the project if it has one, else on the CPU."""
        return self._lie(facts, node).away and self._is_one(facts)

    def _is_one(self, facts: FileFacts) -> bool:
        """Whether no file mentions another accelerator than the first."""
        return not any(self.occurrences.mentioned(facts, word) for word in _OTHERS)

    def alike(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> bool:
        """Return whether tensors are on one device.

        A run saw all of them there, or there is one accelerator, or they lie beside each other, or their
        sources say so.
        """
        nodes = list(nodes)
        seen = {self.values.seen.get(node, UNKNOWN).device for node in nodes}
        if len(seen) == 1 and Device.UNKNOWN not in seen:
            return True
        lies = [self._lie(facts, node) for node in nodes]
        one = self._is_one(facts)
        groups: list[frozenset[object]] = []
        for lie in lies:
            signs = frozenset[object](
                (*lie.beside, *([lie.sources] if lie.sources else []), *([one] * (one and lie.away)))
            )
            sharing = [group for group in groups if group & signs]
            groups = [group for group in groups if not group & signs] + [signs.union(*sharing)]
        return len(groups) == 1 and bool(groups[0])

    def combine(self, facts: FileFacts, nodes: Sequence[ast.expr]) -> bool:
        """Return whether numbers as tensors can be operands of one operation: no two lie on different accelerators.

        One of the host may stand beside one of an accelerator. A library may be given tensors of several.
        """
        closed = bool(nodes) and not of_library(self.project, facts.scope_of(nodes[0]))
        return (closed and self._is_one(facts)) or self.alike(facts, nodes)

    def _lie(self, facts: FileFacts, node: ast.expr) -> _Lie:
        """Where a tensor lies; what is not computed in the function is its own source."""
        found = self._solver.ask((facts, node)) or _NOWHERE
        return found if found.sources else replace(found, sources=frozenset((node,)), beside=found.beside | {node})

    def _alone(self, facts: FileFacts, node: ast.expr, *more: _Source) -> _Lie:
        """Where a tensor lies of which nothing more is known than its value."""
        value = self.values.of(facts, node)
        sources = frozenset(more or (node,))
        wide = value.kind is Kind.TENSOR and value.has_axes
        return _Lie(sources, sources if len(sources) == 1 else frozenset(), wide, self.on_accelerator(facts, node))

    def _of(self, facts: FileFacts, node: ast.expr, operands: Iterable[ast.expr], rule: str) -> _Lie | None:
        """Where the result of an operation on some operands lies; ``None`` before any of them is known."""
        tensors = [each for each in operands if not self._is_number(facts, each)]
        if not tensors:
            return self._alone(facts, node)
        found = [self._solver.ask((facts, each)) for each in tensors]
        known = [each for each in found if each is not None]
        if found and not known:
            return None
        own = self._alone(facts, node)
        sources = frozenset[_Source]().union(*(each.sources for each in known))
        deciding = self._deciding(facts, tensors, known, rule)
        beside = frozenset[_Source]().union(*(each.beside for each in deciding))
        kept = rule in _ELEMENTWISE and any(each.wide for each in deciding)
        away = own.away or any(each.away for each in known)
        return _Lie(sources, beside, own.wide or kept or rule == "join", away)

    def _deciding(
        self, facts: FileFacts, tensors: Sequence[ast.expr], known: Sequence[_Lie], rule: str
    ) -> Sequence[_Lie]:
        """The operands that lie where the result lies, whatever the others are: none of them is a lone number."""
        if len(known) == 1 or rule == "join":
            return known
        if rule in _TOGETHER:
            return [each for each in known if each.wide]
        others = any(self.values.of(facts, each).kind is Kind.TENSOR for each in tensors[1:])
        return known[:1] if known[0].wide or (rule in _OF_FIRST and not others) else []

    def _is_number(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an operand is not a tensor: a number, an option, or several numbers."""
        value = self.values.of(facts, node)
        several = value.kind in (Kind.LIST, Kind.TUPLE) and value.element.kind is Kind.NUMBER
        return several or value.kind in _NOT_TENSORS

    def _is_tensor(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is a tensor: by its value, or since ``backward()`` runs through it."""
        kind = self.values.of(facts, node).kind
        named = isinstance(node, (ast.Name, ast.Attribute))
        return kind is Kind.TENSOR or (kind is Kind.UNKNOWN and named and self.flow.differentiated(facts, node))

    # expressions ----------------------------------------------------------------------------------------------------

    def _expression(self, facts: FileFacts, node: ast.expr) -> _Lie | None:
        match node:
            case ast.Name():
                return self._name(facts, node)
            case ast.BinOp(left=left, right=right):
                return self._of(facts, node, [left, right], "binary")
            case ast.UnaryOp(operand=inner):
                return self._of(facts, node, [inner], "unary")
            case ast.Compare(left=left, comparators=others):
                return self._of(facts, node, [left, *others], "bool")
            case ast.Subscript(value=inner) if self._is_tensor(facts, inner):
                return self._of(facts, node, [inner], "")
            case ast.Subscript(value=ast.Call() as call):
                return self._given(facts, call, node) or self._alone(facts, node)
            case ast.Call():
                place = self._place(facts, node)
                if place is not None:
                    own = self._alone(facts, node)
                    return replace(own, beside=own.beside | {place})
                return self._part(facts, node, node, None)
        return self._alone(facts, node)

    def _place(self, facts: FileFacts, call: ast.Call) -> Binding | None:
        """What binds the name of the device on which a call of torch makes a tensor, or to which it moves one.

        Tensors that one device was given for lie together where the project has one accelerator.
        """
        function = self.project.qualified(facts, call.func) or ""
        given = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
        match call:
            case ast.Call(func=ast.Attribute(value=moved, attr="to"), args=[target], keywords=[]) if not function:
                tensor = self.values.of(facts, moved).kind is Kind.TENSOR
                device = target if tensor and self.values.of(facts, target).kind is Kind.DEVICE else None
            case _:
                device = given[0] if given and function.startswith("torch.") else None
        if not isinstance(device, ast.Name) or not self._is_one(facts):
            return None
        bound = self.project.reaching(facts, device).bindings
        every = facts.scope_of(device).function.bindings.get(device.id, ())
        single = len(bound) == 1 and list(every) == list(bound) and bound[0].how in (Bind.ASSIGN, Bind.PARAM)
        return bound[0] if single else None

    def _name(self, facts: FileFacts, node: ast.Name) -> _Lie | None:
        bindings = self.project.reaching(facts, node).bindings
        if len(bindings) != 1:
            return self._one_of(facts, node, bindings)
        return self._bound(facts, node, bindings[0])

    def _one_of(self, facts: FileFacts, node: ast.Name, bindings: Sequence[Binding]) -> _Lie | None:
        """Where a name lies that has one of several values: beside the parameters that all of them lie beside.

        Other tensors may be different ones when the values come from different rounds of a loop.
        """
        own = self._alone(facts, node, *bindings)
        found = [self._once(facts, each) for each in bindings]
        known = [each for each in found if each is not None]
        if not known:
            return None if found else own
        shared = frozenset.intersection(*(each.beside for each in known))
        stays = frozenset(key for key in shared if isinstance(key, Binding) and key.how is Bind.PARAM)
        return replace(own, beside=stays, wide=own.wide or all(each.wide for each in known))

    def _once(self, facts: FileFacts, binding: Binding) -> _Lie | None:
        """Where the value of one binding of a name lies when it is bound."""
        sources = frozenset[_Source]((binding,))
        if binding.how is Bind.ASSIGN and binding.value is not None and not binding.path:
            return self._solver.ask((facts, binding.value))
        if binding.how is Bind.AUGMENT and isinstance(binding.stmt, ast.AugAssign):
            return self._of(facts, binding.stmt.target, [binding.stmt.target, binding.stmt.value], "binary")
        return _Lie(sources, sources)

    def _bound(self, facts: FileFacts, node: ast.Name, binding: Binding) -> _Lie | None:
        """Where a name lies that one statement binds."""
        value = binding.value
        if value is None or not is_above(facts, self._under_modes(facts, binding.stmt), node):
            return self._alone(facts, node, binding)
        if binding.how is Bind.AUGMENT and isinstance(binding.stmt, ast.AugAssign) and not binding.path:
            return self._of(facts, node, [binding.stmt.target, value], "binary")
        if binding.how is not Bind.ASSIGN:
            return self._alone(facts, node, binding)
        inner = unpacked(value, binding.path)
        if inner is value and binding.path:
            index = binding.path[0] if len(binding.path) == 1 else None
            part = self._part(facts, value, node, index) if isinstance(value, ast.Call) and index is not None else None
            return part if part is not None and part.beside else self._alone(facts, node, binding)
        found = self._of(facts, node, [inner], "move")
        return found if found is None or found.sources else self._alone(facts, node, binding)

    def _under_modes(self, facts: FileFacts, stmt: ast.AST) -> ast.AST:
        """The statement that holds another one and runs it in any case: ``with`` blocks of modes of torch around it."""
        for inside, above in facts.climb(stmt):
            if not isinstance(above, ast.With) or not all(self._is_mode(facts, i.context_expr) for i in above.items):
                return inside
        return stmt

    def _is_mode(self, facts: FileFacts, node: ast.expr) -> bool:
        function = self.project.qualified(facts, node.func) if isinstance(node, ast.Call) else None
        return (function or "").startswith("torch.")

    def _part(self, facts: FileFacts, call: ast.Call, node: ast.expr, index: int | None) -> _Lie | None:
        """Where the result of a call lies, or a part of it that is unpacked; ``node`` is what the part is."""
        return self._given(facts, call, node) or self._called(facts, call, node, index)

    def _given(self, facts: FileFacts, call: ast.Call, node: ast.expr) -> _Lie | None:
        """Where the result of a call of torch lies, or any part of it; ``None`` of other calls."""
        layer = self._layer(facts, call)
        if layer is not None:
            found = self._of(facts, node, layer[1], layer[0])
            return found if found is None else replace(found, wide=found.wide or layer[0] in _WIDE)
        operation = self._operation(facts, call)
        if operation is not None:
            rule, operands = operation
            return self._of(facts, node, operands, rule if node is call else "")
        return None

    # calls ----------------------------------------------------------------------------------------------------------

    def _operation(self, facts: FileFacts, call: ast.Call) -> tuple[str, Sequence[ast.expr]] | None:
        """What an operation of torch does that gives tensors where its operands lie, and these; else ``None``."""
        given = arguments_of(call)
        if any(isinstance(part, ast.Starred) for part in given) or any(k.arg in (None, "out") for k in call.keywords):
            return None
        function = self.values.of(facts, call.func)
        handed = function.name if function.kind is Kind.FUNCTION and "|" not in function.name else ""
        name = self.project.qualified(facts, call.func) or handed
        module, _, last = name.rpartition(".")
        if module == "torch.nn.functional":
            return (rules("functional")[last], given) if last in rules("functional") else None
        if module == "torch":
            joined = rules("torch").get(last)
            if joined in ("join", "where"):
                return joined, list(_elements(given))
            if joined == "like" and not any(k.arg == "device" for k in call.keywords):
                return "move", call.args[:1]
            return (rules("operations")[last], given) if last in rules("operations") else None
        if name.startswith(_DISTRIBUTIONS):
            return "binary", given
        if not isinstance(call.func, ast.Attribute):
            return None
        receiver, method = call.func.value, call.func.attr
        if self.values.of(facts, receiver).kind is Kind.DISTRIBUTION:
            compares = method in ("log_prob", "cdf", "icdf")
            known = method in table()["distribution_methods"]["tensor"]
            return ("loss", [receiver, *given] if compares else [receiver]) if known else None
        if not self._is_tensor(facts, receiver):
            return None
        if rules("operations").get(method) == "like_other" or method in table()["tensor_methods"]["cast"]:
            return "move", [receiver]
        return (rules("operations")[method], [receiver, *given]) if method in rules("operations") else None

    def _layer(self, facts: FileFacts, call: ast.Call) -> tuple[str, Sequence[ast.expr]] | None:
        """The class of a layer of torch that a call runs, and what it is given; ``loss`` of one that compares."""
        if not call.args or any(isinstance(part, ast.Starred) for part in call.args) or call.keywords:
            return None
        value = self.values.of(facts, call.func)
        named = value.name.startswith("torch.nn.") and "|" not in value.name and not value.derived
        if value.kind is not Kind.MODULE or not named:
            return None
        last = value.name.rpartition(".")[2]
        if last in table()["modules"]["loss"]:
            return "loss", call.args
        inside = frozenset((value.name,))
        if last == "Sequential":
            inside = self.parts.classes(facts, call.func) or frozenset(("",))
        plain = all(is_external_module(name) and name.rpartition(".")[2] not in _MOVING for name in inside)
        return (last, call.args[:1]) if plain else None

    def _called(self, facts: FileFacts, call: ast.Call, node: ast.expr, index: int | None) -> _Lie:
        """Where the result of a function of the project lies, as of all that the call may mean."""
        own = self._alone(facts, node)
        targets = self.graph.sure(call)
        if not targets:
            return own
        calls = ((target, self.graph.caller(target, call) or Caller(facts, call, 0)) for target in targets)
        found = [self._returned(target, index, caller) for target, caller in calls]
        beside = frozenset.intersection(*(each.beside for each in found))
        wide = own.wide or all(each.wide for each in found)
        return _Lie(own.sources, own.beside | beside, wide, own.away or all(each.away for each in found))

    def _returned(self, target: Scope, index: int | None, caller: Caller) -> _Lie:
        """Where what one function returns lies, beside the arguments of a call."""
        result = self._results.ask((target, index)) or _ANYWHERE
        given = (passed(target, name, caller) for name in sorted(result.beside))
        lies = [self._solver.ask((caller.facts, each)) for each in given if each is not None]
        beside = frozenset[_Source]().union(*(each.beside for each in lies if each is not None))
        away = result.away or any(each.away for each in lies if each is not None)
        return _Lie(frozenset(), beside, result.wide, away)

    def _result(self, target: Scope, index: int | None) -> _Result:
        """Beside which parameters what a function returns lies, in all its returns."""
        if target.yields or not keeps_result(self.project, target) or not target.returns:
            return _ANYWHERE
        found: list[_Lie] = []
        for each in target.returns:
            node = each.value
            if index is not None:
                if not isinstance(node, ast.Tuple) or not 0 <= index < len(node.elts):
                    return _ANYWHERE
                node = node.elts[index]
            if node is None or isinstance(node, (ast.Tuple, ast.Starred)):
                return _ANYWHERE
            lie = self._solver.ask((target.file, node))
            if lie is not None:
                found.append(lie)
        if not found:
            return _ANYWHERE
        own = {bound[0]: name for name, bound in target.bindings.items() if bound and bound[0].how is Bind.PARAM}
        names = [frozenset(own[key] for key in lie.beside if isinstance(key, Binding) and key in own) for lie in found]
        return _Result(frozenset.intersection(*names), all(lie.wide for lie in found), all(lie.away for lie in found))


def _elements(nodes: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """The arguments of a call, those of lists and tuples that are written there one by one."""
    for node in nodes:
        if isinstance(node, (ast.List, ast.Tuple)):
            yield from node.elts
        else:
            yield node
