"""Where what a function returns lies, from where the arguments of one call lie."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from torchlint.facts.code.callers import Caller, passed, passing
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import receiver_of
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import TENSOR, join, list_of, tuple_of
from torchlint.facts.values.leaves import moved_leaves
from torchlint.facts.values.relatives import joined
from torchlint.facts.values.signatures import rules, starred, table
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import UNKNOWN, Device, Kind, Value

_OBJECTS = frozenset({Kind.MODULE, Kind.INSTANCE})
_VIEWS = method_names("torch.Tensor torch", shapes=True)
_MAPPING = function_names(maps="leaves")
_ELEMENTS = method_names("torch.Tensor torch", elements="all", casts=False, shapes=False)


def linked_by_name(ask: Ask, name: str, call: ast.Call) -> Value | None:
    """Return what a call on an unknown object gives where methods of that name are all that links it: a guess."""
    linked = ask.linked(name, call)
    found = join(returned_at(ask, method, caller) for method, caller in linked) if linked else UNKNOWN
    return found if found is None else ask.guess(UNKNOWN if found.kind is Kind.NONE else found)


def returned_at(ask: Ask, function: Scope, caller: Caller, cls: str = "") -> Value | None:
    """Return what one call of a function returns.

    Its own argument, or a tensor on the host where all tensors passed through are there.

    Of a method that a class inherits, an element of what objects of that very class (``cls``) hold: registries that
    share a base hold different functions.

    A parameter is on the host only if it is in all calls, so a helper that many share would forget where each one's
    tensors lie. Here the returns are followed through names, views and arithmetic to the arguments of this call.
    """
    if _moves_all(function) and not starred(caller.call):
        return _moved(ask, function, caller)
    if len(function.results) > 1 and not function.yields and (leaves := moved_leaves(ask, function, caller)) != UNKNOWN:
        return leaves
    result = _by_arms(ask, function, caller, ask.solver.ask(function))
    name = _given_back(ask.project, function) if result in (UNKNOWN, TENSOR) else ""
    if name and (given_to := passed(function, name, caller)):
        argument = ask.value(caller.facts, given_to)
        if result == TENSOR and argument is not None and argument.kind is not Kind.TENSOR:
            return result
        if argument is not None and any(tree_of(ask.project, function.file, each) for each in function.results):
            return argument if argument.kind is Kind.INSTANCE else UNKNOWN
        return argument if argument is None or _as_it_came(function) else _reshaped(argument)
    if result is not None and "|" in result.name and result.kind in (Kind.FUNCTION, Kind.CLASS):
        result = replace(result, name=_named_by(function, caller, result.name))
    registered = result is not None and (result == UNKNOWN or result.kind in (Kind.FUNCTION, Kind.CLASS))
    if registered and cls and function.method_of is not None and function.method_of.dotted != cls:
        found = _looked_up(ask, function, cls)
        return found if found != UNKNOWN else result
    if result is None or function.yields:
        return result
    if result.kind is not Kind.TUPLE or result.keys:
        return _placed(ask, function, caller, result, function.results)
    parts = [node.elts if isinstance(node, ast.Tuple) else () for node in function.results]
    if any(len(each) != len(result.items) or any(isinstance(part, ast.Starred) for part in each) for each in parts):
        return result
    items = [
        _placed(ask, function, caller, item, nodes)
        for item, nodes in zip(result.items, zip(*parts, strict=True), strict=True)
    ]
    known = [item for item in items if item is not None]
    return replace(result, items=tuple(known)) if len(known) == len(items) else None


def _by_arms(ask: Ask, function: Scope, caller: Caller, result: Value | None) -> Value | None:
    """What a function gives to a call whose literals choose among its arms: ``make("critic")`` makes no actor."""
    plain = result is not None and result.kind in _OBJECTS and not function.yields
    if not plain or not keeps_result(ask.project, function):
        return result
    untaken = ask.arms.of(function, caller, None)
    if not untaken.nodes:
        return result
    file, given = function.file, list[Value | None]()
    for node in (each for each in function.results if not untaken.holds(function.file, each)):
        seen = untaken.bindings(ask.project, file, node) if isinstance(node, ast.Name) else ()
        given.append(ask.bound(file, seen) if seen else ask.value(file, node))
    found = joined(ask.project, given) if given else result
    return found if found is None or found.known else result


def _placed(ask: Ask, function: Scope, caller: Caller, result: Value, given: Sequence[ast.expr]) -> Value | None:
    """A result of one call, given by one of some expressions: on the host where all that it is made of is there."""
    if result.kind is not Kind.TENSOR or result.device in (Device.CPU, Device.CUDA):
        return result
    if not any(_mentions(function, node) for node in given):
        return result
    where = _Trail(ask, function, caller).all(given)
    if where is None:
        return None
    return replace(result, device=where, pinned=None) if where is Device.CPU else result


def declared(ask: Ask, facts: FileFacts, call: ast.Call, given: ast.expr) -> Value | None:
    """Return what ``cast(T, x)`` gives: what is known of it, or what its type promises, as an annotation does."""
    known = ask.value(facts, given)
    if known is None or (known.known and not (known.kind is Kind.MODULE and not known.name)):
        return known
    promised = ask.annotations.read(facts, call.args[0])
    return promised if promised.known and known.kind in (Kind.UNKNOWN, promised.kind) else known


def _named_by(function: Scope, caller: Caller, names: str) -> str:
    """Those of several functions or classes that a literal names which one call passes: ``load(package, "Agent")``.

    All of them where it passes no such literal.
    """
    texts = {given.value for _, given in passing(function, caller) if isinstance(given, ast.Constant)}
    return "|".join(each for each in names.split("|") if each.rpartition(".")[2] in texts) or names


def _looked_up(ask: Ask, function: Scope, cls: str) -> Value | None:
    """What a method looks up in a dict of its object, or of its class, for a class: ``cls.table[name]``."""
    found: list[Value | None] = []
    for each in function.returns:
        node = each.value
        held = node.value if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice) else None
        if not isinstance(held, ast.Attribute) or not isinstance(held.value, ast.Name):
            return UNKNOWN
        if not function.self_name or held.value.id != function.self_name:
            return UNKNOWN
        table = ask.attribute(cls, held.attr)
        found.append(table if table is None or table.kind is not Kind.DICT else join(table.items) or UNKNOWN)
    return join(found) if found else UNKNOWN


def tree_of(project: Project, facts: FileFacts, node: ast.expr) -> ast.expr | None:
    """Return the structure whose tensors an expression moves: ``x`` of ``tree_map(lambda t: t.to(d), x)``.

    It is of the same class; ``None`` of any other expression.
    """
    match node:
        case ast.Call(func=func, args=[ast.Lambda(args=taken, body=body), tree]) if len(taken.args) == 1:
            body = receiver_of(body, _ELEMENTS)
            moved = isinstance(body, ast.Name) and body.id == taken.args[0].arg
            return tree if moved and project.qualified(facts, func) in _MAPPING else None
    return None


def _moves_all(function: Scope) -> bool:
    """Whether a function gives all that no parameter takes back, moved: ``return [x.to(device) for x in args]``."""
    rest = getattr(getattr(function.node, "args", None), "vararg", None)
    if rest is None or len(function.bindings[rest.arg]) != 1 or len(function.results) != 1:
        return False
    match function.results[0]:
        case ast.ListComp(
            elt=moved, generators=[ast.comprehension(target=ast.Name(id=each), iter=ast.Name(id=over), ifs=[])]
        ):
            stem = receiver_of(moved, _ELEMENTS)
            return isinstance(stem, ast.Name) and stem.id == each and over == rest.arg
    return False


def _moved(ask: Ask, function: Scope, caller: Caller) -> Value | None:
    """The list that such a function gives of what one call gives it; of different things it is taken for a tuple."""
    taken = max(len(function.positional) - caller.skip, 0)
    given = [ask.value(caller.facts, each) for each in caller.call.args[taken:]]
    moved = [replace(each, device=Device.UNKNOWN, pinned=None, literal=None) for each in given if each is not None]
    if not given or len(moved) < len(given):
        return None if given else Value(Kind.LIST)
    element = join(moved) or UNKNOWN
    return list_of(element) if element.known or not ask.guesses else ask.guess(tuple_of(*moved))


def _given_back(project: Project, function: Scope) -> str:
    """The parameter that a function gives back: ``model`` of what only adds adapters, ``x`` of ``x.flatten(0, 1)``."""
    given_back = (each.value for each in function.returns)
    parts = [node and (tree_of(project, function.file, node) or receiver_of(node, _VIEWS)) for node in given_back]
    given = {part.id if isinstance(part, ast.Name) else "" for part in parts}
    name = given.pop() if len(given) == 1 else ""
    bound = function.bindings.get(name, ())
    plain = not getattr(function.node, "decorator_list", []) and not function.yields
    return name if plain and len(bound) == 1 and bound[0].how is Bind.PARAM else ""


def _as_it_came(function: Scope) -> bool:
    """Whether a function gives a parameter back in no other shape."""
    return all(isinstance(each.value, ast.Name) for each in function.returns)


def _reshaped(value: Value) -> Value:
    """A tensor in another shape; what these methods give of anything else is not known."""
    return Value(Kind.TENSOR, device=value.device) if value.kind is Kind.TENSOR else UNKNOWN


def _mentions(function: Scope, node: ast.expr) -> bool:
    """Whether an expression reads a name that the function binds; what does not is the same in each call."""
    return any(isinstance(part, ast.Name) and part.id in function.bindings for part in ast.walk(node))


@dataclass(eq=False, slots=True)
class _Trail:
    """Follows what a function returns; answers are the CPU, unknown, or ``None`` where nothing is known yet."""

    ask: Ask
    function: Scope
    caller: Caller
    _seen: set[Binding] = field(default_factory=set)

    def all(self, nodes: Iterable[ast.expr]) -> Device | None:
        """Return the CPU if all tensors among some expressions are there."""
        return _met(place for node in nodes for place in self._of(node))

    def _of(self, node: ast.expr) -> Iterator[Device | None]:
        match node:
            case ast.Name():
                bindings = self.ask.project.reaching(self.function.file, node).bindings
                if not bindings:
                    yield Device.UNKNOWN
                for binding in bindings:
                    if binding not in self._seen:
                        self._seen.add(binding)
                        yield from self._bound(binding)
            case ast.IfExp(body=body, orelse=other):
                yield from self._of(body)
                yield from self._of(other)
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                yield from self._of(inner)
            case ast.BinOp(left=left, right=right):
                yield from self._operands([left, right])
            case ast.Call(func=ast.Attribute(attr="to"), args=[target, *_]) if given := self._parameter(target):
                yield _named(self._given(given))
            case ast.Call(func=ast.Attribute(value=source, attr=name)) if self._stays(source, name):
                yield from self._operands([source, *node.args, *(keyword.value for keyword in node.keywords)])
            case _:
                yield from _place(self.ask.value(self.function.file, node))

    def _stays(self, source: ast.expr, name: str) -> bool:
        """Whether a call is that of a tensor's method whose result lies where its operands do."""
        value = self.ask.value(self.function.file, source)
        stays = name.rstrip("_") in rules("operations") or name in table()["tensor_methods"]["cast"]
        return stays and value is not None and value.kind is Kind.TENSOR

    def _operands(self, nodes: Iterable[ast.expr]) -> Iterator[Device | None]:
        for node in nodes:
            value = self.ask.value(self.function.file, node)
            if value is None:
                yield None
            elif value.kind is Kind.TENSOR:
                yield from self._of(node)

    def _parameter(self, node: ast.expr) -> Binding | None:
        """The parameter of the function that an expression reads."""
        found = self.ask.project.reaching(self.function.file, node).parameter
        return found if found is not None and found.scope is self.function else None

    def _given(self, parameter: Binding) -> Value | None:
        """What the call gives for a parameter."""
        given = passed(self.function, parameter.target, self.caller)
        if given is not None:
            return self.ask.value(self.caller.facts, given)
        if starred(self.caller.call) or parameter.value is None:
            return UNKNOWN
        return self.ask.value(self.function.file, parameter.value)

    def _bound(self, binding: Binding) -> Iterator[Device | None]:
        file = self.function.file
        if binding.how is Bind.PARAM and binding.scope is self.function:
            yield from _place(self._given(binding))
        elif binding.how is Bind.ASSIGN and not binding.path and binding.value is not None:
            yield from self._of(binding.value)
        elif isinstance(binding.stmt, ast.AugAssign) and isinstance(binding.stmt.target, ast.Name):
            yield from self._of(binding.stmt.target)
        else:
            yield from _place(self.ask.solver.ask((file, binding)))


def _place(value: Value | None) -> Iterator[Device | None]:
    """Where a value lies; Python's ``None`` says nothing beside another value."""
    if value is None:
        yield None
    elif value.kind is not Kind.NONE:
        yield Device.CPU if value.kind is Kind.TENSOR and value.device is Device.CPU else Device.UNKNOWN


def _named(target: Value | None) -> Device | None:
    """Where a tensor lies that is moved to what a value names."""
    if target is None:
        return None
    host = target.device is Device.CPU if target.kind is Kind.DEVICE else target.literal == "cpu"
    return Device.CPU if host else Device.UNKNOWN


def _met(places: Iterable[Device | None]) -> Device | None:
    """The CPU where nothing is elsewhere, ``None`` where nothing is known yet, else unknown."""
    found = set(places)
    if not found or Device.UNKNOWN in found:
        return Device.UNKNOWN
    return Device.CPU if Device.CPU in found else None
