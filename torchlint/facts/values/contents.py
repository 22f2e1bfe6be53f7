"""What lists, dicts and containers of modules hold that code fills, under a name or in an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from torchlint.facts.code.callers import Caller, methods
from torchlint.facts.code.dynamic import spelling
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.overloading import overloads
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.containers import element_of, plain
from torchlint.facts.values.join import dict_of, join, list_of, summed
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Device, Kind, Value

_REGISTERED = (Kind.FUNCTION, Kind.CLASS)


@dataclass(eq=False, slots=True)
class Contents:
    """Answers what containers hold with all that code puts into them."""

    ask: Ask
    _growing: dict[str, list[tuple[Scope, str, ast.expr]]] | None = None
    _imported: dict[str, list[tuple[Scope, str]]] | None = None

    def of_name(self, facts: FileFacts, binding: Binding, value: Value) -> Value | None:
        """Return a list or dict with what the same function puts into it under the same name."""
        scope = facts.scope_of(binding.stmt).function
        names = [n for n, bound in scope.bindings.items() if binding in bound]
        if not names:
            return value
        places = [scope]
        if scope.kind == "module" and value.kind is Kind.DICT:  # a registry that functions of the file fill
            places += [inner for inner in facts.scopes if inner.kind == "function" and not _binds(inner, names[0])]
        if value.kind is Kind.DICT and scope.kind == "function" and len(scope.bindings[names[0]]) > 1:
            return self._keyed(value, [(scope, names[0])], "", binding)
        elsewhere = self._elsewhere(f"{facts.module}.{names[0]}") if scope.kind == "module" else ()
        return self._filled(value, [*((place, names[0]) for place in places), *elsewhere])

    def _elsewhere(self, variable: str) -> Sequence[tuple[Scope, str]]:
        """Where other files put something into what a variable of a module holds, each with its name there."""
        if self._imported is None:
            self._imported = {}
            for facts in self.ask.project.files.values():
                for scope in facts.scopes:
                    for name, added in scope.appends.items():
                        holder = _put_into(facts, added[0][1]) if _is_imported(facts, name) else None
                        dotted = self.ask.project.qualified(facts, holder) if holder is not None else None
                        if dotted is not None:
                            self._imported.setdefault(dotted, []).append((scope, name))
        return self._imported.get(variable, ())

    def of_attribute(self, cls: str, name: str, value: Value) -> Value | None:
        """Return a list or dict that an attribute holds with what methods and other code put into it."""
        if plain(value).kind is Kind.MODULE:
            return value  # no container, so that no method is looked at
        project = self.ask.project
        classes = [*project.family(cls), *project.descendants(cls)]
        own = [method for scope in classes for method in methods(scope) if method.self_name]
        found = [(method, f"{method.self_name}.{name}") for method in own]
        for method in own if value.kind is Kind.DICT else ():  # a decorator inside a method fills a registry
            found += [(inner, f"{method.self_name}.{name}") for inner in method.inner if inner.kind == "function"]
        return self._filled(value, found, cls, name)

    def _filled(self, value: Value, places: Sequence[tuple[Scope, str]], cls: str = "", attr: str = "") -> Value | None:
        """A list or dict with what functions put into it under these names; of objects of a class, where it is one."""
        if value.kind is Kind.MODULE:
            return self._with_modules(value, places, cls, attr)
        if value.kind is Kind.DICT:
            return self._keyed(value, places, cls)
        elements: list[Value | None] = list(value.items)
        for scope, name in places:
            elements.extend(self._added(scope, name))
        for scope, how, node in self._added_outside(cls, attr) if attr else ():
            elements.append(self._one_added(scope, how, node))
        if not elements:
            return value
        element = join(elements)
        return list_of(element, nonempty=value.nonempty) if element is not None else None

    def _with_modules(self, value: Value, places: Sequence[tuple[Scope, str]], cls: str, attr: str) -> Value | None:
        """A container of modules with what functions put into it, whatever the name or the place."""
        bare = plain(replace(value, items=()))
        if bare.kind is Kind.MODULE:
            return value
        filled = self._filled(Value(bare.kind, items=value.items), places, cls, attr)
        held = join(filled.items) if filled is not None else None
        return None if filled is None else replace(value, items=(held,) if held is not None and held.known else ())

    def _added(self, scope: Scope, name: str) -> Iterator[Value | None]:
        return (self._one_added(scope, how, node) for how, node in scope.appends.get(name, ()))

    def _one_added(self, scope: Scope, how: str, node: ast.expr) -> Value | None:
        item = self.ask.value(scope.file, node) if how != "unknown" else UNKNOWN
        if item == UNKNOWN and how == "extend" and self._merges(scope, node):
            return None
        return element_of(item) if item is not None and how == "extend" else item

    def _merges(self, scope: Scope, node: ast.expr) -> bool:
        """Whether a method adds what another object of its class holds, most likely: ``self.rows += other.rows``."""
        match node:
            case ast.Attribute(value=ast.Name() as other, attr=attr) if self.ask.guesses:
                taken = self.ask.project.reaching(scope.file, other).parameter
                names = [name for name, added in scope.appends.items() if any(each is node for _, each in added)]
                if taken is None or names != [f"{scope.self_name}.{attr}"] or other.id == scope.self_name:
                    return False
                if self.ask.value(scope.file, other) == UNKNOWN:
                    self.ask.guessed = True
                    return True
        return False

    def _added_outside(self, cls: str, attr: str) -> Iterator[tuple[Scope, str, ast.expr]]:
        """What other code adds to a list of an object of a class: ``memory.states.append(state)``."""
        if self._growing is None:
            self._growing = {}
            for facts in self.ask.project.files.values():
                for scope in facts.scopes:
                    for name, added in scope.appends.items():
                        owner, _, last = name.rpartition(".")
                        if owner and owner != scope.self_name:
                            self._growing.setdefault(last, []).extend((scope, how, node) for how, node in added)
        for scope, how, node in self._growing.get(attr, ()):
            holder = _holder(scope.file, node, attr)
            value = self.ask.value(scope.file, holder) if holder is not None else None
            if value is not None and value.kind in (Kind.INSTANCE, Kind.MODULE):
                if any(self.ask.project.related(cls, other) for other in value.name.split("|")):
                    yield scope, how, node

    def _keyed(
        self, value: Value, places: Sequence[tuple[Scope, str]], cls: str, binding: Binding | None = None
    ) -> Value | None:
        """A dict with what is stored in it: under literal keys there, under others under all keys.

        ``binding``: what gives the name the dict, where others give it something else.
        """
        entries = _Entries(dict(zip(value.keys, value.items, strict=True)) if value.keys else {})
        for scope, name in places:
            added = [each for each in scope.appends.get(name, ()) if self._puts_into(scope.file, each[1], binding)]
            if not self._put(entries, scope, name, added, binding):
                return None
            for node in (
                node for how, node in added if how == "sum" and not self._adds_itself(value, scope.file, node)
            ):
                entries.add(_key_of(scope.file, node), self.ask.value(scope.file, node))
            literal = {node for _, node in scope.keyed.get(name, ())}.union(
                node for how, node in added if how == "update"
            )
            for how, node in added:
                if node not in literal and how not in ("extend", "sum"):
                    entries.anywhere += self._handed(scope.file, node, cls) if how == "item" else [UNKNOWN]
        if not entries.anywhere and not entries.sums:
            return entries.under_literals(value)
        held = entries.together(() if value.keys else value.items)
        element = join(held)
        return dict_of(self._together(element, held)) if element is not None else None

    def _put(
        self,
        entries: _Entries,
        scope: Scope,
        name: str,
        added: Iterable[tuple[str, ast.expr]],
        binding: Binding | None,
    ) -> bool:
        """Store what a function puts under literal keys, with the dicts that it merges; false where that is open."""
        merged = [self.ask.value(scope.file, node) for how, node in added if how == "extend"]
        if None in merged:
            return False
        dicts = [each for each in merged if each is not None and each.kind is Kind.DICT and each.items]
        known = len(dicts) == len(merged)
        updated = {node for how, node in added if how == "update"}
        for key, node in scope.keyed.get(name, ()):
            if (known or node not in updated) and self._puts_into(scope.file, node, binding):
                if not entries.put(key, self._entry(scope.file, node)):
                    return False
        for each in dicts if known else ():
            if not all(map(entries.put, each.keys, each.items)):
                return False
            entries.anywhere += () if each.keys else each.items
        return True

    def _puts_into(self, facts: FileFacts, added: ast.expr, binding: Binding | None) -> bool:
        """Whether what is put under a name may go into what a binding gave it, which may be bound again."""
        holder = _put_into(facts, added) if binding is not None else None
        if binding is None or not isinstance(holder, ast.Name):
            return True
        return self.ask.project.reaching(facts, holder).holds(binding)

    def _adds_itself(self, value: Value, facts: FileFacts, added: ast.expr) -> bool:
        """Whether what a dict holds are objects of the project that say themselves what adding to them does."""
        stmt = facts.parent.get(added)
        held = join(value.items) or UNKNOWN
        return isinstance(stmt, ast.AugAssign) and bool(overloads(self.ask.project, held, stmt))

    def _together(self, element: Value, held: Iterable[Value | None]) -> Value:
        """A tensor that a dict holds under a computed key: on the host where others are, and none is elsewhere."""
        if element.kind is not Kind.TENSOR or element.device is not Device.UNKNOWN:
            return element
        on_host = {each.device for each in held if each is not None} == {Device.CPU, Device.UNKNOWN}
        return self.ask.guess(replace(element, device=Device.CPU)) if on_host else element

    def _handed(self, facts: FileFacts, node: ast.expr, cls: str) -> list[Value | None]:
        """What is stored; of a parameter that callers give several things what each of them gives.

        Several registries that inherit one method hold what is given to the method on each of them: of a class that
        others derive from, nothing is known.
        """
        value = self.ask.value(facts, node)
        parameter = self.ask.project.reaching(facts, node).parameter
        function = parameter.scope if parameter is not None else None
        if function is None or not isinstance(node, ast.Name):
            return [value]
        owner = function.method_of
        shared = owner is not None and len(self.ask.project.descendants(owner.dotted)) > 1
        if (value != UNKNOWN and not shared) or (shared and (not cls or self.ask.project.descendants(cls))):
            return [value]
        self.ask.solver.passing()
        found: list[Value | None] = []
        for caller, argument in self.ask.given(function, node.id):
            if not shared or self._is_on(cls, caller):
                found.append(UNKNOWN if argument is None else self.ask.value(caller.facts, argument))
        return found or [value]

    def _is_on(self, cls: str, caller: Caller) -> bool:
        """Whether a call of a method is on a class itself, or on an object of it."""
        func = caller.call.func
        receiver = self.ask.value(caller.facts, func.value) if isinstance(func, ast.Attribute) else None
        return receiver is not None and cls in receiver.name.split("|")

    def _entry(self, facts: FileFacts, node: ast.expr) -> Value | None:
        """What is stored under a key; ``d["k"].append(x)`` is stored as the call and stands for a list."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node in facts.grows:
            item = self.ask.value(facts, node.args[-1])
            return None if item is None else list_of(item)
        return self.ask.value(facts, node)


@dataclass(eq=False, slots=True)
class _Entries:
    """What is put into a dict: under literal keys, under any others, and what is added up under any others."""

    keyed: dict[str, Value]
    anywhere: list[Value | None] = field(default_factory=list)
    sums: list[Value | None] = field(default_factory=list)

    def put(self, key: str, item: Value | None) -> bool:
        """Store an item under a key; return whether it is known what the key then holds."""
        joined = join([self.keyed.get(key), item])
        if joined is not None:
            self.keyed[key] = joined
        return joined is not None

    def add(self, key: str | None, item: Value | None) -> None:
        """Add an item to what a key holds, ``None`` for one that is computed."""
        if key is None:
            self.sums.append(item)
        else:
            self.keyed[key] = join(summed([self.keyed.get(key), item], [item])) or UNKNOWN

    def under_literals(self, value: Value) -> Value:
        """Return a dict with what is stored under literal keys, where nothing is under others."""
        if value.items and not value.keys and self.keyed:
            return value
        return Value(Kind.DICT, items=tuple(self.keyed.values()), keys=tuple(self.keyed)) if self.keyed else value

    def together(self, before: Iterable[Value]) -> list[Value | None]:
        """Return what any key may hold, with what the dict held before under keys that are not known."""
        return _callables([*self.keyed.values(), *summed([*self.anywhere, *self.sums], self.sums), *before])


def _key_of(facts: FileFacts, added: ast.expr) -> str | None:
    """The literal key under which ``d["k"] += added`` adds, ``None`` for a computed one."""
    match facts.parent.get(added):
        case ast.AugAssign(target=ast.Subscript(slice=ast.Constant(value=str(key)))):
            return key
    return None


def _callables(values: list[Value | None]) -> list[Value | None]:
    """What a registry may hold: the known functions and classes in it; or all that is in another dict.

    What is read from a registry is called, so what else is put into it does not come to a call.
    """
    known = [value for value in values if value is not None and value.kind in _REGISTERED and value.name]
    return [*known] if known and None not in values else values


def read_from(ask: Ask, facts: FileFacts, held: Value, index: ast.expr) -> Value | None:
    """Return what a dict gives under a key: under a computed one one of those that fit, ``"deep_" + name``, if any do.

    Beside classes, a function that gives ``None`` stands for having no object, as ``None`` itself does.
    """
    if isinstance(index, ast.Constant) and isinstance(index.value, str) and held.keys:
        return held.item(index.value)
    found: Sequence[Value] = held.items
    if held.keys and isinstance(index, (ast.BinOp, ast.JoinedStr)):
        text = spelling(ask, facts, index)
        items = zip(held.keys, held.items, strict=True)
        found = [item for key, item in items if key in text.texts or text.fits(key)] or held.items
    if {each.kind for each in found} == set(_REGISTERED):
        functions = [each for each in found if each.kind is Kind.FUNCTION]
        if all(_gives_none(ask, name) for each in functions for name in each.name.split("|")):
            found = [each for each in found if each.kind is Kind.CLASS]
    return join(found)


def _gives_none(ask: Ask, function: str) -> bool:
    """Whether a function of the project gives ``None``."""
    scope = ask.project.functions.get(function)
    given = ask.returned([scope]) if scope is not None else None
    return given is not None and given.kind is Kind.NONE


def _is_imported(facts: FileFacts, name: str) -> bool:
    """Whether a name, or the module that it begins with, is one that a file may import."""
    first = name.partition(".")[0]
    bound = facts.top.bindings.get(first)
    return bool(facts.star_imports) if bound is None else any(each.how is Bind.IMPORT for each in bound)


def _put_into(facts: FileFacts, added: ast.expr) -> ast.expr | None:
    """What code puts something into: ``rows`` of ``rows["x"] = added``, of ``rows.append(added)``."""
    node: ast.AST | None = facts.parent.get(added)
    node = facts.parent.get(node) if isinstance(node, ast.keyword) else node
    match node:
        case ast.Call(func=ast.Attribute(value=holder)):
            return holder
        case ast.Assign(targets=[ast.Subscript(value=holder)]) | ast.AugAssign(target=ast.Subscript(value=holder)):
            return holder
    return None


def _binds(scope: Scope | None, name: str) -> bool:
    """Whether a function, or one around it, binds a name itself."""
    around = scope.outward() if scope is not None else ()
    return any(name in each.bindings for each in around if each.kind != "module")


def _holder(facts: FileFacts, added: ast.expr, attr: str) -> ast.expr | None:
    """The object to whose attribute something is added: ``memory`` of ``memory.states.append(state)``."""
    match facts.parent.get(added):
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=holder, attr=name))) if name == attr:
            return holder
        case ast.AugAssign(target=ast.Attribute(value=holder, attr=name)) if name == attr:
            return holder
    return None
