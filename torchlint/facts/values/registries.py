"""What code takes out of registries: objects at the top of a module whose methods decorate classes and functions.

``LOSSES = Registry("losses")``, ``@LOSSES.register`` above a class, ``LOSSES.build(name)``. Each registry has members
of its own, so it is the variable that tells them, and not the class of the registry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.code.callers import Caller, passing
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.registering import decorated
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.relatives import joined
from torchlint.late import dataclass
from torchlint.rule import Kind, Value

_ADDING = "register"
_TAKING = frozenset({"get", "pop", "__getitem__"})
_DEEPEST = 4
_MEMBER, _OBJECT = "member", "object"


@dataclass(frozen=True, slots=True)
class _Holder:
    """The name under which a function knows a registry, and the class of the registry."""

    name: str
    cls: str


@dataclass(eq=False, slots=True)
class Registries:
    """Answers what calls take out of registries that they name."""

    ask: Ask
    _members: dict[str, list[Scope]] | None = None
    _classes: dict[str, str] = field(default_factory=dict)

    def of(self, facts: FileFacts, call: ast.Call, name: str | None) -> Value | None:
        """Return one of the members of a registry, or an object of one; ``None`` for other calls.

        ``name``: the qualified name of what is called. A method of the registry may look the member up, or a function
        that is given the registry.
        """
        members = self._known()
        if not members:
            return None
        project = self.ask.project
        if isinstance(call.func, ast.Attribute) and (variable := self._variable(facts, call.func.value)) in members:
            method = project.method(self._classes[variable], call.func.attr)
            if method is None:
                return None
            return self._taken(variable, self._gives(method, _Holder(method.self_name, self._classes[variable]), 0))
        function = project.functions.get(name or "")
        for parameter, given in passing(function, Caller(facts, call, 0)) if function is not None else ():
            variable = self._variable(facts, given)
            if variable in members and function is not None:
                return self._taken(variable, self._gives(function, _Holder(parameter, self._classes[variable]), 0))
        return None

    def _taken(self, variable: str, how: str) -> Value | None:
        """What is taken out of a registry: one of its members, or an object of one."""
        scopes = self._known().get(variable, ()) if how else ()
        if how == _OBJECT:
            made = (
                self.ask.instance(scope.dotted, derived=False) if scope.kind == "class" else self.ask.returned([scope])
                for scope in scopes
            )
            return joined(self.ask.project, made) if scopes else None
        kinds = {"class": Kind.CLASS, "function": Kind.FUNCTION}
        found = [Value(kinds[scope.kind], name=scope.dotted) for scope in scopes if scope.kind in kinds]
        return joined(self.ask.project, found) if found else None

    # members --------------------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, list[Scope]]:
        """The members of each registry, by the qualified name of its variable."""
        if self._members is None:
            self._members = {}
            for facts in self.ask.project.files.values():
                for registry, scope in (*self._decorated(facts), *self._added(facts)):
                    variable = self._variable(facts, registry)
                    if variable:
                        self._members.setdefault(variable, []).append(scope)
        return self._members

    def _decorated(self, facts: FileFacts) -> Iterator[tuple[ast.expr, Scope]]:
        """What methods of an object decorate, each with the object: ``@LOSSES.register``."""
        for each in decorated(facts):
            if isinstance(each.decorator, ast.Attribute):
                yield each.decorator.value, each.scope

    def _added(self, facts: FileFacts) -> Iterator[tuple[ast.expr, Scope]]:
        """What calls add by hand, each with the object: ``LOSSES.register("huber", Huber)``."""
        project = self.ask.project
        for call in facts.top.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr.startswith(_ADDING):
                names = (project.qualified(facts, argument) or "" for argument in call.args)
                scopes = (project.classes.get(name) or project.functions.get(name) for name in names)
                yield from ((call.func.value, scope) for scope in scopes if scope is not None)

    def _variable(self, facts: FileFacts, node: ast.expr) -> str:
        """The qualified name of a variable that holds an object of a class of the project, else an empty word."""
        project = self.ask.project
        name = project.qualified(facts, node) or ""
        if not name and isinstance(node, ast.Name) and node.id in facts.top.bindings:
            name = f"{facts.module}.{node.id}"
        if name and name not in self._classes:
            self._classes[name] = self._class_of(name)
        return name if name and self._classes[name] else ""

    def _class_of(self, variable: str) -> str:
        module, _, last = variable.rpartition(".")
        file = self.ask.project.modules.get(module)
        bound = file.top.bindings.get(last, []) if file is not None else []
        value = bound[0].value if len(bound) == 1 and bound[0].how is Bind.ASSIGN else None
        if file is None or not isinstance(value, ast.Call):
            return ""
        name = self.ask.project.qualified(file, value.func) or ""
        return name if name in self.ask.project.classes else ""

    # looking up -----------------------------------------------------------------------------------------------------

    def _gives(self, function: Scope, registry: _Holder, depth: int) -> str:
        """What a function gives of a registry: a member, an object of one, or nothing that is known."""
        given = [each.value for each in function.returns if each.value is not None]
        if not given or function.yields or depth > _DEEPEST:
            return ""
        found = {self._kind(function, node, registry, depth) for node in given}
        return found.pop() if len(found) == 1 else ""

    def _kind(self, function: Scope, node: ast.expr, registry: _Holder, depth: int) -> str:
        match node:
            case ast.Name():
                values = self.ask.project.reaching(function.file, node).values
                kinds = {self._kind(function, value, registry, depth + 1) for value in values if depth < _DEEPEST}
                return _MEMBER if _MEMBER in kinds else _OBJECT if _OBJECT in kinds else ""
            case ast.Subscript(value=held) if _holds(held, registry):
                return _MEMBER
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name == registry.name:
                method = self.ask.project.method(registry.cls, attr)
                if method is not None:
                    return self._gives(method, _Holder(method.self_name, registry.cls), depth + 1)
                return _MEMBER if attr in _TAKING else ""
            case ast.Call(func=ast.Attribute(value=held, attr=attr)) if attr in _TAKING and _holds(held, registry):
                return _MEMBER
            case ast.Call(func=func) if depth < _DEEPEST:
                return _OBJECT if self._kind(function, func, registry, depth + 1) == _MEMBER else ""
        return ""


def _holds(node: ast.expr, registry: _Holder) -> bool:
    """Whether an expression is a registry, as a dict is, or an attribute of it."""
    holder = node.value if isinstance(node, ast.Attribute) else node
    return isinstance(holder, ast.Name) and holder.id == registry.name
