"""How often each line runs: frequencies spread from the roots through the call graph, with the path that proves it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.graph import CallGraph, How
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.hotness.arrivals import Arrivals
from torchlint.facts.hotness.choosing import Choosing
from torchlint.facts.hotness.chosen import Choice
from torchlint.facts.hotness.coldness import SETS_UP, cold_file, cold_function
from torchlint.facts.hotness.criteria import is_criterion
from torchlint.facts.hotness.guards import EVALUATION, OWN_UPDATES, Bound, Guards
from torchlint.facts.hotness.iterations import rolls_out
from torchlint.facts.hotness.observed import LABEL, Observations
from torchlint.facts.hotness.paths import Paths
from torchlint.facts.hotness.places import Local, Places
from torchlint.facts.hotness.receivers import Rates, Receivers
from torchlint.facts.hotness.roots import Roots, find_roots
from torchlint.facts.hotness.unseen import called_elsewhere, forwards
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Frequency, Hotness

ITERATION = "iteration"
"""What makes code hot that runs in the rounds of a loop around steps or updates: a loop over tokens in it."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A place that runs a function.

    ``weak`` when only the method's name says so, ``doubtful`` when more than one class may be meant then; ``override``
    when the call names a relative of the function's class.
    """

    facts: FileFacts
    node: ast.AST
    target: Scope
    how: How = How.CALL
    weak: bool = False
    override: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """How often a function is entered, and the edge (or the root) that makes it so.

    ``weak`` when the path to it has an edge that only the name of a method gives; ``when`` are words of the framework
    that enters it; ``guessed``: no call of it is known.
    """

    frequency: Frequency
    edge: Edge | None = None
    label: str = ""
    kinds: frozenset[str] = frozenset()
    weak: bool = False
    when: str = ""
    guessed: bool = False


@dataclass(eq=False, slots=True)
class Heat(Fact):
    """Answers how often code runs."""

    project: Project
    graph: CallGraph
    guards: Guards
    roots: Roots
    values: Values
    hot: frozenset[str] = frozenset()
    cold: frozenset[str] = frozenset()
    observed: Observations = field(default_factory=Observations)
    entries: dict[Scope, Entry] = field(default_factory=dict)
    items: dict[Scope, Entry] = field(default_factory=dict)
    edges: dict[Scope, list[Edge]] = field(default_factory=dict)
    places: Places = field(init=False)
    choosing: Choosing = field(init=False)
    paths: Paths = field(init=False)
    receivers: Receivers = field(init=False)
    rates: Rates = field(init=False)
    _settled: dict[ast.AST, Frequency] | None = None
    _proven: bool = True
    _rates: dict[tuple[ast.AST, Scope], Frequency] = field(default_factory=dict)
    _cold: dict[Scope, bool] = field(default_factory=dict)
    _called: dict[Scope, Bound | None] = field(default_factory=dict)

    @classmethod
    def build(cls, analyses: Analyses) -> Heat:
        """Find the roots and spread hotness through the project."""
        project, graph, values = analyses[Project], analyses[CallGraph], analyses[Values]
        settings = analyses.settings
        guards = analyses[Guards]
        roots = find_roots(project, graph, values, guards)
        seen = Observations.of(settings.observed)
        found = cls(project, graph, guards, roots, values, frozenset(settings.hot), frozenset(settings.cold), seen)
        found.spread()
        return found

    def __post_init__(self) -> None:
        self.places = Places(self.project, self.graph, self.roots, self.guards)
        self.choosing = Choosing(self)
        self.paths = Paths(self)
        self.receivers = Receivers(self.project, self.graph)
        self.rates = Rates(self.receivers, Arrivals(self.receivers, self._drives))

    def at(self, facts: FileFacts, node: ast.AST) -> Hotness:
        """How often a node runs, with the path."""
        scope = facts.scope_of(node).function
        frequency = self._frequency(facts, node, scope)
        if frequency is Frequency.ONCE:
            return Hotness()
        path, first = self.paths.of(facts, node, scope)
        when = first.when if first is not None and first.frequency is frequency else ""
        if frequency is Frequency.STEP and self._phases(facts, node) == {ITERATION}:
            when = "once per token"
        return Hotness(frequency, path, when)

    def frequency(self, facts: FileFacts, node: ast.AST) -> Frequency:
        """How often a node runs."""
        if self._settled is None:  # hotness still spreads
            return self._frequency(facts, node, facts.scope_of(node).function)
        found = self._settled.get(node)
        if found is None:
            found = self._settled[node] = self._frequency(facts, node, facts.scope_of(node).function)
        return found

    def handed(self, facts: FileFacts, node: ast.AST, choices: Sequence[Choice]) -> Frequency:
        """How often a node runs with what leads to some code that it runs."""
        return self._frequency(facts, node, facts.scope_of(node).function, handed=choices)

    def seldom(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a node runs less often than once per gradient update."""
        return self.frequency(facts, node) < Frequency.UPDATE

    def kinds(self, facts: FileFacts, node: ast.AST) -> frozenset[str]:
        """What makes a node hot: ``step``, ``update`` or both."""
        return self._phases(facts, node) - {ITERATION}

    def _phases(self, facts: FileFacts, node: ast.AST) -> frozenset[str]:
        """What makes a node hot, and whether it runs in the rounds of a loop around steps or updates."""
        scope = facts.scope_of(node).function
        local = self.local(facts, node, scope)
        if local.root is not None:
            return frozenset(self.roots.loops.get(local.root) or self.roots.functions.get(scope, set()))
        entry = self.entry(scope, local)
        kinds = entry.kinds if entry is not None else frozenset()
        return kinds | {ITERATION} if local.episode is not None else kinds

    def entry(self, scope: Scope, local: Local) -> Entry | None:
        """How often a function is entered, or goes on for another item where the node runs for each."""
        return (self.entries if local.item is None else self.items).get(scope)

    # frequencies ----------------------------------------------------------------------------------------------------

    def _frequency(
        self,
        facts: FileFacts,
        node: ast.AST,
        scope: Scope,
        entered: Frequency = Frequency.INNER,
        rate: Frequency = Frequency.INNER,
        handed: Sequence[Choice] = (),
    ) -> Frequency:
        """How often a node runs, of those runs of its function that are ``entered`` no more often than this.

        ``rate`` is that of the runs on objects of one class, which also holds for functions that are roots; ``handed``
        are choices of what the node calls that the callers of its function make.
        """
        if self.is_cold(scope):
            return Frequency.ONCE
        local = self.local(facts, node, scope).under(handed)
        found = self._base(scope, local)
        if local.choices and found > Frequency.ONCE:
            found = min(found, self.choosing.most(scope, local))
        if local.root is None and local.item is None:
            found = min(found, entered)
        if local.item is None and local.root in (None, scope.node):
            found = min(found, rate)
        if local.loops and found >= Frequency.UPDATE:
            found = Frequency.INNER
        elif local.episode is not None:
            found = max(found, Frequency.EPISODE)
        if local.token is not None and found is Frequency.EPISODE and self._iterates(scope, local):
            found = Frequency.STEP
        return found if local.cap is None else min(found, local.cap)

    def _iterates(self, scope: Scope, local: Local) -> bool:
        """Whether code that runs once per episode or rollout is part of one: no evaluation."""
        entry = self.entry(scope, local)
        return local.episode is not None or (entry is not None and bool(entry.kinds))

    def _base(self, scope: Scope, local: Local) -> Frequency:
        """How often the root or the function is run that a node stands in."""
        entry = self.entry(scope, local)
        entered = entry.frequency if entry is not None else Frequency.ONCE
        if local.root is None:
            return entered
        found = self.rooted(scope, local.root)
        return self.observed.held(scope, max(found, entered)) if local.root is scope.node else found

    def rooted(self, scope: Scope, root: ast.AST) -> Frequency:
        """How often a root runs what it runs: a loop of a function, or the function itself."""
        kinds = self.roots.loops.get(root) or self.roots.functions.get(scope) or {"step"}
        return Frequency.STEP if "step" in kinds else self._per_update(scope, root)

    def _per_update(self, scope: Scope, root: ast.AST) -> Frequency:
        fits = root is scope.node and scope in self.roots.fitting
        return Frequency.EPISODE if fits else Frequency.UPDATE

    def local(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        """Where a node stands in the function that it belongs to."""
        return self.places.of(facts, node, scope)

    def is_cold(self, scope: Scope) -> bool:
        """Whether a function never counts as hot: set-up, tests, demos, or because the user says so."""
        found = self._cold.get(scope)
        if found is None:
            found = self._cold[scope] = self._judge(scope)
        return found

    def _judge(self, scope: Scope) -> bool:
        key = f"{scope.file.module}:{scope.qualname}"
        if key in self.hot or scope.file.marks.get(scope.row) == "hot":
            return False
        if key in self.cold or scope.file.marks.get(scope.row) == "cold":
            return True
        if self.observed.never(scope):
            return True
        return self.observed.often(scope) is None and self._seems_cold(scope)

    def _seems_cold(self, scope: Scope) -> bool:
        return cold_file(scope.file.path) or cold_function(self.project, scope)

    # spreading ------------------------------------------------------------------------------------------------------

    def spread(self) -> None:
        """Spread hotness from the roots down the call graph to a fixed point."""
        self._start()
        self._link()
        self._pass_everywhere()
        self._proven = False  # what certain edges say is known; of the rest, those that a name alone gives may tell
        self._pass_everywhere()
        self._modules()
        self._raise()
        self.choosing.settle()
        self._settled = {}

    def _pass_everywhere(self) -> None:
        work = deque(scope for facts in self.project.files.values() for scope in facts.scopes if scope in self.edges)
        waiting = set(work)
        while work:
            scope = work.popleft()
            waiting.discard(scope)
            found = [each for target in self._pass_all(scope) for each in (target, *self.choosing.above(target))]
            for target in found:
                if target not in waiting and target in self.edges:
                    waiting.add(target)
                    work.append(target)

    def _link(self) -> None:
        """Sort the edges of the graph by the function that they leave."""
        weak = self.graph.weak
        doubtful = weak - self.graph.sole
        for facts in self.project.files.values():
            for scope in facts.scopes:
                found = [
                    Edge(facts, call, target, weak=call in weak, override=place > 0, doubtful=call in doubtful)
                    for call in scope.calls
                    for place, target in enumerate(self.graph.callees.get(call, ()))
                ]
                if found:
                    self.edges[scope] = found
        for runs in self.graph.runs.values():
            for run in runs:
                home = run.facts.scope_of(run.node).function
                self.edges.setdefault(home, []).append(Edge(run.facts, run.node, run.target, run.how))

    def _start(self) -> None:
        for scope, classes in self.roots.receivers.items():
            for cls, kinds in classes.items():
                rate = Frequency.STEP if "step" in kinds else self._per_update(scope, scope.node)
                self.rates.note(scope, cls, rate)
        for scope, entry in self.roots.protocols.items():
            frequency = self.observed.held(scope, entry.frequency)
            label = ", ".join(filter(None, (f"called by {entry.framework}", entry.when)))
            given = Entry(frequency, label=label, kinds=entry.kinds, when=entry.when, guessed=entry.guessed)
            if scope.yields:  # the framework draws the items, of which a call gives many
                self.items[scope] = given
                given = replace(given, frequency=min(given.frequency, Frequency.EPISODE))
            self._enter(scope, given)
        for facts in self.project.files.values():
            for scope in facts.scopes:
                if scope.kind == "function" and (
                    f"{facts.module}:{scope.qualname}" in self.hot or facts.marks.get(scope.row) == "hot"
                ):
                    self._enter(scope, Entry(Frequency.STEP, label="hot by your settings", kinds=frozenset({"step"})))

    def _enter(self, scope: Scope, entry: Entry) -> None:
        """Record that a function is entered on objects of any class that has it."""
        self.entries[scope] = entry
        self.rates.note(scope, ANY, entry.frequency)

    def delivered(self, edge: Edge) -> Frequency:
        """How often an edge alone makes its function run."""
        return max((frequency for _, _, frequency in self.passed(edge)), default=Frequency.ONCE)

    def _drives(self, scope: Scope) -> bool:
        """Whether a function runs loops of a program, or is run by them."""
        return scope in self.roots.drivers or scope in self.roots.functions

    def passed(self, edge: Edge) -> list[tuple[Receiver | None, Receiver, Frequency]]:
        """How often an edge makes its function run, by the objects that caller and function run on.

        The caller's is ``None`` where it makes no difference.
        """
        scope = edge.facts.scope_of(edge.node).function
        local = self.local(edge.facts, edge.node, scope)
        rated = local.item is None and local.episode is None and local.root in (None, scope.node)
        found = self.rates.passed(edge.node, scope, edge.target, rated=rated)
        return [(above, cls, self._delivered(edge, scope, rate)) for above, cls, rate in found]

    def entered(self, edge: Edge, receiver: Receiver) -> Frequency:
        """How often an edge makes its function run, for runs of the calling function on an object."""
        scope = edge.facts.scope_of(edge.node).function
        return self._delivered(edge, scope, self.rates.rate(scope, receiver))

    def comes(self, edge: Edge, home: Scope, receiver: Receiver) -> bool:
        """Whether an object on which a method calls another of its own may come to the method."""
        if self.receivers.named(edge.node) is not None or home.method_of is None:
            return True
        return any(self.receivers.meets(each, receiver) for each in self.rates.arrivals.at(home))

    def _delivered(self, edge: Edge, scope: Scope, rate: Frequency = Frequency.INNER) -> Frequency:
        """How often an edge alone makes its function run, for calls of its caller of some rate."""
        passing = self.graph.via.get((edge.node, edge.target), ())
        entered = max((self.frequency(caller.facts, caller.call) for caller in passing), default=Frequency.INNER)
        found = self._frequency(edge.facts, edge.node, scope, entered, rate)
        if isinstance(edge.node, ast.YieldFrom) and edge.how is How.ITEMS and scope in self.items:
            found = self.items[scope].frequency
        if edge.how is How.EACH and found >= Frequency.UPDATE:
            found = Frequency.INNER
        seldom = self.seldom_called(edge)
        return found if seldom is None else min(found, seldom.limit)

    def seldom_called(self, edge: Edge) -> Bound | None:
        """The guard on a function that runs less often than the place that calls it.

        A function that holds a loop of updates is no part of one update.
        """
        target = edge.target
        found = self._called_seldom(target)
        fits = found is None and target in self.roots.fitting and self.kinds(edge.facts, edge.node) == {"update"}
        return self.guards.of(OWN_UPDATES) if fits else found

    def _called_seldom(self, scope: Scope) -> Bound | None:
        """The guard on all calls of a function."""
        if scope not in self._called:
            self._called[scope] = self.guards.called(scope)
        return self._called[scope]

    def _evaluates(self, scope: Scope) -> bool:
        found = self._called_seldom(scope)
        return found is not None and found.guard == EVALUATION.name

    def _pass_all(self, scope: Scope) -> Iterator[Scope]:
        """Pass on how often a function runs; gives the functions that run more often than was known."""
        for edge in self.edges.get(scope, ()):
            target = edge.target
            passed = self.passed(edge)
            fastest = max((each for _, _, each in passed), default=Frequency.ONCE)
            frequency = self.observed.held(target, fastest)
            if frequency is Frequency.ONCE or target is scope or self.is_cold(target):
                continue
            if edge.weak and SETS_UP.match(target.name):
                continue
            weak = self._is_weak(edge, scope)
            if weak and self._proven:
                continue
            kinds = frozenset() if self._evaluates(target) else self._phases(edge.facts, edge.node)
            entries = self.items if edge.how is How.ITEMS else self.entries
            old = entries.get(target)
            if weak and (target in self.roots.programs or (old is not None and not old.weak)):
                continue  # a proven loop of its own, or around it, is nearer
            news = edge.how is not How.ITEMS and [
                self.rates.note(target, cls, self.observed.held(target, each)) for _, cls, each in passed
            ]
            if old is not None and old.frequency >= frequency:
                if kinds <= old.kinds:
                    if (news and any(news)) or self._rises(edge, frequency):
                        yield target
                    continue
                entries[target] = replace(old, kinds=kinds | old.kinds)
            else:
                known = old.kinds if old is not None else frozenset()
                entries[target] = Entry(frequency, edge, kinds=kinds | known, weak=weak)
            yield target

    def _rises(self, edge: Edge, frequency: Frequency) -> bool:
        """Whether an edge enters a function in which callers choose branches more often than was known."""
        key = edge.node, edge.target
        if not self.choosing.asks(edge.target) or self._rates.get(key, Frequency.ONCE) >= frequency:
            return False
        self._rates[key] = frequency
        return True

    def _is_weak(self, edge: Edge, scope: Scope) -> bool:
        """Whether nothing but the name of a method, here or on the way here, says that an edge is hot."""
        if edge.weak:
            return True
        local = self.local(edge.facts, edge.node, scope)
        entry = self.entry(scope, local)
        return local.root is None and entry is not None and entry.weak

    def _modules(self) -> None:
        """``forward`` of a module that is built but that no known call reaches: somebody calls it all the same."""
        work: deque[Scope] = deque()
        for scope in forwards(self.project, self.graph):
            entry = self.entries.get(scope)
            if self.is_cold(scope) or (entry is not None and entry.frequency >= Frequency.UPDATE):
                continue
            if called_elsewhere(self.receivers, scope, self.is_cold):
                continue
            self._enter(scope, self._guess(scope))
            work.append(scope)
        self._pass_on(work)

    def _guess(self, forward: Scope) -> Entry:
        """How often ``forward`` of a module runs that no known call reaches: as often as its kind of module does."""
        if rolls_out(self.graph, forward):
            label = "forward of a module that generates"
            return Entry(Frequency.EPISODE, label=label, kinds=frozenset({ITERATION}), guessed=True)
        loss = is_criterion(self.project, forward)
        frequency = self.observed.held(forward, Frequency.UPDATE if loss else Frequency.STEP)
        label, kinds = ("criterion", {"update"}) if loss else ("module", {"step", "update"})
        when = "" if loss or self._steps() else "once per forward pass"
        return Entry(frequency, label=f"forward of a {label}", kinds=frozenset(kinds), when=when, guessed=True)

    def _steps(self) -> bool:
        """Whether anything in the project steps an environment."""
        rooted = (*self.roots.loops.values(), *self.roots.functions.values())
        return any("step" in kinds for kinds in rooted) or any(
            entry.frequency is Frequency.STEP and entry.kinds == {"step"} for entry in self.roots.protocols.values()
        )

    def _raise(self) -> None:
        """Functions that were seen to run often although nothing in the code says so."""
        work: deque[Scope] = deque()
        for scope in (scope for facts in self.project.files.values() for scope in facts.scopes):
            seen, entry = self.observed.often(scope), self.entries.get(scope)
            if seen is None or self.is_cold(scope) or scope in self.roots.functions:
                continue
            if entry is None or entry.frequency < Frequency.UPDATE:
                kind = "step" if seen >= Frequency.STEP else "update"
                self._enter(scope, Entry(seen, label=LABEL, kinds=frozenset({kind})))
                work.append(scope)
        self._pass_on(work)

    def _pass_on(self, work: deque[Scope]) -> None:
        while work:
            work.extend(self._pass_all(work.popleft()))
