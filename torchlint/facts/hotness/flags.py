"""Flags that are seldom true: set at intervals, handed over by callers, cleared by the branch that they lead into."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.code.alike import alike
from torchlint.facts.code.callers import Caller, arguments, methods, stores_of
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import conjuncts, is_false, is_none, is_number, walk
from torchlint.facts.hotness.conditions import logger_flag
from torchlint.facts.hotness.guards import (
    CLEARED_FLAG,
    LOGGER_OFF,
    ONE_ROUND,
    SELDOM_FLAG,
    SET_FLAG,
    UNSET_OPTION,
    Bound,
    Guards,
    least,
)
from torchlint.facts.hotness.intervals import loop_counted, one_round
from torchlint.facts.hotness.missing import Missing
from torchlint.facts.values.signatures import is_true, starred
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Frequency

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_REMOVES = method_names("list dict", removes=True)
_WRITES = frozenset({"copy_", "fill_", "zero_"})


@dataclass(frozen=True, slots=True)
class _Set:
    """What calls pass: keywords that get more than ``False``, and by name of the function how many by position.

    Of calls whose function is known the positions count for no other function of that name.
    """

    named: frozenset[str]
    most: dict[str, int]

    @classmethod
    def of(cls, project: Project, graph: CallGraph) -> _Set:
        """Collect the flags of all calls; ``f(flag=flag)`` only forwards what another call decides."""
        named: set[str] = set()
        most: dict[str, int] = {}
        for call in (call for facts in project.files.values() for scope in facts.scopes for call in scope.calls):
            named.update(word.arg for word in call.keywords if word.arg is not None and not _hands_on(word))
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if not graph.callees.get(call):
                most[name] = max(most.get(name, 0), len(call.args))
        return cls(frozenset(named), most)


def _hands_on(word: ast.keyword) -> bool:
    """Whether a keyword argument is ``False``, or the parameter of the same name."""
    return is_false(word.value) or (isinstance(word.value, ast.Name) and word.value.id == word.arg)


def latches(branching: ast.AST) -> bool:
    """Return whether a branch sets a flag, for which it does not run again: ``if a and not begun: begun = True``."""
    if not isinstance(branching, ast.If):
        return False
    flags = {part.id for part, truth in conjuncts(branching.test, True) if isinstance(part, ast.Name) and not truth}
    stored = (stmt for stmt in branching.body if isinstance(stmt, ast.Assign) and is_true(stmt.value))
    return any(isinstance(target, ast.Name) and target.id in flags for stmt in stored for target in stmt.targets)


@dataclass(eq=False, slots=True)
class Flags:
    """Answers how often a flag is true at most."""

    project: Project
    graph: CallGraph
    guards: Guards
    missing: Missing
    _asked: set[tuple[ast.AST, bool]] = field(default_factory=set)
    _latches: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _false: dict[FileFacts, frozenset[str]] = field(default_factory=dict)
    _set: _Set | None = None

    def bound(self, facts: FileFacts, test: ast.expr, truth: bool) -> Bound | None:
        """Return the guard on code that runs when a test has a truth value, ``None`` when nothing limits it."""
        if truth and (logger := logger_flag(test)) and self.guards.defaults.off(logger):
            return self.guards.of(LOGGER_OFF)
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.bound(facts, operand, not truth)
            case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is truth:
                return least(*(self.bound(facts, part, truth) for part in parts))
            case ast.BoolOp(op=ast.Or(), values=parts) if truth:
                known = [found for part in parts if (found := self._part(facts, part, truth)) is not None]
                return max(known) if len(known) == len(parts) else None
            case ast.IfExp(test=asked, body=ast.Constant(value=one), orelse=ast.Constant(value=other)):
                return self._part(facts, asked, bool(one) is truth) if bool(one) is not bool(other) else None
            case ast.Compare(left=ast.Name() as name, ops=[op], comparators=[ast.Constant(value=None)]):
                return self.missing.bound(facts, name) if isinstance(op, (ast.Is, ast.Eq)) is truth else None
            case ast.Compare(
                left=ast.Name() as name, ops=[ast.Eq()], comparators=[ast.Constant(value=int()) as number]
            ) if truth:
                return self._counted_by_callers(facts, name, number)
            case ast.Attribute() if truth and self._is_latch(facts, test):
                return self.guards.of(CLEARED_FLAG)
            case ast.Attribute() if not truth:
                return self._until_set(facts, test, test, unset=False)
            case ast.Call(
                func=ast.Name(id="getattr"),
                args=[ast.Name() as held, ast.Constant(value=str(attr)), ast.Constant(value=False | None)],
            ) if not truth:  # an attribute that the first call makes
                return self._until_set(facts, test, ast.Attribute(held, attr, ast.Load()), unset=False)
            case ast.Compare(
                left=ast.Attribute() as flag, ops=[ast.Eq()], comparators=[ast.Constant(value=int(unset))]
            ):
                return self._until_set(facts, test, flag, unset) if truth else None
            case ast.Name() if (test, truth) not in self._asked:
                self._asked.add((test, truth))
                found = self._of_name(facts, test, truth)
                self._asked.discard((test, truth))
                return found if truth else least(found, self._until_bound(facts, test))
        return None

    def _part(self, facts: FileFacts, test: ast.expr, truth: bool) -> Bound | None:
        """The guard on a part of a condition, by what it asks and by how often its flags are set."""
        loop = one_round(test, facts, truth)
        turn = self.guards.of(ONE_ROUND) if loop and self.missing.rooted(loop) else None
        return least(self.guards.bound(test, facts, truth), self.bound(facts, test, truth), turn)

    @roomy
    def _of_name(self, facts: FileFacts, name: ast.Name, truth: bool) -> Bound | None:
        """The most often that any binding of a name gives it the truth value; at least one has to be seen to."""
        most: Bound | None = None
        for found in self._of_bindings(facts, name, truth):
            if found is None:
                return None
            most = found if most is None else max(most, found)
        return most

    def _of_bindings(self, facts: FileFacts, name: ast.Name, truth: bool) -> Iterator[Bound | None]:
        """The guards that the bindings of a name put on it, one by one, up to the first ``None``."""
        bindings = self.project.reaching(facts, name).bindings
        for binding in bindings:
            if binding.how is Bind.PARAM:
                yield from self._passed(facts, name, binding, truth)
            elif (
                _stays(facts, name, binding, bindings)
                or binding.how is not Bind.ASSIGN
                or binding.path
                or binding.value is None
            ):
                yield None
            elif _set_by_the_way(facts, binding.stmt, name):
                yield from self._given_at(facts, binding.value, binding.stmt, truth)
            else:
                yield None

    def _passed(self, facts: FileFacts, name: ast.Name, binding: Binding, truth: bool) -> Iterator[Bound | None]:
        """The guards that the known callers put on a parameter; a call in the branch itself comes after another."""
        scope = binding.scope
        calls = self._calls(binding)
        if scope is None or any(starred(caller.call) for caller, _ in calls):
            yield None
            return
        if not calls:
            yield self.guards.of(UNSET_OPTION) if self._left_at_default(scope, binding, truth) else None
            return
        for caller, argument in calls:
            if _follows(facts, name, caller.call):
                continue
            given = argument or binding.value
            if given is None:
                yield None
            else:
                yield from self._given_at(caller.facts, given, caller.call, truth)

    def _counted_by_callers(self, facts: FileFacts, name: ast.Name, number: ast.Constant) -> Bound | None:
        """The guard on one number of a parameter that counts the rounds of a loop around every call."""
        counted = self.project.reaching(facts, name).parameter
        calls = self._calls(counted) if counted is not None else []
        for caller, argument in calls:
            loop = loop_counted(argument, number, caller.facts) if argument is not None else None
            if loop is None or not self.missing.rooted(loop):
                return None
        return self.guards.of(ONE_ROUND) if calls else None

    def _calls(self, parameter: Binding) -> list[tuple[Caller, ast.expr | None]]:
        """The known calls of the function that a parameter is of, each with what it passes for it."""
        return list(arguments(self.graph.callers, parameter.scope, parameter.target))

    def _left_at_default(self, scope: Scope, binding: Binding, truth: bool) -> bool:
        """Whether no call in the project, of whatever object, can switch an option on that is off by default."""
        name, default = binding.target, binding.value
        if not truth or not isinstance(default, ast.Constant) or default.value is not False:
            return False
        if self._set is None:
            self._set = _Set.of(self.project, self.graph)
        if name in self._set.named or name not in scope.params:
            return False
        return name not in scope.positional or self._set.most.get(scope.name, 0) < scope.positional.index(name)

    def _given_at(self, facts: FileFacts, value: ast.expr, place: ast.AST, truth: bool) -> Sequence[Bound | None]:
        """The guard on a value that is given at a place; none at all where it is a number without the truth value."""
        if isinstance(value, ast.Constant):
            if bool(value.value) is truth:
                held = self.missing.cap(facts, place)
                return [self.guards.of(SELDOM_FLAG, held) if held is not None else None]
            guard = UNSET_OPTION if isinstance(place, ast.Call) else SELDOM_FLAG
            return [self.guards.of(guard, Frequency.ONCE)] if isinstance(value.value, bool) else []
        return [self._part(facts, value, truth)]

    def _is_latch(self, facts: FileFacts, test: ast.Attribute) -> bool:
        """Whether a branch under ``if self.fresh:`` clears the flag, and only another method sets it again."""
        method = facts.scope_of(test).function
        owner = method.method_of
        if owner is None or not isinstance(test.value, ast.Name) or test.value.id != method.self_name:
            return False
        family = self.project.family(owner.dotted)
        return any(test.attr in self._ever_false(cls.file) and test.attr in self._latched(cls) for cls in family)

    def _until_set(self, facts: FileFacts, test: ast.expr, flag: ast.Attribute, unset: int) -> Bound | None:
        """The guard of ``if self.made: return`` where the code behind it always comes to ``self.made = True``.

        Also where it fills the list or dictionary that is asked for, and where a property is asked for the flag.

        ``unset`` is the value of the flag until then: ``False``, or 0 in ``if self.made == 0: ...; self.made = 1``.
        """
        method = facts.scope_of(test).function
        branching = next((node for node in facts.ancestors(test) if isinstance(node, ast.If)), None)
        held = flag.value
        if method.method_of is None or branching is None or not isinstance(held, ast.Name):
            return None
        flag = self._behind(method.method_of, flag)
        block, place = facts.places.get(branching, ((), 0))
        raised = [*_raised(branching.body, flag, unset), *_raised(block[place + 1 :], flag, unset)]
        if held.id != method.self_name or not raised or self.project.outside.get(flag.attr):
            return None
        stores = list(stores_of(self.project, method.method_of.dotted, flag.attr))
        others = [store for store in stores if store.binding.stmt not in raised]
        if not all(isinstance(store.binding.value, ast.Constant) or _is_empty(store.binding.value) for store in others):
            return None
        lowered = [store.scope.function for store in others if _lowers(store.binding.value, unset)]
        lowered += [
            each for cls in self.project.family(method.method_of.dotted) for each in _changing(cls, flag.attr, raised)
        ]
        if method in lowered:
            return None  # the method itself turns it back
        again = any(function.name != "__init__" for function in lowered)
        return self.guards.of(SET_FLAG, Frequency.EPISODE if again else Frequency.ONCE)

    def _behind(self, cls: Scope, flag: ast.Attribute) -> ast.Attribute:
        """The attribute that a property returns: ``self._made`` for ``self.made``."""
        method = self.project.method(cls.dotted, flag.attr)
        if method is not None and is_property(method):
            match method.results:
                case [ast.Attribute(value=ast.Name(id=held), attr=attr)] if held == method.self_name:
                    return ast.Attribute(flag.value, attr, ast.Load())
        return flag

    def _until_bound(self, facts: FileFacts, name: ast.Name) -> Bound | None:
        """The guard of ``if not begun:`` in a loop that sets ``begun = True`` in the branch, and never to ``False``."""
        branching = next((node for node in facts.ancestors(name) if isinstance(node, ast.If)), None)
        loops = [node for node in facts.ancestors(name) if isinstance(node, _LOOPS)]
        values = self.project.reaching(facts, name).values
        if branching is None or not loops or not latches(branching):
            return None
        if not values or not all(isinstance(value, ast.Constant) and isinstance(value.value, bool) for value in values):
            return None
        lowered = [set(facts.ancestors(value)) for value in values if is_false(value)]
        if any(loops[0] in around for around in lowered):
            return None
        again = any(not around.isdisjoint(loops) for around in lowered)
        return self.guards.of(SET_FLAG, Frequency.EPISODE if again else Frequency.ONCE)

    def _ever_false(self, facts: FileFacts) -> frozenset[str]:
        """The attributes that a file sets to false anywhere; soon told, and few others need a closer look."""
        found = self._false.get(facts)
        if found is None:
            own = ((attr, each) for scope in facts.scopes for attr, stores in scope.stores.items() for each in stores)
            others = ((attr, each) for attr, stores in facts.outside.items() for _, each in stores)
            stored = (*own, *others)
            found = self._false[facts] = frozenset(
                attr for attr, store in stored if store.binding.value is not None and is_false(store.binding.value)
            )
        return found

    def _latched(self, cls: Scope) -> frozenset[str]:
        """The attributes that a method of a class clears where it finds them set, and that no such method sets."""
        found = self._latches.get(cls)
        if found is None:
            methods = [method for method in cls.inner if method.kind == "function"]
            found = self._latches[cls] = frozenset(attr for method in methods for attr in _cleared(method))
        return found


def _raised(block: Sequence[ast.stmt], flag: ast.expr, unset: int) -> Iterator[ast.stmt]:
    """The statements of a block that give a flag another value than ``unset``, before anything returns."""
    for stmt in block:
        match stmt:
            case ast.Assign(targets=[target], value=ast.Constant(value=int(given))) if given != unset:
                if alike(target, flag):
                    yield stmt
            case ast.Assign(targets=[target], value=ast.Dict() | ast.List() as given) if unset is False:
                if alike(target, flag) and not _is_empty(given):
                    yield stmt
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr=how), args=[given])) if how in _WRITES:
                if alike(_written(held), flag) and unset is False and _is_true(given):
                    yield stmt
        if any(isinstance(node, ast.Return) for node in walk(stmt)):
            return


def _is_true(given: ast.expr) -> bool:
    """Whether what is written into a flag that is a tensor sets it: ``True``, ``torch.tensor([True])``."""
    literals = [part.value for part in walk(given) if isinstance(part, ast.Constant)]
    return bool(literals) and all(literals)


def _is_empty(value: ast.expr | None) -> bool:
    """Whether an expression makes an empty list or dictionary."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]) | ast.Call(func=ast.Name(id="dict" | "list"), args=[], keywords=[]):
            return True
    return False


def _lowers(value: ast.expr | None, unset: int) -> bool:
    """Whether what is stored in a flag unsets it."""
    return is_number(value, unset) or (unset is False and (_is_empty(value) or (value is not None and is_none(value))))


def _changing(cls: Scope, name: str, raised: Sequence[ast.stmt]) -> Iterator[Scope]:
    """The methods of a class that take items out of an attribute of their object, or write into it otherwise."""
    for method in methods(cls):
        for call in method.run_calls():
            match call.func:
                case ast.Attribute(value=held, attr=how) if how in _REMOVES or how in _WRITES:
                    held = _written(held)
                    own = isinstance(held, ast.Attribute) and held.attr == name and cls.file.is_own(held)
                    if own and cls.file.parent.get(call) not in raised:
                        yield method


def _written(held: ast.expr) -> ast.expr:
    """``self.ready`` of ``self.ready.data``."""
    return held.value if isinstance(held, ast.Attribute) and held.attr == "data" else held


def _follows(facts: FileFacts, name: ast.Name, call: ast.Call) -> bool:
    """Whether a call is in a branch that a flag has let the program into: ``if deep: self.draw(deep=True)``."""
    branching = next((node for node in facts.ancestors(name) if isinstance(node, (ast.If, ast.IfExp))), None)
    return branching is not None and branching in facts.ancestors(call)


def _set_by_the_way(facts: FileFacts, place: ast.AST, test: ast.AST) -> bool:
    """Whether a flag is set by the code that tests it, and not once when a module is imported."""
    scope = facts.scope_of(place).function
    if scope is not facts.scope_of(test).function:
        return False
    return scope.kind == "function" or any(isinstance(node, (ast.For, ast.While)) for node in facts.ancestors(place))


def _stays(facts: FileFacts, test: ast.Name, binding: Binding, bindings: Sequence[Binding]) -> bool:
    """Whether what a flag is set to in one round of a loop holds in the rounds after it, where the flag is tested.

    It does unless each round binds the name again, or the branch under the test does.
    """
    around = set(facts.ancestors(test))
    loop = next((node for node in facts.ancestors(binding.stmt) if isinstance(node, _LOOPS) and node in around), None)
    stmts = {each.stmt for each in bindings}
    return loop is not None and not any(_in_each_round(facts, stmt, loop, test, stmts) for stmt in stmts)


def _in_each_round(facts: FileFacts, stmt: ast.AST, loop: ast.AST, test: ast.Name, stmts: set[ast.AST]) -> bool:
    """Whether each round of a loop comes to one of some statements, or those do in which a flag is true."""
    for _, above in facts.climb(stmt):
        if above is loop:
            return True
        if isinstance(above, ast.If):
            tested = any(part is test for part in walk(above.test))
            if not tested and not (_binds(above.body, stmts) and _binds(above.orelse, stmts)):
                return False
        elif not isinstance(above, (ast.With, ast.AsyncWith, ast.Try)):
            return False
    return False


def _binds(arm: Sequence[ast.stmt], stmts: set[ast.AST]) -> bool:
    return any(part in stmts for stmt in arm for part in walk(stmt))


def _cleared(method: Scope) -> set[str]:
    """The attributes that a method sets to false under a test that they are true, and nowhere to anything else."""
    found: set[str] = set()
    others: set[str] = set()
    for node in walk(method.node):
        if isinstance(node, ast.If):
            flags = {ast.unparse(part): part for part in _conjuncts(node.test)}
            for stmt in node.body:
                if isinstance(stmt, ast.Assign) and is_false(stmt.value):
                    found |= {part.attr for t in stmt.targets if (part := flags.get(ast.unparse(t))) is not None}
        elif isinstance(node, ast.Assign) and not is_false(node.value):
            others |= {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
    return found - others


def _conjuncts(test: ast.expr) -> list[ast.Attribute]:
    """The attributes that all have to be true for a test to be true."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return [part for part in parts if isinstance(part, ast.Attribute)]
