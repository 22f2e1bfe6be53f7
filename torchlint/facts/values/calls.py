"""What calls give: of libraries, of the project's functions, of methods, modules and environments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import reduce

from torchlint.facts.code.alternatives import Alternatives
from torchlint.facts.code.callers import Caller
from torchlint.facts.code.decorating import is_property, keeps_result
from torchlint.facts.code.dynamic import evaluated, looked_up, named
from torchlint.facts.code.hierarchy import is_external_module
from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope, is_super
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.relaying import DECLARING, RELAYING, handed_on, relayed
from torchlint.facts.code.tree import is_none
from torchlint.facts.values import engines, graphs, operators, spaces, tensordicts
from torchlint.facts.values.added import RETURNED, row_of
from torchlint.facts.values.annotations import is_typed_dict
from torchlint.facts.values.arrays import mapped, ndarray_method
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.batches import BatchItems, moves_item
from torchlint.facts.values.containers import (
    GIVING,
    LOADERS,
    container_method,
    element_of,
    generator_of,
    lacks,
    named_items,
    plain,
)
from torchlint.facts.values.default_devices import DefaultDevices
from torchlint.facts.values.generated import is_encoding, tokenizes, tokens
from torchlint.facts.values.handed import declared, linked_by_name, returned_at, tree_of
from torchlint.facts.values.join import (
    HOST,
    NDARRAY,
    NONE,
    PARTIAL,
    STARRED,
    TENSOR,
    dict_of,
    join,
    list_of,
    registry,
    told_more,
    tuple_of,
)
from torchlint.facts.values.libraries import library_call, library_method
from torchlint.facts.values.loaders import loader
from torchlint.facts.values.ranks import lists_places
from torchlint.facts.values.registries import Registries
from torchlint.facts.values.relatives import joined
from torchlint.facts.values.signatures import starred, table
from torchlint.facts.values.tensors import tensor_method
from torchlint.facts.values.torch_objects import (
    KEEPING,
    distribution_method,
    made_module,
    module_call,
    module_moved,
    on_device,
)
from torchlint.late import dataclass
from torchlint.models import Word, function_names, method_names, protocols
from torchlint.rule import UNKNOWN, Kind, Value

_REDUCING = method_names(reduces=True)
_ENV_NAME = Word("variable of an environment")

_NAMED = function_names(names=("class", "module", "object"))
# Calls that give their argument back in another form, to be called like it.
_WRAPPERS = function_names(wraps=True)
_TRUTHS = frozenset({"any", "all"})
_NORMS = method_names("FullyShardedDataParallel", norm=True)  # of any module: what wraps it may be chosen elsewhere
# Ends of the names of classes of transformers that prepare texts and images for a model.
_PREPARING = ("Tokenizer", "TokenizerFast", "Processor")
_ANY_MODULE = "torch.nn.Module"
_GENERATING = frozenset({Kind.UNKNOWN, Kind.MODULE, Kind.INSTANCE})


@dataclass(eq=False, slots=True)
class CallValues:
    """Answers what calls give. ``envs_return_arrays`` tells it of the project's own environments."""

    ask: Ask
    envs_return_arrays: Callable[[], bool]
    _batches: BatchItems = field(init=False)
    _alternatives: Alternatives = field(init=False)
    _registries: Registries = field(init=False)
    _default_devices: DefaultDevices = field(init=False)

    def __post_init__(self) -> None:
        self._batches = BatchItems(self.ask)
        self._alternatives = Alternatives(self.ask.project)
        self._registries = Registries(self.ask)
        self._default_devices = DefaultDevices(self.ask)

    def of(self, facts: FileFacts, node: ast.Call) -> Value | None:
        """Return the value of a call."""
        project = self.ask.project
        name = project.qualified(facts, node.func)
        if project.models:
            added = RETURNED.get(row_of(project, facts, node, self.ask.knower(facts)).get("returns"))
            if added is not None:
                return added
        if name == "builtins.getattr" and len(node.args) in (2, 3):
            return looked_up(self.ask, facts, node)
        if name is not None and name in _NAMED:
            found = named(self.ask, facts, node, _NAMED[name]["names"])
            if found.known:
                return found
        if name == "builtins.eval" and len(node.args) == 1:
            return self.ask.guess(evaluated(self.ask, facts, node))
        if name == "builtins.dict" and node.keywords and not node.args:
            if (made := registry([self.ask.known(facts, keyword.value) for keyword in node.keywords])).items:
                return made
        if name in _WRAPPERS and node.args:
            wrapped = self.ask.value(facts, node.args[0])
            if wrapped is None or wrapped.kind in (Kind.FUNCTION, Kind.MODULE):
                return wrapped
        if tokenizes(node):
            return self.ask.guess(HOST)
        if (given := handed_on(name, node)) is not None:
            return declared(self.ask, facts, node, given) if name in DECLARING else self.ask.value(facts, given)
        if node.args and (name in RELAYING or self._configured(facts, node.func)):
            return self.ask.value(facts, node.args[0])
        if (inner := relayed(project, node.func)) is not None:
            callee = self.ask.value(facts, inner)
            return None if callee is None else self._called(callee, facts, node)
        if (taken := self._registries.of(facts, node, name)) is not None:
            return taken
        if (handed := engines.wrapped(name or "", node, self.ask.knower(facts))) is not None:
            return handed if name in table()["wrapping"]["functions"] else self.ask.guess(handed)
        if name == PARTIAL and node.args:
            return self._partial(facts, node)
        if (tree := tree_of(project, facts, node)) is not None:
            moved = self.ask.value(facts, tree)
            return moved if moved is None or moved.kind is Kind.INSTANCE else UNKNOWN
        if name == "builtins.map" and len(node.args) == 2:
            return self._mapped(facts, node.args[0])
        result = self._by_what_it_calls(facts, node, name)
        if result == UNKNOWN and name not in project.classes:
            return self.ask.guess(engines.renewed(node, facts.parent.get(node), self.ask.knower(facts)))
        return result

    def _by_what_it_calls(self, facts: FileFacts, node: ast.Call, name: str | None) -> Value | None:
        """The value of a call of a function of a library or of the project, of a class, or of a method."""
        project = self.ask.project
        if chosen := self._alternatives.of(facts, node.func):
            return join(library_call(each, node, self.ask.knower(facts)) or UNKNOWN for each in chosen)
        if name is not None:
            known = library_call(name, node, self.ask.knower(facts))
            if known is not None:
                return self._default_devices.made(facts, node, name, known)
            if name in LOADERS:
                return loader(self.ask, facts, name, node)
            if name in project.functions:
                return returned_at(self.ask, project.functions[name], Caller(facts, node, 0))
            if name in project.classes:
                return self.ask.instance(name, derived=False)
            if is_external_module(name):
                return made_module(name, node, self.ask.knower(facts))
            if (made := self._pretrained(name)).known:
                return made
            if name.rpartition(".")[0] in project.modules:
                callee = self.ask.value(facts, node.func)
                if callee is None or callee.known:
                    return None if callee is None else self._called(callee, facts, node)
            foreign = operators.foreign_instance(name)
            if foreign is not None:
                return foreign
        if isinstance(node.func, ast.Attribute):
            return self._method(facts, node, node.func)
        callee = self.ask.value(facts, node.func)
        return None if callee is None else self._called(callee, facts, node)

    def _pretrained(self, name: str) -> Value:
        """The object that a class method of a framework makes: ``AutoModel.from_pretrained("name")``, a tokenizer."""
        cls, _, method = name.rpartition(".")
        if method == "from_pretrained" and cls.startswith("transformers.") and cls.endswith(_PREPARING):
            return Value(Kind.INSTANCE, name=cls, derived=True)
        own = cls in self.ask.project.classes
        line = self.ask.project.ancestry(cls) if own else [cls]
        if not any(method in protocols.makers(base) for base in line) or self.ask.project.implementations(cls, method):
            return UNKNOWN
        if not any(map(protocols.is_module, line)):
            return self.ask.instance(cls, derived=False) if own else UNKNOWN
        return Value(Kind.MODULE, name=cls, derived=True)

    def _configured(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether what is called is a decorator with its settings: ``ray.remote(num_gpus=1)(Worker)``."""
        made = func if isinstance(func, ast.Call) and not func.args else None
        return made is not None and self.ask.project.qualified(facts, made.func) in RELAYING

    def _partial(self, facts: FileFacts, node: ast.Call) -> Value:
        """A function with arguments filled in."""
        function, *rest = [UNKNOWN if isinstance(arg, ast.Starred) else self.ask.known(facts, arg) for arg in node.args]
        names = tuple(sorted(keyword.arg or STARRED for keyword in node.keywords))
        names = (STARRED,) if starred(node) else names
        return Value(Kind.INSTANCE, name=PARTIAL, items=(function, *rest), keys=names)

    def _mapped(self, facts: FileFacts, function: ast.expr) -> Value | None:
        """``map(np.stack, rows)``: a list of what the function gives."""
        name = self.ask.project.qualified(facts, function) or ""
        if name in self.ask.project.functions:
            element = self.ask.solver.ask(self.ask.project.functions[name])
            return list_of(element) if element is not None else None
        return list_of(mapped(name))

    # methods --------------------------------------------------------------------------------------------------------

    def _method(self, facts: FileFacts, node: ast.Call, func: ast.Attribute) -> Value | None:
        if is_super(func.value):
            return self._inherited(facts, func)
        source = self.ask.value(facts, func.value)
        if source is None:
            return None
        of = self.ask.knower(facts)
        if source.kind in _GENERATING and (made := self._generated(source, node)).known:
            return self.ask.guess(made)
        if source == HOST:
            moved = operators.of_host(func.attr, node, of)
            if moved == UNKNOWN and func.attr in KEEPING and is_encoding(self.ask.project, facts, func.value):
                return self.ask.guess(dict_of(tensor_method(func.attr, TENSOR, node, of)))
            return moved
        if source.kind is Kind.TENSOR:
            made = tensor_method(func.attr, source, node, of)
            return self.ask.rather(replace(made, rank=1), made) if lists_places(node) else made
        if source.kind is Kind.NDARRAY:
            return ndarray_method(func.attr, source, node, of)
        if source.kind is Kind.DISTRIBUTION:
            return distribution_method(func.attr, source, node)
        if source.kind is Kind.ENV or (not source.known and self._called_env(func.value)):
            given = spaces.env_method(source, func.attr, facts.parent.get(node))
            return given if spaces.returns_arrays(source) else self.ask.guess(given)
        source = plain(source) if func.attr in GIVING else source
        if source.kind in (Kind.LIST, Kind.DICT, Kind.SIZE) or (source.keys and func.attr == "_replace"):
            return container_method(func.attr, source, node, of)
        if source == tensordicts.TENSORDICT:
            return self._tensordict(facts, func.attr, node)
        if graphs.is_graph(source):
            return graphs.method(source, func.attr, node, of)
        if (answer := library_method(source, func.attr, lambda: self.ask.project.groups[facts.path])) is not None:
            return answer
        if source.kind in (Kind.MODULE, Kind.DEVICE) and func.attr in KEEPING:
            return module_moved(func.attr, source, node, of)
        if source.kind is Kind.MODULE and func.attr in _NORMS and func.attr not in self.ask.project.methods:
            return Value(Kind.TENSOR, rank=0)
        if func.attr in ("get", "pop") and node.args and is_typed_dict(self.ask.project, source):
            key = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            return self.ask.attribute(source.name, key) if isinstance(key, str) else UNKNOWN
        if classes := _by_class(source):
            return join(self._method_of(source, name, func.attr, facts, node) for name in classes)
        if self._is_foreign(facts, func.value):
            return UNKNOWN
        if source == UNKNOWN and (linked := linked_by_name(self.ask, func.attr, node)) != UNKNOWN:
            return linked
        if not source.known and (had := self._having(facts, func)) is not None:
            return tensor_method(func.attr, had, node, of)
        if moves_item(facts, node):
            return self.ask.guess(tensor_method(func.attr, TENSOR, node, of))
        if func.attr in _REDUCING and self._batches.holds(facts, func.value):
            return self.ask.guess(tensor_method(func.attr, TENSOR, node, of))
        untyped = operators.untyped_method(func.attr, node, of)
        return self.ask.guess(untyped if untyped.known else operators.computed_method(facts, func.attr, node, of))

    def _generated(self, source: Value, node: ast.Call) -> Value:
        """The tokens that a call of ``generate`` gives, unless a method of the project says what it does."""
        names = source.name.split("|") if source.name else []
        if any(self.ask.project.implementations(name, "generate") for name in names):
            return UNKNOWN
        known = source.kind is Kind.MODULE and any(
            protocols.makers(base) for name in names for base in self.ask.project.ancestry(name)
        )
        return tokens(node, known=known)

    def _having(self, facts: FileFacts, func: ast.Attribute) -> Value | None:
        """The tensor that has a method, where nothing else that the object may be has one of that name.

        ``None`` where no tensor is among what it may be, or something of which nothing is known.
        """
        if func.attr not in _TRUTHS or not isinstance(func.value, ast.Name):
            return None
        found = [each for each in self._one_by_one(facts, func.value) if each is not None]
        having = [each for each in found if not lacks(each, func.attr)]
        value = join(having) if len(having) < len(found) else None
        return value if value is not None and value.kind is Kind.TENSOR else None

    def _one_by_one(self, facts: FileFacts, name: ast.Name) -> Iterator[Value | None]:
        """What a name may be, one by one: by each assignment, and of a call each method that it may run."""
        parts = self.ask.project.reaching(facts, name).parts
        for whole, path in parts:
            for each in self._each_result(facts, whole):
                yield None if each is None else reduce(operators.unpack, path, each)
        if not parts:
            yield self.ask.value(facts, name)

    def _each_result(self, facts: FileFacts, node: ast.expr) -> Iterator[Value | None]:
        """What each method gives that a call may run; of any other expression what it is.

        A method that gives ``None`` is one that derived classes have to write, as for ``join``.
        """
        func = node.func if isinstance(node, ast.Call) else None
        source = self.ask.value(facts, func.value) if isinstance(func, ast.Attribute) else None
        own = _by_class(source) if source is not None else ()
        if isinstance(node, ast.Call) and isinstance(func, ast.Attribute) and source is not None and own:
            for cls in own:
                for each in self._own_results(source, cls, func.attr, facts, node):
                    if each is None or each.kind is not Kind.NONE:
                        yield each
                if not self.ask.project.implementations(cls, func.attr):
                    yield UNKNOWN
        else:
            yield self.ask.value(facts, node)

    def _is_foreign(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is a module of a library, whose functions are no methods: ``jnp.logical_not(x)``."""
        name = self.ask.project.qualified(facts, node)
        if name is None or name.startswith("builtins."):
            return False
        parts = name.split(".")
        return not any(".".join(parts[:cut]) in self.ask.project.modules for cut in range(1, len(parts) + 1))

    def _tensordict(self, facts: FileFacts, name: str, node: ast.Call) -> Value:
        """A method of a TensorDict; ``get`` gives what the connected files keep under the key."""
        key = node.args[0] if node.args else None
        if name in ("get", "pop") and isinstance(key, ast.Constant) and isinstance(key.value, str):
            return self.ask.entry(facts, key.value)
        return tensordicts.method(name)

    def _called_env(self, node: ast.expr) -> bool:
        """Whether a value of unknown origin is called an environment, in a project whose own ones return arrays."""
        return self.ask.guesses and _ENV_NAME.fits(last_name(node)) and self.envs_return_arrays()

    def _inherited(self, facts: FileFacts, func: ast.Attribute) -> Value | None:
        """What ``super().method(...)`` gives."""
        project = self.ask.project
        owner = facts.scope_of(func).owner
        for base in project.ancestry(owner.dotted)[1:] if owner is not None else ():
            method = project.method(base, func.attr)
            if method is not None:
                return self.ask.solver.ask(method)
        return self._of_framework(owner.dotted, func.attr) if owner is not None else UNKNOWN

    def _of_framework(self, cls: str, attr: str) -> Value:
        """What a method gives that a class inherits from a framework: a tensor, or several."""
        line = self.ask.project.ancestry(cls)
        if any(engines.answers_on_host(self.ask, base, attr) for base in line):
            return self.ask.guess(HOST)
        count = next((count for base in line if (count := protocols.gives(base).get(attr))), 0)
        return tuple_of(*[TENSOR] * count) if count > 1 else TENSOR if count else UNKNOWN

    def _method_of(self, source: Value, cls: str, attr: str, facts: FileFacts, node: ast.Call) -> Value | None:
        own = self.ask.project.implementations(cls, attr)
        if own and not is_property(own[0]):  # of a property what it gives is called
            return join(self._own_results(source, cls, attr, facts, node))
        if attr == "__call__" and source.kind is Kind.MODULE:
            return self._called(replace(source, name=cls), facts, node)
        given = self._of_framework(cls, attr)
        if given != UNKNOWN:
            return given
        if attr in ("step", "reset") and (env := self._of_wrapper(cls, attr, facts.parent.get(node))) != UNKNOWN:
            return env
        member = self.ask.attribute(cls, attr)
        if member is None:
            return None
        if member.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION):
            return self._called(member, facts, node)
        return self.ask.guess(operators.untyped_method(attr, node, self.ask.knower(facts)))

    def _of_wrapper(self, cls: str, attr: str, use: ast.AST | None) -> Value | None:
        """What an environment of the project gives by a method of the library that it inherits.

        A wrapper of observations gives what its own method makes of them.
        """
        line = self.ask.project.ancestry(cls)
        env = operators.base_env(line)
        if not env.known:
            return UNKNOWN
        own = self.ask.project.implementations(cls, "observation") if operators.observes(line) else ()
        seen = self.ask.returned(own) if own else NDARRAY
        return self.ask.guess(spaces.env_method(env, attr, use, seen)) if seen is not None else None

    def _own_results(
        self, source: Value, cls: str, attr: str, facts: FileFacts, node: ast.Call
    ) -> Iterator[Value | None]:
        """What each method of the project gives that a call on an object of a class may run."""
        exact = None if source.derived else self.ask.project.method(cls, attr)
        for method in (exact,) if exact is not None else self.ask.project.implementations(cls, attr):
            yield returned_at(self.ask, method, Caller(facts, node, _filled(source, method)), cls)

    # what is called -------------------------------------------------------------------------------------------------

    def _called(self, callee: Value, facts: FileFacts, node: ast.Call) -> Value | None:
        """The value of calling something."""
        if callee.name == PARTIAL:
            return self._called(callee.items[0], facts, node) if callee.items else UNKNOWN
        if callee.name == "torch.Tensor":  # what ``type(x)`` of a tensor is
            return library_call(callee.name, node, self.ask.knower(facts))
        if callee.kind is Kind.CLASS and callee.keys:
            return named_items(callee, self.ask.arguments(facts, node.args), node, self.ask.knower(facts))
        if callee.name == _ANY_MODULE and any(keyword.arg is None for keyword in node.keywords):
            return UNKNOWN  # a model that takes a whole batch by name gives an output with names, too
        return joined(self.ask.project, (self._called_one(callee, name) for name in callee.name.split("|")))

    def _called_one(self, callee: Value, name: str) -> Value | None:
        project, kind = self.ask.project, callee.kind
        if kind is Kind.CLASS:
            return self.ask.instance(name, derived=callee.derived) if name in project.classes else UNKNOWN
        if kind is Kind.FUNCTION:
            function = project.functions.get(name)
            return self.ask.solver.ask(function) if function is not None else UNKNOWN
        own = project.called(name, module=kind is Kind.MODULE) if kind in (Kind.MODULE, Kind.INSTANCE) else []
        if own:
            result = self.ask.returned(own)
            return on_device(result, callee.device) if result is not None else None
        if kind is Kind.MODULE and name.startswith("torch.nn."):
            return module_call(name.rpartition(".")[2], callee)
        return UNKNOWN

    def result(self, function: Scope) -> Value | None:
        """Return the result of a project function: what its annotation promises, or its returns where they say more."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return self.ask.value(function.file, node.body)
        if not keeps_result(self.ask.project, function):
            return UNKNOWN
        promised = UNKNOWN
        if isinstance(node, FUNCTIONS) and node.returns is not None:
            promised = self.ask.annotations.read(function.file, node.returns)
            if promised.kind in (Kind.TENSOR, Kind.NDARRAY):
                return self._of_kind(function, promised)
            if promised.known and promised.kind not in (Kind.LIST, Kind.TUPLE, Kind.MODULE, Kind.INSTANCE):
                if promised.kind is not Kind.NONE or not _gives(function):
                    return promised
        if function.yields:
            return self._yielded(function)
        given = self._given(function)
        if given == UNKNOWN and promised.kind in (Kind.MODULE, Kind.INSTANCE):
            return promised
        return _as_promised(promised, given) if given is not None and promised.kind is Kind.TUPLE else given

    def _yielded(self, function: Scope) -> Value | None:
        """What a generator function gives."""
        if not isinstance(function.node, ast.FunctionDef):
            return UNKNOWN
        elements: list[Value | None] = []
        for node in function.yields:
            assert isinstance(node, (ast.Yield, ast.YieldFrom))
            value = self.ask.value(function.file, node.value) if node.value is not None else NONE
            elements.append(element_of(value) if value is not None and isinstance(node, ast.YieldFrom) else value)
        element = join(elements)
        return generator_of(element) if element is not None else None

    def _given(self, function: Scope) -> Value | None:
        """What the returns of a function give."""
        values = [self.ask.value(function.file, r.value) if r.value is not None else NONE for r in function.returns]
        return joined(self.ask.project, values) if values else NONE

    def _of_kind(self, function: Scope, promised: Value) -> Value:
        """What a function returns that promises a tensor or an array: its returns say more, also that it is a number.

        A literal may stand for what derived classes compute, so it says nothing against the promise.
        """
        given = UNKNOWN if function.yields else self._given(function)
        if given is not None and given.kind is Kind.TUPLE and len(given.items) > 1:
            return given  # a forgotten annotation: every return gives several values
        if given is not None and given.kind is Kind.NUMBER and (given.dtype == "bool" or given.literal is None):
            return given
        return told_more(promised, given)


def _by_class(value: Value) -> Sequence[str]:
    """The classes of the project or of libraries whose methods are called on a value."""
    return value.name.split("|") if value.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and value.name else ()


def _gives(function: Scope) -> bool:
    """Whether a function returns something somewhere, whatever it promises."""
    return not all(map(is_none, function.results))


def _as_promised(promised: Value, given: Value) -> Value:
    """What a function gives; of what the code does not show, what ``-> tuple[Tensor, Tensor]`` promises."""
    if not given.known:
        return promised
    if given.kind is not Kind.TUPLE or given.keys or len(given.items) != len(promised.items):
        return given
    pairs = zip(given.items, promised.items, strict=True)
    return replace(given, items=tuple(item if item.known else told for item, told in pairs))


def _filled(source: Value, method: Scope) -> int:
    """How many leading parameters a call of a method fills by what it is called on."""
    names = method.decorator_names
    return int("staticmethod" not in names and (source.kind is not Kind.CLASS or "classmethod" in names))
