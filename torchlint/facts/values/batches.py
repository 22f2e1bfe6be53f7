"""Items of batches: values of unknown kind that lie beside what a network takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field

from torchlint.facts.code.callers import part_of
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.values.asking import Ask
from torchlint.late import dataclass
from torchlint.models import method_names, protocols
from torchlint.rule import Kind

_MOVES = method_names("torch.Tensor", moves=("device", "given"))
Item = ast.Subscript | ast.Attribute


@dataclass(eq=False, slots=True)
class BatchItems:
    """Answers whether an expression is an item of a batch of tensors, or computed from such items and numbers.

    A batch is what a framework hands to a method that trains on batches, a dict whose items were all moved to a device,
    or an object of which a function gives another item to a network as it is. An item may be a list of texts all the
    same, so this counts only where an item is used as nothing but an array or a tensor can be.
    """

    ask: Ask
    _taken: dict[Scope, Mapping[str, list[tuple[ast.Name, ast.Call]]]] = field(default_factory=dict)
    _moved: dict[Scope, frozenset[str]] = field(default_factory=dict)

    def holds(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression is an item of a batch, or computed from such items and numbers."""
        match node:
            case ast.UnaryOp(operand=inner):
                return self.holds(facts, inner)
            case ast.BinOp(left=left, right=right):
                sides = [each for each in (left, right) if not isinstance(each, ast.Constant)]
                return bool(sides) and all(self.holds(facts, each) for each in sides)
            case ast.Name():
                only = self.ask.project.reaching(facts, node).only
                value = _element(only) if only is not None else None
                return isinstance(value, Item) and self._is_item(facts, value)
            case ast.Subscript() | ast.Attribute():
                return self._is_item(facts, node)
        return False

    def _is_item(self, facts: FileFacts, node: Item) -> bool:
        held = _holder(node)
        if held is None or held.id == facts.scope_of(held).function.self_name:
            return False
        binding = self.ask.project.reaching(facts, held).only
        if binding is None or binding.how is Bind.IMPORT:
            return False
        given = isinstance(node, ast.Subscript) and self._is_given(binding)
        return given or self._is_moved(facts, binding) or self._feeds(facts, held, binding)

    def _is_moved(self, facts: FileFacts, binding: Binding) -> bool:
        """Return whether a name is bound to a dict of moved items, or to what a function returns that makes one."""
        value = binding.value if binding.how is Bind.ASSIGN and not binding.path else None
        if isinstance(value, ast.Call):
            made = self.ask.project.functions.get(self.ask.project.qualified(facts, value.func) or "")
            return made is not None and any(map(_moves_all, made.results))
        return _moves_all(value)

    def _is_given(self, binding: Binding) -> bool:
        """Return whether a parameter of a method holds the batches that a framework hands over."""
        scope = binding.scope
        if binding.how is not Bind.PARAM or scope is None or scope.method_of is None:
            return False
        places = (protocols.takes(base).get(scope.name) for base in self.ask.project.ancestry(scope.method_of.dotted))
        return any(place is not None and scope.positional[place : place + 1] == [binding.target] for place in places)

    def _feeds(self, facts: FileFacts, held: ast.Name, binding: Binding) -> bool:
        """Return whether a network takes an item of the same object as it is, and no item is moved to a device."""
        function = facts.scope_of(held).function
        taken = self._taken.get(function)
        if taken is None:
            taken = self._taken[function] = _given_away(function)
            self._moved[function] = frozenset(_moved(function))
        if held.id in self._moved[function]:
            return False  # the batch lies on the host
        return any(
            self.ask.project.reaching(facts, other).only is binding
            and self.ask.known(facts, call.func).kind is Kind.MODULE
            for other, call in taken.get(held.id, ())
        )


def _element(binding: Binding) -> ast.expr | None:
    """Return the expression that a binding assigns, also one of several: ``a, b = batch["a"], batch["b"]``."""
    value = binding.value if binding.how is Bind.ASSIGN else None
    return None if value is None else part_of(value, binding.path)


def _holder(node: ast.expr) -> ast.Name | None:
    """Return the name of the object whose item an expression reads under a text or as an attribute, else ``None``."""
    match node:
        case (
            ast.Subscript(value=ast.Name() as held, slice=ast.Constant(value=str()))
            | ast.Attribute(value=ast.Name() as held)
        ):
            return held
    return None


def moves_item(facts: FileFacts, call: ast.Call) -> bool:
    """Return whether a call moves an item of a dict that a comprehension goes over: ``v.to(device)`` of its values."""
    comprehension = facts.parent.get(call)
    return isinstance(comprehension, ast.DictComp) and _moves_all(comprehension)


def _moves_all(value: ast.expr | None) -> bool:
    """Return whether an expression moves the items of a dict: ``{k: v.to(device) for k, v in batch.items()}``.

    Items of other types may stay as they are: ``v.to(device) if is_tensor(v) else v``.
    """
    match value:
        case ast.DictComp(
            value=moved,
            generators=[ast.comprehension(target=ast.Tuple(elts=[_, ast.Name(id=bound)]), ifs=[])],
        ):
            arms = [moved.body, moved.orelse] if isinstance(moved, ast.IfExp) else [moved]
            return any(_is_moved(arm, bound) for arm in arms)
    return False


def _is_moved(node: ast.expr, name: str) -> bool:
    """Return whether an expression is a name, moved to a device."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr=method)):
            return moved == name and method in _MOVES
    return False


def _given_away(function: Scope) -> Mapping[str, list[tuple[ast.Name, ast.Call]]]:
    """Return the calls that take an item of an object, by the name of the object, with the name where it is read."""
    found: dict[str, list[tuple[ast.Name, ast.Call]]] = {}
    for call in function.run_calls():
        for given in (*call.args, *(keyword.value for keyword in call.keywords)):
            value = given
            if isinstance(value, ast.Name):  # ``ids = batch["ids"]`` and then ``model(ids)``
                bindings = function.bindings.get(value.id, [])
                value = _element(bindings[0]) or value if len(bindings) == 1 else value
            held = _holder(value)
            if held is not None:
                found.setdefault(held.id, []).append((held, call))
    return found


def _moved(function: Scope) -> Iterator[str]:
    """Yield the names of objects of which a function moves single items: ``batch["ids"].to(device)``."""
    for call in function.run_calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES:
            held = _holder(call.func.value)
            if held is not None:
                yield held.id
