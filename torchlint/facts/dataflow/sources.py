"""The edges of the value-flow graph, walked backward: where the value of an expression comes from."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from typing import TypeVar

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import methods, passed, stores_of
from torchlint.facts.code.decorating import is_property, keeps_result
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import COMPREHENSIONS, AttributeStore, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import handed_on
from torchlint.facts.code.tree import forms_of
from torchlint.facts.dataflow.spots import INSIDE, FollowedCall, Key, Label, Spot, key_of, picked
from torchlint.facts.dataflow.untaken import Untaken, UntakenArms
from torchlint.facts.values.signatures import starred
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Kind

_PASSING = function_names("builtins tqdm", elements=("all", "some"))
Predecessor = Spot | Binding | Scope
"""Where a value comes from: another spot, or a binding or a function of which no expression is known."""
_Unknown = TypeVar("_Unknown")


@dataclass(eq=False, slots=True)
class Sources(Fact):
    """Finds where values come from, one edge at a time."""

    project: Project
    graph: CallGraph
    values: Values
    arms: UntakenArms
    _adders: dict[str, dict[str, list[Scope]]] | None = field(default=None, init=False)

    def crossing(self, spot: Spot, labels: Collection[Label], unknown: _Unknown) -> Iterator[Spot | _Unknown]:
        """Yield the spots from which a value comes along some kinds of edges; ``unknown`` for any other edge."""
        found = False
        for source in self.of(spot):
            found = True
            yield source if isinstance(source, Spot) and source.label in labels else unknown
        if not found and not (spot.path and _is_empty(spot.node)):
            yield unknown

    def of(self, spot: Spot) -> Iterator[Predecessor]:
        """Yield the sources of a spot's value; nothing if the expression makes it or may be anything."""
        match spot.node:
            case ast.Name() as node:
                bindings = self.project.reaching(spot.facts, node).bindings
                untaken = self._untaken(spot.facts.scope_of(node).function, spot.calls[-1].call if spot.calls else None)
                for binding in untaken.seen(spot.facts, node, bindings) if untaken.nodes else bindings:
                    yield from self.bound(spot, spot.facts, binding)
                yield from self._added(spot, spot.facts.scope_of(node).function, node.id)
            case ast.Attribute() as node:
                yield from self._held(spot, node)
            case ast.Call() as node:
                yield from self._given(spot, node)
            case ast.Subscript(value=whole, slice=ast.Slice()):
                yield spot.at(whole, *_anywhere(spot.path), label=Label.ITEM)
            case ast.Subscript(value=whole, slice=index):
                yield spot.at(whole, key_of(index), *spot.path, label=Label.ITEM)
            case ast.IfExp() | ast.BoolOp() | ast.NamedExpr() | ast.Await() | ast.Starred() as node:
                yield from map(spot.same, forms_of(node))
            case ast.BinOp(left=left, right=right):
                path = _anywhere(spot.path)
                yield from (spot.at(part, *path) for part in (left, right))
            case ast.UnaryOp(operand=operand):
                yield spot.at(operand)
            case _ if spot.path:
                yield from self._parts(spot)

    def _untaken(self, function: Scope, call: ast.AST | None) -> Untaken:
        """The arms of a function that the call leaves out through which a value was followed into it."""
        caller = self.graph.caller(function, call) if call is not None else None
        return self.arms.of(function, caller, self.values)

    # names and attributes -------------------------------------------------------------------------------------------

    def bound(self, spot: Spot, facts: FileFacts, binding: Binding, label: Label = Label.COPY) -> Iterator[Predecessor]:
        """Yield what a binding of a name or attribute gives the value of a spot that reads it."""
        value, path = binding.value, binding.path
        if binding.how is Bind.PARAM and binding.scope is not None:
            yield from self._passed(spot, binding.scope, binding)
        elif binding.how is Bind.IMPORT:
            found = self.imported(facts, binding)
            for file, each in found:
                yield from self.bound(spot, file, each)
            if not found:
                yield binding
        elif value is None or -1 in path:
            yield binding
        elif binding.how is Bind.ASSIGN:
            yield replace(spot, facts=facts, node=value, path=(*path, *spot.path), label=Label.ITEM if path else label)
        elif binding.how is Bind.ELEMENT:
            yield replace(spot, facts=facts, node=value, path=(None, *path, *spot.path), label=Label.ELEMENT)
        elif isinstance(binding.stmt, ast.AugAssign):
            for part in (binding.stmt.target, value):
                yield replace(spot, facts=facts, node=part, label=Label.OPERAND)
        else:
            yield binding

    def _passed(self, spot: Spot, function: Scope, binding: Binding) -> Iterator[Predecessor]:
        """The arguments of all calls of a function, or of the call through which the value was followed into it."""
        if binding.target == function.self_name:
            yield binding
            return
        callers = self.graph.callers.get(function, ())
        last = spot.calls[-1].call if spot.calls else None
        own = [caller for caller in callers if caller.call is last]
        left_out = not callers
        for caller in own or callers:
            given = passed(function, binding.target, caller)
            if given is not None:
                calls = spot.calls[:-1] if own else ()
                yield Spot(caller.facts, given, spot.path, calls, label=Label.ARGUMENT)
            elif starred(caller.call):
                yield binding
            else:
                left_out = True
        if left_out and binding.value is not None:
            yield Spot(function.file, binding.value, spot.path, label=Label.ARGUMENT)
        if left_out and (binding.value is None or not callers):
            yield binding

    def imported(self, facts: FileFacts, binding: Binding) -> Sequence[tuple[FileFacts, Binding]]:
        """Return the bindings of an imported name in the file of the project that makes it."""
        module, _, last = self.project.canonical(facts, binding.target).rpartition(".")
        file = self.project.modules.get(module)
        bound = file.top.bindings.get(last, ()) if file is not None else ()
        return [(file, each) for each in bound if file is not None and each.how is not Bind.IMPORT]

    def of_module(self, facts: FileFacts, node: ast.Attribute) -> tuple[FileFacts, ast.expr] | None:
        """Return what a module of the project assigns to the attribute that an expression reads, and its file.

        ``None`` where it does so several times, or where other code assigns to an attribute of that name.
        """
        module, _, last = (self.project.qualified(facts, node) or "").rpartition(".")
        file = self.project.modules.get(module)
        match file.top.bindings.get(last) if file is not None and last not in self.project.outside else None:
            case [Binding(how=Bind.ASSIGN, path=(), value=ast.expr() as value)] if file is not None:
                return file, value
        return None

    def _held(self, spot: Spot, node: ast.Attribute) -> Iterator[Predecessor]:
        """What classes assign to an attribute of their objects, put into it, or give by a property of that name."""
        there = Spot(spot.facts, node, spot.path)
        for cls in self.owners(spot.facts, node):
            for store in self._stored(cls, node.attr):
                yield from self.bound(there, store.scope.file, store.binding, Label.FIELD)
            for method in self.project.implementations(cls, node.attr):
                if is_property(method):
                    yield from self._returned(there, method, ())
            adding = self._adding(node.attr) if spot.path else {}
            for each in filter(adding.__contains__, self.project.ancestry(cls) if adding else ()):
                for method in adding[each]:
                    yield from self._added(there, method, f"{method.self_name}.{node.attr}")

    def owners(self, facts: FileFacts, node: ast.Attribute) -> list[str]:
        """Return the classes of the object of which an expression reads an attribute; none where they are not known."""
        owner = self.values.of(facts, node.value)
        return owner.name.split("|") if owner.kind in (Kind.INSTANCE, Kind.MODULE) and owner.name else []

    def stores(self, facts: FileFacts, node: ast.Attribute) -> list[AttributeStore]:
        """Yield all assignments to an attribute that an expression may read, in the object's classes and elsewhere."""
        return [store for cls in self.owners(facts, node) for store in self._stored(cls, node.attr)]

    def _stored(self, cls: str, attr: str) -> Iterator[AttributeStore]:
        yield from stores_of(self.project, cls, attr)
        yield from self.values.outside(cls, attr)

    def _adding(self, attr: str) -> dict[str, list[Scope]]:
        """The methods that put something into an attribute of their object, by their class."""
        if self._adders is None:
            self._adders = {}
            for name, cls in self.project.classes.items():
                for method in methods(cls):
                    for container in (*method.appends, *(method.keyed.keys() - method.appends.keys())):
                        own, _, rest = container.partition(".")
                        if own == method.self_name and rest:
                            self._adders.setdefault(rest, {}).setdefault(name, []).append(method)
        return self._adders.get(attr, {})

    # containers -----------------------------------------------------------------------------------------------------

    def _parts(self, spot: Spot) -> Iterator[Predecessor]:
        """The parts of a display or comprehension that the value of a spot may be, or lie in."""
        node, path = spot.node, spot.path
        if isinstance(node, COMPREHENSIONS):
            each = node.value if isinstance(node, ast.DictComp) else node.elt
            yield spot.at(each, *_inner(path, None), label=Label.ELEMENT)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                inner = path if key is None else picked(path, key_of(key))
                if inner is not None:
                    yield spot.at(value, *inner, label=Label.ITEM)
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            ordered = not isinstance(node, ast.Set) and not any(isinstance(part, ast.Starred) for part in node.elts)
            for position, part in enumerate(node.elts):
                inner = path if isinstance(part, ast.Starred) else picked(path, position if ordered else None)
                if inner is not None:
                    yield spot.at(part, *inner, label=Label.ITEM)

    def _added(self, spot: Spot, function: Scope, name: str) -> Iterator[Predecessor]:
        """What a function puts into a container that it knows under a name, where the spot looks into it."""
        if not spot.path:
            return
        keyed = function.keyed.get(name, ())
        under_keys = {value for _, value in keyed}
        for how, value in function.appends.get(name, ()):
            if how in ("unknown", "sum"):
                yield function
            elif value not in under_keys:
                path = spot.path if how == "extend" else _inner(spot.path, None)
                label = Label.STORE if how == "item" else Label.ELEMENT
                yield replace(spot, facts=function.file, node=value, path=path, label=label)
        for key, value in keyed:
            inner = picked(spot.path, key)
            if value not in function.file.grows and inner is not None:
                yield replace(spot, facts=function.file, node=value, path=inner, label=Label.STORE)
            elif isinstance(value, ast.Call) and inner:  # `rows["obs"].append(x)`, where an element is followed
                path = _inner(inner, None)
                yield replace(spot, facts=function.file, node=value.args[-1], path=path, label=Label.ELEMENT)

    # calls ----------------------------------------------------------------------------------------------------------

    def _given(self, spot: Spot, call: ast.Call) -> Iterator[Predecessor]:
        """What functions of the project return, and what containers and iterators are made from."""
        handed = handed_on(self.project.qualified(spot.facts, call.func), call)
        if handed is not None:
            yield spot.same(handed)
            return
        functions = self.graph.sure(call)
        for function in functions:
            if function.name != "__init__":
                yield from self._returned(spot, function, spot.entering(call), call)
        if not functions and spot.path:
            yield from self._iterated(spot, call, spot.path)

    def _returned(
        self, spot: Spot, function: Scope, calls: tuple[FollowedCall, ...], call: ast.Call | None = None
    ) -> Iterator[Predecessor]:
        known = keeps_result(self.project, function) and not function.yields
        if isinstance(function.node, ast.Lambda):
            values = [function.node.body]
        else:
            left = self._untaken(function, call)
            values = [each.value for each in function.returns if each.value and not left.holds(function.file, each)]
        if not known or not values:
            yield function
            return
        for value in values:
            yield Spot(function.file, value, spot.path, calls, label=Label.RETURN)

    def looped(self, facts: FileFacts, node: ast.AST) -> ast.expr | None:
        """Return what gives the elements that one loop binds to a name, inside ``zip``, ``enumerate`` and the like."""
        binding = self.project.reaching(facts, node).only
        if binding is None or binding.how is not Bind.ELEMENT or binding.value is None:
            return None
        return self.drawn(Spot(facts, binding.value, (None, *binding.path))).node

    def drawn(self, spot: Spot) -> Spot:
        """Return what iteration draws the value of a spot from, inside ``zip``, ``enumerate`` and the like."""
        while isinstance(spot.node, ast.Call) and not self.graph.callees.get(spot.node):
            inner = next(self._iterated(spot, spot.node, spot.path), None)
            if inner is None or inner.label is not Label.ELEMENT:
                break
            spot = inner
        return spot

    def _iterated(self, spot: Spot, call: ast.Call, path: tuple[Key, ...]) -> Iterator[Spot]:
        """What ``zip``, ``enumerate``, ``list`` and the methods of containers hand on of what they are given."""
        name = self.project.qualified(spot.facts, call.func) or ""
        if name == "builtins.zip" and len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
            column = path if path[0] == INSIDE else (None, path[0], *path[2:])  # what is in a column of the rows
            yield spot.at(call.args[0].value, *column, label=Label.ELEMENT)
        elif name in ("builtins.zip", "builtins.enumerate"):
            for position, argument in enumerate(call.args):
                place = position if name == "builtins.zip" else 1 - position
                if path[0] == INSIDE:
                    yield spot.same(argument, Label.ELEMENT)
                elif len(path) > 1 and (inner := picked(path[1:], place)) is not None:
                    yield spot.at(argument, None, *inner, label=Label.ELEMENT)
        elif name in _PASSING and call.args:
            yield spot.same(call.args[-1 if name == "builtins.filter" else 0], Label.ELEMENT)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in ("values", "items", "copy", "get", "pop"):
            whole, method = call.func.value, call.func.attr
            if method == "items" and path[0] != INSIDE:
                path = (None, *(picked(path[1:], 1) or ()))
            elif method in ("get", "pop"):
                path = (key_of(call.args[0]) if call.args else None, *path)
            yield spot.at(whole, *path, label=Label.ITEM)


def _inner(path: tuple[Key, ...], key: Key) -> tuple[Key, ...]:
    """The path inside an element of a container."""
    return picked(path, key) or ()


def _is_empty(node: ast.expr) -> bool:
    """Whether an expression holds nothing: ``None`` or another literal, ``[]``, ``list()``."""
    match node:
        case ast.Constant() | ast.Dict(keys=[]) | ast.List(elts=[]) | ast.Tuple(elts=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "deque" | "defaultdict"), args=[]):
            return True
    return False


def _anywhere(path: tuple[Key, ...]) -> tuple[Key, ...]:
    """The path to an item whose position is not known any more: of two lists that are joined, or of a slice."""
    return (None, *path[1:]) if path and path[0] != INSIDE else path
