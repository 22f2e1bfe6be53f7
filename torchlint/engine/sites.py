"""Where the rules want to look: the triggers of all rules, answered from the facts of a file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from importlib import import_module

from torchlint.engine.place import place_of
from torchlint.facts.analyses import Analyses
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.alternatives import Alternatives
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.nesting import around
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children, walk
from torchlint.facts.finders import Finder
from torchlint.facts.hotness.hotness import Heat
from torchlint.late import dataclass
from torchlint.rule import Call, Comment, Found, Frequency, Import, Method, NetworkCall, Rule, Statement, Store
from torchlint.rule.trigger import Part

Sites = Iterator[tuple[ast.AST, list[Rule]]]


@dataclass(eq=False, slots=True)
class _TriggerTable:
    """The triggers of some rules by what they look for. A rule is named by its number among them."""

    calls: dict[str, list[int]] = field(default_factory=dict)
    methods: dict[str, list[int]] = field(default_factory=dict)
    statements: dict[str, list[tuple[int, Statement]]] = field(default_factory=dict)
    networks: list[tuple[int, NetworkCall]] = field(default_factory=list)
    imports: list[tuple[int, Import]] = field(default_factory=list)
    stores: list[tuple[int, Store]] = field(default_factory=list)
    finders: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, part: Part, code: str) -> None:
        """Enter one part of the trigger of a rule.

        Raises:
            TypeError: it is of an unknown kind.
        """
        if isinstance(part, (Call, Method)):
            table = self.calls if isinstance(part, Call) else self.methods
            for name in part.names:
                table.setdefault(name, []).append(number)
        elif isinstance(part, Statement):
            for name in part.kinds:
                self.statements.setdefault(name, []).append((number, part))
        elif isinstance(part, NetworkCall):
            self.networks.append((number, part))
        elif isinstance(part, Import):
            self.imports.append((number, part))
        elif isinstance(part, Store):
            self.stores.append((number, part))
        elif isinstance(part, Found):
            self.finders.setdefault(part.finder, []).append(number)
        elif not isinstance(part, Comment):
            raise TypeError(f"{code}: no site is found for {part!r}")


@lru_cache(maxsize=64)
def _table(kinds: tuple[type[Rule], ...]) -> _TriggerTable:
    """The table of some classes of rules: a fix lints a file several times, and a session does so again and again."""
    table = _TriggerTable()
    for number, kind in enumerate(kinds):
        for part in kind.trigger.parts:
            table.add(number, part, kind.code)
    return table


@dataclass(eq=False, slots=True)
class Triggers:
    """The triggers of the selected rules."""

    rules: Sequence[Rule]
    _table: _TriggerTable = field(init=False)
    _networks: list[tuple[Rule, NetworkCall]] = field(init=False)

    def __post_init__(self) -> None:
        self._table = _table(tuple(map(type, self.rules)))
        self._networks = [(self.rules[number], part) for number, part in self._table.networks]

    def _numbered(self, numbers: Iterable[int]) -> list[Rule]:
        return [self.rules[number] for number in numbers]

    def sites(self, analyses: Analyses, facts: FileFacts) -> list[tuple[ast.AST, list[Rule]]]:
        """Return the nodes of a file that match a trigger and are hot enough, each with the rules that want it."""
        found: dict[ast.AST, list[Rule]] = {}
        for kind in (self._called, self._stated, self._found, self._imported, self._stored):
            for node, rules in kind(analyses, facts):
                known = found.setdefault(node, [])
                known.extend(rule for rule in rules if rule not in known)
        return [(node, rules) for node, rules in found.items() if rules]

    def _called(self, analyses: Analyses, facts: FileFacts) -> Sites:
        project = analyses[Project]
        for scope in facts.scopes:
            for call in scope.calls:
                rules: list[Rule] = []
                if isinstance(call.func, ast.Attribute):
                    rules += self._numbered(self._table.methods.get(call.func.attr, ()))
                name = project.qualified(facts, call.func)
                built = project.constructor(facts, call.func)
                for called in dict.fromkeys((name, built, *analyses[Alternatives].of(facts, call.func))):
                    if called is not None:
                        looking = self._numbered(self._table.calls.get(called, ()))
                        rules += [rule for rule in looking if rule not in rules]
                yield call, [*hot_enough(analyses, facts, call, rules), *self._runners(analyses, facts, call, rules)]

    def _runners(self, analyses: Analyses, facts: FileFacts, call: ast.Call, known: Sequence[Rule]) -> list[Rule]:
        """The rules besides those known that look at runs of networks, if a call is one; what is told soonest first."""
        hot = hot_enough(analyses, facts, call, [rule for rule, _ in self._networks])
        wanted = [(rule, part) for rule, part in self._networks if rule in hot and rule not in known]
        if wanted and next(around(facts, call), None) is None:
            wanted = [(rule, part) for rule, part in wanted if not part.looped]
        if not wanted or not analyses[Autograd].runs(facts, call):
            return []
        recorded = any(part.recorded for _, part in wanted) and analyses[Autograd].records(facts, call) is True
        return [rule for rule, part in wanted if recorded or not part.recorded]

    def _stated(self, analyses: Analyses, facts: FileFacts) -> Sites:
        for stmt in facts.compounds:
            wanted = self._table.statements.get(type(stmt).__name__, ())
            rules = [number for number, part in wanted if _mentions(analyses, facts, stmt, part.mentioning)]
            if rules:
                yield stmt, hot_enough(analyses, facts, stmt, self._numbered(rules))

    def _found(self, analyses: Analyses, facts: FileFacts) -> Sites:
        for name, numbers in self._table.finders.items():
            wanted = _Wanted(analyses, facts, self._numbered(numbers))
            for node in analyses[_finder(name)].sites(facts, wanted):
                yield node, wanted.rules(node)

    def _imported(self, _: Analyses, facts: FileFacts) -> Sites:
        imports = self._table.imports
        names = frozenset(name for _, part in imports for name in part.names)
        if names.isdisjoint(facts.imports):
            return
        for scope in facts.scopes:
            for bindings in scope.bindings.values():
                for binding in bindings:
                    if binding.how is Bind.IMPORT and binding.target in names:
                        numbers = (number for number, part in imports if binding.target in part.names)
                        yield binding.stmt, self._numbered(numbers)

    def _stored(self, analyses: Analyses, facts: FileFacts) -> Sites:
        roots = tuple({name for _, part in self._table.stores for name in part.names})
        if not any(root.rpartition(".")[2].encode() in facts.source.utf8 for root in roots):
            return
        for stmt in facts.places:
            for target in _targets(stmt):
                name = analyses[Project].qualified(facts, target.value)
                if name is not None and name.startswith(roots):
                    rules = (number for number, part in self._table.stores if _within(name, part.names))
                    yield target, hot_enough(analyses, facts, stmt, self._numbered(rules))


@dataclass(eq=False, slots=True)
class _Wanted:
    """Tells whether a node runs often enough for one of some rules."""

    analyses: Analyses
    facts: FileFacts
    all: Sequence[Rule]

    def rules(self, node: ast.AST) -> list[Rule]:
        """Return the rules for which a node runs often enough."""
        return hot_enough(self.analyses, self.facts, node, self.all)

    def __call__(self, node: ast.AST) -> bool:
        return bool(self.rules(node))


def _finder(name: str) -> type[Finder]:
    """The class of a finder, whose module is imported where no rule did it yet.

    Raises:
        TypeError: the trigger names another class.
    """
    module, _, place = name.partition(":")
    found: object = sys.modules.get(module) or import_module(module)
    for part in place.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and issubclass(found, Finder)):
        raise TypeError(f"{name} is not a finder of sites")
    return found


def _targets(stmt: ast.stmt) -> Iterator[ast.Attribute | ast.Subscript]:
    """The attributes and subscripts that an assignment stores into."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    for target in [part for whole in targets for part in (whole.elts if isinstance(whole, ast.Tuple) else [whole])]:
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            yield target


def _within(name: str, roots: frozenset[str]) -> bool:
    """Whether a qualified name is one of these or lies below one."""
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def _mentions(analyses: Analyses, facts: FileFacts, stmt: ast.stmt, names: frozenset[str]) -> bool:
    """Whether the header of a statement has one of these qualified names, where there are any."""
    if not names:
        return True
    parts = (part for expression in _header(stmt) for part in walk(expression))
    named = (part for part in parts if isinstance(part, (ast.Name, ast.Attribute)))
    return any(analyses[Project].qualified(facts, part) in names for part in named)


def _header(stmt: ast.stmt) -> list[ast.AST]:
    """The expressions in the header of a statement."""
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*stmt.decorator_list]
    return [part for part in children(stmt) if not isinstance(part, ast.stmt)]


def hot_enough(analyses: Analyses, facts: FileFacts, node: ast.AST, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules for which a node runs often enough."""
    if all(rule.least is Frequency.ONCE for rule in rules):
        return [*rules]
    found = analyses[Heat].frequency(facts, place_of(node))
    return [rule for rule in rules if rule.least <= found]
