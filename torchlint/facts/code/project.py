"""The files of a project linked: imports across files, qualified names, the class hierarchy."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain

from torchlint.facts.analyses import Fact
from torchlint.facts.code.exports import Exports
from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.hierarchy import hierarchy, is_external_module
from torchlint.facts.code.jumps import Loop
from torchlint.facts.code.linking import Modules, connected
from torchlint.facts.code.model import AttributeStore, Bind, Binding, FileFacts, Scope, decorators, is_super
from torchlint.facts.code.naming import names_read
from torchlint.facts.code.reach import MOST_BINDINGS, Definitions, Reaching, Rounds
from torchlint.facts.code.room import roomy
from torchlint.facts.code.starting import imported_by_others, only_defines
from torchlint.late import dataclass, regex
from torchlint.models import Models

# Classes of which it is asked one by one whether they derive from another, before all that derive from it are found.
_FEW = 8
_QUOTED = regex(rb"""(["'])([\w\x80-\xff]+)(?=\1)""")
# Decorators of functions that store into a property or delete it: ``@rate.setter``.
_CHANGES_PROPERTY = frozenset({"setter", "deleter"})


@dataclass(eq=False, slots=True)
class Project(Fact):
    """All files whose facts are known.

    ``classes`` and ``functions`` are keyed by qualified name; ``methods`` maps a method's name to all of that name, but
    of files that no import can mean, ``outside`` an attribute to all assignments to it that are not to ``self``.
    """

    files: dict[str, FileFacts]
    names: Modules[FileFacts]
    models: Models = field(default_factory=Models)
    classes: dict[str, Scope] = field(default_factory=dict)
    functions: dict[str, Scope] = field(default_factory=dict)
    methods: dict[str, list[Scope]] = field(default_factory=dict)
    children: dict[str, list[Scope]] = field(default_factory=dict)
    outside: dict[str, list[tuple[FileFacts, ast.expr, AttributeStore]]] = field(default_factory=dict)
    exports: Exports = field(init=False)
    _names: dict[ast.AST, str | None] = field(default_factory=dict)
    _common: dict[Reaching, str | None] = field(default_factory=dict)
    _bases: dict[str, Sequence[str]] = field(default_factory=dict)
    _mro: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _derived: dict[str, tuple[Scope, ...]] = field(default_factory=dict)
    _overrides: dict[tuple[str, str], tuple[Scope, ...]] = field(default_factory=dict)
    _inherited: dict[tuple[Scope, str], bool] = field(default_factory=dict)
    _related: dict[tuple[str, str], bool] = field(default_factory=dict)
    _takes_from: dict[tuple[Scope, str], tuple[str, ...]] = field(default_factory=dict)
    _modules: dict[str, bool] = field(default_factory=dict)
    _stored: dict[str, frozenset[str]] | None = None
    _unused: frozenset[str] | None = None
    _quoted: frozenset[bytes] | None = None
    _mentioned: frozenset[str] | None = None
    _registered: dict[str, list[Scope]] | None = None
    _definitions: Definitions = field(default_factory=Definitions)
    _groups: dict[str, frozenset[str]] | None = None

    def __post_init__(self) -> None:
        self.exports = Exports(self)

    def edited(self, edits: FileEdits) -> Project:
        """Return the project with edited files in place of the old ones; what names mean in the rest is kept."""
        project = link((edits.files.get(facts, facts) for facts in self.files.values()), self.models)
        project._names.update(self._names)
        project.exports.learn(self.exports)
        project._definitions = self._definitions
        project._groups = self._groups
        return project

    # names ----------------------------------------------------------------------------------------------------------

    def reaching(self, facts: FileFacts, node: ast.AST) -> Reaching:
        """Return the bindings that may reach a name where it is read; none for any other node."""
        return self._definitions.reaching(facts, node)

    def bound_to(self, facts: FileFacts, node: ast.AST) -> frozenset[Binding]:
        """Return the bindings that may reach a name, to compare them with those of another place."""
        return frozenset(self.reaching(facts, node).bindings)

    def rounds(self, facts: FileFacts, name: ast.Name, loop: Loop) -> Rounds:
        """Return the bindings in a loop that may reach a name where the loop reads it."""
        return self._definitions.rounds(facts, name, loop)

    def lasting(self, facts: FileFacts, name: str) -> list[Binding]:
        """Return the bindings of a name of a file's top level that code outside of it may see."""
        return self._definitions.lasting(facts, name, facts.top)

    def put(self, attribute: str) -> Iterator[tuple[FileFacts, ast.expr]]:
        """Yield what code puts into an attribute of objects that are not its own: ``layer.forward = f``."""
        for facts, _, store in self.outside.get(attribute, ()):
            if store.binding.value is not None:
                yield facts, store.binding.value

    def put_into(self, attribute: str) -> Iterator[str]:
        """Yield the qualified names of what code puts an attribute into: ``Normal`` of ``Normal.__init__ = f``."""
        for facts, holder, _ in self.outside.get(attribute, ()):
            if (name := self.qualified(facts, holder)) is not None:
                yield name

    def module(self, facts: FileFacts, dotted: str) -> FileFacts | None:
        """Return the project file that an absolute import of ``dotted`` in a file means, ``None`` if there is none."""
        return self.names.imported(facts.path, dotted)

    @property
    def groups(self) -> dict[str, frozenset[str]]:
        """For each file the files that imports connect with it in either direction, itself included, all by path.

        A default of torch that one file sets holds in all, but lets none call another: it connects no files here.
        """
        if self._groups is None:
            found = connected({file.path: (*file.imports, *file.star_imports) for file in self.files.values()})
            self._groups = {path: group for group in found for path in group}
        return self._groups

    @property
    def modules(self) -> dict[str, FileFacts]:
        """The files by dotted name."""
        return self.names.by_name

    def qualified(self, facts: FileFacts, node: ast.AST) -> str | None:
        """Return the qualified name of a name or attribute chain: ``torch.zeros``, ``agents.sac.Agent``.

        The result is ``None`` if unknown.
        """
        if node not in self._names:
            self._names[node] = None  # a name that is defined by itself has none
            self._names[node] = self._qualified(facts, node)
        return self._names[node]

    def _qualified(self, facts: FileFacts, node: ast.AST) -> str | None:
        if isinstance(node, ast.Attribute):
            base = self.qualified(facts, node.value)
            return self.canonical(facts, f"{base}.{node.attr}") if base else None
        if not isinstance(node, ast.Name):
            return None
        reach = self.reaching(facts, node)
        if not reach.bindings:
            return self.exports.starred(facts, node.id) or (f"builtins.{node.id}" if node.id in _BUILTINS else None)
        if len(reach.bindings) <= MOST_BINDINGS:
            return self._common_name(facts, reach)
        if reach not in self._common:  # many uses have them in common
            self._common[reach] = None
            self._common[reach] = self._common_name(facts, reach)
        return self._common[reach]

    def _common_name(self, facts: FileFacts, reach: Reaching) -> str | None:
        """The qualified name that all of some bindings give."""
        names = {self.binding_name(facts, binding) for binding in reach.bindings if not _is_none(binding)}
        return names.pop() if len(names) == 1 else None

    def unused(self) -> frozenset[str]:
        """Return the files that nothing imports and that run nothing, in a project whose files import each other."""
        if self._unused is None:
            imported = imported_by_others(self.files, self.names)
            idle = (path for path, facts in self.files.items() if path not in imported and only_defines(facts))
            self._unused = frozenset(idle) if imported else frozenset()
        return self._unused

    def quotes(self, name: str) -> bool:
        """Return whether a name is in quotes anywhere."""
        if self._quoted is None:
            texts = (file.source.utf8 for file in self.files.values())
            self._quoted = frozenset(found[2] for text in texts for found in _QUOTED.finditer(text))
        return name.encode() in self._quoted

    def mentions(self, cls: str) -> bool:
        """Return whether any code reads the name of a class, or has it in quotes.

        Imports and the definition do not count.
        """
        if self._mentioned is None:
            ours = frozenset(each.name for each in self.classes.values())
            self._mentioned = frozenset().union(*(names_read(facts, ours) for facts in self.files.values()))
        return cls in self._mentioned or self.quotes(cls)

    def dispatched(self, function: Scope) -> Iterator[Scope]:
        """Yield a function, and those of which it runs one by the type of an argument: ``@function.register``."""
        yield function
        if "singledispatch" not in function.decorator_names:
            return
        if self._registered is None:
            self._registered = {}
            for scope in (each for file in self.files.values() for each in file.scopes):
                for node in decorators(scope.node) if "register" in scope.decorator_names else ():
                    named = self.qualified(scope.file, node.value) if isinstance(node, ast.Attribute) else None
                    self._registered.setdefault(named or "", []).append(scope)
        yield from self._registered.get(function.dotted, ())

    def binding_name(self, facts: FileFacts, binding: Binding) -> str | None:
        """Return the qualified name of a binding: an import, function, class or plain alias of these."""
        if binding.how is Bind.IMPORT:
            return self.canonical(facts, binding.target)
        if binding.how in (Bind.FUNCTION, Bind.CLASS) and binding.scope is not None:
            return binding.scope.dotted
        if binding.how is Bind.ASSIGN and not binding.path and isinstance(binding.value, (ast.Name, ast.Attribute)):
            return self._aliased(facts, binding.value)
        return None

    @roomy
    def _aliased(self, facts: FileFacts, value: ast.expr) -> str | None:
        """The name that a plain assignment gives again."""
        name = self.qualified(facts, value)
        return name if name and not name.startswith("builtins.") else None

    def canonical(self, facts: FileFacts, dotted: str) -> str:
        """Follow an absolute dotted name into the project: re-exports resolve to where a thing is defined."""
        return self.exports.canonical(facts, dotted)

    # classes --------------------------------------------------------------------------------------------------------

    def bases(self, cls: Scope) -> Sequence[str]:
        """Return the qualified names of a class's bases, the project's or others, without one that closes a circle."""
        return self._bases[cls.dotted] if self.classes.get(cls.dotted) is cls else self._named_bases(cls)

    def _named_bases(self, cls: Scope) -> tuple[str, ...]:
        assert isinstance(cls.node, ast.ClassDef)
        nodes = (base.value if isinstance(base, ast.Subscript) else base for base in cls.node.bases)  # Generic[T]
        return tuple(name for node in nodes for name in self._base_names(cls.file, node))

    def _base_names(self, facts: FileFacts, node: ast.expr) -> Iterable[str]:
        """The classes that a base may be: several where a name is imported in one of several ways."""
        name = self.qualified(facts, node)
        if name is not None:
            return (name,)
        return dict.fromkeys(self.canonical(facts, each) for each in self.reaching(facts, node).imported)

    def settle(self) -> None:
        """Find the bases of all classes, their ancestors, and the classes that derive from each."""
        self._bases = hierarchy({name: self._named_bases(cls) for name, cls in self.classes.items()})
        for name, bases in self._bases.items():
            inherited = (self._mro.get(base, (base,)) for base in bases)
            self._mro[name] = tuple(dict.fromkeys(chain((name,), *inherited)))
        for name, cls in self.classes.items():
            for base in self._bases[name]:
                self.children.setdefault(base, []).append(cls)

    def ancestry(self, name: str) -> tuple[str, ...]:
        """Return a class's qualified name and those of all its ancestors, nearest first."""
        return self._mro.get(name, (name,))

    def family(self, name: str) -> Iterator[Scope]:
        """Yield the project's classes among a class and its ancestors, nearest first."""
        for ancestor in self.ancestry(name):
            cls = self.classes.get(ancestor)
            if cls is not None:
                yield cls

    def descendants(self, name: str) -> tuple[Scope, ...]:
        """Return the project's classes that derive from a class, at any depth."""
        found = self._derived.get(name)
        if found is None:
            todo, seen = [name], dict[str, Scope]()
            while todo:
                for child in self.children.get(todo.pop(), ()):
                    if child.dotted not in seen and child.dotted != name:
                        seen[child.dotted] = child
                        todo.append(child.dotted)
            found = self._derived[name] = tuple(seen.values())
        return found

    def method(self, cls: str, name: str) -> Scope | None:
        """Return the function that ``instance.name`` means for an instance of exactly this class."""
        if name not in self.methods:
            return None
        for scope in self._before_modules(cls) if name == "__call__" else self.family(cls):
            for method in map(_function, reversed(scope.bindings.get(name, ()))):
                if method is not None:
                    return method
        return None

    def _before_modules(self, name: str) -> Iterator[Scope]:
        """The classes whose ``__call__`` counts: ``nn.Module`` hides those behind it that are no modules."""
        hidden = False
        for ancestor in self.ancestry(name):
            cls = self.classes.get(ancestor)
            if cls is None:
                hidden = hidden or is_external_module(ancestor)
            elif not hidden or self.is_module(ancestor):
                yield cls

    def overrides(self, cls: str, name: str) -> tuple[Scope, ...]:
        """Return the methods of that name in classes that derive from this one."""
        found = self._overrides.get((cls, name))
        if found is None and not self._is_overridden(cls, name):
            found = self._overrides[cls, name] = ()
        if found is None:
            bindings = (binding for child in self.descendants(cls) for binding in child.bindings.get(name, ()))
            scopes = map(_function, bindings)
            found = self._overrides[cls, name] = tuple(scope for scope in scopes if scope is not None)
        return found

    def _is_overridden(self, cls: str, name: str) -> bool:
        """Whether a method of that name may belong to a class that derives from this one."""
        if cls not in self.children:
            return False
        if len(self.methods.get(name, ())) > _FEW:
            return True
        owners = (method.method_of for method in self.methods.get(name, ()))
        return any(owner is not None and owner.dotted != cls and cls in self.ancestry(owner.dotted) for owner in owners)

    def shares(self, method: Scope, other: Scope) -> bool:
        """Return whether an object may run both methods: one whose class overrides neither.

        ``other`` overrides a method that ``method`` calls on its own object. A class that defines ``method`` again,
        and does not call the inherited one, never comes to that call.
        """
        assert other.method_of is not None
        return self.runs_on(other.method_of.dotted, method)

    def runs_on(self, cls: str, method: Scope) -> bool:
        """Return whether a method may run on an object of a class, or of one that derives from it."""
        return any(self.inherits(each, method) for each in (cls, *(scope.dotted for scope in self.descendants(cls))))

    def related(self, cls: str, other: str) -> bool:
        """Return whether an object may be an instance of both classes."""
        if (cls, other) not in self._related:
            line = (cls, *(each.dotted for each in self.descendants(cls)))
            self._related[cls, other] = any(other in self.ancestry(each) for each in line)
        return self._related[cls, other]

    def inherits(self, cls: str, method: Scope) -> bool:
        """Return whether a method may run on an object of exactly this class, whatever order its bases have."""
        found = self._inherited.get((method, cls))
        owner = method.method_of
        if found is None and owner is not None:
            todo, seen, found = [cls], set[str](), False
            while todo and not found:
                name = todo.pop()
                scope = self.classes.get(name)
                known = self._inherited.get((method, name))
                if scope is None or name in seen or known is False:
                    continue
                seen.add(name)
                found = scope is owner or bool(known)
                if not found:
                    todo.extend(self._above(scope, method.name))
            self._inherited[method, cls] = found
        return bool(found)

    def _above(self, cls: Scope, name: str) -> tuple[str, ...]:
        """The classes that a class takes a method from: its bases, or those whose method its own one calls."""
        found = self._takes_from.get((cls, name))
        if found is None:
            above = self._called_above(cls, name) if name in cls.bindings else self.bases(cls)
            found = self._takes_from[cls, name] = tuple(above)
        return found

    def _called_above(self, cls: Scope, name: str) -> Iterator[str]:
        """The classes whose method of a name a class calls itself: ``super().update()``, ``Base.update(self)``."""
        todo = list(cls.inner)
        while todo:
            scope = todo.pop()
            todo.extend(scope.inner)
            for call in scope.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == name:
                    if is_super(call.func.value):
                        yield from self.bases(cls)
                    elif (named := self.qualified(cls.file, call.func.value)) is not None:
                        yield named

    def implementations(self, cls: str, name: str) -> list[Scope]:
        """Return the functions that ``instance.name`` may mean for an instance of a class or of one derived from it."""
        method = self.method(cls, name)
        overrides = self.overrides(cls, name) if cls in self.classes else ()
        return [*([method] if method is not None else []), *overrides]

    def stores(self, cls: str, name: str) -> bool:
        """Return whether methods of a class or of its ancestors assign to that attribute of theirs."""
        return not self._storing(name).isdisjoint(self.ancestry(cls))

    def relatives_storing(self, cls: str, name: str) -> Iterator[Scope]:
        """Yield the project's classes among a class, its ancestors and its descendants that assign to an attribute."""
        storing = self._storing(name)
        if not storing:
            return
        line = self.ancestry(cls)
        yield from (self.classes[each] for each in filter(storing.__contains__, line))
        if cls in self.children:
            others = storing.difference(line)
            if len(others) > _FEW or any(cls in self.ancestry(each) for each in others):
                yield from (each for each in self.descendants(cls) if each.dotted in others)

    def _storing(self, name: str) -> frozenset[str]:
        """The classes that assign to an attribute of theirs."""
        if self._stored is None:
            stored: dict[str, set[str]] = {}
            for cls in self.classes.values():
                for attribute in cls.stores:
                    stored.setdefault(attribute, set()).add(cls.dotted)
            self._stored = {attribute: frozenset(classes) for attribute, classes in stored.items()}
        return self._stored.get(name, frozenset())

    def constructor(self, facts: FileFacts, func: ast.expr) -> str | None:
        """Return the qualified name of the class whose ``__init__`` a call runs, or of ``func`` if it is not a class.

        Of a project class without ``__init__`` it is the nearest ancestor that has one, or is a library's.
        """
        name, skip = self.qualified(facts, func), 0
        if isinstance(func, ast.Attribute) and func.attr == "__init__":
            name = self.qualified(facts, func.value)
            if is_super(func.value):
                owner = facts.scope_of(func).owner
                name, skip = owner.dotted if owner is not None else None, 1
        if name is None or (name not in self.classes and not skip):
            return name
        for cls in self.ancestry(name)[skip:]:
            own = self.classes.get(cls)
            if own is None and not cls.startswith(_PLAIN_BASES):
                return cls
            if own is not None and "__init__" in own.bindings:
                return cls
        return None

    def called(self, cls: str, *, module: bool) -> list[Scope]:
        """Return the functions that ``instance(...)`` may run, for an ``nn.Module`` ``forward`` by default."""
        own = self.implementations(cls, "__call__")
        return own or (self.implementations(cls, "forward") if module else [])

    def is_ours(self, cls: str) -> bool:
        """Return whether all that a class inherits is known: its ancestors are of the project (or plain objects)."""
        return all(name in self.classes or name.startswith("builtins.") for name in self.ancestry(cls))

    def is_handed_over(self, method: Scope) -> bool:
        """Return whether a library may call a method because its class derives from one of the library's.

        Python and torch are no such libraries.
        """
        if method.method_of is None or method.name == "__init__":
            return False
        plain = (*_PLAIN_BASES, "torch.", "enum.", "collections.")
        return not all(
            name in self.classes or name.startswith(plain) for name in self.ancestry(method.method_of.dotted)
        )

    def is_module(self, cls: str) -> bool:
        """Return whether a class is an ``nn.Module``."""
        found = self._modules.get(cls)
        if found is None:
            found = self._modules[cls] = any(map(is_external_module, self.ancestry(cls)))
        return found


_BUILTINS = frozenset(dir(builtins))
_PLAIN_BASES = ("builtins.", "typing.", "abc.")


def _function(binding: Binding) -> Scope | None:
    """The function that a binding gives an attribute of objects; what sets a property is none that is read."""
    if binding.how is not Bind.FUNCTION or binding.scope is None:
        return None
    return binding.scope if _CHANGES_PROPERTY.isdisjoint(binding.scope.decorator_names) else None


def _is_none(binding: Binding) -> bool:
    """``torch = None`` in the handler of an optional import does not hide what the import binds."""
    return isinstance(binding.value, ast.Constant) and binding.value.value is None


def link(files: Iterable[FileFacts], models: Models | None = None) -> Project:
    """Index the facts of all files and link them."""
    known = {file.path: file for file in files}
    project = Project(known, Modules.of(known.values()), models or Models())
    for file in known.values():
        for name, found in file.outside.items():
            project.outside.setdefault(name, []).extend((file, node, store) for node, store in found)
        for scope in file.scopes:
            if scope.kind == "class":
                project.classes[scope.dotted] = scope
            elif scope.kind == "function":
                project.functions[scope.dotted] = scope
                if scope.method_of is not None and file.path not in project.names.hidden:
                    project.methods.setdefault(scope.name, []).append(scope)
    project.settle()
    return project
