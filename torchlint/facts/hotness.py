"""How often each line runs: frequencies spread from the roots through the call graph, with the path that proves it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torchlint.facts.callers import Caller, passed
from torchlint.facts.graph import CallGraph
from torchlint.facts.guards import branch_limit, early_exit, is_none, limit, negated_limit
from torchlint.facts.model import Bind, FileFacts, Scope
from torchlint.facts.project import Project, exported
from torchlint.facts.roots import Roots, cold_file, cold_function, find_roots, forwards, runs_each_time
from torchlint.facts.values import Values
from torchlint.rule import Frequency, Hop, Hotness

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(slots=True)
class Local:
    """Where a node stands in its function: limits on the way out, loops passed, and the root or function reached."""

    cap: Frequency | None = None
    loops: int = 0
    root: ast.AST | None = None
    episode: ast.AST | None = None

    def limit(self, found: Frequency | None) -> None:
        """Take in one more limit."""
        if found is not None:
            self.cap = found if self.cap is None else min(self.cap, found)


@dataclass(frozen=True, slots=True)
class Entry:
    """How often a function is entered, and the call (or root) that makes it so."""

    frequency: Frequency
    facts: FileFacts | None = None
    call: ast.AST | None = None
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

    def kinds(self, facts: FileFacts, node: ast.AST) -> frozenset[str]:
        """What makes a node hot: ``step``, ``update`` or both."""
        scope = facts.scope_of(node).function
        local = self._local(facts, node, scope)
        if local.root is not None:
            return frozenset(self.roots.loops.get(local.root) or self.roots.functions.get(scope, set()))
        entry = self.entries.get(scope)
        return entry.kinds if entry is not None else frozenset()

    # frequencies ----------------------------------------------------------------------------------------------------

    def _frequency(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Frequency:
        if self.is_cold(scope):
            return Frequency.ONCE
        local = self._local(facts, node, scope)
        if local.root is not None:
            kinds = self.roots.loops.get(local.root) or self.roots.functions.get(scope) or {"step"}
            found = Frequency.STEP if "step" in kinds else Frequency.UPDATE
            found = Frequency.INNER if local.loops else found
            if local.root is scope.node:
                entry = self.entries.get(scope)
                found = max(found, entry.frequency) if entry is not None else found
        else:
            entry = self.entries.get(scope)
            found = entry.frequency if entry is not None else Frequency.ONCE
            if local.loops and found >= Frequency.UPDATE:
                found = Frequency.INNER
            elif local.episode is not None:
                found = max(found, Frequency.EPISODE)
        return found if local.cap is None else min(found, local.cap)

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
                local.limit(early_exit(block, index))
            if current is None or current is scope.node:
                break
            if runs_each_time(current, child):
                if current in self.roots.loops:
                    local.root = current
                    return local
                if current in self.roots.episodes:
                    local.episode = local.episode or current
                else:
                    local.loops += 1
            elif isinstance(current, (ast.comprehension, *_COMPREHENSIONS)):
                local.loops += int(_runs_per_element(current, child, facts.parent.get(current)))
            else:
                local.limit(_bound(current, child, facts))
                if isinstance(current, (ast.If, ast.IfExp)):
                    local.limit(self._left_out(facts, current, child))
            child, current = current, facts.parent.get(current)
        if scope in self.roots.functions:
            local.root = scope.node
        return local

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
        calls: dict[Scope, list[tuple[FileFacts, ast.Call]]] = {}
        for facts in self.project.files.values():
            for scope in facts.scopes:
                if scope.calls:
                    calls[scope] = [(facts, call) for call in scope.calls if call in self.graph.callees]
        work = deque(scope for scope, found in calls.items() if found)
        waiting = set(work)
        while work:
            scope = work.popleft()
            waiting.discard(scope)
            for facts, call in calls.get(scope, ()):
                for target in self._pass_on(facts, call, scope):
                    if target not in waiting and target in calls:
                        waiting.add(target)
                        work.append(target)
        self._modules(calls)

    def _start(self) -> None:
        for scope, entry in self.roots.protocols.items():
            self.entries[scope] = Entry(entry.frequency, label=f"called by {entry.framework}", kinds=entry.kinds)
        for facts in self.project.files.values():
            for scope in facts.scopes:
                if scope.kind == "function" and (
                    f"{facts.module}:{scope.qualname}" in self.hot or facts.marks.get(scope.row) == "hot"
                ):
                    self.entries[scope] = Entry(Frequency.STEP, label="hot by your settings", kinds=frozenset({"step"}))

    def _pass_on(self, facts: FileFacts, call: ast.Call, scope: Scope) -> Iterator[Scope]:
        frequency = self._frequency(facts, call, scope)
        if frequency is Frequency.ONCE:
            return
        kinds = self.kinds(facts, call)
        for target in self.graph.callees[call]:
            if self.is_cold(target) or target is scope:
                continue
            if target.name == "reset":
                frequency = min(frequency, Frequency.EPISODE)
            old = self.entries.get(target)
            if old is not None and old.frequency >= frequency and kinds <= old.kinds:
                continue
            merged = kinds | (old.kinds if old is not None else frozenset())
            if old is not None and old.frequency >= frequency:
                self.entries[target] = Entry(old.frequency, old.facts, old.call, old.label, merged)
            else:
                self.entries[target] = Entry(frequency, facts, call, kinds=merged)
            yield target

    def _modules(self, calls: dict[Scope, list[tuple[FileFacts, ast.Call]]]) -> None:
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
            scope = work.popleft()
            for facts, call in calls.get(scope, ()):
                work.extend(self._pass_on(facts, call, scope))

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
            entry = self.entries.get(scope)
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
            if entry is None or entry.call is None or entry.facts is None or scope in seen:
                break
            seen.add(scope)
            facts, node = entry.facts, entry.call
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
            return _least(branch_limit(node.body, node.test), limit(node.test, facts))
        if child in node.orelse:
            return _least(branch_limit(node.orelse), negated_limit(node.test))
    elif isinstance(node, ast.IfExp):
        if child is node.body:
            return limit(node.test, facts)
        return negated_limit(node.test) if child is node.orelse else None
    elif isinstance(node, ast.BoolOp):
        index = next(i for i, part in enumerate(node.values) if part is child)
        return _short_circuit(node.op, node.values[:index], facts)
    elif isinstance(node, (ast.ExceptHandler, ast.Raise)) or (isinstance(node, ast.Assert) and child is node.msg):
        return Frequency.ONCE
    return None


def _least(*bounds: Frequency | None) -> Frequency | None:
    """The lowest of some limits."""
    return min((bound for bound in bounds if bound is not None), default=None)


def _short_circuit(op: ast.boolop, before: Sequence[ast.expr], facts: FileFacts) -> Frequency | None:
    """The limit that earlier operands put on a later one: ``self.debug and check()``."""
    if isinstance(op, ast.And):
        found = [bound for part in before if (bound := limit(part, facts)) is not None]
    else:
        found = [bound for part in before if (bound := negated_limit(part)) is not None]
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
