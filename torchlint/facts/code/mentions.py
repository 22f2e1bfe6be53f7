"""Where names and attributes are read: an index of each file, made when it is first asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind

_SETTINGS = frozenset({"args", "arg", "cfg", "config", "conf", "opt", "opts", "hparams", "hp", "FLAGS", "params"})
Read = tuple[FileFacts, ast.Attribute]
_OBJECTS = (Kind.INSTANCE, Kind.MODULE, Kind.CLASS)


@dataclass(eq=False, slots=True)
class _Index:
    """The names and attributes of one file, by what they are called."""

    names: dict[str, list[ast.Name]] = field(default_factory=dict)
    attributes: dict[str, list[ast.Attribute]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Mentions:
    """Finds where a binding or an attribute is read; the target of ``x += 1`` reads ``x`` too."""

    project: Project
    graph: CallGraph
    values: Values
    _indices: dict[str, _Index] = field(default_factory=dict)
    _fields: dict[tuple[frozenset[str], str, str], tuple[Read, ...]] = field(default_factory=dict)

    def of_binding(self, facts: FileFacts, name: str, stmt: ast.AST) -> Iterator[ast.Name]:
        """The places that may read what a statement binds to a name."""
        for node in self._index(facts).names.get(name, ()):
            if any(binding.stmt is stmt for binding in self.project.reaching(facts, node).bindings):
                yield node

    def of_field(self, facts: FileFacts, classes: str, attr: str) -> tuple[Read, ...]:
        """The places that may read an attribute of instances of classes (empty: of whatever it is)."""
        group = self.graph.groups[facts.path]
        found = self._fields.get((group, classes, attr))
        if found is None:
            found = self._fields[group, classes, attr] = tuple(self._reads(group, classes, attr))
        return found

    def _reads(self, group: frozenset[str], classes: str, attr: str) -> Iterator[Read]:
        word = attr.encode()
        for path in sorted(group):
            file = self.project.files[path]
            if word not in file.source.utf8:
                continue
            for node in self._index(file).attributes.get(attr, ()):
                if self._may_be(file, node.value, classes):
                    yield file, node

    def _may_be(self, facts: FileFacts, node: ast.expr, classes: str) -> bool:
        """Whether an expression may be an instance of a class, or of a relative of it."""
        value = self.values.of(facts, node)
        if not value.known:
            return not (isinstance(node, ast.Name) and node.id in _SETTINGS)
        if value.kind not in _OBJECTS:
            return False
        if not classes:
            return True
        return any(
            one == other or one in self.project.ancestry(other) or other in self.project.ancestry(one)
            for one in classes.split("|")
            for other in value.name.split("|")
        )

    def _index(self, facts: FileFacts) -> _Index:
        found = self._indices.get(facts.path)
        if found is None:
            found = self._indices[facts.path] = _Index()
            for node, parent in facts.parent.items():
                if not isinstance(node, (ast.Name, ast.Attribute)):
                    continue
                if isinstance(node.ctx, ast.Load) or _augments(node, parent):
                    if isinstance(node, ast.Name):
                        found.names.setdefault(node.id, []).append(node)
                    else:
                        found.attributes.setdefault(node.attr, []).append(node)
        return found


def _augments(node: ast.expr, parent: ast.AST) -> bool:
    return isinstance(parent, ast.AugAssign) and parent.target is node
