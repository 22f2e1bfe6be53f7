"""Calls of what a class overrides: which methods of a base class come to nothing on objects of that class."""

from __future__ import annotations

import ast
from dataclasses import field
from functools import partial

from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.branches import only_raises
from torchlint.facts.hotness.edges import Edge
from torchlint.facts.hotness.receivers import Receivers
from torchlint.late import dataclass


@dataclass(eq=False, slots=True)
class Overriding:
    """Answers whether a call in a base class runs a method on no object of the classes that define it so.

    ``self.check(x)`` in a base class runs the ``check`` that a class overrides on objects of that class alone. Where
    the calling method always comes to another one that this class overrides to raise, nothing calls it on such objects.
    """

    project: Project
    receivers: Receivers
    _raising: dict[tuple[Scope, str], bool] = field(default_factory=dict)

    def idle(self, edge: Edge) -> bool:
        """Return whether the method around a call always raises on the objects on which the call runs its target."""
        home, owner = edge.facts.scope_of(edge.node).function, edge.target.method_of
        if home.method_of is None or owner is None or home.method_of is owner:
            return False
        if self.receivers.named(edge.node) is not None:
            return False
        line = [cls.dotted for cls in (owner, *self.project.descendants(owner.dotted))]
        objects = [cls for cls in line if self.project.method(cls, edge.target.name) is edge.target]
        return bool(objects) and all(map(partial(self._raises_on, home), objects))

    def _raises_on(self, method: Scope, cls: str) -> bool:
        """Whether a method always raises on objects of a class."""
        key = method, cls
        if key not in self._raising:
            self._raising[key] = self._comes_to_raise(method, cls)
        return self._raising[key]

    def _comes_to_raise(self, method: Scope, cls: str) -> bool:
        if isinstance(method.node, ast.Lambda):
            return False
        for stmt in getattr(method.node, "body", ()):
            match stmt:
                case (
                    ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=name)))
                    | ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=name)))
                    | ast.Return(value=ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=name)))
                ) if held == method.self_name and self._is_turned_off(cls, name):
                    return True
            if any(isinstance(part, ast.Return) for part in walk(stmt)):
                return False
        return False

    def _is_turned_off(self, cls: str, name: str) -> bool:
        """Whether a class has a method that only raises in place of one of its bases: one that it does not support.

        A method without one behind it is left for a class to define that code elsewhere may have.
        """
        found = self.project.method(cls, name)
        if found is None or found.method_of is None or isinstance(found.node, ast.Lambda):
            return False
        behind = self.project.ancestry(found.method_of.dotted)[1:]
        overrides = any(name in each.bindings for base in behind if (each := self.project.classes.get(base)))
        return overrides and only_raises(_code(found.node))


def _code(function: ast.AST) -> list[ast.stmt]:
    """The statements of a function without its documentation."""
    body: list[ast.stmt] = getattr(function, "body", [])
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body
