"""What the calls around a name of unknown origin say of it: functions of torch that take nothing but a tensor."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache

from torchlint.facts.autograd.layers import is_layer
from torchlint.facts.code.earlier import used_before
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name, mentions_of
from torchlint.facts.code.nesting import OUTSIDE
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import forms_of, names_in, receiver_of, walk
from torchlint.facts.values.signatures import table
from torchlint.late import dataclass
from torchlint.models import last_names, method_names
from torchlint.rule import Kind, Value

_FUNCTIONAL = "torch.nn.functional."
_SEQUENCES = {"tuple": Value(Kind.TUPLE), "list": Value(Kind.LIST)}
_NORMS = last_names(norm=True)
_SHAPING = method_names("torch.Tensor torch", shapes=True)
_DEEPEST = 2
# Methods without an argument: those of other libraries, ``math.isfinite``, are functions.
_CHECKS = method_names(tests=("finite", "nonfinite"))
_ASKING = frozenset({"isinstance", "is_tensor", "hasattr", "type"})


@dataclass(eq=False, slots=True)
class Needed:
    """Answers whether a name must hold a tensor, since a call in its function takes nothing else."""

    project: Project
    gives_tensor: Callable[[FileFacts, Binding], bool]
    _places: dict[Scope, Mapping[str, list[ast.Name]]] = field(default_factory=dict)
    _asserted: dict[Scope, Mapping[str, Value]] = field(default_factory=dict)

    def is_tensor(self, facts: FileFacts, node: ast.Name) -> bool:
        """Return whether the function that reads a name passes the same binding to a call that takes only tensors.

        Where branches give the name a value each, every one of these may be passed in its branch:
        ``if mixed: loss = f(x); loss.backward()``, ``else: loss = g(x); loss.backward()``. Others may give a
        tensor by what they are: ``if last: mask = mask[:, -1]``, where ``torch.zeros_like(mask)`` comes before.
        """
        places = self._where_given(facts, node)
        if not places:
            return False
        here = self.project.bound_to(facts, node)
        passed = (self.project.bound_to(facts, place) for place in places)
        taken = frozenset[Binding]().union(*(each for each in passed if self._is_of(facts, node.id, each, here)))
        return bool(taken) and all(self.gives_tensor(facts, each) for each in here - taken)

    def _is_of(self, facts: FileFacts, name: str, passed: frozenset[Binding], here: frozenset[Binding]) -> bool:
        """Whether a name is passed with values that it has here, or that are numbers times or added to these.

        ``if x.max() > 1: x = x / 255``, ``self.conv(x)``: an array stays one, and would fail there.
        """
        return all(each in here or self._is_scaled(facts, name, each, here) for each in passed)

    def _is_scaled(self, facts: FileFacts, name: str, binding: Binding, here: frozenset[Binding]) -> bool:
        """Whether a binding is arithmetic of numbers with what a name has here."""
        match binding:
            case Binding(how=Bind.ASSIGN, path=(), value=ast.BinOp(left=ast.Name(id=scaled) as old, right=number)):
                plain = scaled == name and isinstance(number, ast.Constant)
                return plain and self.project.bound_to(facts, old) <= here
        return False

    def was_tensor(self, facts: FileFacts, node: ast.Name) -> bool:
        """Return whether a function of torch took the same value before in any case, so that it is a tensor.

        What has a method that tensors have, or goes into a list that is joined later, may still be something else.
        """
        for place in self._alike(facts, node):
            call = facts.parent.get(place)
            named = isinstance(call, ast.Call) and (self.project.qualified(facts, call.func) or "").startswith("torch.")
            if named and used_before(self.project, facts, place, node):
                return True
        return False

    def as_asserted(self, facts: FileFacts, node: ast.Name, value: Value) -> Value:
        """Return the value of a name, a tuple or list where an ``assert`` of its function makes sure that it is one."""
        if value.kind is not Kind.TENSOR:
            return value
        function = facts.scope_of(node).function
        found = self._asserted.get(function)
        if found is None:
            found = self._asserted[function] = _asserted(function)
        return found.get(node.id, value)

    def _alike(self, facts: FileFacts, node: ast.Name) -> Iterator[ast.Name]:
        """Where the function that reads a name gives the same binding of it to a call that takes only tensors."""
        if places := self._where_given(facts, node):
            here = self.project.bound_to(facts, node)
            yield from (place for place in places if self.project.bound_to(facts, place) == here)

    def _where_given(self, facts: FileFacts, node: ast.Name) -> list[ast.Name]:
        """Where the function that reads a name gives it to a call that takes only tensors."""
        scope = facts.scope_of(node).function
        if scope.kind != "function":
            return []
        found = self._places.get(scope)
        if found is None:
            found = self._places[scope] = self._given(facts, scope)
        return found.get(node.id, [])

    def _given(self, facts: FileFacts, scope: Scope) -> Mapping[str, list[ast.Name]]:
        """By name where a function gives it to a call that takes only tensors, whatever its type turns out to be."""
        places: dict[str, list[ast.Name]] = {}
        for call in scope.calls:
            for taken in (*self._taken(facts, call), *self._joined(facts, scope, call)):
                node = _indexed(taken)
                if isinstance(node, ast.Name) and not _is_tested(facts, node):
                    places.setdefault(node.id, []).append(node)
            for node in self._placed(facts, scope, call):
                places.setdefault(node.id, []).append(node)
            norm = self._norm_read(facts, call)
            if norm is not None:
                places.setdefault(norm.id, []).append(norm)
        for name in list(places):
            _add_whole(facts, scope, name, places)
        return places

    def _taken(self, facts: FileFacts, call: ast.Call) -> Iterator[ast.expr]:
        """What a call takes that must be a tensor: the first argument of a function, the object of a method.

        A loss takes nothing else as its second argument, too, as ``minimum`` does; whatever runs backward takes a loss,
        and ``gather`` an index.
        """
        name = self.project.qualified(facts, call.func) or ""
        yield from _index_of(call, name)
        if name.startswith("torch."):
            if call.args and takes_tensor(name):
                last = name.rpartition(".")[2]
                pair = last in table()["functional"]["loss"] or last in table()["needed"]["both"]
                yield from (self._reshaped(facts, node) for node in call.args[: 2 if pair else 1])
        elif isinstance(call.func, ast.Attribute) and call.func.attr in table()["needed"]["methods"]:
            if call.func.attr != "backward" or not call.args:
                yield call.func.value
            else:
                yield call.args[0]  # an engine's takes the loss
        elif isinstance(call.func, ast.Attribute) and (_asks_for_axis(facts, call) or _leaves_an_axis(call)):
            yield call.func.value
        elif isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_backward"):
            yield from call.args[:1]
        elif call.args and is_layer(self.project, facts, call.func):
            yield call.args[0]
        elif isinstance(call.func, ast.Attribute) and not name and call.func.attr in _CHECKS:
            yield from () if call.args or call.keywords else (call.func.value,)

    def _reshaped(self, facts: FileFacts, node: ast.expr) -> ast.expr:
        """What has another shape where it is given, ``x`` of ``x.view(-1, n)``: no array comes of it, so it is none."""
        whole = receiver_of(node, _SHAPING.all)
        return node if self.project.qualified(facts, whole) is not None else whole  # ``np.squeeze(x)`` says nothing

    def _placed(self, facts: FileFacts, scope: Scope, call: ast.Call) -> Iterator[ast.Name]:
        """The name of what a tensor is made beside, or moved to, where the function counts or cuts its axes, too.

        ``device=x.device``, ``mask.to(x.device)``, also by a name that the device gets. Modules have a device as well,
        but no axes, and what has axes in other libraries has no device of torch.
        """
        moved = call.args[:1] if isinstance(call.func, ast.Attribute) and call.func.attr == "to" else ()
        of_torch = (self.project.qualified(facts, call.func) or "").startswith("torch.")
        for given in (*moved, *(word.value for word in call.keywords if word.arg == "device" and of_torch)):
            made = self.project.reaching(facts, given).value if isinstance(given, ast.Name) else given
            match made:
                case ast.Attribute(value=ast.Name() as node, attr="device"):
                    if any(_has_axes(facts, each) for each in mentions_of(facts, scope.node, node.id)):
                        yield node

    def _norm_read(self, facts: FileFacts, call: ast.Call) -> ast.Name | None:
        """The name of the norm of gradients whose number a call reads, even if it asks first whether it has one."""
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr="item"), args=[]):
                return name if self._is_norm(facts, name) else None
        return None

    def _is_norm(self, facts: FileFacts, node: ast.Name, depth: int = 0) -> bool:
        """Whether a name was given the norm of gradients by a method that has it: a tensor, or a number."""
        found = [binding.value for binding in self.project.reaching(facts, node).bindings if not binding.path]
        parts = [part for value in found if value is not None for part in forms_of(value) or (value,)]
        return len(parts) >= len(found) > 0 and all(
            (isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _NORMS)
            or (isinstance(part, ast.Name) and depth < _DEEPEST and self._is_norm(facts, part, depth + 1))
            for part in parts
        )

    def _joined(self, facts: FileFacts, scope: Scope, call: ast.Call) -> Iterator[ast.expr]:
        """What a function puts into a list that it joins to one tensor: ``torch.stack(found[::-1])``."""
        name = self.project.qualified(facts, call.func) or ""
        if not call.args or not name.startswith("torch.") or name[6:] not in table()["torch"]["join"]:
            return
        source = call.args[0].value if isinstance(call.args[0], ast.Subscript) else call.args[0]
        if isinstance(source, ast.Name):
            yield from (node for how, node in scope.appends.get(source.id, ()) if how != "extend")


def _has_axes(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a mention of a name counts the axes of what it holds, or cuts along several: ``x.ndim``, ``x[:, 0]``."""
    match facts.parent.get(node):
        case ast.Attribute(attr="ndim"):
            return True
        case ast.Subscript(value=whole, slice=ast.Tuple(elts=parts)) if whole is node:
            return any(isinstance(part, ast.Slice) for part in parts)
    return False


def _asks_for_axis(facts: FileFacts, call: ast.Call) -> bool:
    """Whether a call of ``size`` is given the number of an axis, or some of several sizes are taken of what it gives.

    Of an array ``size`` is no method, and that of a buffer gives one number.
    """
    if last_name(call.func) != "size":
        return False
    match call.args:
        case [ast.Constant(value=int()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int()))]:
            return not call.keywords
        case [] if not call.keywords:
            match facts.parent.get(call):
                case ast.Subscript(value=whole):
                    return whole is call
                case ast.Assign(targets=[ast.Tuple()]):
                    return True
    return False


def _leaves_an_axis(call: ast.Call) -> bool:
    """Whether ``x.view(-1, n)`` leaves one size open; ``view`` of an array takes a dtype."""
    return last_name(call.func) == "view" and any(map(_is_open, call.args))


def _is_open(node: ast.expr) -> bool:
    """``-1``."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
    return False


def _indexed(node: ast.expr) -> ast.expr:
    """What an expression is a part of by slices along several axes: ``x`` of ``x[:, 1:]``, a tensor or an array."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        if not any(isinstance(part, ast.Slice) for part in node.slice.elts):
            break  # it may be a key of a dict
        node = node.value
    return node


def _add_whole(facts: FileFacts, scope: Scope, name: str, places: dict[str, list[ast.Name]]) -> None:
    """Add where a function takes the part of a tensor that a name always means: ``x`` of ``part = x[:, rows]``."""
    while (bindings := scope.bindings.get(name)) and len(bindings) == 1 and bindings[0].how is Bind.ASSIGN:
        value = bindings[0].value
        whole = _indexed(value) if value is not None and not bindings[0].path else None
        if whole is value or not isinstance(whole, ast.Name) or _is_tested(facts, whole):
            return
        found = places.setdefault(whole.id, [])
        if whole in found:
            return
        found.append(whole)
        name = whole.id


def _index_of(call: ast.Call, name: str) -> Iterator[ast.expr]:
    """The index that ``torch.gather(x, 1, index)`` or ``x.gather(1, index)`` takes; other methods take no axis."""
    func = call.func
    if name != "torch.gather" and not (not name and isinstance(func, ast.Attribute) and func.attr == "gather"):
        return
    given = call.args[1:] if name else call.args
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    axis = named.get("dim", given[0] if given else None)
    if isinstance(axis, ast.UnaryOp):
        axis = axis.operand
    if isinstance(axis, ast.Constant) and isinstance(axis.value, int):
        yield from (named["index"],) if "index" in named else given[1:2]


@cache
def takes_tensor(name: str) -> bool:
    """Return whether a function of torch takes a tensor as its first argument, and raises for anything else."""
    module, _, last = name.rpartition(".")
    needed = table()["needed"]
    if module == "torch.distributed":
        return last in needed["distributed"]
    if f"{module}." == _FUNCTIONAL:
        return any(last in group for group in table()["functional"].values())
    groups = (table()["torch"]["like"], needed["both"], needed["first"])
    groups += tuple(table()["operations"][group] for group in needed["groups"])
    return module == "torch" and any(last in group for group in groups)


def _is_tested(facts: FileFacts, node: ast.Name) -> bool:
    """Whether a node is in a branch that depends on the type of what its name holds.

    So is one beside a branch that makes a number of it: ``if is_scalar: end = int(x)``, ``else: ends = x.view(-1)``.
    """
    return any(
        isinstance(parent, (ast.If, ast.IfExp))
        and child is not parent.test
        and (_asks(parent.test, node.id) or (isinstance(parent, ast.If) and _counts(parent, child, node.id)))
        for child, parent in facts.climb(node, *OUTSIDE)
    )


def _counts(branching: ast.If, child: ast.AST, name: str) -> bool:
    """Whether the branch that a statement is not in makes a Python number of what a name holds."""
    for stmt in branching.orelse if child in branching.body else branching.body:
        for part in walk(stmt):
            match part:
                case ast.Call(func=ast.Name(id="int" | "float"), args=[ast.Name(id=counted)]) if counted == name:
                    return True
    return False


def _asks(test: ast.expr, name: str) -> bool:
    return name in (found := set(names_in(test))) and not _ASKING.isdisjoint(found)


def _asserted(function: Scope) -> Mapping[str, Value]:
    """The names of a function of which an ``assert`` makes sure that they are tuples or lists."""
    found: dict[str, Value] = {}
    for call in function.calls:
        match call:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name(id=kind)]):
                if kind in _SEQUENCES and _is_asserted(function.file, call):
                    found[name] = _SEQUENCES[kind]
    return found


def _is_asserted(facts: FileFacts, node: ast.AST) -> bool:
    """Whether an ``assert`` fails where an expression is false."""
    for parent in facts.ancestors(node):
        if isinstance(parent, ast.Assert):
            return True
        if not isinstance(parent, ast.BoolOp) or not isinstance(parent.op, ast.And):
            return False
    return False
