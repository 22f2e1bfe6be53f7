"""What is put into attributes besides what their class assigns: appended, under a key, by name, from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.collect import dotted
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.values.containers import HOLDING
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind, Value

_ADDING = method_names("Module", adds="module") | method_names("dict", adds=True)
_Added = dict[str, list[tuple[Scope, str, ast.expr, bool]]]


@dataclass(eq=False, slots=True)
class Additions:
    """Answers what an attribute of a class may be given besides what the class assigns to it."""

    project: Project
    graph: CallGraph
    values: Values
    _index: _Added | None = None

    def to(self, cls: str, attr: str) -> Iterator[tuple[FileFacts, ast.expr]]:
        """Yield all that may be put into an attribute of an instance of a class, in any file connected with it."""
        if self._index is None:
            self._index = self._read()
        home = self.project.classes.get(cls)
        near = self.graph.groups[home.file.path] if home is not None else frozenset[str]()
        value = self.values.attribute(cls, attr)
        names = {name.rpartition(".")[2] for name in value.name.split("|")}
        holds = value.kind is not Kind.MODULE or not names.isdisjoint(HOLDING)
        for scope, base, node, put in self._index.get(attr, ()):
            if scope.file.path in near and (holds or not put) and self._may_be(cls, scope, base, node):
                yield scope.file, node
        for facts, whole, store in self.project.outside.get(attr, ()):
            known = self.values.of(facts, whole)
            if store.binding.value is not None and facts.path in near and self._fits(cls, known):
                yield store.scope.file, store.binding.value

    def _may_be(self, cls: str, scope: Scope, base: str, node: ast.expr) -> bool:
        """Whether the object whose attribute a function adds to may be an instance of a class."""
        owner = scope.method_of
        if owner is not None and base == scope.self_name:
            return self.project.related(cls, owner.dotted)
        whole = _whole(scope.file, node)
        return whole is None or self._fits(cls, self.values.of(scope.file, whole))

    def _fits(self, cls: str, value: Value) -> bool:
        if not value.known:
            return True
        return any(self.project.related(cls, name) for name in value.name.split("|"))

    def _read(self) -> _Added:
        """By attribute, what any function of the project puts into it, and the text of the object that has it.

        At the end whether it is put into what the attribute holds, not in its place or under a name of its own.
        """
        found: _Added = {}
        for scope in (scope for file in self.project.files.values() for scope in file.scopes):
            given = [(name, node, True) for name, added in scope.appends.items() for _, node in added]
            given += [each for call in scope.calls for each in _added_by(call)]
            for name, node, put in given:
                for text in (name, *_aliases(scope, name)):
                    base, _, attr = text.rpartition(".")
                    if base:
                        found.setdefault(attr, []).append((scope, base, node, put))
        return found


def _whole(facts: FileFacts, node: ast.expr) -> ast.expr | None:
    """The object whose attribute a value is put into: ``agent`` of ``agent.layers.append(x)``."""
    stmt = facts.parent.get(node)
    place: ast.AST | None = None
    if isinstance(stmt, ast.Call) and isinstance(stmt.func, ast.Attribute):
        place = stmt.func.value
    elif isinstance(stmt, ast.AugAssign):
        place = stmt.target
    elif isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Subscript):
        place = stmt.targets[0].value
    return place.value if isinstance(place, ast.Attribute) else None


def _added_by(call: ast.Call) -> Iterator[tuple[str, ast.expr, bool]]:
    """``x.layers.add_module("a", m)`` and ``setattr(x, "head", m)``: the text of the attribute and what it is given."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in _ADDING and call.args:
        yield dotted(func.value), call.args[-1], func.attr in ("update", "setdefault")
    elif isinstance(func, ast.Name) and func.id == "setattr" and len(call.args) == 3:
        name = call.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield f"{dotted(call.args[0])}.{name.value}", call.args[2], False


def _aliases(scope: Scope, name: str) -> Iterator[str]:
    """The attributes that a local name stands for: ``layers = self.layers``."""
    for binding in scope.bindings.get(name, ()):
        if binding.how is Bind.ASSIGN and isinstance(binding.value, ast.Attribute):
            yield dotted(binding.value)
