"""How often each line runs: frequencies spread from the roots through the call graph, with the path that proves it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from torchlint.facts.caches import kept_already, renews
from torchlint.facts.callers import Caller, passed
from torchlint.facts.graph import CallGraph, How
from torchlint.facts.guards import branch_limit, early_exit, is_debug_flag, is_none, limit, negated_limit
from torchlint.facts.model import Bind, FileFacts, Scope
from torchlint.facts.project import Project, exported
from torchlint.facts.roots import (
    SETS_UP,
    Roots,
    cold_file,
    cold_function,
    enclosing_loop,
    find_roots,
    forwards,
    runs_each_time,
)
from torchlint.facts.values import Values
from torchlint.rule import Frequency, Hop, Hotness

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(slots=True)
class Local:
    """Where a node stands in its function: limits on the way out, loops passed, and the root or function reached.

    ``item`` is the loop of a generator that yields once each time around.
    """

    cap: Frequency | None = None
    loops: int = 0
    root: ast.AST | None = None
    episode: ast.AST | None = None
    item: ast.AST | None = None

    def limit(self, found: Frequency | None) -> None:
        """Take in one more limit."""
        if found is not None:
            self.cap = found if self.cap is None else min(self.cap, found)


@dataclass(frozen=True, slots=True)
class Edge:
    """A place that runs a function; ``weak`` when only the method's name says so."""

    facts: FileFacts
    node: ast.AST
    target: Scope
    how: How = How.CALL
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """How often a function is entered, and the edge (or the root) that makes it so."""

    frequency: Frequency
    edge: Edge | None = None
    label: str = ""
    kinds: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True)
class Heat:
    """Answers how often code runs."""

    project: Project
    graph: CallGraph
    roots: Roots
    hot: frozenset[str] = frozenset()
    cold: frozenset[str] = frozenset()
    entries: dict[Scope, Entry] = field(default_factory=dict)
    items: dict[Scope, Entry] = field(default_factory=dict)
    edges: dict[Scope, list[Edge]] = field(default_factory=dict)
    _yielding: dict[Scope, frozenset[ast.AST]] = field(default_factory=dict)
    _locals: dict[ast.AST, Local] = field(default_factory=dict)
    _asked: set[Scope] = field(default_factory=set)

    def at(self, facts: FileFacts, node: ast.AST) -> Hotness:
        """How often a node runs, with the path."""
        scope = facts.scope_of(node).function
        frequency = self._frequency(facts, node, scope)
        if frequency is Frequency.ONCE:
            return Hotness()
        return Hotness(frequency, tuple(self._path(facts, node, scope)))

    def frequency(self, facts: FileFacts, node: ast.AST) -> Frequency:
        """How often a node runs."""
        return self._frequency(facts, node, facts.scope_of(node).function)

    def seldom(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a node runs less often than once per gradient update."""
        return self.frequency(facts, node) < Frequency.UPDATE

    def kinds(self, facts: FileFacts, node: ast.AST) -> frozenset[str]:
        """What makes a node hot: ``step``, ``update`` or both."""
        scope = facts.scope_of(node).function
        local = self._local(facts, node, scope)
        if local.root is not None:
            return frozenset(self.roots.loops.get(local.root) or self.roots.functions.get(scope, set()))
        entry = (self.entries if local.item is None else self.items).get(scope)
        return entry.kinds if entry is not None else frozenset()

    # frequencies ----------------------------------------------------------------------------------------------------

    def _frequency(
        self, facts: FileFacts, node: ast.AST, scope: Scope, entered: Frequency = Frequency.INNER
    ) -> Frequency:
        """How often a node runs, of those runs of its function that are ``entered`` no more often than this."""
        if self.is_cold(scope):
            return Frequency.ONCE
        local = self._local(facts, node, scope)
        found = self._base(scope, local)
        if local.root is None and local.item is None:
            found = min(found, entered)
        if local.loops and found >= Frequency.UPDATE:
            found = Frequency.INNER
        elif local.episode is not None:
            found = max(found, Frequency.EPISODE)
        return found if local.cap is None else min(found, local.cap)

    def _base(self, scope: Scope, local: Local) -> Frequency:
        """How often the root or the function is run that a node stands in."""
        entry = (self.entries if local.item is None else self.items).get(scope)
        entered = entry.frequency if entry is not None else Frequency.ONCE
        if local.root is None:
            return entered
        kinds = self.roots.loops.get(local.root) or self.roots.functions.get(scope) or {"step"}
        found = Frequency.STEP if "step" in kinds else Frequency.UPDATE
        return max(found, entered) if local.root is scope.node else found

    def _local(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        found = self._locals.get(node)
        if found is None:
            found = self._locals[node] = self._climb(facts, node, scope)
        return found

    def _climb(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        local = Local()
        child, current = node, facts.parent.get(node)
        while True:
            if isinstance(child, ast.stmt) and child in facts.places:
                block, index = facts.places[child]
                local.limit(Frequency.ONCE if kept_already(block, index, facts) else early_exit(block, index, facts))
            if current is None or current is scope.node:
                break
            if runs_each_time(current, child):
                if current in self.roots.loops:
                    local.root = current
                    return local
                if current in self.roots.episodes:
                    local.episode = local.episode or current
                elif local.item is None and scope.yields and current in self._yielding_loops(scope):
                    local.item = current
                elif local.item is None:
                    local.loops += 1
            elif isinstance(current, (ast.comprehension, *_COMPREHENSIONS)):
                local.loops += int(_runs_per_element(current, child, facts.parent.get(current)))
            else:
                bound = _bound(current, child, facts)
                if bound is Frequency.ONCE and current in self.roots.updating and not _is_debug(current):
                    bound = Frequency.UPDATE  # every so many batches or steps, but then for a gradient update
                local.limit(bound)
                if isinstance(current, (ast.If, ast.IfExp)):
                    local.limit(self._left_out(facts, current, child))
            child, current = current, facts.parent.get(current)
        if scope in self.roots.functions:
            local.root = scope.node
        return local

    def _yielding_loops(self, scope: Scope) -> frozenset[ast.AST]:
        """The loops of a generator that yield each time around."""
        found = self._yielding.get(scope)
        if found is None:
            loops = (enclosing_loop(scope.file, node, scope) for node in scope.yields)
            found = self._yielding[scope] = frozenset(loop for loop in loops if loop is not None)
        return found

    def _left_out(self, facts: FileFacts, branching: ast.If | ast.IfExp, child: ast.AST) -> Frequency | None:
        """The limit on the branch for a parameter that is ``None``: how often known calls leave the parameter out."""
        test = branching.test
        if not isinstance(test, ast.Compare) or not is_none(test.comparators[0]) or not isinstance(test.left, ast.Name):
            return None
        missing = branching.body if isinstance(test.ops[0], ast.Is) else branching.orelse
        scope = facts.scope_of(branching).function
        bindings = self.project.reaching(facts, test.left).bindings
        if not (child is missing or (isinstance(missing, list) and child in missing)):
            return None
        if not bindings or any(binding.how is not Bind.PARAM for binding in bindings):
            return None
        if test.left.id not in scope.params or scope in self._asked:
            return None
        calls = [c for c in self.graph.callers.get(scope, ()) if not _gives(scope, test.left.id, c)]
        self._asked.add(scope)
        found = [self._local(c.facts, c.call, c.facts.scope_of(c.call).function).cap for c in calls]
        self._asked.discard(scope)
        if not calls:
            return Frequency.ONCE if self.graph.callers.get(scope) else None
        limits = [bound for bound in found if bound is not None]
        return max(limits) if len(limits) == len(found) else None

    def is_cold(self, scope: Scope) -> bool:
        """Whether a function never counts as hot: set-up, tests, demos, or because the user says so."""
        key = f"{scope.file.module}:{scope.qualname}"
        if key in self.hot or scope.file.marks.get(scope.row) == "hot":
            return False
        if key in self.cold or scope.file.marks.get(scope.row) == "cold":
            return True
        return cold_file(scope.file.path) or cold_function(self.project, scope)

    # spreading ------------------------------------------------------------------------------------------------------

    def spread(self) -> None:
        """Spread hotness from the roots down the call graph to a fixed point."""
        self._start()
        self._link()
        work = deque(scope for facts in self.project.files.values() for scope in facts.scopes if scope in self.edges)
        waiting = set(work)
        while work:
            scope = work.popleft()
            waiting.discard(scope)
            for target in self._pass_all(scope):
                if target not in waiting and target in self.edges:
                    waiting.add(target)
                    work.append(target)
        self._modules()

    def _link(self) -> None:
        """Sort the edges of the graph by the function that they leave."""
        for facts in self.project.files.values():
            for scope in facts.scopes:
                found = [
                    Edge(facts, call, target, weak=call in self.graph.weak)
                    for call in scope.calls
                    for target in self.graph.callees.get(call, ())
                ]
                if found:
                    self.edges[scope] = found
        for runs in self.graph.runs.values():
            for run in runs:
                home = run.facts.scope_of(run.node).function
                self.edges.setdefault(home, []).append(Edge(run.facts, run.node, run.target, run.how))

    def _start(self) -> None:
        for scope, entry in self.roots.protocols.items():
            self.entries[scope] = Entry(entry.frequency, label=f"called by {entry.framework}", kinds=entry.kinds)
        for facts in self.project.files.values():
            for scope in facts.scopes:
                if scope.kind == "function" and (
                    f"{facts.module}:{scope.qualname}" in self.hot or facts.marks.get(scope.row) == "hot"
                ):
                    self.entries[scope] = Entry(Frequency.STEP, label="hot by your settings", kinds=frozenset({"step"}))

    def delivered(self, edge: Edge) -> Frequency:
        """How often an edge alone makes its function run."""
        scope = edge.facts.scope_of(edge.node).function
        passing = self.graph.via.get((edge.node, edge.target), ())
        entered = max((self.frequency(caller.facts, caller.call) for caller in passing), default=Frequency.INNER)
        found = self._frequency(edge.facts, edge.node, scope, entered)
        if isinstance(edge.node, ast.YieldFrom) and edge.how is How.ITEMS and scope in self.items:
            found = self.items[scope].frequency
        if edge.how is How.EACH and found >= Frequency.UPDATE:
            found = Frequency.INNER
        return min(found, Frequency.EPISODE) if edge.target.name == "reset" else found

    def _pass_all(self, scope: Scope) -> Iterator[Scope]:
        """Pass on how often a function runs; gives the functions that run more often than was known."""
        for edge in self.edges.get(scope, ()):
            target = edge.target
            frequency = self.delivered(edge)
            if frequency is Frequency.ONCE or target is scope or self.is_cold(target):
                continue
            if edge.weak and SETS_UP.match(target.name):
                continue
            kinds = self.kinds(edge.facts, edge.node)
            entries = self.items if edge.how is How.ITEMS else self.entries
            old = entries.get(target)
            if old is not None and old.frequency >= frequency:
                if kinds <= old.kinds:
                    continue
                entries[target] = replace(old, kinds=kinds | old.kinds)
            else:
                entries[target] = Entry(frequency, edge, kinds=kinds | (old.kinds if old is not None else frozenset()))
            yield target

    def _modules(self) -> None:
        """``forward`` of a module that is built but that no known call reaches: somebody calls it all the same."""
        work: deque[Scope] = deque()
        for scope in forwards(self.project, self.graph):
            entry = self.entries.get(scope)
            if self.is_cold(scope) or (entry is not None and entry.frequency >= Frequency.UPDATE):
                continue
            if self._called_elsewhere(scope):
                continue
            self.entries[scope] = Entry(
                Frequency.STEP, label="forward of a module", kinds=frozenset({"step", "update"})
            )
            work.append(scope)
        while work:
            work.extend(self._pass_all(work.popleft()))

    def _called_elsewhere(self, forward: Scope) -> bool:
        """Whether a known call that is not set-up runs a module, so that its hotness is that of the call."""
        if forward.owner is None or exported(self.project, forward.owner):
            return False
        callers = [c for c in self.graph.callers.get(forward, ()) if c.call not in self.graph.weak]
        return any(not self.is_cold(c.facts.scope_of(c.call).function) for c in callers)

    # paths ----------------------------------------------------------------------------------------------------------

    def _path(self, facts: FileFacts, node: ast.AST, scope: Scope) -> list[Hop]:
        hops: list[Hop] = []
        seen: set[Scope] = set()
        while True:
            local = self._local(facts, node, scope)
            entry = (self.entries if local.item is None else self.items).get(scope)
            if local.root is not None and local.root is not scope.node:
                hops.append(Hop(facts.path, getattr(local.root, "lineno", 1), "loop"))
                break
            if local.episode is not None and (entry is None or entry.frequency <= Frequency.EPISODE):
                hops.append(Hop(facts.path, getattr(local.episode, "lineno", 1), "loop"))
                break
            if scope.kind != "function":
                hops.append(Hop(facts.path, scope.row, scope.name))
                break
            hops.append(Hop(facts.path, scope.row, scope.qualname))
            if entry is None or entry.edge is None or scope in seen:
                break
            seen.add(scope)
            facts, node = entry.edge.facts, entry.edge.node
            scope = facts.scope_of(node).function
        hops.reverse()
        return hops


def _gives(function: Scope, name: str, caller: Caller) -> bool:
    """Whether a call surely passes something other than ``None`` for a parameter."""
    given = passed(function, name, caller)
    if given is None or is_none(given):
        return False
    if not isinstance(given, ast.Name):
        return True
    bindings = caller.facts.scope_of(given).function.bindings.get(given.id, ())
    return not any(binding.value is not None and is_none(binding.value) for binding in bindings)


def _runs_per_element(node: ast.AST, child: ast.AST, parent: ast.AST | None) -> bool:
    """Whether a comprehension, or its first clause, runs a child for each element: all but the first iterable."""
    if isinstance(node, ast.comprehension):
        first = isinstance(parent, _COMPREHENSIONS) and parent.generators[0] is node
        return first and child is not node.iter
    return isinstance(node, _COMPREHENSIONS) and child is not node.generators[0]


def _bound(node: ast.AST, child: ast.AST, facts: FileFacts) -> Frequency | None:
    """The limit that a node puts on one of its children."""
    if isinstance(node, ast.If):
        if child in node.body:
            if renews(node.body, node.test, facts):
                return Frequency.ONCE
            return _least(branch_limit(node.body, node.test), limit(node.test, facts))
        if child in node.orelse:
            return _least(branch_limit(node.orelse), negated_limit(node.test, facts))
    elif isinstance(node, ast.IfExp):
        if child is node.body:
            return limit(node.test, facts)
        return negated_limit(node.test, facts) if child is node.orelse else None
    elif isinstance(node, ast.BoolOp):
        index = next(i for i, part in enumerate(node.values) if part is child)
        return _short_circuit(node.op, node.values[:index], facts)
    elif isinstance(node, (ast.ExceptHandler, ast.Raise)) or (isinstance(node, ast.Assert) and child is node.msg):
        return Frequency.ONCE
    return None


def _is_debug(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and is_debug_flag(node.test)


def _least(*bounds: Frequency | None) -> Frequency | None:
    """The lowest of some limits."""
    return min((bound for bound in bounds if bound is not None), default=None)


def _short_circuit(op: ast.boolop, before: Sequence[ast.expr], facts: FileFacts) -> Frequency | None:
    """The limit that earlier operands put on a later one: ``self.debug and check()``."""
    if isinstance(op, ast.And):
        found = [bound for part in before if (bound := limit(part, facts)) is not None]
    else:
        found = [bound for part in before if (bound := negated_limit(part, facts)) is not None]
    return min(found, default=None)


def heat(
    project: Project,
    graph: CallGraph,
    values: Values,
    hot: frozenset[str] = frozenset(),
    cold: frozenset[str] = frozenset(),
) -> Heat:
    """Find the roots and spread hotness through the project."""
    found = Heat(project, graph, find_roots(project, graph, values), hot, cold)
    found.spread()
    return found
