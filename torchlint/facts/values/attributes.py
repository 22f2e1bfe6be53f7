"""What attributes of objects are, and what lists hold that grow elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import islice

from torchlint.facts.code.callers import Caller, arguments, methods, registered, stores_of
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.model import AttributeStore, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.tree import receiver_of
from torchlint.facts.values import options, spaces
from torchlint.facts.values.arrays import ndarray_attribute
from torchlint.facts.values.asking import Ask, Question
from torchlint.facts.values.constructors import builds_on_base, replaces, runs_base
from torchlint.facts.values.containers import displayed, element_of, plain
from torchlint.facts.values.join import HOST, TENSOR, contents, dict_of, join, list_of, tuple_of
from torchlint.facts.values.tensors import tensor_attribute
from torchlint.facts.values.torch_objects import KEEPING, UNBIASED, distribution_attribute
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import UNKNOWN, Device, Kind, Value

_MODULE = Value(Kind.MODULE, name="torch.nn.Module", derived=True)
_RESTORING = function_names(restores=True)
_REGISTERED = (Kind.FUNCTION, Kind.CLASS)


@dataclass(eq=False, slots=True)
class Attributes:
    """Answers what ``object.name`` is."""

    ask: Ask
    _trained: dict[str, frozenset[str]] = field(default_factory=dict)
    _asking: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _growing: dict[str, list[tuple[Scope, str, ast.expr]]] | None = None
    _options: options.ParsedOptions = field(init=False)

    def __post_init__(self) -> None:
        self._options = options.ParsedOptions(self.ask)

    def of(self, source: Value, attr: str) -> Value | None:
        """Return an attribute of a value."""
        if source.kind is Kind.TENSOR:
            return tensor_attribute(attr, source)
        if source.kind is Kind.NDARRAY:
            return ndarray_attribute(attr, source)
        if source.kind is Kind.DISTRIBUTION:
            return distribution_attribute(attr, source)
        if source == HOST:
            return Value(Kind.DEVICE, device=Device.CPU) if attr == "device" else HOST
        if source.kind is Kind.TUPLE and source.keys:
            return source.item(attr) or UNKNOWN
        if source.kind is Kind.ENV:
            return spaces.env_attribute(source, attr)
        if spaces.is_space(source):
            return spaces.space_attribute(source, attr)
        if source.kind is Kind.MODULE and attr in ("weight", "bias") and not self._sets(source, attr):
            return Value(Kind.NONE) if attr == "bias" and source.literal == UNBIASED else TENSOR
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return self.ask.attribute(source.name, attr)
        return UNKNOWN

    def saved(self, facts: FileFacts, node: ast.Attribute) -> Value:
        """Return what ``ctx.saved_tensors`` holds in a method: what another method of the class saved for backward."""
        owner = facts.scope_of(node).owner
        calls = [call for method in methods(owner) for call in method.calls] if owner is not None else []
        saving = [call for call in calls if getattr(call.func, "attr", "") == "save_for_backward"]
        given = self.ask.arguments(facts, saving[0].args) if len(saving) == 1 else None
        if given is None:
            return UNKNOWN
        return self.ask.guess(tuple_of(*(each if each.kind is Kind.TENSOR else TENSOR for each in given)))

    def _sets(self, source: Value, attr: str) -> bool:
        """Whether a class of the project sets an attribute itself: ``self.bias = bias``, a flag."""
        return any(True for cls in source.name.split("|") for _ in stores_of(self.ask.project, cls, attr))

    def of_class(self, cls: str, name: str) -> Value | None:
        """Return what ``instance.name`` is for an instance of a class."""
        if options.is_namespace(cls):
            return self._options.of(cls, name, (self._stored(cls, store) for store in self._stores(cls, name)))
        project = self.ask.project
        own = project.implementations(cls, name)
        if own:
            if is_property(own[0]):
                return self.ask.returned(own)
            return join(Value(Kind.FUNCTION, name=method.dotted) for method in own)
        stores = self._made(self._stores(cls, name))
        result = self._joined(cls, name, stores)
        if result is None:
            added = all(store.binding.how is Bind.AUGMENT for store in stores)
            return TENSOR if added and self._registered(cls, name) else None if stores else UNKNOWN
        if not result.known and (promised := self._declared(stores)).known and promised != _MODULE:
            return promised  # any module at all is less than what the code asks of it
        if not result.known and name in self._optimised(cls):
            return _MODULE
        if result.kind in (Kind.LIST, Kind.DICT, Kind.MODULE):
            grown = self._grown(cls, name, result)
            told = result.kind is Kind.DICT and any(store.binding.annotation is not None for store in stores)
            result = _promised(result, grown) if told and grown is not None else grown
        if result is not None and (not result.known or result.kind in (Kind.LIST, Kind.DICT)):
            return _of_modules(result) if f"{name}[]" in self._optimised(cls) else result
        return result

    def _joined(self, cls: str, name: str, stores: list[AttributeStore]) -> Value | None:
        """What holds for all that is assigned to an attribute.

        A method of a base that moves a module, ``self.net = self.net.cuda()``, tells where it is: the class is that of
        the object's own module, and not of any module that an object of the base may have.
        """
        moved = [store for store in stores if _moves(store, name)]
        if not moved:
            return join(self._stored(cls, store) for store in stores)
        made = join(self._stored(cls, store) for store in stores if store not in moved)
        whole = join((made, *(self._stored(cls, store) for store in moved)))
        if made is None or made.kind is not Kind.MODULE or whole is None:
            return whole
        return replace(made, device=whole.device)

    def _declared(self, stores: Iterable[AttributeStore]) -> Value:
        """What the annotations of an attribute promise: ``self.net: Policy``, with what a file of settings makes."""
        annotated = ((store.scope.file, store.binding.annotation) for store in stores)
        return join(self.ask.annotations.read(file, each) for file, each in annotated if each is not None) or UNKNOWN

    def floor(self, question: Question) -> Value | None:
        """Return the kind of a list or dict whose elements are computed from its own, so that nothing else is known.

        All code that binds the name, or sets the attribute, makes a new list or dict.
        """
        match question:
            case (FileFacts(), Binding() as binding):
                return displayed(binding)
            case (str() as cls, str() as name):
                made = {displayed(store.binding) for store in self._stores(cls, name)}
                return next(iter(made)) if len(made) == 1 else None
        return None

    def _stores(self, cls: str, name: str) -> list[AttributeStore]:
        return [*self._standing(cls, name), *self.outside(cls, name)]

    def _made(self, stores: list[AttributeStore]) -> list[AttributeStore]:
        """The assignments of an attribute without those that restore what was saved, which others made before."""
        made = [store for store in stores if not self._restores(store)] if self.ask.guesses else []
        if not made or len(made) == len(stores):
            return stores
        self.ask.guessed = True
        return made

    def _restores(self, store: AttributeStore) -> bool:
        value = store.binding.value
        return isinstance(value, ast.Call) and self.ask.project.qualified(store.scope.file, value.func) in _RESTORING

    def _optimised(self, cls: str) -> frozenset[str]:
        """The attributes of a class that hold modules, since a method of it asks for their ``parameters()``.

        With brackets (``models[]``) the attributes whose items it asks for them.

        Also those that are loaded with what such an attribute has: ``self.old.load_state_dict(self.net.state_dict())``.
        """
        found = self._trained.get(cls)
        if found is None:
            names: set[str] = set()
            project = self.ask.project
            if all(
                project.is_module(own.method_of.dotted)
                for own in project.methods.get("parameters", ())
                if own.method_of
            ):
                names.update(*map(self._asked, project.family(cls)))
            found = self._trained[cls] = frozenset(names)
        return found

    def _asked(self, cls: Scope) -> frozenset[str]:
        """The attributes that the methods in a class's own body ask for their ``parameters()``, or load from these."""
        found = self._asking.get(cls)
        if found is None:
            calls = [(call, method) for method in methods(cls) for call in method.calls]
            asked = {_own_part(call, method, "parameters") for call, method in calls}
            loaded = {
                _own_part(call, method, "load_state_dict")
                for call, method in calls
                if call.args and _own_part(call.args[0], method, "state_dict") in asked - {""}
            }
            found = self._asking[cls] = frozenset((asked | loaded) - {""})
        return found

    def _registered(self, cls: str, name: str) -> bool:
        """Whether a class makes an attribute with ``register_buffer("name", ...)``; where it lives may change."""
        given = (call.args[1] for call in registered(self.ask.project, cls, name) if len(call.args) > 1)
        first = next(given, None)
        return first is not None and not (isinstance(first, ast.Constant) and first.value is None)

    def outside(self, cls: str, name: str) -> Iterator[AttributeStore]:
        """Yield the assignments to an attribute from outside of an instance of a class or of a relative."""
        project = self.ask.project
        for facts, node, store in project.outside.get(name, ()):
            value = self.ask.value(facts, node) or UNKNOWN
            if value.kind in (Kind.INSTANCE, Kind.MODULE) and any(
                cls in project.ancestry(other) or other in project.ancestry(cls) for other in value.name.split("|")
            ):
                yield store

    def _standing(self, cls: str, name: str) -> Iterator[AttributeStore]:
        """The assignments to an attribute that an object of a class keeps.

        What the constructor of a base sets is gone where the constructor of the class sets it again afterwards, or does
        not run that of the base.
        """
        project = self.ask.project
        if len(list(islice(project.relatives_storing(cls, name), 2))) < 2:
            return stores_of(project, cls, name)
        over = False
        hidden: set[Scope] = set()
        for scope in project.family(cls):
            init = next((method for method in methods(scope) if method.name == "__init__"), None)
            if init is None:
                continue
            if over:
                hidden.add(init)
                continue
            own = [store for store in scope.stores.get(name, ()) if store.scope is init]
            if any(replaces(init, store) for store in own) or (own and not runs_base(init)):
                over = all(map(builds_on_base, project.descendants(cls)))
        return (store for store in stores_of(project, cls, name) if store.scope not in hidden)

    def _stored(self, cls: str, store: AttributeStore) -> Value | None:
        if store.binding.how is Bind.AUGMENT:
            return None  # changes the number, hardly ever the kind
        value = store.binding.value
        if isinstance(value, ast.Name) and not store.binding.path and store.binding.annotation is None:
            given = self._given(cls, store.scope, value)
            if given:
                passed = join(self.ask.value(facts, node) for facts, node in given)
                return self._promised(passed, store) if passed is not None and passed.kind is Kind.LIST else passed
        return self.ask.solver.ask((store.scope.file, store.binding))

    def _promised(self, passed: Value, store: AttributeStore) -> Value | None:
        """A list that is passed, with the elements that the annotation of the parameter promises, if it shows none."""
        if passed.element.known:
            return passed
        promised = self.ask.solver.ask((store.scope.file, store.binding))
        return replace(passed, items=contents(passed, promised)) if promised is not None else None

    def _given(self, cls: str, scope: Scope, name: ast.Name) -> list[tuple[FileFacts, ast.expr]]:
        """What is passed for a parameter of the constructor of a base where it makes objects of a class.

        The constructor of a base is given what each class passes on, and only the calls that may make an object of the
        class count. Empty: no more is known of the parameter than what all calls pass.
        """
        owner = scope.method_of
        parameter = self.ask.project.reaching(scope.file, name).parameter
        if scope.name != "__init__" or owner is None or owner.dotted == cls:
            return []
        if parameter is None or parameter.annotation is not None:
            return []
        self.ask.solver.passing()
        found: list[tuple[FileFacts, ast.expr]] = []
        for caller, node in arguments(self.ask.callers, scope, parameter.target):
            if not self._leads_to(cls, caller):
                continue
            if node is None:
                return []
            inner = caller.facts.scope_of(node).function
            found += (self._given(cls, inner, node) if isinstance(node, ast.Name) else []) or [(caller.facts, node)]
        return found

    def _leads_to(self, cls: str, caller: Caller) -> bool:
        """Whether a call of the constructor of a base may make an object of a class."""
        project = self.ask.project
        made = project.qualified(caller.facts, caller.call.func) or ""
        if made in project.classes:
            return cls in project.ancestry(made)
        owner = caller.facts.scope_of(caller.call).owner
        return owner is None or project.related(owner.dotted, cls)

    # lists and dicts that grow --------------------------------------------------------------------------------------

    def grown(self, facts: FileFacts, binding: Binding, value: Value) -> Value | None:
        """Return a list or dict with what the same function puts into it under the same name."""
        scope = facts.scope_of(binding.stmt).function
        names = [n for n, bound in scope.bindings.items() if binding in bound]
        if not names:
            return value
        places = [scope]
        if scope.kind == "module" and value.kind is Kind.DICT:  # a registry that functions of the file fill
            places += [inner for inner in facts.scopes if inner.kind == "function" and not _binds(inner, names[0])]
        return self._filled(value, [(place, names[0]) for place in places])

    def _grown(self, cls: str, name: str, value: Value) -> Value | None:
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
        return element_of(item) if item is not None and how == "extend" else item

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

    def _keyed(self, value: Value, places: Sequence[tuple[Scope, str]], cls: str) -> Value | None:
        """A dict with what is stored in it: under literal keys there, under others under all keys."""
        entries = dict(zip(value.keys, value.items, strict=True)) if value.keys else {}
        anywhere: list[Value | None] = []
        for scope, name in places:
            added = scope.appends.get(name, ())
            merged = [self.ask.value(scope.file, node) for how, node in added if how == "extend"]
            if None in merged:
                return None
            known = all(each is not None and each.kind is Kind.DICT and each.items for each in merged)
            updated = {node for how, node in added if how == "update"}
            keyed = [(key, node) for key, node in scope.keyed.get(name, ()) if known or node not in updated]
            stored = [(key, self._entry(scope.file, node)) for key, node in keyed]
            for each in merged if known else ():
                assert each is not None
                stored += zip(each.keys, each.items, strict=True) if each.keys else ()
                anywhere += () if each.keys else each.items
            for key, item in stored:
                joined = join([entries.get(key), item])
                if joined is None:
                    return None
                entries[key] = joined
            literal = updated.union(node for _, node in keyed)
            others = [(how, node) for how, node in added if node not in literal and how != "extend"]
            for how, node in others:
                anywhere.extend(self._handed(scope.file, node, cls) if how == "item" else [UNKNOWN])
        if anywhere:
            held = _callables([*entries.values(), *anywhere, *(() if value.keys else value.items)])
            element = join(held)
            return dict_of(self._together(element, held)) if element is not None else None
        if value.items and not value.keys and entries:
            return value
        return Value(Kind.DICT, items=tuple(entries.values()), keys=tuple(entries)) if entries else value

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
        for caller, argument in arguments(self.ask.callers, function, node.id):
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


def _callables(values: list[Value | None]) -> list[Value | None]:
    """What a registry may hold: the known functions and classes in it; or all that is in another dict.

    What is read from a registry is called, so what else is put into it does not come to a call.
    """
    known = [value for value in values if value is not None and value.kind in _REGISTERED and value.name]
    return [*known] if known and None not in values else values


def _binds(scope: Scope | None, name: str) -> bool:
    """Whether a function, or one around it, binds a name itself."""
    around = scope.outward() if scope is not None else ()
    return any(name in each.bindings for each in around if each.kind != "module")


def _promised(told: Value, grown: Value) -> Value:
    """A dict with what its annotation says of its objects, where the code does not show what is put into it."""
    objects = told.element.kind in (Kind.INSTANCE, Kind.MODULE) and not told.keys
    return told if objects and grown.kind is Kind.DICT and not grown.element.known else grown


def _of_modules(held: Value) -> Value:
    """What holds modules: a list or dict of things of unknown kind, or of which nothing else is known."""
    if held.kind is Kind.LIST:
        return held if held.element.known else list_of(_MODULE, nonempty=held.nonempty)
    if held.kind is Kind.DICT and held.items:
        return replace(held, items=tuple(item if item.known else _MODULE for item in held.items))
    return dict_of(_MODULE)


def _own_part(call: ast.expr, method: Scope, asked: str) -> str:
    """The attribute of its own object whose method of a name a method calls, an empty word if the call is another."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=owner), attr=attr), attr=name)):
            return attr if name == asked and owner == method.self_name else ""
        case ast.Call(
            func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=ast.Name(id=owner), attr=attr)), attr=name)
        ):
            return f"{attr}[]" if name == asked and owner == method.self_name else ""
    return ""


def _moves(store: AttributeStore, name: str) -> bool:
    """Whether an assignment gives an attribute the module that it holds: ``self.net = self.net.to(device).eval()``."""
    value = store.binding.value
    match receiver_of(value, KEEPING) if isinstance(value, ast.Call) else None:
        case ast.Attribute(value=ast.Name(id=owner), attr=attr):
            return attr == name and owner == store.scope.self_name
    return False


def _holder(facts: FileFacts, added: ast.expr, attr: str) -> ast.expr | None:
    """The object to whose attribute something is added: ``memory`` of ``memory.states.append(state)``."""
    match facts.parent.get(added):
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=holder, attr=name))) if name == attr:
            return holder
        case ast.AugAssign(target=ast.Attribute(value=holder, attr=name)) if name == attr:
            return holder
    return None
