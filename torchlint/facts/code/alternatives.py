"""Library functions and classes that programs choose among: ``FloatTensor = torch.cuda.FloatTensor if cuda else ...``.

What has one name in any case has it from ``Project.qualified``. Here is the rest: names that a condition binds, and
attributes of objects that hold a function or class of a library, alone or one of several.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.model import AttributeStore, Bind, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.reach import Reaching
from torchlint.late import dataclass

_MOST = 8
_Place = tuple[FileFacts, "ast.expr | str"]
_PLAIN = (ast.Name, ast.Attribute, ast.IfExp, ast.Subscript)


@dataclass(eq=False, slots=True)
class Alternatives(Fact):
    """Answers which functions of torch an expression may mean that has no name of its own."""

    project: Project
    _known: dict[ast.expr, tuple[str, ...]] = field(default_factory=dict)
    _words: frozenset[str] | None = None
    _of_classes: frozenset[str] | None = None

    def of(self, facts: FileFacts, node: ast.expr) -> tuple[str, ...]:
        """Return the qualified names of all that an expression may mean, none where one of them is not of torch."""
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return ()
        if isinstance(node, (ast.Name, ast.Attribute)):
            word = node.id if isinstance(node, ast.Name) else node.attr
            if word not in self._chosen() or self._is_named(facts, node):
                return ()
        if node not in self._known:
            self._known[node] = ()  # what is bound to itself means nothing
            self._known[node] = self._all(self._behind(facts, node))
        return self._known[node]

    def _is_named(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression has a name already that says what it is."""
        name = self.project.qualified(facts, node)
        return name is not None and not self._module_of(name)[0]

    def _module_of(self, name: str) -> tuple[FileFacts | None, str]:
        """The file of the project that binds a qualified name to some value, and the name there."""
        module, _, last = name.rpartition(".")
        file = self.project.modules.get(module)
        known = name in self.project.functions or name in self.project.classes
        return (None if known else file), last

    def _chosen(self) -> frozenset[str]:
        """The names and attributes that are bound to something that may be a function of a library."""
        if self._words is None:
            self._words = frozenset(self._bound())
        return self._words

    def _bound(self) -> Iterator[str]:
        for facts in self.project.files.values():
            for scope in facts.scopes:
                for name, bindings in scope.bindings.items():
                    if any(each.how is Bind.IMPORT or isinstance(each.value, _PLAIN) for each in bindings):
                        yield name
                for name, stores in scope.stores.items():
                    if any(isinstance(store.binding.value, _PLAIN) for store in stores):
                        yield name
        yield from self.project.outside

    def _set_by_classes(self) -> frozenset[str]:
        """The attributes that classes of the project set themselves."""
        if self._of_classes is None:
            classes = self.project.classes.values()
            self._of_classes = frozenset(name for cls in classes for name in (*cls.stores, *cls.bindings))
        return self._of_classes

    def _behind(self, facts: FileFacts, node: ast.expr) -> list[_Place] | None:
        """The expressions that one stands for, ``None`` where something else may be meant."""
        if isinstance(node, ast.Subscript):
            table = node.value
            if isinstance(table, ast.Name):
                table = self.project.reaching(facts, table).value or table
            return [(facts, each) for each in table.values] if isinstance(table, ast.Dict) else None
        if (name := self.project.qualified(facts, node)) is not None:
            file, last = self._module_of(name)
            found = Reaching(tuple(file.top.bindings.get(last, ())), file.top) if file is not None else None
            return [(file, each) for each in _meant(found)] if file is not None and found is not None else None
        if isinstance(node, ast.Name):
            return [(facts, each) for each in _meant(self.project.reaching(facts, node))] or None
        return self._kept(facts, node) if isinstance(node, ast.Attribute) else None

    def _kept(self, facts: FileFacts, node: ast.Attribute) -> list[_Place] | None:
        """What an attribute of the own object holds, one that only other code sets, or one of whatever class has it."""
        method = facts.own_object(node.value)
        owner = method.method_of if method is not None else None
        outside = [(file, store) for file, _, store in self.project.outside.get(node.attr, ())]
        if owner is None:
            if outside:
                return None if node.attr in self._set_by_classes() else _values(outside)
            return self._of_all(node.attr) if isinstance(node.value, ast.Name) else None
        if outside:
            return None
        family = [*self.project.family(owner.dotted), *self.project.descendants(owner.dotted)]
        bound = [(cls.file, each) for cls in family for each in cls.bindings.get(node.attr, ())]
        if any(each.how is not Bind.ASSIGN or each.path or each.value is None for _, each in bound):
            return None
        held = _values((store.scope.file, store) for store in stores_of(self.project, owner.dotted, node.attr))
        return None if held is None else held + [(file, each.value) for file, each in bound if each.value is not None]

    def _of_all(self, word: str) -> list[_Place] | None:
        """What an attribute holds in all classes of the project that have one of this name."""
        classes = [cls for cls in self.project.classes.values() if word in cls.stores or word in cls.bindings]
        if any(word in cls.bindings for cls in classes):
            return None
        return _values((store.scope.file, store) for cls in classes for store in cls.stores[word]) or None

    def _all(self, places: Iterable[_Place] | None) -> tuple[str, ...]:
        """The names of all of some expressions."""
        found: dict[str, None] = {}
        todo = list(places or ())
        while todo:
            facts, node = todo.pop(0)
            if isinstance(node, ast.IfExp):
                todo[:0] = [(facts, node.body), (facts, node.orelse)]
                continue
            name = self.project.canonical(facts, node) if isinstance(node, str) else self.project.qualified(facts, node)
            if name is not None and name.startswith("torch."):
                names: tuple[str, ...] = (name,)
            else:
                names = () if isinstance(node, str) else self.of(facts, node)
            if not names or len(found) > _MOST:
                return ()
            found.update(dict.fromkeys(names))
        return tuple(found)


def _meant(reach: Reaching) -> tuple[ast.expr | str, ...]:
    """What a name may be: the expressions that are assigned to it, or what is imported under it."""
    return reach.values or reach.imported


def _values(stores: Iterable[tuple[FileFacts, AttributeStore]]) -> list[_Place] | None:
    """What assignments store, ``None`` where one of them stores something that has no expression of its own."""
    found: list[_Place] = []
    for file, store in stores:
        binding = store.binding
        if binding.how is not Bind.ASSIGN or binding.path or binding.value is None:
            return None
        found.append((file, binding.value))
    return found
