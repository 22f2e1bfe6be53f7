"""Calls of what a class overrides: which of them come to nothing on objects of that class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from functools import partial

from torchlint.facts.code.callers import stored_once
from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope, is_super
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import body_of, conjuncts, is_false, walk
from torchlint.facts.hotness.branches import only_raises
from torchlint.facts.hotness.edges import Edge
from torchlint.facts.hotness.receivers import Receivers
from torchlint.late import dataclass

_MOST = 64
"""The most classes that are asked whether they turn a method off."""


@dataclass(eq=False, slots=True)
class Overriding:
    """Answers whether a call in a base class seldom runs a method on objects of the classes that define it so.

    ``self.check(x)`` in a base class runs the ``check`` that a class overrides on objects of that class alone. Where
    the calling method always comes to another one that this class overrides to raise, nothing calls it on such objects.
    """

    project: Project
    receivers: Receivers
    _raising: dict[tuple[Scope, str], bool] = field(default_factory=dict)
    _names: frozenset[str] | None = None
    _off: dict[tuple[str, str], bool] = field(default_factory=dict)
    _first: dict[Scope, frozenset[str]] = field(default_factory=dict)

    def idle(self, edge: Edge) -> bool:
        """Return whether the method around a call always raises on the objects on which the call runs its target."""
        home = edge.facts.scope_of(edge.node).function
        if home.method_of is None or self._raised().isdisjoint(self._called_first(home)):
            return False
        objects = self._objects(edge)
        return bool(objects) and all(map(partial(self._raises_on, home), objects))

    def unset(self, edge: Edge) -> bool:
        """Return whether a call runs its target under an option that the classes of all these objects leave off.

        ``if self.checks: self.check(x)``, where the class that overrides ``check`` hands its base another default.
        """
        around = edge.facts.climb(edge.node, *FUNCTIONS)
        tests = [above.test for child, above in around if isinstance(above, ast.If) and child in above.body]
        flags = [part for test in tests for part, way in conjuncts(test, True) if way]
        options = [option for flag in flags if (option := self._option(edge.facts, flag))]
        objects = self._objects(edge) if options else []
        return bool(objects) and any(all(self._is_off(cls, option) for cls in objects) for option in options)

    def _objects(self, edge: Edge) -> list[str]:
        """The classes on whose objects a call in a base class runs its target, none for any other call.

        None either where very many classes derive from that of the target: each of them is looked at.
        """
        home, owner = edge.facts.scope_of(edge.node).function, edge.target.method_of
        if home.method_of is None or owner is None or home.method_of is owner:
            return []
        if self.receivers.named(edge.node) is not None:
            return []
        line = [cls.dotted for cls in (owner, *self.project.descendants(owner.dotted))]
        if len(line) > _MOST:
            return []
        return [cls for cls in line if self.project.method(cls, edge.target.name) is edge.target]

    def _raised(self) -> frozenset[str]:
        """The names of the methods that only raise."""
        if self._names is None:
            scopes = (scope for facts in self.project.files.values() for scope in facts.scopes)
            methods = (scope for scope in scopes if scope.kind == "function" and scope.method_of is not None)
            self._names = frozenset(each.name for each in methods if (code := body_of(each.node)) and only_raises(code))
        return self._names

    def _option(self, facts: FileFacts, flag: ast.expr) -> str:
        """The attribute of the own object that a flag is, also where a parameter that no call gives may replace it."""
        match flag:
            case ast.Attribute(attr=name) if facts.is_own(flag):
                return name
            case ast.Name():
                bound = self.project.reaching(facts, flag).only
                match bound.value if bound is not None and not bound.path else None:
                    case ast.Attribute() as kept:
                        return self._option(facts, kept)
                    case ast.IfExp(body=ast.Attribute() as kept, orelse=ast.Name(id=other)) if self._is_left(
                        facts, flag, other
                    ):
                        return self._option(facts, kept)
        return ""

    def _is_left(self, facts: FileFacts, flag: ast.Name, name: str) -> bool:
        """Whether no call gives a parameter of the function around a flag."""
        function = facts.scope_of(flag).function
        given = self.receivers.graph.arguments(function, name)
        return name in function.params and all(node is None for _, node in given)

    def _is_off(self, cls: str, attr: str) -> bool:
        """Whether constructors set an attribute of objects of a class to false, if no call says anything else."""
        key = cls, attr
        if key not in self._off:
            self._off[key] = self._is_made_off(cls, attr)
        return self._off[key]

    def _is_made_off(self, cls: str, attr: str) -> bool:
        store = stored_once(self.project, cls, attr)
        if store is None:
            return False
        made = [b.scope for each in self.project.family(cls) for b in each.bindings.get("__init__", ()) if b.scope]
        setting, value = store.scope.function, store.binding.value
        return setting in made and isinstance(value, ast.Name) and self._is_false(made, made.index(setting), value.id)

    def _is_false(self, made: list[Scope], place: int, name: str) -> bool:
        """Whether one of the constructors that run one after the other is given ``False``, or takes it by default."""
        own = made[place]
        if name not in own.params:
            return False
        default = is_false(own.bindings[name][0].value)
        if place == 0:
            given = self.receivers.graph.arguments(own, name)
            return default and all(node is None or is_false(node) for _, node in given)
        calls = [call for call in made[place - 1].calls if _makes_base(call)]
        if len(calls) != 1:
            return False
        for word in calls[0].keywords:
            if word.arg == name:
                handed = isinstance(word.value, ast.Name) and self._is_false(made, place - 1, word.value.id)
                return handed or is_false(word.value)
        return default and not calls[0].args and all(word.arg is not None for word in calls[0].keywords)

    def _raises_on(self, method: Scope, cls: str) -> bool:
        """Whether a method always raises on objects of a class."""
        key = method, cls
        if key not in self._raising:
            self._raising[key] = self._comes_to_raise(method, cls)
        return self._raising[key]

    def _comes_to_raise(self, method: Scope, cls: str) -> bool:
        return any(self._is_turned_off(cls, name) for name in self._called_first(method))

    def _called_first(self, method: Scope) -> frozenset[str]:
        """The methods of its own object that a method calls in any case."""
        found = self._first.get(method)
        if found is None:
            found = self._first[method] = frozenset(_called_first(method))
        return found

    def _is_turned_off(self, cls: str, name: str) -> bool:
        """Whether a class has a method that only raises in place of one of its bases: one that it does not support.

        A method without one behind it is left for a class to define that code elsewhere may have.
        """
        found = self.project.method(cls, name)
        if found is None or found.method_of is None or isinstance(found.node, ast.Lambda):
            return False
        behind = self.project.ancestry(found.method_of.dotted)[1:]
        overrides = any(name in each.bindings for base in behind if (each := self.project.classes.get(base)))
        code = body_of(found.node)
        return overrides and bool(code) and only_raises(code)


def _called_first(method: Scope) -> Iterator[str]:
    """The methods of its own object that a method calls in any case, each by a statement of its own."""
    for stmt in body_of(method.node):
        match stmt:
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=name)))
                | ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=name)))
                | ast.Return(value=ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=name)))
            ) if held == method.self_name:
                yield name
        if any(isinstance(part, ast.Return) for part in walk(stmt)):
            break


def _makes_base(call: ast.Call) -> bool:
    """Whether a call is ``super().__init__(...)``."""
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr == "__init__" and is_super(func.value)
