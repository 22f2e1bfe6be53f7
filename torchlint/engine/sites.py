"""Where the rules want to look: the triggers of all rules, answered from the facts of a file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial

from torchlint.engine.place import place_of
from torchlint.facts.analyses import Analyses
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.nesting import around
from torchlint.facts.code.project import Project
from torchlint.facts.code.readers import Readers
from torchlint.facts.code.tree import children, walk
from torchlint.facts.compiling.breaks import Breaks
from torchlint.facts.compiling.bypass import Bypasses
from torchlint.facts.compiling.integers import Integers
from torchlint.facts.hotness.guards import raises
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.loops.batching import Batching
from torchlint.facts.loops.elements import Elements
from torchlint.facts.loops.growth import Growth
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Frequency, Kind, Rule, Value

Match = Callable[[Analyses, FileFacts, ast.Subscript], bool]


@dataclass(eq=False, slots=True)
class Triggers:
    """The triggers of the selected rules, by what they look for."""

    rules: Sequence[Rule]
    calls: dict[str, list[Rule]] = field(default_factory=dict)
    methods: dict[str, list[Rule]] = field(default_factory=dict)
    statements: dict[str, list[Rule]] = field(default_factory=dict)
    subscripts: list[tuple[Rule, Match]] = field(default_factory=list)
    copies: list[Rule] = field(default_factory=list)
    tests: list[Rule] = field(default_factory=list)
    networks: list[Rule] = field(default_factory=list)
    grown: list[Rule] = field(default_factory=list)
    imports: list[Rule] = field(default_factory=list)
    imported: frozenset[str] = frozenset()
    stored: list[Rule] = field(default_factory=list)
    roots: tuple[str, ...] = ()
    words: frozenset[bytes] = frozenset()
    ensembles: list[Rule] = field(default_factory=list)
    assigned: dict[str, list[Rule]] = field(default_factory=dict)
    takers: list[Rule] = field(default_factory=list)
    breaks: list[Rule] = field(default_factory=list)
    integers: list[Rule] = field(default_factory=list)

    def __post_init__(self) -> None:
        for rule in self.rules:
            for name in sorted(rule.trigger.calls):
                self.calls.setdefault(name, []).append(rule)
            for name in sorted(rule.trigger.methods):
                self.methods.setdefault(name, []).append(rule)
            for name in sorted(rule.trigger.statements):
                self.statements.setdefault(name, []).append(rule)
            if rule.trigger.bool_subscripts:
                self.subscripts.append((rule, masked))
            if rule.trigger.scalar_subscripts:
                self.subscripts.append((rule, by_scalar))
            if rule.trigger.copies:
                self.copies.append(rule)
            if rule.trigger.tests:
                self.tests.append(rule)
            if rule.trigger.networks:
                self.networks.append(rule)
            for name in sorted(rule.trigger.assigned):
                self.assigned.setdefault(name, []).append(rule)
            if rule.trigger.ensembles:
                self.ensembles.append(rule)
            if rule.trigger.grown:
                self.grown.append(rule)
            if rule.trigger.takers:
                self.takers.append(rule)
            if rule.trigger.breaks:
                self.breaks.append(rule)
            if rule.trigger.integers:
                self.integers.append(rule)
            if rule.trigger.imports:
                self.imports.append(rule)
            if rule.trigger.stored:
                self.stored.append(rule)
        self.imported = frozenset(name for rule in self.imports for name in rule.trigger.imports)
        self.roots = tuple(sorted({name for rule in self.stored for name in rule.trigger.stored}))
        self.words = frozenset(root.rpartition(".")[2].encode() for root in self.roots)

    def sites(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        """The nodes of a file that match a trigger and are hot enough, each with the rules that want it."""
        for scope in facts.scopes:
            for call in scope.calls:
                rules = self._of_call(analyses, facts, call)
                if rules:
                    yield call, rules
        for stmt in facts.compounds:
            rules = [rule for rule in self.statements.get(type(stmt).__name__, ()) if fits(analyses, facts, stmt, rule)]
            rules = [
                rule for rule in hot_enough(analyses, facts, stmt, rules) if worthwhile(analyses, facts, stmt, rule)
            ]
            if rules:
                yield stmt, rules
        yield from self._subscripts(analyses, facts)
        yield from self._tests(analyses, facts)
        yield from self._grown(analyses, facts)
        yield from self._compiled(analyses, facts)
        yield from self._imports(facts)
        yield from self._stored(analyses, facts)
        yield from self._assigned(analyses, facts)

    def _grown(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        wanted = partial(hot_enough, analyses, facts, rules=self.grown)
        for node in analyses[Growth].added(facts, wanted) if self.grown else ():
            if analyses[Autograd].has_graph(facts, node) is not False:
                yield node, wanted(node)

    def _compiled(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        wanted: list[tuple[list[Rule], Iterable[ast.expr]]] = [
            (self.takers, analyses[Bypasses].takers(facts) if self.takers else ()),
            (self.breaks, analyses[Breaks].of(facts) if self.breaks else ()),
            (self.integers, analyses[Integers].of(facts) if self.integers else ()),
        ]
        for rules, nodes in wanted:
            for node in nodes:
                hot = hot_enough(analyses, facts, node, rules)
                if hot:
                    yield node, hot

    def _assigned(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        for name, wanted in self.assigned.items():
            for _, store in facts.outside.get(name, ()):
                node = store.binding.value
                rules = hot_enough(analyses, facts, node, wanted) if node is not None else []
                if node is not None and rules:
                    yield node, rules

    def _of_call(self, analyses: Analyses, facts: FileFacts, call: ast.Call) -> list[Rule]:
        rules: list[Rule] = []
        if isinstance(call.func, ast.Attribute):
            rules.extend(self.methods.get(call.func.attr, ()))
        name = analyses[Project].qualified(facts, call.func)
        built = analyses[Project].constructor(facts, call.func)
        for called in dict.fromkeys((name, built)):
            if called is not None:
                rules.extend(rule for rule in self.calls.get(called, ()) if rule not in rules)
        if self.copies and analyses[Readers].called(call):
            rules.extend(rule for rule in self.copies if rule not in rules)
        hot = hot_enough(analyses, facts, call, rules)
        if isinstance(call.func, (ast.Name, ast.Subscript)):
            wanted = [rule for rule in hot_enough(analyses, facts, call, self.ensembles) if rule not in rules]
            hot.extend(wanted if wanted and analyses[Batching].ensemble(facts, call) else ())
        return [*hot, *self._runners(analyses, facts, call, rules)]

    def _runners(self, analyses: Analyses, facts: FileFacts, call: ast.Call, known: Sequence[Rule]) -> list[Rule]:
        """The rules besides those known that look at runs of networks, if a call is one; what is told soonest first."""
        rules = [rule for rule in hot_enough(analyses, facts, call, self.networks) if rule not in known]
        if rules and next(around(facts, call), None) is None:
            rules = [rule for rule in rules if not rule.trigger.looped]
        if not rules or not analyses[Autograd].runs(facts, call):
            return []
        recorded = any(rule.trigger.recorded for rule in rules) and analyses[Autograd].records(facts, call) is True
        return [rule for rule in rules if recorded or not rule.trigger.recorded]

    def _imports(self, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        if self.imported.isdisjoint(facts.imports):
            return
        bound: dict[ast.AST, set[str]] = {}
        for scope in facts.scopes:
            for bindings in scope.bindings.values():
                for binding in bindings:
                    if binding.how is Bind.IMPORT and binding.target in self.imported:
                        bound.setdefault(binding.stmt, set()).add(binding.target)
        for stmt, names in bound.items():
            yield stmt, [rule for rule in self.imports if names & rule.trigger.imports]

    def _stored(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        if not any(word in facts.source.utf8 for word in self.words):
            return
        for stmt in facts.places:
            for target in _targets(stmt):
                name = analyses[Project].qualified(facts, target.value)
                if name is not None and name.startswith(self.roots):
                    rules = [rule for rule in self.stored if _within(name, rule.trigger.stored)]
                    rules = hot_enough(analyses, facts, stmt, rules)
                    if rules:
                        yield target, rules

    def _subscripts(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        for node in facts.subscripts if self.subscripts else ():
            hot = hot_enough(analyses, facts, node, [rule for rule, _ in self.subscripts])
            rules = [rule for rule, matches in self.subscripts if rule in hot and matches(analyses, facts, node)]
            if rules:
                yield node, rules

    def _tests(self, analyses: Analyses, facts: FileFacts) -> Iterator[tuple[ast.AST, list[Rule]]]:
        for node in facts.tests if self.tests else ():
            rules = hot_enough(analyses, facts, node, self.tests)
            if rules and reads_tensor(analyses, facts, node):
                yield node, rules


def _targets(stmt: ast.stmt) -> Iterator[ast.Attribute | ast.Subscript]:
    """The attributes and subscripts that an assignment stores into."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    for target in [part for whole in targets for part in (whole.elts if isinstance(whole, ast.Tuple) else [whole])]:
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            yield target


def _within(name: str, roots: frozenset[str]) -> bool:
    """Whether a qualified name is one of these or lies below one."""
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def fits(analyses: Analyses, facts: FileFacts, stmt: ast.stmt, rule: Rule) -> bool:
    """Whether a statement has what the trigger of a rule asks of statements."""
    if rule.trigger.raising and not (isinstance(stmt, ast.Assert) or (isinstance(stmt, ast.If) and raises(stmt.body))):
        return False
    if not rule.trigger.mentions:
        return True
    names = (part for expression in header(stmt) for part in walk(expression))
    return any(
        analyses[Project].qualified(facts, part) in rule.trigger.mentions
        for part in names
        if isinstance(part, (ast.Name, ast.Attribute))
    )


def worthwhile(analyses: Analyses, facts: FileFacts, stmt: ast.stmt, rule: Rule) -> bool:
    """Whether a statement that is hot enough has what a trigger asks of the values in it."""
    if rule.trigger.raising and isinstance(stmt, (ast.Assert, ast.If)) and not may_read(analyses, facts, stmt.test):
        return False
    if not rule.trigger.picking:
        return True
    return isinstance(stmt, ast.For) and analyses[Elements].picked(facts, stmt) is not None


def may_read(analyses: Analyses, facts: FileFacts, test: ast.expr) -> bool:
    """Whether a test may read values of a tensor: there is one in it, or a function of torch is called."""
    for part in walk(test):
        if isinstance(part, ast.Call) and (analyses[Project].qualified(facts, part.func) or "").startswith("torch."):
            return True
        if isinstance(part, ast.expr) and analyses[Values].of(facts, part).kind is Kind.TENSOR:
            return True
    return False


def header(stmt: ast.stmt) -> list[ast.AST]:
    """The expressions in the header of a statement."""
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*stmt.decorator_list]
    return [part for part in children(stmt) if not isinstance(part, ast.stmt)]


def hot_enough(analyses: Analyses, facts: FileFacts, node: ast.AST, rules: Sequence[Rule]) -> list[Rule]:
    """Those of some rules for which a node runs often enough."""
    if all(rule.least is Frequency.ONCE for rule in rules):
        return [*rules]
    found = analyses[Heat].frequency(facts, place_of(node))
    return [rule for rule in rules if rule.least <= found]


def masked(analyses: Analyses, facts: FileFacts, node: ast.Subscript) -> bool:
    """Whether an index, or one part of it, is proven a boolean tensor."""
    return any(value.dtype == "bool" for value in _tensor_indices(analyses, facts, node))


def by_scalar(analyses: Analyses, facts: FileFacts, node: ast.Subscript) -> bool:
    """Whether an index, or one part of it, is proven a 0-d tensor."""
    return any(value.rank == 0 for value in _tensor_indices(analyses, facts, node))


def reads_tensor(analyses: Analyses, facts: FileFacts, test: ast.expr) -> bool:
    """Whether a tensor has to be read for the truth of an expression: its own, or a search in it."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
        test = test.comparators[0]
    return analyses[Values].of(facts, test).kind is Kind.TENSOR


def _tensor_indices(analyses: Analyses, facts: FileFacts, node: ast.Subscript) -> Iterator[Value]:
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(part, (ast.Slice, ast.Constant)):
            value = analyses[Values].of(facts, part)
            if value.kind is Kind.TENSOR:
                yield value
