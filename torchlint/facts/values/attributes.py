"""What attributes of objects are, and what lists hold that grow elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import islice

from torchlint.facts.code.callers import Caller, methods, registered, stores_of
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.model import AttributeStore, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.tree import receiver_of, walk
from torchlint.facts.values import graphs, options, spaces
from torchlint.facts.values.arrays import ndarray_attribute
from torchlint.facts.values.asking import Ask, Question
from torchlint.facts.values.configured import Configured
from torchlint.facts.values.constructors import builds_on_base, replaces, runs_base
from torchlint.facts.values.containers import displayed
from torchlint.facts.values.contents import Contents
from torchlint.facts.values.data_fields import DataFields
from torchlint.facts.values.generated import encoded
from torchlint.facts.values.graph_fields import GraphFields
from torchlint.facts.values.join import HOST, INT, TENSOR, contents, dict_of, join, list_of, summed, tuple_of
from torchlint.facts.values.meetings import Meetings
from torchlint.facts.values.narrowed import Narrowed
from torchlint.facts.values.signatures import table
from torchlint.facts.values.tensors import tensor_attribute
from torchlint.facts.values.torch_objects import KEEPING, UNBIASED, distribution_attribute
from torchlint.late import dataclass, regex
from torchlint.models import function_names
from torchlint.rule import UNKNOWN, Device, Kind, Value

_MODULE = Value(Kind.MODULE, name="torch.nn.Module", derived=True)
_RESTORING = function_names(restores=True)
_WRAPPERS = function_names(wraps="module")  # which keep the module that they wrap as ``module``
_REGISTERED = (Kind.FUNCTION, Kind.CLASS)
_RECURRENT = regex(r"torch\.nn\.(modules\.rnn\.)?(RNN|LSTM|GRU)")


@dataclass(eq=False, slots=True)
class Attributes:
    """Answers what ``object.name`` is."""

    ask: Ask
    _trained: dict[str, frozenset[str]] = field(default_factory=dict)
    _asking: dict[Scope, frozenset[str]] = field(default_factory=dict)
    contents: Contents = field(init=False)
    _narrowed: Narrowed = field(init=False)
    _meetings: Meetings = field(init=False)
    _fields: DataFields = field(init=False)
    _configured: Configured = field(init=False)
    _graphs: GraphFields = field(init=False)
    _options: options.ParsedOptions = field(init=False)

    def __post_init__(self) -> None:
        self._options = options.ParsedOptions(self.ask)
        self.contents = Contents(self.ask)
        self._fields = DataFields(self.ask)
        self._configured = Configured(self.ask)
        self._graphs = GraphFields(self.ask)
        self._narrowed = Narrowed(self.ask, self._stores)
        self._meetings = Meetings(self.ask.project, self.ask.value)

    def read(self, facts: FileFacts, node: ast.Name | ast.Attribute, known: Value | None) -> Value | None:
        """Return what a name or an attribute is where it is read, given the tests before and what it meets."""
        if known == UNKNOWN and isinstance(node, ast.Attribute):
            known = self._narrowed.last_set(facts, node)
        found = self._narrowed.of(facts, node, known)
        if found is None or found.kind is not Kind.TENSOR or found.device in (Device.CPU, Device.CUDA):
            return found
        if not isinstance(node, ast.Name) or not self._meetings.on_host(facts, node, found):
            return found
        return self.ask.rather(replace(found, device=Device.CPU), found)

    def of(self, source: Value, attr: str) -> Value | None:
        """Return an attribute of a value."""
        if source.kind is Kind.TENSOR:
            return tensor_attribute(attr, source)
        if source.kind is Kind.NDARRAY:
            return ndarray_attribute(attr, source)
        if source.kind is Kind.DISTRIBUTION:
            return distribution_attribute(attr, source)
        if source == HOST and attr == "device":
            return Value(Kind.DEVICE, device=Device.CPU)
        if source == HOST:
            return self.ask.guess(encoded(attr)) if attr in table()["outputs"]["inputs"] else HOST
        if source.kind is Kind.DICT and attr in table()["outputs"]["inputs"]:
            return source.item(attr) or join(source.items) or UNKNOWN
        if source.kind is Kind.TUPLE and source.keys:
            return source.item(attr) or UNKNOWN
        if source.kind is Kind.ENV:
            return spaces.env_attribute(source, attr)
        if spaces.is_space(source):
            return spaces.space_attribute(source, attr)
        if source.kind is Kind.MODULE and attr in ("weight", "bias") and not self._sets(source, attr):
            if self._is_recurrent(source):
                return Value(Kind.NUMBER, "bool") if attr == "bias" else UNKNOWN
            return Value(Kind.NONE) if attr == "bias" and source.literal == UNBIASED else TENSOR
        if graphs.is_graph(source):
            return graphs.placed(self.ask.attribute(source.name, attr), source)
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return self.ask.attribute(source.name, attr)
        return UNKNOWN

    def of_unknown(self, facts: FileFacts, node: ast.Attribute) -> Value:
        """Return what an attribute of an object of unknown origin is by its name alone, a guess."""
        named = table()["outputs"]
        if node.attr in named["attributes"]:
            return self.ask.guess(TENSOR)
        if node.attr in named["layers"]:
            return self.ask.guess(list_of(TENSOR))
        if node.attr in named["sizes"]:
            return self.ask.guess(INT)
        if node.attr == "shape":
            return self.ask.guess(Value(Kind.SIZE, items=(INT,)))
        return self._saved(facts, node) if node.attr == "saved_tensors" else UNKNOWN

    def _saved(self, facts: FileFacts, node: ast.Attribute) -> Value:
        """What ``ctx.saved_tensors`` holds in a method: what another method of the class saved for backward."""
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

    def _is_recurrent(self, source: Value) -> bool:
        """Whether a module is a recurrent one of torch, whose ``bias`` is the flag that it was made with."""
        every = (base for cls in source.name.split("|") for base in (cls, *self.ask.project.ancestry(cls)))
        return any(_RECURRENT.match(base) for base in every)

    def of_class(self, cls: str, name: str) -> Value | None:
        """Return what ``instance.name`` is for an instance of a class."""
        if options.is_namespace(cls):
            return self._options.of(cls, name, (self._stored(cls, store) for store in self._stores(cls, name)))
        if graphs.is_class(cls):
            return self._graphs.of(name, (self._stored(cls, store) for store in self._stores(cls, name)))
        project = self.ask.project
        own = project.implementations(cls, name)
        if own:
            if is_property(own[0]):
                return self.ask.returned(own)
            return join(Value(Kind.FUNCTION, name=method.dotted) for method in own)
        stores = self._made(self._stores(cls, name))
        result = self._joined(cls, name, stores)
        if result is None:
            if name == "module" and not stores and not _WRAPPERS.isdisjoint(project.ancestry(cls)):
                return _MODULE
            added = all(store.binding.how is Bind.AUGMENT for store in stores)
            return TENSOR if added and self._registered(cls, name) else None if stores else UNKNOWN
        if not result.known and (promised := self._declared(stores)).known and promised != _MODULE:
            return promised  # any module at all is less than what the code asks of it
        if not result.known and (name in self._optimised(cls) or self._optimised_below(name, stores)):
            return _MODULE
        if result.kind in (Kind.UNKNOWN, Kind.NONE) and (held := self._configured.held(cls, name, stores)).known:
            return held
        result = self._fields.placed(cls, name, stores, result)
        if result.kind in (Kind.LIST, Kind.DICT, Kind.MODULE):
            grown = self.contents.of_attribute(cls, name, result)
            told = result.kind is Kind.DICT and any(store.binding.annotation is not None for store in stores)
            if not told:
                result = grown
            elif grown is not None:  # else what the annotation says: ``self.data.update(other.data)`` is a circle
                result = _promised(result, grown)
        if result is not None and result.kind is Kind.LIST and not result.element.known:
            result = replace(result, items=contents(result, self._declared(stores)))
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
            return join(self._summed(cls, name, stores))
        made = join(self._stored(cls, store) for store in stores if store not in moved)
        whole = join((made, *(self._stored(cls, store) for store in moved)))
        if made is None or made.kind is not Kind.MODULE or whole is None:
            return whole
        return replace(made, device=whole.device)

    def _summed(self, cls: str, name: str, stores: Sequence[AttributeStore]) -> list[Value | None]:
        """What is assigned to an attribute, without the number that it begins with where it is a tensor later.

        A sum that starts from a number, and that tensors are added to, is one: ``self.total += loss``,
        ``self.mean = 0.9 * self.mean + 0.1 * loss``. So is what is set to tensors alone, as a guess.
        """
        values = [self._stored(cls, store) for store in stores]
        sums: list[Value | None] = []
        for store, value in zip(stores, values, strict=True):
            match store.binding.stmt:
                case ast.AugAssign(op=ast.Add() | ast.Sub(), value=added):
                    sums.append(self.ask.value(store.scope.file, added))
                case ast.Assign(value=made) if _reads(made, name):
                    sums.append(value)
        plain = {value.kind for value in values if value is not None} - {Kind.TENSOR}
        if plain != {Kind.NUMBER}:
            return values
        tensors = [each for each in sums if each is not None and each.kind is Kind.TENSOR]
        if tensors or not self.ask.guesses or None in values:
            return summed([*values, *tensors], tensors)
        later = summed(values, values)
        self.ask.guessed = self.ask.guessed or later is not values
        return later

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
        """Whether a value was saved: ``torch.load(path)``, or a part of it, also by way of a name."""
        facts, project, value = store.scope.file, self.ask.project, store.binding.value
        while isinstance(value, ast.Subscript):
            part = value.value
            value = project.reaching(facts, part).value if isinstance(part, ast.Name) else part
        return isinstance(value, ast.Call) and project.qualified(facts, value.func) in _RESTORING

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

    def _optimised_below(self, name: str, stores: Sequence[AttributeStore]) -> bool:
        """Whether an attribute that derived classes alone set holds a module in each of them."""
        owners = {store.scope.owner for store in stores}
        return bool(owners) and all(owner is not None and name in self._optimised(owner.dotted) for owner in owners)

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
        for caller, node in self.ask.given(scope, parameter.target):
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


def _reads(value: ast.expr, attr: str) -> bool:
    """Whether an expression reads an attribute of a name: of the object to which it is assigned again."""
    return any(isinstance(part, ast.Attribute) and part.attr == attr for part in walk(value))


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
