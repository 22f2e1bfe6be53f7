"""The call graph: which project functions each call reaches, and who calls a function."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import cast

from torchlint.facts.analyses import Fact
from torchlint.facts.code.by_name import MANY, link_by_name, suiting
from torchlint.facts.code.callers import Caller, arguments, hides_default, part_of, passed, stores_of
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.handing_over import handed_over
from torchlint.facts.code.model import Bind, FileFacts, Scope, is_super
from torchlint.facts.code.project import Project
from torchlint.facts.code.receiver import OWN, Receiver, receivers_of
from torchlint.facts.code.relaying import NAMING, meant
from torchlint.facts.values.join import PARTIAL, STARRED
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

_ANY_MODULE = "torch.nn.Module"
_Target = tuple[Scope, int]  # what a call may run, and how many of its leading parameters the call itself fills
# How many arguments one parameter is followed through; more are passed on only in generated code.
_MOST_PASSED = 50


class How(enum.Enum):
    """How a place comes to run a function."""

    CALL = "call"
    HERE = "each time it runs itself"
    EACH = "for each element of something"
    ITEMS = "for each item that the function yields"


@dataclass(frozen=True, slots=True)
class ImplicitRun:
    """A place that runs a function without a call whose arguments are its own.

    A property that is read, a generator that a loop draws from, a function that is given to someone else's.
    """

    facts: FileFacts
    node: ast.AST
    target: Scope
    how: How


@dataclass(eq=False, slots=True)
class CallGraph(Fact):
    """Edges between the project's functions.

    ``groups`` gives for each file those it is connected with by imports. ``callers`` maps a function to the calls that
    reach it; ``callees`` a call to what it reaches; ``weak`` holds calls that were linked by the method's name alone,
    ``sole`` those of them where one class has all that is asked of the object, ``identified`` those where the
    attributes asked belong to one family of classes, and to no known library;
    ``unlinked`` the names of methods of such calls and of those that stay without a link, ``open`` of those that too
    many have to link their calls. ``via`` holds, for a call of a parameter and a function that it reaches, the calls
    that pass this function. ``runs`` are the places that run a function otherwise, by function; ``wrapped`` the calls
    in decorators of the project that run the function they decorate. ``receivers`` gives the objects that a call may
    run a method on where their classes are known, or ``OWN``.
    """

    groups: dict[str, frozenset[str]] = field(default_factory=dict)
    callers: dict[Scope, list[Caller]] = field(default_factory=dict)
    callees: dict[ast.Call, tuple[Scope, ...]] = field(default_factory=dict)
    weak: set[ast.Call] = field(default_factory=set)
    sole: set[ast.Call] = field(default_factory=set)
    identified: set[ast.Call] = field(default_factory=set)
    built: set[str] = field(default_factory=set)
    unlinked: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    via: dict[tuple[ast.AST, Scope], list[Caller]] = field(default_factory=dict)
    runs: dict[Scope, list[ImplicitRun]] = field(default_factory=dict)
    wrapped: dict[Scope, list[Caller]] = field(default_factory=dict)
    receivers: dict[ast.Call, tuple[Receiver, ...]] = field(default_factory=dict)

    def add(self, facts: FileFacts, call: ast.Call, targets: list[_Target]) -> None:
        """Record that a call reaches these functions; the number is how many parameters are filled already."""
        self.callees[call] = tuple(scope for scope, _ in targets)
        for scope, skip in targets:
            self.callers.setdefault(scope, []).append(Caller(facts, call, skip))

    def taking(self, call: ast.Call, argument: ast.expr, *, named: bool = False) -> Iterator[tuple[Scope, str]]:
        """Yield the functions that a call surely means, with the parameter that takes one of its arguments.

        ``named``: also those that it means by the name of a method alone.
        """
        for function in self.callees.get(call, ()) if named else self.sure(call):
            for caller in (each for each in self.callers.get(function, ()) if each.call is call):
                names = (name for name in function.bindings if passed(function, name, caller) is argument)
                yield from ((function, name) for name in names)

    def sure(self, call: ast.AST) -> tuple[Scope, ...]:
        """Return the functions that a call means by more than the name of a method."""
        return () if call in self.weak else self.callees.get(cast("ast.Call", call), ())

    def caller(self, function: Scope, call: ast.AST | None) -> Caller | None:
        """Return a call as one of those that reach a function, ``None`` if it does not reach it."""
        return next((each for each in self.callers.get(function, ()) if each.call is call), None)

    def is_called(self, function: Scope | None) -> bool:
        """Return whether a known call reaches a function."""
        return function is not None and bool(self.callers.get(function))

    def arguments(self, function: Scope | None, name: str) -> Iterator[tuple[Caller, ast.expr | None]]:
        """Yield what each known call of a function passes for a parameter; ``None`` where the call leaves it out."""
        return arguments(self.callers, function, name)

    def called_by(self, scope: Scope) -> Iterator[Scope]:
        """Yield the known functions that a function calls."""
        return (target for call in scope.run_calls() for target in self.callees.get(call, ()))

    def run(self, facts: FileFacts, node: ast.AST, targets: Iterable[Scope], how: How = How.HERE) -> None:
        """Record that a place runs these functions without calling them."""
        for scope in targets:
            self.runs.setdefault(scope, []).append(ImplicitRun(facts, node, scope, how))

    def places(self, scope: Scope) -> Iterator[tuple[FileFacts, ast.AST]]:
        """Yield all places known to run a function."""
        yield from ((caller.facts, caller.call) for caller in self.callers.get(scope, ()))
        yield from ((run.facts, run.node) for run in self.runs.get(scope, ()))

    def edited(self, edits: FileEdits) -> CallGraph:
        """Return the graph without the calls of edited files, and with the new functions in place of the old ones.

        Their new calls are still to be resolved.
        """
        kept = CallGraph(self.groups, weak=self.weak - edits.calls, built=set(self.built))
        kept.sole, kept.identified = self.sole - edits.calls, self.identified - edits.calls
        kept.unlinked, kept.open = set(self.unlinked), set(self.open)
        kept.callees = {
            call: tuple(edits.current(scopes)) for call, scopes in self.callees.items() if call not in edits.calls
        }
        kept.receivers = {call: found for call, found in self.receivers.items() if call not in edits.calls}
        for table, other in ((self.callers, kept.callers), (self.wrapped, kept.wrapped)):
            for scope, callers in table.items():
                staying = [caller for caller in callers if not edits.is_old(caller.facts)]
                if staying and (now := edits.scope(scope)) is not None:
                    other[now] = staying
        for scope, runs in self.runs.items():
            staying_runs = [run for run in runs if not edits.is_old(run.facts)]
            if staying_runs and (now := edits.scope(scope)) is not None:
                kept.runs[now] = [replace(run, target=now) for run in staying_runs]
        for (node, scope), callers in self.via.items():
            if node not in edits.calls and (now := edits.scope(scope)) is not None:
                kept.via[node, now] = [caller for caller in callers if not edits.is_old(caller.facts)]
        return kept


def call_graph(project: Project, checkpoint: Callable[[], None] = lambda: None) -> tuple[CallGraph, Values]:
    """Resolve every call of the project; ``checkpoint`` is called before each file (see ``Analyses``).

    Receivers may depend on parameters, and these on the callers found so far, so the calls that stay open are tried
    again with what the first round found; what is open then is linked by name where few methods have it. Last come
    calls of parameters that such a link fills: a function that is handed to an object whose class is not known.
    """
    graph = CallGraph(project.groups)
    return graph, _resolved(project, graph, Values(project, provisional=True), list(project.files.values()), checkpoint)


def call_graph_after(project: Project, graph: CallGraph, values: Values, edits: FileEdits) -> tuple[CallGraph, Values]:
    """Return the call graph after edits of files: their calls are resolved again, all others are kept."""
    kept = graph.edited(edits)
    return kept, _resolved(project, kept, values.edited(project, kept.callers, edits), list(edits.files.values()))


def _resolved(
    project: Project,
    graph: CallGraph,
    values: Values,
    files: Sequence[FileFacts],
    checkpoint: Callable[[], None] = lambda: None,
) -> Values:
    """Resolve the calls of some files; gives the values by all callers that are known then."""
    resolver = _Resolver(project, graph, values, files)
    pending = resolver.first_round(checkpoint)
    resolver.handed_over()
    resolver.values = values.again(graph.callers, provisional=True)
    resolver.linked = True
    left = resolver.again(pending)
    link_by_name(project, graph, resolver.values, left)
    resolver.handed(left)
    return resolver.values.again(graph.callers)


class _Resolver:
    """Finds the targets of the calls in some files."""

    def __init__(self, project: Project, graph: CallGraph, values: Values, files: Sequence[FileFacts]) -> None:
        self.project = project
        self.files = files
        self.graph = graph
        self.values = values
        self.groups = graph.groups
        self.names = _callable_names(project)
        self.linked = False

    def first_round(self, checkpoint: Callable[[], None]) -> list[tuple[FileFacts, ast.Call]]:
        pending = []
        for facts in self.files:
            checkpoint()
            for scope in facts.scopes:
                for call in scope.calls:
                    if self._candidate(call) and not self._resolve(facts, call):
                        pending.append((facts, call))
        return pending

    def again(self, pending: list[tuple[FileFacts, ast.Call]]) -> list[tuple[FileFacts, ast.Call]]:
        return [(facts, call) for facts, call in pending if not self._resolve(facts, call)]

    def handed(self, pending: list[tuple[FileFacts, ast.Call]]) -> None:
        """Link calls of parameters that only calls linked by name fill; such a link is as weak as theirs."""
        for facts, call in pending:
            if call not in self.graph.callees and self._passed(facts, call, meant(self.project, call)):
                self.graph.weak.add(call)

    def _candidate(self, call: ast.Call) -> bool:
        """Cheap test: could this call reach a function of ours at all?"""
        func = meant(self.project, call)
        if isinstance(func, ast.Attribute):
            return func.attr in self.names or func.attr in NAMING
        return True

    def _resolve(self, facts: FileFacts, call: ast.Call) -> bool:
        """Link one call; false when its receiver is not known yet."""
        func = meant(self.project, call)
        name = self.project.qualified(facts, func)
        if name is not None:
            if name in self.project.functions:
                function = self.project.functions[name]
                filled = 1 if "classmethod" in function.decorator_names else 0
                self.graph.add(facts, call, [(each, filled) for each in self.project.dispatched(function)])
                return True
            if name in self.project.classes:
                self._add(facts, call, self._constructed([name]))
                self.graph.receivers[call] = (Receiver(name, derived=False),)
                return True
            owner = name.rpartition(".")[0]
            if owner and owner not in self.project.classes:  # else a method that the class inherits
                value = self.values.of(facts, func) if owner in self.project.modules else UNKNOWN
                return not value.known or self._called(facts, call, value)  # else a function of a library
        if isinstance(func, ast.Attribute):
            return self._method(facts, call, func)
        if self._passed(facts, call, func):
            return True
        value = self.values.of(facts, func)
        return not self._is_open(value) and self._called(facts, call, value)

    def _is_open(self, value: Value) -> bool:
        """Whether a value is only annotated as a module, and callers that are still to be found may tell which."""
        return not self.linked and value.kind is Kind.MODULE and value.name == _ANY_MODULE

    def _passed(self, facts: FileFacts, call: ast.Call, func: ast.expr) -> bool:
        """A call of a parameter: what each caller passes for it, whatever the others do."""
        targets: list[_Target] = []
        given = list(self._given(facts, func))
        for value, caller in given:
            for target in suiting(facts, call, self._reached(facts, call, value) or []):
                targets.append(target)
                self.graph.via.setdefault((call, target[0]), []).append(caller)
        return self._add_each(facts, call, targets, [value for value, _ in given])

    def _note(self, call: ast.Call, values: Sequence[Value]) -> None:
        """Record the classes of the objects that callers pass for a parameter, if all are known."""
        if all(value.kind in (Kind.MODULE, Kind.INSTANCE) and value.name for value in values):
            found = (receiver for value in values for receiver in receivers_of(value))
            self.graph.receivers[call] = tuple(dict.fromkeys(found))

    def _given(self, facts: FileFacts, node: ast.expr) -> Iterator[tuple[Value, Caller]]:
        """What the callers known so far pass for a parameter; where they pass one of their own, what theirs pass."""
        seen: set[ast.expr] = {node}
        for argument, caller in self._arguments(facts, node):
            todo = [(caller.facts, argument)]
            while todo and len(seen) < _MOST_PASSED:
                where, given = todo.pop()
                value = self.values.of(where, given)
                above = [] if value.known else list(self._arguments(where, given))
                if not above:
                    yield value, caller
                elif given not in seen:
                    seen.add(given)
                    todo += [(passing.facts, each) for each, passing in above]

    def _arguments(self, facts: FileFacts, node: ast.expr) -> Iterator[tuple[ast.expr, Caller]]:
        """The expressions that the callers known so far pass for a parameter."""
        if not self.linked or not isinstance(node, ast.Name):
            return
        for binding in self.project.reaching(facts, node).bindings:
            scope = binding.scope
            if binding.how is not Bind.PARAM or scope is None or binding.target == scope.self_name:
                continue
            calls = self.graph.arguments(scope, binding.target)
            yield from ((given, caller) for caller, given in calls if given is not None)

    def _method(self, facts: FileFacts, call: ast.Call, func: ast.Attribute) -> bool:
        if is_super(func.value):
            owner = facts.scope_of(call).owner
            above = self.project.ancestry(owner.dotted)[1:] if owner is not None else ()
            for base in above:
                method = self.project.method(base, func.attr)
                if method is not None:
                    self.graph.add(facts, call, [(method, 1)])
                    self.graph.receivers[call] = OWN
                    break
            return True
        receiver = self.values.of(facts, func.value)
        if self._is_open(receiver) or (not receiver.known and self._bound_each(facts, call, func)):
            return not receiver.known
        if receiver.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and receiver.name:
            return self._bound(facts, call, receiver, func.attr) or self._called_each(facts, call, func)
        return receiver.known and receiver.kind is not Kind.ENV

    def _bound_each(self, facts: FileFacts, call: ast.Call, func: ast.Attribute) -> bool:
        """A method of a parameter, or an attribute, that is given objects of different kinds.

        What is known of them wins: classes that only have a method of the name are not tried as well.
        """
        targets: list[_Target] = []
        values = [value for value, _ in self._given(facts, func.value)]
        values = values or list(self._stored(facts, func.value))
        for value in values:
            if value.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and value.name:
                targets += self._methods(facts, call, value, func.attr) or ()
        return self._add_each(facts, call, targets, values) or bool(values and all(map(self._is_foreign, values)))

    def _add_each(self, facts: FileFacts, call: ast.Call, targets: list[_Target], values: Sequence[Value]) -> bool:
        """Link a call with what any of the values that it may be of runs; whether there is something."""
        if targets:
            self._add(facts, call, targets)
            self._note(call, values)
        return bool(targets)

    def _called_each(self, facts: FileFacts, call: ast.Call, func: ast.Attribute) -> bool:
        """A call of an attribute that holds a function in one object and a module in another."""
        values = list(self._stored(facts, func))
        targets = [target for value in values for target in self._reached(facts, call, value) or ()]
        return self._add_each(facts, call, suiting(facts, call, targets), values)

    def _is_foreign(self, value: Value) -> bool:
        """Whether a value is known to be no object of the project."""
        if value.kind not in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS):
            return value.known and value.kind is not Kind.ENV
        return bool(value.name) and self.project.classes.keys().isdisjoint(value.name.split("|"))

    def _stored(self, facts: FileFacts, node: ast.expr) -> Iterator[Value]:
        """What is stored in an attribute of the object whose method reads it."""
        if not self.linked or not isinstance(node, ast.Attribute) or facts.own_object(node.value) is None:
            return
        owner = facts.scope_of(node).owner
        for store in stores_of(self.project, owner.dotted, node.attr) if owner is not None else ():
            value, file = part_of(store.binding.value, store.binding.path), store.scope.file
            if value is None or store.binding.how is not Bind.ASSIGN:
                continue
            given = [each for each, _ in self._given(file, value)]
            yield from given or [self.values.of(file, value)]

    def _bound(self, facts: FileFacts, call: ast.Call, receiver: Value, attr: str) -> bool:
        targets = self._methods(facts, call, receiver, attr)
        if targets:
            self._add(facts, call, targets)
            held = self._held(receiver, attr)
            if held is not None:
                self._note(call, held)
            else:
                self.graph.receivers[call] = OWN if _is_on_own(facts, call, receiver) else receivers_of(receiver)
        return targets is not None

    def _held(self, receiver: Value, attr: str) -> list[Value] | None:
        """What an attribute holds that is called like a method; ``None`` where the class has a method of its name."""
        names = receiver.name.split("|")
        methods = (method for name in names for method in self.project.implementations(name, attr))
        if any(not is_property(method) for method in methods):
            return None
        return [self.values.attribute(name, attr) for name in names]

    def _methods(self, facts: FileFacts, call: ast.Call, receiver: Value, attr: str) -> list[_Target] | None:
        """A method of a known class (or of one of several), and what its subclasses override; or a called attribute."""
        targets, known = list[_Target](), False
        reached: list[_Target] | None
        around = method_around(facts, call)
        for name in receiver.name.split("|"):
            method = self.project.method(name, attr)
            if method is not None and is_property(method):  # what it gives is called, not the property
                reached = self._reached(facts, call, self.values.attribute(name, attr))
                known = known or reached is not None
                targets += reached or ()
                continue
            skip = 0 if method is not None and "staticmethod" in method.decorator_names else 1
            if receiver.kind is Kind.CLASS and method is not None and "classmethod" not in method.decorator_names:
                skip = 0
            found = [method] if method is not None else []
            overrides = self._overrides(facts, name, attr) if receiver.derived else []
            if around is not None:
                found += [scope for scope in overrides if self.project.shares(around, scope)]
            else:
                found += overrides
            reached = [(scope, skip) for scope in found]
            if not found and not overrides:
                reached = self._reached(facts, call, self.values.attribute(name, attr))
            # Any module may be one that a class of the project makes of itself: ``pdf`` of a policy by its name alone.
            if reached or name != _ANY_MODULE or not receiver.derived:
                known |= reached is not None or not (self.project.is_ours(name) or self.project.stores(name, attr))
            targets += reached or ()
        return suiting(facts, call, targets) if known else None

    def _overrides(self, facts: FileFacts, cls: str, attr: str) -> list[Scope]:
        """What subclasses override; of a library's class (``nn.Module``) only in few files that this one is tied to."""
        found = list(self.project.overrides(cls, attr))
        if cls in self.project.classes:
            return found
        found = [scope for scope in found if scope.file.path in self.groups[facts.path]]
        return found if len(found) <= MANY else []

    def _add(self, facts: FileFacts, call: ast.Call, targets: list[_Target]) -> None:
        self.graph.add(facts, call, list(dict.fromkeys(targets)))

    def _called(self, facts: FileFacts, call: ast.Call, value: Value) -> bool:
        """A call of a value: a module, an instance, a function held in a variable."""
        targets = self._reached(facts, call, value)
        if targets:
            self._add(facts, call, suiting(facts, call, targets))
            if value.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS):
                self.graph.receivers[call] = OWN if facts.own_object(call.func) is not None else receivers_of(value)
        return targets is not None

    def _reached(self, facts: FileFacts, call: ast.Call, value: Value) -> list[_Target] | None:
        """What a call of a value reaches, with the parameters that are filled already; ``None`` if not known."""
        names = value.name.split("|")
        functions = self.project.functions
        if value.kind is Kind.CLASS and names[0] in self.project.classes:
            return self._constructed(names)
        if value.kind is Kind.FUNCTION and names[0] in functions:
            found = [functions[name] for name in names if name in functions]
            return [(each, 1 if each.method_of is not None else 0) for each in found]
        if value.name == PARTIAL:
            filled = sorted({name for part in value.items[:1] for name in part.name.split("|")} & functions.keys())
            wrapped = [functions[name] for name in filled]
            if STARRED not in value.keys and not any(hides_default(scope, value.keys) for scope in wrapped):
                skip = len(value.items) - 1
                return [(each, skip + (1 if each.method_of is not None else 0)) for each in wrapped] or None
            self.graph.run(facts, call, wrapped)
            return [] if filled else None
        if value.kind in (Kind.MODULE, Kind.INSTANCE):
            module = value.kind is Kind.MODULE
            targets: list[_Target] = []
            for name in names:
                attr = "forward" if module and self.project.method(name, "__call__") is None else "__call__"
                method = self.project.method(name, attr)
                own = [method] if method is not None else []
                overrides = self._overrides(facts, name, attr) if value.derived else []
                targets.extend((scope, 1) for scope in [*own, *overrides])
            return targets
        return [] if value.known else None

    def _constructed(self, names: Sequence[str]) -> list[_Target]:
        """The constructors of classes of the project."""
        self.graph.built.update(names)
        found = [self.project.method(name, "__init__") for name in names]
        return [(init, 1) for init in found if init is not None]

    def handed_over(self) -> None:
        """Record what code gives to a library for the parameters of a function that this runs."""
        for function, caller in handed_over(self.project, self.values, self.files):
            self.graph.callers.setdefault(function, []).append(caller)


def method_around(facts: FileFacts, call: ast.Call) -> Scope | None:
    """Return the method on whose own object a call calls another method."""
    return facts.own_object(call.func.value) if isinstance(call.func, ast.Attribute) else None


def _is_on_own(facts: FileFacts, call: ast.Call, receiver: Value) -> bool:
    """Whether a method is called on the object whose method makes the call, also as ``Base.update(self)``."""
    if receiver.kind is Kind.CLASS and call.args and facts.own_object(call.args[0]) is not None:
        return True
    return method_around(facts, call) is not None


def _callable_names(project: Project) -> set[str]:
    """All names behind a dot that may mean something of the project: methods, attributes, and what modules bind."""
    names = set(project.methods)
    for facts in project.files.values():
        names.update(facts.top.bindings)
        for scope in facts.scopes:
            if scope.kind == "class":
                names.update(scope.stores, scope.bindings)
    return names
