"""Places that run functions of the project without calling them by name.

Properties that are read, context managers, what loops draw from, functions given to someone else's, decorators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from torchlint.facts.code.callers import Caller
from torchlint.facts.code.graph import CallGraph, How
from torchlint.facts.code.model import COMPREHENSIONS, Bind, FileFacts, Scope, decorators, is_base_constructor
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.overloading import OPERATORS, left_of, overloads
from torchlint.facts.code.project import Project
from torchlint.facts.hotness import protocols
from torchlint.facts.values.join import PARTIAL
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models.protocols import is_entry_point
from torchlint.rule import Kind, Value

# Calls that keep or describe a function, or give another in its place: they do not run it.
_KEEPERS = frozenset(
    """register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_backward_hook register_hook register_module_forward_hook register_state_dict_hook register signal partial
    partialmethod wraps update_wrapper signature isinstance issubclass hasattr getattr setattr callable id type print
    compile script trace vmap lru_cache cache property staticmethod classmethod add_argument append add insert extend
    setdefault put field defaultdict deepcopy copy no_grad inference_mode enable_grad str repr hash jit""".split()
)
# Calls that run a function once for each element of something.
_EACH = frozenset(
    """map imap imap_unordered starmap starmap_async map_async filter reduce sorted min max sort tree_map
    tree_map_only apply_along_axis vectorize fromiter apply""".split()
)
_DECORATED = "decorated"  # the place of what a decorator of a framework takes, also one that a call gives
_HANDED_ON = 2  # functions through which the dict of ``**modules`` is followed


def indirect(
    project: Project, graph: CallGraph, values: Values, files: Iterable[FileFacts]
) -> dict[Scope, protocols.EntryPoint]:
    """Record such places of some files in the graph, and return the functions that frameworks are given to call."""
    finder = _CalleeFinder(project, graph, values)
    for facts in files:
        finder.read(facts)
    finder.held()
    return finder.given


@dataclass(eq=False, slots=True)
class _CalleeFinder:
    project: Project
    graph: CallGraph
    values: Values
    given: dict[Scope, protocols.EntryPoint] = field(default_factory=dict)
    properties: frozenset[str] = field(init=False)
    functions: frozenset[str] = field(init=False)
    operators: bool = field(init=False)

    def __post_init__(self) -> None:
        functions = self.project.functions.values()
        # A property that only hands out an attribute costs nothing, and leads nowhere.
        busy = (
            scope.name for scope in functions if "property" in scope.decorator_names and (scope.calls or scope.inner)
        )
        self.properties = frozenset(busy)
        self.functions = frozenset(scope.name for scope in functions)
        self.operators = not OPERATORS.isdisjoint(self.project.methods)

    def read(self, facts: FileFacts) -> None:
        if self.properties:
            self._reads(facts)
        self._compounds(facts)
        for scope in facts.scopes:
            if scope.kind == "comprehension":
                self._comprehension(facts, scope.node)
            elif scope.kind == "function":
                self._decorated(facts, scope)
            for call in scope.calls:
                self._call(facts, call)
        if self.operators:
            operators: list[ast.BinOp | ast.AugAssign] = [*facts.nodes(ast.BinOp), *facts.nodes(ast.AugAssign)]
            for node in operators:
                self.graph.run(facts, node, overloads(self.project, self.values.of(facts, left_of(node)), node))
        if self._has("__getitem__"):
            for subscript in facts.subscripts:
                if isinstance(subscript.ctx, ast.Load):
                    self.graph.run(facts, subscript, self._methods(facts, subscript.value, "__getitem__"))

    def _has(self, *names: str) -> bool:
        return any(name in self.project.methods for name in names)

    def _methods(self, facts: FileFacts, node: ast.expr, name: str) -> list[Scope]:
        """The methods of that name that an object of a class of the project may have."""
        value = self.values.of(facts, node)
        if value.kind not in (Kind.INSTANCE, Kind.MODULE) or not value.name:
            return []
        return [scope for cls in value.name.split("|") for scope in self.project.implementations(cls, name)]

    # properties, context managers, loops ----------------------------------------------------------------------------

    def _reads(self, facts: FileFacts) -> None:
        for node in facts.nodes(ast.Attribute):
            if node.attr in self.properties and isinstance(node.ctx, ast.Load):
                found = self._methods(facts, node.value, node.attr)
                self.graph.run(facts, node, [scope for scope in found if "property" in scope.decorator_names])

    def _compounds(self, facts: FileFacts) -> None:
        managers = self._has("__enter__")
        for stmt in facts.compounds:
            if isinstance(stmt, (ast.With, ast.AsyncWith)) and managers:
                for item in stmt.items:
                    for name in ("__enter__", "__exit__"):
                        self.graph.run(facts, item.context_expr, self._methods(facts, item.context_expr, name))
            elif isinstance(stmt, (ast.For, ast.AsyncFor)):
                self._drawn(facts, stmt.iter, stmt.body[0])

    def _comprehension(self, facts: FileFacts, node: ast.AST) -> None:
        assert isinstance(node, COMPREHENSIONS)
        element = node.key if isinstance(node, ast.DictComp) else node.elt
        for generator in node.generators:
            self._drawn(facts, generator.iter, element)

    def _drawn(self, facts: FileFacts, source: ast.expr, body: ast.AST) -> None:
        """What a loop draws from runs once for each item, like the body of the loop."""
        for node in self._sources(facts, source):
            if isinstance(node, ast.Call) and node in self.graph.callees:
                yielding = [scope for scope in self.graph.callees[node] if scope.yields]
                self.graph.run(facts, body, yielding, How.ITEMS)
            if isinstance(node, ast.Constant) or not self._has("__iter__", "__next__", "__getitem__"):
                continue
            begun = self._methods(facts, node, "__iter__")
            self.graph.run(facts, body, [scope for scope in begun if scope.yields], How.ITEMS)
            self.graph.run(facts, node, [scope for scope in begun if not scope.yields])
            each = "__next__" if begun else "__getitem__"
            self.graph.run(facts, body, self._methods(facts, node, each))

    def _sources(self, facts: FileFacts, node: ast.expr) -> Iterator[ast.expr]:
        """What is really drawn from: a name's only value, the arguments of ``zip``, ``enumerate`` and the like."""
        value = self.project.reaching(facts, node).value
        if isinstance(value, ast.Call):
            yield value
            return
        yield node
        if isinstance(node, ast.Call) and not self.graph.callees.get(node):
            for argument in node.args[:3]:
                if isinstance(argument, (ast.Name, ast.Attribute, ast.Call)):
                    yield from self._sources(facts, argument)

    def _drawn_from_each(self, facts: FileFacts, drawn: ast.expr) -> None:
        """Generators of which a loop draws one item each: as often as the loop itself runs, each of them."""
        binding = self.project.reaching(facts, drawn).only
        if binding is not None and binding.how is Bind.ELEMENT and binding.value is not None and not binding.path:
            for made in self._made_for_each(facts, binding.value):
                self._drawn(facts, made, binding.value)

    def _made_for_each(self, facts: FileFacts, source: ast.expr) -> Iterator[ast.Call]:
        """The calls that make the elements of what a loop goes over: ``f(x)`` of ``[f(x) for x in data]``."""
        match self.project.reaching(facts, source).value or source:
            case ast.ListComp(elt=ast.Call() as made) | ast.GeneratorExp(elt=ast.Call() as made):
                yield made
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                yield from (each for each in elements if isinstance(each, ast.Call))

    # functions given to others --------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, call: ast.Call) -> None:
        if self.graph.sure(call):
            return  # the project's own function: what it does with a function is known
        func = call.func
        last = last_name(func)
        if last == "next" and call.args:
            self._drawn(facts, call.args[0], call)
            self._drawn_from_each(facts, call.args[0])
            return
        arguments = [(str(place), node) for place, node in enumerate(call.args)]
        arguments += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        spread = [keyword.value for keyword in call.keywords if not keyword.arg]
        if not arguments and not spread:
            return
        framework = self._framework(facts, call)
        for whole in spread if framework else ():
            for file, place, node in self._entries(facts, whole, 0):
                if place in framework:
                    self._hand(file, node, framework[place])
        for place, node in arguments:
            if place in framework:
                self._hand(facts, node, framework[place])
            elif last not in _KEEPERS and self._may_be_function(facts, node):
                found = self._given(self.values.of(facts, node), modules=False)
                self.graph.run(facts, call, found, How.EACH if last in _EACH else How.HERE)

    def _entries(self, facts: FileFacts, node: ast.expr, depth: int) -> Iterator[tuple[FileFacts, str, ast.expr]]:
        """The entries of a dict that is handed on by ``**modules``, also of one that a function makes."""
        made = self.project.reaching(facts, node).value or node
        match made:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield facts, key.value, value
            case ast.Call(func=ast.Name(id="dict"), keywords=words):
                yield from ((facts, word.arg, word.value) for word in words if word.arg)
            case ast.Call() if depth < _HANDED_ON:
                for function in self.graph.sure(made):
                    for result in function.results:
                        yield from self._entries(function.file, result, depth + 1)

    def held(self) -> None:
        """Record the functions that attributes of objects hold for a framework, which calls them."""
        for cls in self.project.classes.values():
            found = map(protocols.held, self.project.ancestry(cls.dotted))
            for attribute, entry in [pair for each in found for pair in each.items()]:
                for store in cls.stores.get(attribute, ()):
                    if store.binding.value is not None and not store.binding.path:
                        self._hand(store.scope.file, store.binding.value, entry)
        for attribute, stores in self.project.outside.items():
            for facts, node, store in stores:
                replaced = self._replaced(facts, node, attribute)
                if replaced is not None and store.binding.value is not None and not store.binding.path:
                    self._hand(facts, store.binding.value, replaced)

    def _replaced(self, facts: FileFacts, node: ast.expr, attribute: str) -> protocols.EntryPoint | None:
        """The method of a framework's object that an assignment replaces: ``trainer.compute_loss = compute_loss``."""
        if not is_entry_point(attribute):
            return None
        bases = (base for cls in self.values.of(facts, node).name.split("|") for base in self.project.ancestry(cls))
        found = (protocols.entry_points(base).get(attribute) for base in bases)
        return next((entry for entry in found if entry is not None), None)

    def _hand(self, facts: FileFacts, node: ast.expr, entry: protocols.EntryPoint) -> None:
        """Record the functions that a framework is handed, alone or in a list, and those that they return to it."""
        value = self.values.of(facts, node)
        parts = value.items if value.kind in (Kind.LIST, Kind.TUPLE) else (value,)
        for scope in [scope for part in parts for scope in self._given(part)]:
            self.given.setdefault(scope, entry)
            for returned in self._handed_back(scope):
                self.given.setdefault(returned, entry)

    def _handed_back(self, function: Scope) -> list[Scope]:
        """The functions that a function returns to a framework, which calls them: ``return output, loss_func``."""
        value = self.values.returned(function)
        parts = value.items if value.kind is Kind.TUPLE else (value,)
        return [scope for part in parts for scope in self._given(part, modules=False)]

    def _framework(self, facts: FileFacts, call: ast.Call) -> dict[str, protocols.EntryPoint]:
        """The arguments of a call that a framework calls again and again."""
        name = self.project.qualified(facts, call.func)
        if (cls := self._initialised(facts, call, name)) is not None:
            found: dict[str, protocols.EntryPoint] = {}
            for base in reversed(self._constructors_of(call, cls)):
                found |= protocols.given(base)
            return found
        if name is None and isinstance(call.func, ast.Name):
            name = self._made_by(facts, call.func)
        if name is None and isinstance(call.func, ast.Attribute):
            name = f".{call.func.attr}"
        return dict(protocols.given(name)) if name and "." in name else {}

    def _constructors_of(self, call: ast.Call, cls: str) -> Sequence[str]:
        """The classes whose constructors take the arguments of a call.

        ``super().__init__()`` of a mixin runs that of the class beside it, which a class that derives from both says.
        """
        derived = self.project.descendants(cls) if is_base_constructor(call) else ()
        above = [base for scope in reversed(derived) for base in self.project.ancestry(scope.dotted)]
        return [*self.project.ancestry(cls), *above]

    def _initialised(self, facts: FileFacts, call: ast.Call, name: str | None) -> str | None:
        """The class of the project that a call makes an object of, or hands on to its bases: ``super().__init__()``."""
        if is_base_constructor(call):
            owner = facts.scope_of(call).function.method_of
            return owner.dotted if owner is not None else None
        return name if name in self.project.classes else None

    def _made_by(self, facts: FileFacts, node: ast.Name) -> str | None:
        """The function of a library that gave what a name stands for."""
        value = self.project.reaching(facts, node).value
        return self.project.qualified(facts, value.func) if isinstance(value, ast.Call) else None

    def _may_be_function(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an argument may be a function: by its name, or as what a call gives: ``submit(scorer(), x)``."""
        match node:
            case ast.Name(id=name) if name in self.functions:
                return True
            case ast.Attribute(attr=name) if name in self.project.methods:
                return True
            case ast.Name() | ast.Attribute() | ast.Call():
                value = self.values.of(facts, node)
                return value.kind is Kind.FUNCTION or value.name == PARTIAL
        return isinstance(node, ast.Lambda)

    def _given(self, value: Value, *, modules: bool = True) -> list[Scope]:
        """The functions that are run when a value is called."""
        if value.name == PARTIAL:
            return [scope for part in value.items[:1] for scope in self._given(part, modules=modules)]
        if value.kind is Kind.FUNCTION:
            functions = self.project.functions
            return [functions[name] for name in value.name.split("|") if name in functions]
        if value.kind in (Kind.MODULE, Kind.INSTANCE) and modules:
            module = value.kind is Kind.MODULE
            return [scope for name in value.name.split("|") for scope in self.project.called(name, module=module)]
        return []

    # decorators -----------------------------------------------------------------------------------------------------

    def _decorated(self, facts: FileFacts, scope: Scope) -> None:
        """What a decorator of the project puts in place of a function runs as often as the function.

        One of a framework may note the function, which the framework calls.
        """
        assert isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if isinstance(scope.node, ast.Lambda):
            return
        for plain, written in zip(decorators(scope.node), scope.node.decorator_list, strict=True):
            entry = protocols.given(self.project.qualified(facts, plain) or "").get(_DECORATED)
            if entry is not None:
                self.given.setdefault(scope, entry)
            made = self._given(self.values.of(facts, plain), modules=False)
            if isinstance(written, ast.Call):
                made = [inner for each in made for inner in self._inner(each)]
            for decorator in made:
                wrappers = self._inner(decorator)
                self.graph.run(facts, scope.node.body[0], wrappers)
                calls = (call for wrapper in wrappers for call in _calls_of(wrapper, decorator.params))
                self.graph.wrapped.setdefault(scope, []).extend(Caller(decorator.file, call, 0) for call in calls)

    def _inner(self, function: Scope) -> list[Scope]:
        """The functions of its own that a function returns."""
        value = self.values.returned(function)
        return [scope for scope in self._given(value, modules=False) if _within(scope, function)]


def _within(scope: Scope, outer: Scope) -> bool:
    return scope is not outer and outer in scope.outward()


def _calls_of(wrapper: Scope, names: Iterable[str]) -> list[ast.Call]:
    """The calls in a function of one of these names."""
    wanted = set(names)
    return [call for call in wrapper.calls if isinstance(call.func, ast.Name) and call.func.id in wanted]
