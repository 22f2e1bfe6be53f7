"""How often each line runs: frequencies spread from the roots through the call graph, with the path that proves it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field

from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.graph import CallGraph, How
from torchlint.facts.code.live import Live
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.propagate import Reached
from torchlint.facts.code.receiver import Receiver
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.hotness.arrivals import Arrivals
from torchlint.facts.hotness.choosing import Choosing
from torchlint.facts.hotness.coldness import cold_file, cold_function
from torchlint.facts.hotness.conditions import takes_ended_simulations
from torchlint.facts.hotness.edges import Edge
from torchlint.facts.hotness.entering import Entered, Entry
from torchlint.facts.hotness.evaluation import begins_episode
from torchlint.facts.hotness.fitting import awaited
from torchlint.facts.hotness.guards import EVALUATION, OWN_UPDATES, RESET, TURNED_OFF, UNSET_OPTION, Bound, Guards
from torchlint.facts.hotness.observed import Observations
from torchlint.facts.hotness.overriding import Overriding
from torchlint.facts.hotness.paths import Paths
from torchlint.facts.hotness.phases import GENERATION, ITERATION, SAMPLE
from torchlint.facts.hotness.places import Local, Places
from torchlint.facts.hotness.receivers import Rates, Receivers
from torchlint.facts.hotness.roots import Roots, find_roots
from torchlint.facts.hotness.spreading import Spreading
from torchlint.facts.values.chosen import Choice
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Frequency, Hotness

_SAMPLED = "once per sample of a rollout"
_GENERATED = "once per generated batch"
_REFILLED = "once per several steps"


@dataclass(eq=False, slots=True)
class Heat(Fact):
    """Answers how often code runs."""

    project: Project
    graph: CallGraph
    live: Live
    guards: Guards
    roots: Roots
    values: Values
    hot: frozenset[str] = frozenset()
    cold: frozenset[str] = frozenset()
    observed: Observations = field(default_factory=Observations)
    reached: Reached[Scope, Entered] = field(default_factory=Reached)
    seeded: list[Scope] = field(default_factory=list)
    edges: dict[Scope, list[Edge]] = field(default_factory=dict)
    places: Places = field(init=False)
    choosing: Choosing = field(init=False)
    paths: Paths = field(init=False)
    receivers: Receivers = field(init=False)
    rates: Rates = field(init=False)
    overriding: Overriding = field(init=False)
    _holding: frozenset[Scope] = field(init=False)
    _settled: dict[ast.AST, Frequency] | None = None
    _cold: dict[Scope, bool] = field(default_factory=dict)
    _called: dict[Scope, Bound | None] = field(default_factory=dict)

    @classmethod
    def build(cls, analyses: Analyses) -> Heat:
        """Find the roots and spread hotness through the project."""
        project, graph, values = analyses[Project], analyses[CallGraph], analyses[Values]
        settings = analyses.settings
        guards = analyses[Guards]
        live = analyses[Live]
        roots = find_roots(project, graph, values, guards, live)
        seen = Observations.of(settings.observed)
        found = cls(
            project, graph, live, guards, roots, values, frozenset(settings.hot), frozenset(settings.cold), seen
        )
        return found._spread()

    def edited(self, project: Project, graph: CallGraph, values: Values, edits: FileEdits) -> Heat:
        """Return the hotness of a project after edits of files; what is known of the rest is kept."""
        guards = self.guards.edited(project)
        live = self.live.edited(project, edits)
        roots = self.roots.edited(project, graph, values, guards, live, edits)
        found = Heat(project, graph, live, guards, roots, values, self.hot, self.cold, self.observed)
        found.places.keep(self.places)
        return found._spread()

    def _spread(self) -> Heat:
        Spreading(self).spread()
        self.settle()
        return self

    def __post_init__(self) -> None:
        self._holding = self.roots.holding(self.project)
        self.places = Places(self.project, self.graph, self.roots, self.guards, self.live.distributed)
        self.choosing = Choosing(self)
        self.paths = Paths(self)
        self.receivers = Receivers(self.project, self.graph)
        self.overriding = Overriding(self.project, self.receivers)
        self.rates = Rates(self.receivers, Arrivals(self.receivers, self._drives), self.reached)

    def at(self, facts: FileFacts, node: ast.AST) -> Hotness:
        """Return how often a node runs, with the path."""
        scope = facts.scope_of(node).function
        frequency = self._frequency(facts, node, scope)
        if frequency is Frequency.ONCE:
            return Hotness()
        path, first = self.paths.of(facts, node, scope)
        seed = first.first if first is not None else None
        when = seed.when if seed is not None and seed.frequency is frequency else ""
        if frequency is Frequency.STEP and (phases := self.phases(facts, node)) & {ITERATION, SAMPLE}:
            each = "once per token" if self.local(facts, node, scope).imagined is None else "once per step of a model"
            when = _SAMPLED if SAMPLE in phases else each if phases == {ITERATION} else when
        elif frequency is Frequency.UPDATE and not when and self.phases(facts, node) >= {ITERATION, GENERATION}:
            when = _GENERATED
        elif frequency is Frequency.UPDATE and not when and self.kinds(facts, node) == {"step"}:
            when = _REFILLED
        return Hotness(frequency, path, when)

    def frequency(self, facts: FileFacts, node: ast.AST) -> Frequency:
        """Return how often a node runs."""
        if self._settled is None:  # hotness still spreads
            return self._frequency(facts, node, facts.scope_of(node).function)
        found = self._settled.get(node)
        if found is None:
            cuts = self.choosing.cuts
            found = self._frequency(facts, node, facts.scope_of(node).function)
            if self.choosing.idle or cuts == self.choosing.cuts:
                self._settled[node] = found
        return found

    def handed(self, facts: FileFacts, node: ast.AST, choices: Sequence[Choice]) -> Frequency:
        """Return how often a node runs with what leads to some code that it runs."""
        return self._frequency(facts, node, facts.scope_of(node).function, handed=choices)

    def seldom(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether a node runs less often than once per gradient update."""
        return self.frequency(facts, node) < Frequency.UPDATE

    def kinds(self, facts: FileFacts, node: ast.AST) -> frozenset[str]:
        """Return what makes a node hot: ``step``, ``update`` or both."""
        return self.phases(facts, node) - {ITERATION, GENERATION, SAMPLE}

    def phases(self, facts: FileFacts, node: ast.AST) -> frozenset[str]:
        """Return what makes a node hot, and whether it runs in the rounds of a loop around steps or updates."""
        scope = facts.scope_of(node).function
        local = self.local(facts, node, scope)
        if local.root is not None:
            return frozenset(self.roots.loops.get(local.root) or self.roots.functions.get(scope, set()))
        entry = self.entry(scope, local)
        kinds = entry.kinds if entry is not None else frozenset()
        kinds = kinds | {ITERATION} if local.episode is not None else kinds
        kinds = kinds | {GENERATION} if kinds and self.generates_often(scope, local) else kinds
        return kinds | {SAMPLE} if kinds and local.sample is not None else kinds

    def entry(self, scope: Scope, local: Local) -> Entry | None:
        """Return how often a function is entered, or resumed for a next item if the node runs for each."""
        return self.entered_by(scope, items=local.item is not None)

    def entered_by(self, scope: Scope, *, items: bool) -> Entry | None:
        """Return how often a function is entered by calls, or by what draws its items."""
        found = self.reached.get(scope)
        if found is None:
            return None
        return found.items if items else found.entry

    def may_repeat(self, scope: Scope) -> bool:
        """Return whether anything in a function may run more than once: it has a root, or is known to be entered."""
        if scope in self._holding:
            return True
        found = self.reached.get(scope)
        return found is not None and (found.entry is not None or found.items is not None)

    def holds_root(self, scope: Scope) -> bool:
        """Return whether a function is a root, or holds a root or a loop around one."""
        return scope in self._holding

    def settle(self) -> None:
        """Cache answers from here on: hotness no longer spreads."""
        self.choosing.settle()
        self._settled = {}

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
        if self.is_cold(scope) or not self.may_repeat(scope):
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
        each = local.token is not None or local.sample is not None or local.imagined is not None
        if each and found is Frequency.EPISODE and self._iterates(scope, local):
            found = Frequency.STEP
        elif found is Frequency.EPISODE and self.generates_often(scope, local):
            found = Frequency.UPDATE
        return found if local.cap is None else min(found, local.cap)

    def _iterates(self, scope: Scope, local: Local) -> bool:
        """Whether code that runs once per episode or rollout is part of one: no evaluation."""
        entry = self.entry(scope, local)
        return local.episode is not None or (entry is not None and bool(entry.kinds))

    def generates_often(self, scope: Scope, local: Local) -> bool:
        """Return whether code runs in the rounds of a loop in which a model generates, several times for one rollout.

        Such a loop is in another one, or in a function that runs once per rollout. So does one over chunks of what
        was generated.
        """
        if local.chunk is not None and self._iterates(scope, local):
            return True
        if local.generation is None or local.driver is not None:
            return local.generation is not None
        entry = self.entry(scope, local)
        return entry is not None and bool(entry.kinds) and entry.frequency >= Frequency.EPISODE

    def _base(self, scope: Scope, local: Local) -> Frequency:
        """How often the root or the function is run that a node is in."""
        entry = self.entry(scope, local)
        entered = entry.frequency if entry is not None else Frequency.ONCE
        if local.root is None:
            return entered
        found = self.rooted(scope, local.root)
        return self.observed.held(scope, max(found, entered)) if local.root is scope.node else found

    def rooted(self, scope: Scope, root: ast.AST) -> Frequency:
        """Return how often a root runs what it runs: a loop of a function, or the function itself."""
        kinds = self.roots.loops.get(root) or self.roots.functions.get(scope) or {"step"}
        return Frequency.STEP if "step" in kinds else self.per_update(scope, root)

    def per_update(self, scope: Scope, root: ast.AST) -> Frequency:
        """Return how often a root runs that runs gradient updates."""
        fits = root is scope.node and scope in self.roots.fitting
        return Frequency.EPISODE if fits else Frequency.UPDATE

    def local(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        """Return the context of a node in the function that it belongs to."""
        return self.places.of(facts, node, scope)

    def is_cold(self, scope: Scope) -> bool:
        """Return whether a function never counts as hot: set-up, tests, demos, dead code, or if the user says so."""
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
        return self.live.is_left(scope) or cold_file(scope.file) or cold_function(self.project, scope)

    # edges ----------------------------------------------------------------------------------------------------------

    def delivered(self, edge: Edge) -> Frequency:
        """Return how often one edge makes its function run."""
        return max((frequency for _, _, frequency in self.passed(edge)), default=Frequency.ONCE)

    def _drives(self, scope: Scope) -> bool:
        """Whether a function runs loops of a program, or is run by them."""
        return scope in self.roots.drivers or scope in self.roots.functions

    def passed(self, edge: Edge) -> list[tuple[Receiver | None, Receiver, Frequency]]:
        """Return how often an edge makes its function run, by the objects that caller and function run on.

        The caller's is ``None`` where it makes no difference.
        """
        scope = edge.facts.scope_of(edge.node).function
        local = self.local(edge.facts, edge.node, scope)
        rated = local.item is None and local.episode is None and local.root in (None, scope.node)
        found = self.rates.passed(edge.node, scope, edge.target, rated=rated)
        return [(above, cls, self._delivered(edge, scope, rate)) for above, cls, rate in found]

    def entered(self, edge: Edge, receiver: Receiver) -> Frequency:
        """Return how often an edge makes its function run, for runs of the calling function on an object."""
        scope = edge.facts.scope_of(edge.node).function
        return self._delivered(edge, scope, self.rates.rate(scope, receiver))

    def comes(self, edge: Edge, home: Scope, receiver: Receiver) -> bool:
        """Return whether a method on such an object may be what calls another method of the same object."""
        if self.receivers.named(edge.node) is not None or home.method_of is None:
            return True
        return any(self.receivers.meets(each, receiver) for each in self.rates.arrivals.at(home))

    def _delivered(self, edge: Edge, scope: Scope, rate: Frequency = Frequency.INNER) -> Frequency:
        """How often an edge alone makes its function run, for calls of its caller of some rate."""
        passing = self.graph.via.get((edge.node, edge.target), ())
        entered = max((self.frequency(caller.facts, caller.call) for caller in passing), default=Frequency.INNER)
        found = self._frequency(edge.facts, edge.node, scope, entered, rate)
        drawn = self.entered_by(scope, items=True) if isinstance(edge.node, ast.YieldFrom) else None
        if drawn is not None and edge.how is How.ITEMS:
            found = drawn.frequency
        if edge.how is How.EACH and found >= Frequency.UPDATE:
            found = Frequency.INNER
        seldom = self.seldom_called(edge)
        return found if seldom is None else min(found, seldom.limit)

    def seldom_called(self, edge: Edge) -> Bound | None:
        """Return the guard on a function that runs less often than the place that calls it.

        A function that holds a loop of updates is not part of one update, nor of one step if it waits for a rollout or
        steps environments in a loop of its own.
        """
        target = edge.target
        found = self._called_seldom(target)
        if found is not None and found.guard == RESET.name and self._resets_each_step(edge):
            return None
        if found is None and self.overriding.idle(edge):
            return self.guards.of(TURNED_OFF)
        if found is None and self.overriding.unset(edge):
            return self.guards.of(UNSET_OPTION)
        if found is not None or target not in self.roots.iterations:
            return found
        fits = target in self.roots.fitting and (
            self.kinds(edge.facts, edge.node) == {"update"} or self._is_training(target)
        )
        fits = fits or awaited(edge.facts.scope_of(edge.node).function, edge.node)
        return self.guards.of(OWN_UPDATES) if fits else None

    def _is_training(self, function: Scope) -> bool:
        """Whether a function with a loop of updates also holds one of steps: it is a training of its own."""
        return any("step" in self.roots.loops.get(node, ()) for node in walk(function.node))

    def _resets_each_step(self, edge: Edge) -> bool:
        """Whether a call resets the simulations which a step ended, or those that its function is given to reset."""
        if takes_ended_simulations(edge.node, edge.facts):
            return True
        caller = edge.facts.scope_of(edge.node).function
        given = arguments_of(edge.node) if isinstance(edge.node, ast.Call) else ()
        if not any(isinstance(part, ast.Name) and part.id in caller.params for part in given):
            return False
        above = self.graph.places(caller)
        return begins_episode(caller) or any(takes_ended_simulations(node, where) for where, node in above)

    def _called_seldom(self, scope: Scope) -> Bound | None:
        """The guard on all calls of a function."""
        if scope not in self._called:
            self._called[scope] = self.guards.called(scope)
        return self._called[scope]

    def evaluates(self, scope: Scope) -> bool:
        """Return whether a function evaluates, so that nothing of a step or an update goes on in it."""
        found = self._called_seldom(scope)
        return found is not None and found.guard == EVALUATION.name
