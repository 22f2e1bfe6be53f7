"""Where a node is in its function: the loops around it, and the conditions that keep it from running often."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TypeVar

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.jumps import leaves
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import fans_out
from torchlint.facts.code.tree import is_none
from torchlint.facts.hotness.around import enclosing_loop, runs_each_time, tested_before
from torchlint.facts.hotness.branches import raises
from torchlint.facts.hotness.conditions import goes_over_ends, is_debug_flag
from torchlint.facts.hotness.emptiness import for_empty
from torchlint.facts.hotness.flags import Flags, latches
from torchlint.facts.hotness.guards import (
    CONSTANT,
    COUNTED,
    EMPTY_DATA,
    END_OF_EPISODE,
    ERROR,
    FIRST_CALL,
    FULL_LIST,
    INTERVAL,
    LEAVES_LOOP,
    ONE_ROUND,
    OTHER_COMMAND,
    UNSET_OPTION,
    Bound,
    Guards,
    least,
)
from torchlint.facts.hotness.imagined import ImaginedSteps
from torchlint.facts.hotness.intervals import one_round
from torchlint.facts.hotness.missing import Missing
from torchlint.facts.hotness.options import Options
from torchlint.facts.hotness.roots import Roots
from torchlint.facts.hotness.samples import SampleLoops
from torchlint.facts.hotness.tokens import makes_tokens
from torchlint.facts.state.caches import kept_already, renews
from torchlint.facts.values.chosen import Choice, choices
from torchlint.late import dataclass
from torchlint.rule import Frequency

_Found = TypeVar("_Found", Bound, "Bound | None")
_ONE_ROUND = Bound(Frequency.EPISODE, ONE_ROUND.name)
# Guards that collect rounds: where an update comes of them, they say how often updates are.
_WAITING = frozenset(guard.name for guard in (INTERVAL, FULL_LIST, COUNTED))
# All that ``Places._bound`` knows.
_BOUNDING = frozenset({ast.If, ast.IfExp, ast.BoolOp, ast.ExceptHandler, ast.Raise, ast.Assert})


@dataclass(frozen=True, slots=True)
class Hold:
    """What keeps a node from running often: the most often that it lets it run, the guard, and where that stands."""

    limit: Frequency
    guard: str
    node: ast.AST


@dataclass(slots=True)
class Local:
    """Where a node is in its function: guards on the way out, loops passed, and the root or function reached.

    ``item`` is the loop of a generator that yields once each time around; ``holds`` are what makes up ``cap``;
    ``token`` is the loop around it that makes a token in each round, ``sample`` one that takes a sample in each,
    ``chunk`` one that takes several, ``generation`` one in whose rounds a model generates, ``driver`` a loop around
    that, and ``imagined`` one that runs a model a step further;
    ``turns`` are loops around the node in one of whose rounds alone it runs, each with the condition that says so;
    ``choices`` are tests of parameters that lead to it; ``collected`` is a loop that runs it for each element which
    another loop collected, and that loop; ``reader`` is the first of them where the other is the root.
    """

    cap: Frequency | None = None
    loops: list[ast.AST] = field(default_factory=list)
    root: ast.AST | None = None
    episode: ast.AST | None = None
    item: ast.AST | None = None
    token: ast.AST | None = None
    sample: ast.AST | None = None
    chunk: ast.AST | None = None
    generation: ast.AST | None = None
    driver: ast.AST | None = None
    imagined: ast.AST | None = None
    holds: list[Hold] = field(default_factory=list)
    turns: dict[ast.AST, ast.AST] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    collected: tuple[ast.AST, ast.AST] | None = None
    reader: ast.AST | None = None

    def under(self, handed: Sequence[Choice]) -> Local:
        """Return the same place for calls that have to pass choices of functions further down."""
        return replace(self, choices=[*self.choices, *handed]) if handed else self

    def hold(self, found: Bound | None, node: ast.AST) -> None:
        """Add a guard, and the node that sets it."""
        if found is not None:
            self._take(Hold(found.limit, found.guard, node))

    def _take(self, hold: Hold) -> None:
        self.cap = hold.limit if self.cap is None else min(self.cap, hold.limit)
        self.holds.append(hold)

    def turn(self, loop: ast.AST | None, node: ast.AST) -> None:
        """Record that a condition picks one round of a loop."""
        if loop is not None:
            self.turns.setdefault(loop, node)

    def passes(self, loop: ast.AST) -> None:
        """Count a loop, unless the node runs in one of its rounds alone."""
        if self.turns.pop(loop, None) is None:
            self.loops.append(loop)

    def end(self) -> Local:
        """Limit what runs in one round of a root, or of a loop around it, to once per episode."""
        if self.collected is not None:
            reader, collecting = self.collected
            self.collected = None
            if self.root is None:
                self.root, self.reader = collecting, reader
            else:
                self.passes(reader)
        for node in self.turns.values():
            self.hold(_ONE_ROUND, node)
        self.turns.clear()
        return self

    def _each_of(self, loop: ast.AST | None) -> ast.AST | None:
        """Give a loop unless the node runs in one of its rounds alone."""
        return loop if loop is None or loop not in self.turns else None

    def within(self, outer: Local) -> Local:
        """Add the context of the statement that a node is part of."""
        for hold in outer.holds:
            self._take(hold)
        self.token = self.token or self._each_of(outer.token)
        self.sample = self.sample or self._each_of(outer.sample)
        self.chunk = self.chunk or self._each_of(outer.chunk)
        self.imagined = self.imagined or self._each_of(outer.imagined)
        if self.item is None:
            self.item = outer.item
            for loop in outer.loops:
                self.passes(loop)
        self.choices += outer.choices
        self.generation, self.driver = self.generation or outer.generation, self.driver or outer.driver
        self.root, self.reader = outer.root, outer.reader
        self.episode = self.episode or outer.episode
        return self.end()


class _Before:
    """What the statements of a block limit further down in it, found once for all of its statements."""

    def __init__(
        self, block: Sequence[ast.stmt], facts: FileFacts, project: Project, guards: Guards, roots: Roots
    ) -> None:
        self.first = guards.of(FIRST_CALL)
        self.kept = kept_already(block, facts)
        updated = max((place for place, stmt in enumerate(block) if stmt in roots.paced), default=-1)
        iterated = max((place for place, stmt in enumerate(block) if stmt in roots.iterating), default=-1)
        self.exits = [
            (place, leaving, _with_update(found) if place < updated else _with_iteration(found, place < iterated))
            for place, leaving, found in guards.exits(block, facts)
        ]
        self.leaving = [(place, s) for place, s in enumerate(block) if isinstance(s, ast.If) and leaves(s.body)]
        self.choices = [
            (place, choice)
            for place, stmt in self.leaving
            for choice in choices(project, facts, stmt.test, truth=False)
        ]
        self.turns = [
            (place, stmt, loop)
            for place, stmt in self.leaving
            if (loop := _picked(guards, stmt.test, facts, truth=False)) is not None
        ]
        self.nothing = guards.of(EMPTY_DATA)
        self.empty = [
            (place, stmt)
            for place, stmt in self.leaving
            if not stmt.orelse
            # all that is left to do without data
            and for_empty(stmt.test, stmt.body, block[place + 1 :], facts, after=True) is False
        ]

    def hold(self, local: Local, stmt: ast.stmt, index: int) -> None:
        """Add the guards of all earlier statements to the one at a place."""
        if any(place < index <= last for place, last in self.kept):
            local.hold(self.first, stmt)
        for place, earlier, found in self.exits:
            if place < index:
                local.hold(found, earlier)
        for place, earlier, loop in self.turns:
            if place < index:
                local.turn(loop, earlier)
        for place, earlier in self.empty:
            if place < index:
                local.hold(self.nothing, earlier)
        for place, choice in self.choices:
            if place < index:
                local.choices.append(choice)


@dataclass(eq=False, slots=True)
class Places:
    """Answers where nodes stand, with a memory."""

    project: Project
    graph: CallGraph
    roots: Roots
    guards: Guards
    offered: bool
    _locals: dict[ast.AST, Local] = field(default_factory=dict)
    _blocks: dict[ast.stmt, Local] = field(default_factory=dict)
    _before: dict[ast.stmt, _Before] = field(default_factory=dict)
    _yielding: dict[Scope, frozenset[ast.AST]] = field(default_factory=dict)
    flags: Flags = field(init=False)
    options: Options = field(init=False)
    _tokens: dict[ast.AST, bool] = field(default_factory=dict)
    _samples: SampleLoops = field(init=False)
    _imagined: ImaginedSteps = field(init=False)
    _open: int = 0

    def __post_init__(self) -> None:
        missing = Missing(self.project, self.graph, self.guards, self._cap, self._rooted)
        self.flags = Flags(self.project, self.graph, self.guards, missing)
        self.options = Options(self.project, self.graph, self.offered)
        self._imagined = ImaginedSteps(self.project, self.graph)
        self._samples = SampleLoops(self.graph)

    def keep(self, before: Places) -> None:
        """Keep the contexts of nodes; an edited file has other nodes."""
        self._locals.update(before._locals)
        self._blocks.update(before._blocks)
        self._before.update(before._before)

    def _rooted(self, loop: ast.AST) -> bool:
        """Whether a loop is a root, or stands around one."""
        return loop in self.roots.loops or loop in self.roots.episodes

    def _cap(self, facts: FileFacts, node: ast.AST) -> Frequency | None:
        """The limit on a node from the branches around it."""
        return self.of(facts, node, facts.scope_of(node).function).cap

    def of(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        """Return the context of a node in the function that it belongs to."""
        found = self._locals.get(node)
        if found is None:
            found = self._stand(facts, node, scope)
            if not self._open:  # else it may lack what is being asked for
                self._locals[node] = found
        return found

    def _stand(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        """Where a node stands; what is around a block of statements is the same for all of them."""
        if not isinstance(node, ast.stmt) or node not in facts.places:
            return self._climb(facts, node, scope)
        first = facts.places[node][0][0]
        around = self._blocks.get(first)
        if around is None:
            around = self._climb(facts, first, scope)
            if not self._open:
                self._blocks[first] = around
        local = Local()
        self._hold_in_block(local, facts, node)
        return local.within(around)

    def _hold_in_block(self, local: Local, facts: FileFacts, stmt: ast.stmt) -> None:
        """Take in the limits that earlier statements of its block put on a statement."""
        block, index = facts.places[stmt]
        before = self._before.get(block[0])
        if before is None:
            before = self._before[block[0]] = _Before(block, facts, self.project, self.guards, self.roots)
            self._open += 1
            for place, leaving in before.leaving:
                found = None if raises(leaving.body) else self._flagged(facts, leaving.test, False)
                if found is not None:
                    before.exits.append((place, leaving, found))
            self._open -= 1
        before.hold(local, stmt, index)

    def _mark_rounds(self, local: Local, facts: FileFacts, loop: ast.AST) -> None:
        """Note a loop that makes a token, takes a sample of a rollout, or steps a model, in each round."""
        if loop in local.turns:
            return
        if local.token is None and self._makes_tokens(facts, loop):
            local.token = loop
        if local.sample is None and loop not in self.roots.episodes and self._samples.of(facts, loop):
            local.sample = loop
        if local.chunk is None and loop not in self.roots.episodes and self._samples.in_chunks(facts, loop):
            local.chunk = loop
        if local.imagined is None and loop not in self.roots.episodes and self._imagined.of(facts, loop):
            local.imagined = loop

    def _mark_episode(self, local: Local, loop: ast.AST, learns: bool) -> None:
        """Note a loop around roots, or one in whose rounds a model generates.

        Where a loop ``learns`` only in a branch, once many rounds have generated, that branch is no such round.
        """
        if local.generation is not None:
            local.driver = local.driver or loop
        elif loop in self.roots.generating and not learns:
            local.generation = loop
        local.episode = local.episode or loop

    def _climb(self, facts: FileFacts, node: ast.AST, scope: Scope) -> Local:
        """Where a node is in what is around it; of a statement without what stands before it in its block."""
        local = Local()
        child, current = node, facts.parent.get(node)
        last, learns = None, False  # what leaves the loop at the end of a branch around the node; a branch with updates
        while True:
            if child is not node and child in facts.places:
                if not isinstance(node, ast.stmt):
                    outer = self.of(facts, child, scope)
                    around = [loop for loop in outer.loops if not fans_out(node, loop)]
                    return local.within(outer if len(around) == len(outer.loops) else replace(outer, loops=around))
                self._hold_in_block(local, facts, child)
            if current is None or current is scope.node:
                break
            if runs_each_time(current, child):
                self._mark_rounds(local, facts, current)
                if current in self.roots.loops:
                    if last is not None:
                        local.hold(self.guards.of(LEAVES_LOOP), last)
                    local.root = current
                    return local.end()
                if local.item is None and scope.yields and current in self._yielding_loops(scope):
                    local.item = current
                if current in self.roots.episodes:
                    self._mark_episode(local, current, learns)
                elif (ended := self.guards.of(END_OF_EPISODE)) is not None and goes_over_ends(current, facts):
                    local.hold(None if local.item is current else ended, current)
                elif local.item is None and last is None:
                    self._goes_over(local, current)
                last = last if isinstance(last, ast.Return) else None
            elif isinstance(current, (ast.comprehension, *COMPREHENSIONS)):
                if not fans_out(node, current) and _runs_per_element(current, child, facts.parent.get(current)):
                    self._goes_over(local, current)
                    self._mark_rounds(local, facts, current)
            else:
                if child in self.roots.aside:
                    local.hold(self.guards.of(OTHER_COMMAND), current)
                updating = isinstance(current, ast.If) and current in self.roots.updating and not latches(current)
                found, held = self._held(current, child, facts)
                local.hold(None if _yields_beside(facts, scope, current, child) else found, current)
                learns |= held
                if isinstance(current, ast.If) and not updating and self.guards.of(LEAVES_LOOP) is not None:
                    last = last or _leaves(current, child)
                for test, truth in tested_before(current, child):
                    if not updating:
                        local.turn(_picked(self.guards, test, facts, truth), current)
                    local.choices += choices(self.project, facts, test, truth)
                    local.hold(self._flagged(facts, test, truth, updating), current)
                if isinstance(current, (ast.If, ast.IfExp)) and child is current.test:
                    local.hold(self._constant(facts, current.test), current)
            child, current = current, facts.parent.get(current)
        if scope in self.roots.functions:
            local.root = scope.node
        return local.end()

    def _goes_over(self, local: Local, loop: ast.AST) -> None:
        """Count a loop, or note that it has as many rounds as one that collected for it."""
        collecting = self.roots.collected.get(loop)
        if collecting is None:
            local.passes(loop)
        else:
            local.collected = local.collected or (loop, collecting)

    def _held(self, node: ast.AST, child: ast.AST, facts: FileFacts) -> tuple[Bound | None, bool]:
        """The guard that a node puts on a child, given the updates in that branch, and whether it has any."""
        found = self._bound(node, child, facts)
        if not isinstance(node, ast.If):
            return found, False
        arm = _arm(node, child)
        updating = not self.roots.updating.isdisjoint(arm)
        if found is not None and found.limit is Frequency.ONCE and updating and not _is_debug(node):
            return Bound(Frequency.UPDATE, found.guard), True  # every few batches or steps, but then an update
        paced, iterates = (not each.isdisjoint(arm) for each in (self.roots.paced, self.roots.iterating))
        learns = paced or iterates or any(map(self._rooted, arm))
        return _with_update(found) if paced else _with_iteration(found, iterates), learns

    def _bound(self, node: ast.AST, child: ast.AST, facts: FileFacts) -> Bound | None:
        """The guard that a node puts on one of its children."""
        if node.__class__ not in _BOUNDING:
            return None
        guards = self.guards
        if isinstance(node, (ast.If, ast.IfExp)) and child is not node.test:
            nothing = guards.of(EMPTY_DATA)
            if nothing is not None and _is_for_empty(node, child, facts):
                return nothing
        if isinstance(node, ast.If):
            if child in node.body:
                kept = guards.of(FIRST_CALL)
                if kept is not None and renews(node.body, node.test, facts):
                    return kept
                return least(guards.branch(node.body, node.test), guards.bound(node.test, facts))
            if child in node.orelse:
                return least(guards.branch(node.orelse), guards.bound(node.test, facts, truth=False))
        elif isinstance(node, ast.IfExp):
            return guards.bound(node.test, facts, child is node.body) if child is not node.test else None
        elif isinstance(node, ast.BoolOp):  # ``self.debug and check()``
            return least(*(guards.bound(test, facts, truth) for test, truth in tested_before(node, child)))
        elif isinstance(node, (ast.ExceptHandler, ast.Raise)) or (isinstance(node, ast.Assert) and child is node.msg):
            return guards.of(ERROR)
        return None

    def _makes_tokens(self, facts: FileFacts, loop: ast.AST) -> bool:
        found = self._tokens.get(loop)
        if found is None:
            found = self._tokens[loop] = makes_tokens(facts, loop)
        return found

    def _constant(self, facts: FileFacts, test: ast.expr) -> Bound | None:
        """The guard on a test that asks for no tensor and runs no other work: of a constant."""
        tested = test.operand if isinstance(test, ast.UnaryOp) else test
        plain = isinstance(tested, ast.Name) and self.options.literals(facts, tested) is not None
        return self.guards.of(CONSTANT) if plain else None

    def _flagged(self, facts: FileFacts, test: ast.expr, truth: bool, updating: bool = False) -> Bound | None:
        """The guard on what runs when a test has a truth value, from how often its flags are set."""
        if self.options.never(facts, test, truth) or self.guards.defaults.unset(facts, test, truth):
            return self.guards.of(UNSET_OPTION)
        asks = isinstance(test, ast.Compare) and is_none(test.comparators[0])
        return self.flags.bound(facts, test, truth) if asks or not updating else None

    def _yielding_loops(self, scope: Scope) -> frozenset[ast.AST]:
        """The loops of a generator that yield each time around; one around roots may not yield in a branch."""
        if scope not in self._yielding:
            loops = ((enclosing_loop(scope.file, node, scope), scope.file.statement(node)) for node in scope.yields)
            inner = ((loop, stmt in getattr(loop, "body", ())) for loop, stmt in loops if loop is not None)
            self._yielding[scope] = frozenset(loop for loop, each in inner if each or loop not in self.roots.episodes)
        return self._yielding[scope]


def _yields_beside(facts: FileFacts, scope: Scope, branching: ast.AST, child: ast.AST) -> bool:
    """Whether a generator yields in the branch that holds a statement: it runs for each item that is drawn."""
    if not scope.yields or not isinstance(branching, ast.If):
        return False
    arm = _arm(branching, child)
    return any(part in arm for node in scope.yields for part, above in facts.climb(node) if above is branching)


def _runs_per_element(node: ast.AST, child: ast.AST, parent: ast.AST | None) -> bool:
    """Whether a comprehension, or its first clause, runs a child for each element: all but the first iterable."""
    if isinstance(node, ast.comprehension):
        first = isinstance(parent, COMPREHENSIONS) and parent.generators[0] is node
        return first and child is not node.iter
    return isinstance(node, COMPREHENSIONS) and child is not node.generators[0]


def _is_for_empty(branching: ast.If | ast.IfExp, child: ast.AST, facts: FileFacts) -> bool:
    """Whether a branch is there for data that is empty."""
    body, orelse = branching.body, branching.orelse
    if isinstance(branching, ast.If) and not branching.orelse and leaves(branching.body):
        orelse = _following(branching, facts)
    arms = [arm if isinstance(arm, list) else [arm] for arm in (body, orelse)]
    return for_empty(branching.test, arms[0], arms[1], facts) is (child in arms[0])


def _following(stmt: ast.stmt, facts: FileFacts) -> list[ast.stmt]:
    """The statements of its block behind a statement."""
    block, index = facts.places[stmt]
    return [*block[index + 1 :]]


def _leaves(branching: ast.If, child: ast.AST) -> ast.stmt | None:
    """The ``break`` or ``return`` at the end of the branch that holds a node."""
    block = _arm(branching, child)
    return block[-1] if block and isinstance(block[-1], (ast.Break, ast.Return)) else None


def _arm(branching: ast.If, child: ast.AST) -> Sequence[ast.stmt]:
    """The statements of the branch that holds a node."""
    return next((block for block in (branching.body, branching.orelse) if child in block), ())


def _with_update(found: _Found) -> _Found:
    """The guard on code that holds an update, or a call of one: what waits for it runs as often as it does."""
    return found._replace(limit=Frequency.UPDATE) if found is not None and found.guard in _WAITING else found


def _with_iteration(found: _Found, iterates: bool) -> _Found:
    """The guard on code that calls what loops over updates: it waits for a rollout, and runs once for each."""
    if iterates and found is not None and found.guard in _WAITING:
        return found._replace(limit=max(found.limit, Frequency.EPISODE))
    return found


def _is_debug(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and is_debug_flag(node.test)


def _picked(guards: Guards, test: ast.expr, facts: FileFacts, truth: bool) -> ast.AST | None:
    """The loop of whose rounds a condition picks one, if that is a guard."""
    return one_round(test, facts, truth) if guards.of(ONE_ROUND) is not None else None
