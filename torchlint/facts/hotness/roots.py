"""Where hot code begins: loops that step an environment or run gradient updates, and entry points of frameworks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import field
from itertools import takewhile

from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.indirect import indirect
from torchlint.facts.code.live import Live
from torchlint.facts.code.model import FUNCTIONS, LOOPS, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.hotness import environments
from torchlint.facts.hotness.answering import answers
from torchlint.facts.hotness.around import (
    around,
    branches,
    enclosing_loop,
    loops_of_one_step,
    loops_of_one_update,
    unlooped,
)
from torchlint.facts.hotness.beginnings import runs
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.hotness.collected import loops_over_collected
from torchlint.facts.hotness.entering import MOST
from torchlint.facts.hotness.evaluation import begins_episode, goes_back
from torchlint.facts.hotness.exemptions import (
    AT_INTERVALS,
    BEFORE_LOOP,
    SHOWN,
    SHOWS,
    TRIAL,
    TRIES_OUT,
    Evaluations,
    Exemption,
    Shown,
    at_intervals,
    exempts,
    first_moves,
    makes_object,
    resets,
    shows,
    starts_over,
    trial,
)
from torchlint.facts.hotness.fitting import accumulating, fitting
from torchlint.facts.hotness.guards import Guards
from torchlint.facts.hotness.iterations import demoted
from torchlint.facts.hotness.phases import STEP, UPDATE
from torchlint.facts.hotness.programs import Programs
from torchlint.facts.hotness.protocols import EntryPoint, entry_point, entry_points
from torchlint.facts.hotness.receivers import Receivers
from torchlint.facts.hotness.rounds import find_rounds, waits_to_learn
from torchlint.facts.hotness.teams import loops_of_teams
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Frequency

_RECEIVES = method_names(receives=True)

Begun = tuple[Scope, ast.Call, str]
"""A call that steps an environment or runs a gradient update, where it stands, and which of the two it does."""


@dataclass(eq=False, slots=True)
class Roots:
    """The roots: loops and functions, each with what makes it one (``step``, ``update``) or its protocol.

    ``drivers`` are functions that contain or reach a root loop; ``episodes`` the loops around these, and ``programs``
    the functions that hold one around steps of an environment; ``receivers`` the objects on which the ``functions``
    are roots; ``updating`` the statements that hold a gradient update themselves; ``paced`` the statements that hold
    one, or a call that leads to one, with no loop between; ``iterating`` those that hold a call of what loops over
    updates, likewise; ``aside`` the statements that run instead of a step, when a worker is sent another command;
    ``fitting`` the functions that hold a loop of updates, ``iterations`` also those that lead to one, ``cycling`` those
    that do so in each round of a loop. ``given`` are the functions that are handed to frameworks, ``begun`` the steps
    and updates of each file, from which all others are found. ``exempt`` are the calls and loops with a step or an
    update in them that make nothing hot; ``collected`` the loops that have as many rounds as one of the ``loops``, each
    with that one. ``generating`` are loops in whose rounds a language model makes what is learned from later, with no
    update among them but in a branch, ``rollouts`` functions that do so and that no known code calls.
    """

    loops: dict[ast.AST, set[str]] = field(default_factory=dict)
    functions: dict[Scope, set[str]] = field(default_factory=dict)
    receivers: dict[Scope, dict[Receiver, set[str]]] = field(default_factory=dict)
    protocols: dict[Scope, EntryPoint] = field(default_factory=dict)
    drivers: set[Scope] = field(default_factory=set)
    episodes: set[ast.AST] = field(default_factory=set)
    programs: set[Scope] = field(default_factory=set)
    updating: set[ast.AST] = field(default_factory=set)
    paced: set[ast.AST] = field(default_factory=set)
    iterating: set[ast.AST] = field(default_factory=set)
    iterations: set[Scope] = field(default_factory=set)
    cycling: set[Scope] = field(default_factory=set)
    aside: set[ast.AST] = field(default_factory=set)
    fitting: set[Scope] = field(default_factory=set)
    given: dict[Scope, EntryPoint] = field(default_factory=dict)
    begun: dict[FileFacts, list[Begun]] = field(default_factory=dict)
    exempt: dict[ast.AST, Exemption] = field(default_factory=dict)
    collected: dict[ast.AST, ast.AST] = field(default_factory=dict)
    generating: set[ast.AST] = field(default_factory=set)
    rollouts: set[Scope] = field(default_factory=set)

    def holding(self, project: Project) -> frozenset[Scope]:
        """Return the functions that are roots, and the scopes around loops that are roots or run as often."""
        found = self.functions.keys() | self.rollouts
        for node in (*self.loops, *self.episodes, *self.collected):
            facts = next((facts for facts in project.files.values() if node in facts.parent), None)
            found.update(facts.scope_of(node).outward() if facts is not None else ())
        return frozenset(found)

    def edited(
        self, project: Project, graph: CallGraph, values: Values, guards: Guards, live: Live, edits: FileEdits
    ) -> Roots:
        """Return the roots of a project after edits of files; those in the rest are kept."""
        kept = Roots(begun={facts: begun for facts, begun in self.begun.items() if not edits.is_old(facts)})
        kept.given = {now: entry for scope, entry in self.given.items() if (now := edits.scope(scope)) is not None}
        return _found_roots(kept, project, graph, values, guards, live, list(edits.files.values()))


def find_roots(project: Project, graph: CallGraph, values: Values, guards: Guards, live: Live) -> Roots:
    """Find all roots of a project, and the places that run functions without calling them."""
    return _found_roots(Roots(), project, graph, values, guards, live, list(project.files.values()))


def _found_roots(
    roots: Roots,
    project: Project,
    graph: CallGraph,
    values: Values,
    guards: Guards,
    live: Live,
    files: Sequence[FileFacts],
) -> Roots:
    """Look into some files, and find the roots that these and what is known of the others lead to."""
    for scope, entry in indirect(project, graph, values, files).items():
        roots.given.setdefault(scope, entry)
    roots.protocols = dict(roots.given)
    for facts in files:
        if not cold_file(facts):
            begun = _begun(facts, graph, values, roots.exempt)
            roots.begun[facts] = [each for each in begun if not live.is_dead(each[0])]
    found = [each for facts in project.files.values() for each in roots.begun.get(facts, ())]
    stepped = [(scope, call) for scope, call, kind in found if kind == STEP]
    answered = answers(project, graph, stepped)
    found += [(scope, call, STEP) for scope, call in answered if not cold_file(scope.file)]
    stepping: dict[Scope, list[ast.AST]] = {}
    for scope, call, kind in found:
        if kind == STEP:
            stepping.setdefault(scope, []).append(call)
        else:
            roots.updating.update(around(scope, call))
    for scope, steps in stepping.items():
        roots.aside.update(_other_commands(scope, steps))
    shown = Shown(graph)
    roots.exempt.update((call, SHOWN) for scope, call, _ in found if shown.only(scope, call))
    seen = [each for each in found if each[1] not in roots.exempt]
    _protocols(project, roots, live)
    _climb(roots, Receivers(project, graph), Programs(project, graph), guards, seen)
    updates_of = ((scope, call) for scope, call, kind in found if kind == UPDATE)
    inline = {loop for scope, call in updates_of for loop in loops_of_one_update(scope.file, call, scope)}
    roots.episodes |= demoted(project, graph, roots.loops, inline)
    for loop in list(loops_of_teams(project, graph, roots.loops)):
        roots.loops[loop] = {UPDATE}
    roots.fitting = fitting(project, roots.loops, roots.functions)
    roots.fitting -= accumulating(
        graph, roots.fitting, [each[:2] for each in found if each[2] == UPDATE], roots.functions
    )
    roots.iterating, roots.iterations, roots.cycling = _iterating(graph, roots.fitting)
    _drive(project, graph, roots)
    rounds = find_rounds(project, graph, guards, roots.loops, roots.episodes)
    updates = roots.iterating | roots.paced | roots.loops.keys()
    waiting = {loop for loop in rounds.loops & roots.episodes if waits_to_learn(loop, updates)}
    roots.generating, roots.rollouts = (rounds.loops - roots.episodes) | waiting, rounds.functions
    roots.episodes |= rounds.loops
    for facts in project.files.values():
        roots.collected.update(loops_over_collected(project, facts, _loops_of(facts, roots)))
    return roots


def _begun(
    facts: FileFacts, graph: CallGraph, values: Values, exempt: MutableMapping[ast.AST, Exemption]
) -> Iterator[Begun]:
    """The steps and updates of a file; those that are exempt go into a table."""
    for scope in facts.scopes:
        for call in scope.calls:
            kind = runs(facts, call, values)
            reason = exempts(scope, call, kind, graph) if kind else None
            if reason is not None:
                exempt[call] = reason
            elif kind:
                yield scope, call, kind


def _climb(roots: Roots, receivers: Receivers, programs: Programs, guards: Guards, found: Sequence[Begun]) -> None:
    """Mark the innermost loop around each step or update, in the callers when the function itself has none.

    Functions on the way are roots too, for someone else's loop may call them, unless they begin with a reset, make an
    object of their class, a program runs them once or a framework seldom; those of base classes for objects of the
    class that steps or updates.
    """
    todo: list[tuple[Scope, ast.AST, str, bool, Receiver]] = []
    steps = _steps(found)
    looping = {scope for scope, made in steps.items() if any(enclosing_loop(scope.file, each, scope) for each in made)}
    reset = {scope: resets(scope) for scope in steps}
    opening = {step for scope, made in steps.items() for step in first_moves(scope, made)}
    for scope, begun, kind in found:
        own = Receiver(scope.method_of.dotted) if scope.method_of is not None else ANY
        fresh = kind == STEP and (makes_object(scope) or starts_over(begun, reset[scope]))
        todo.append((scope, begun, kind, fresh, own))
    evaluations = Evaluations(receivers.graph, _learning(found))
    seen: dict[tuple[Scope, str, bool], set[Receiver]] = {}
    while todo:
        scope, call, kind, fresh, cls = todo.pop()
        facts = scope.file
        loop = enclosing_loop(facts, call, scope)
        if at_intervals(scope, call) or (kind == STEP and _evaluates(scope, evaluations, roots)):
            roots.exempt[call] = AT_INTERVALS
            continue
        if loop is not None and _is_exempt(roots, scope, loop, programs):
            continue
        if kind == UPDATE and call not in receivers.graph.weak:
            roots.paced.update(unlooped(scope, call))
        if kind == STEP and (call in opening if loop is not None else scope in looping):
            roots.exempt[call] = BEFORE_LOOP
            continue
        if loop is not None:
            _mark(roots, receivers.project, scope, call, kind)
            continue
        classes = seen.setdefault((scope, kind, fresh), set())
        cls = cls if len(classes) < MOST else ANY
        if scope.kind != "function" or _prepares(scope) or classes & {cls, ANY}:
            continue
        if programs.once(scope) or _is_seldom_called(roots.protocols.get(scope)):
            continue
        classes.add(cls)
        if fresh:
            roots.exempt[call] = TRIES_OUT
        else:
            roots.functions.setdefault(scope, set()).add(kind)
            roots.receivers.setdefault(scope, {}).setdefault(cls, set()).add(kind)
        entrances = [(where, node, where.scope_of(node).function) for where, node in _entrances(receivers.graph, scope)]
        rounds = {home for where, node, home in entrances if kind == STEP and enclosing_loop(where, node, home)}
        for where, node, home in entrances:
            above = receivers.above(node, home, cls)
            if above is None or cold_file(where):
                continue
            if home in rounds and enclosing_loop(where, node, home) is None:
                roots.exempt[node] = BEFORE_LOOP
                continue
            if not _gated(guards, where, node):
                todo.append((home, node, kind, fresh, above))
            elif kind == UPDATE and node not in receivers.graph.weak and not at_intervals(home, node):
                roots.paced.update(unlooped(home, node))


def _steps(found: Sequence[Begun]) -> dict[Scope, list[ast.Call]]:
    """The calls of each function that step an environment."""
    steps: dict[Scope, list[ast.Call]] = {}
    for scope, call, kind in found:
        if kind == STEP:
            steps.setdefault(scope, []).append(call)
    return steps


def _is_seldom_called(entry: EntryPoint | None) -> bool:
    """Whether a framework calls a function less often than once per gradient update."""
    return entry is not None and entry.frequency < Frequency.UPDATE


def _evaluates(scope: Scope, evaluations: Evaluations, roots: Roots) -> bool:
    """Whether a program runs a function at intervals to evaluate, or a framework evaluates with it."""
    entry = roots.protocols.get(scope)
    framework = entry is not None and entry.frequency is Frequency.EPISODE and not entry.kinds
    return framework or evaluations.holds(scope)


def _prepares(scope: Scope) -> bool:
    """Whether a function prepares steps: what it runs does not belong to one."""
    return begins_episode(scope) or goes_back(scope) or scope.name == "__init__"


def _mark(roots: Roots, project: Project, scope: Scope, call: ast.AST, kind: str) -> None:
    """Make the innermost loop around a step or update a root, and those whose rounds it is a part of."""
    of_one = loops_of_one_update(scope.file, call, scope)
    loops = of_one if kind == UPDATE else loops_of_one_step(project, scope.file, call, scope)
    for loop in loops:
        roots.loops.setdefault(loop, set()).add(kind)


def _learning(found: Sequence[Begun]) -> dict[Scope, list[ast.AST]]:
    """The loops of functions that hold an update themselves."""
    loops: dict[Scope, list[ast.AST]] = {}
    for scope, call, kind in found:
        loop = enclosing_loop(scope.file, call, scope) if kind == UPDATE else None
        if loop is not None:
            loops.setdefault(scope.function, []).append(loop)
    return loops


def _iterating(graph: CallGraph, fitting: Iterable[Scope]) -> tuple[set[ast.AST], set[Scope], set[Scope]]:
    """What holds the calls of functions with a loop of updates, or a call outside of loops that leads to one.

    Then these functions, and those that call one of them in a loop.
    """
    found: set[ast.AST] = set()
    cycling: set[Scope] = set()
    todo, seen = list(fitting), set(fitting)
    while todo:
        for where, node in graph.places(todo.pop()):
            home = where.scope_of(node).function
            if node in graph.weak:
                continue
            found.update(unlooped(home, node))
            if home.kind != "function":
                continue
            if enclosing_loop(where, node, home) is not None:
                cycling.add(home)
            elif home not in seen:
                seen.add(home)
                todo.append(home)
    return found, seen, cycling


def _is_exempt(roots: Roots, scope: Scope, loop: ast.AST, programs: Programs) -> bool:
    """Whether a loop that steps or updates makes nothing hot; it is noted why."""
    exempt = SHOWS if shows(loop) else TRIAL if trial(scope, loop, programs) else None
    if exempt is not None:
        roots.exempt[loop] = exempt
    return exempt is not None


def _entrances(graph: CallGraph, scope: Scope) -> Iterator[tuple[FileFacts, ast.AST]]:
    """All places that run a function; for a call of a parameter outside of loops those that pass this function.

    So what else is passed for the parameter runs no more often: ``call(self._train)`` beside ``call(self._evaluate)``.
    Objects that are passed are told apart by their classes.
    """
    for where, node in graph.places(scope):
        passing = graph.via.get((node, scope), ()) if node not in graph.receivers else ()
        if passing and enclosing_loop(where, node, where.scope_of(node).function) is None:
            yield from ((caller.facts, caller.call) for caller in passing)
        else:
            yield where, node


def _other_commands(scope: Scope, steps: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """What a worker does instead of a step: ``elif command == "get_spaces": ...``."""
    stepping = {node for step in steps for node in scope.file.ancestors(step)}
    for step in steps:
        chain = [node for node in branches(scope, step) if _command(scope.file, node)]
        part: ast.stmt | None = chain[-1] if chain else None
        while isinstance(part, ast.If) and _command(scope.file, part):
            if stepping.isdisjoint(part.body):
                yield from part.body
            part = part.orelse[0] if len(part.orelse) == 1 else None


def _command(facts: FileFacts, branching: ast.If) -> bool:
    """Whether a condition asks for a text that was received: ``command, data = remote.recv()``."""
    match branching.test:
        case ast.Compare(left=ast.Name(id=name) as left, ops=[ast.Eq()], comparators=[ast.Constant(value=str())]):
            bindings = facts.scope_of(left).function.bindings.get(name, ())
            calls = (binding.value.func for binding in bindings if isinstance(binding.value, ast.Call))
            return any(isinstance(func, ast.Attribute) and func.attr in _RECEIVES for func in calls)
    return False


def _gated(guards: Guards, facts: FileFacts, node: ast.AST) -> bool:
    """Whether a node stands under a condition that makes it seldom."""
    return any(
        isinstance(current, ast.If) and child in current.body and guards.bound(current.test, facts) is not None
        for child, current in facts.climb(node, *FUNCTIONS, *LOOPS)
    )


def _protocols(project: Project, roots: Roots, live: Live) -> None:
    hidden = project.names.hidden & project.unused()
    for cls in project.classes.values():
        if cold_file(cls.file) or cls.file.path in hidden or live.is_dead(cls):
            continue
        known = [*filter(None, map(entry_points, project.ancestry(cls.dotted))), environments.entry_of(project, cls)]
        for entries in known:
            for method, entry in entries.items():
                for binding in cls.bindings.get(method, ()):
                    if binding.scope is not None:
                        roots.protocols.setdefault(binding.scope, entry)
        for base in project.ancestry(cls.dotted) if project.models else ():
            for method, often in project.models.called(base):
                for binding in cls.bindings.get(method, ()):
                    if binding.scope is not None:
                        roots.protocols[binding.scope] = entry_point(often, base)


def _drive(project: Project, graph: CallGraph, roots: Roots) -> None:
    """Mark the functions that reach a root loop, and the loops around what they run, as per episode."""
    by_node: dict[ast.AST, Scope] = {scope.node: scope for facts in project.files.values() for scope in facts.scopes}
    todo: list[tuple[Scope, bool]] = []
    marked = [(loop, file) for file in project.files.values() for loop in _loops_of(file, roots)]
    for loop, facts in marked:
        steps = "step" in roots.loops[loop]
        _mark_outer(facts, loop, roots, by_node, steps)
        todo.append((facts.scope_of(loop).function, steps))
    seen: set[tuple[Scope, bool]] = set()
    while todo:
        driver = todo.pop()
        if driver in seen:
            continue
        seen.add(driver)
        scope, steps = driver
        roots.drivers.add(scope)
        for caller in graph.callers.get(scope, ()):
            if caller.call in graph.weak:
                continue
            _mark_outer(caller.facts, caller.call, roots, by_node, steps)
            todo.append((caller.facts.scope_of(caller.call).function, steps))


def _loops_of(facts: FileFacts, roots: Roots) -> list[ast.AST]:
    return [stmt for stmt in facts.places if stmt in roots.loops]


def _mark_outer(facts: FileFacts, node: ast.AST, roots: Roots, by_node: Mapping[ast.AST, Scope], steps: bool) -> None:
    for current in takewhile(lambda each: each not in by_node, facts.ancestors(node)):
        if isinstance(current, LOOPS) and current not in roots.loops:
            roots.episodes.add(current)
            if steps:
                roots.programs.add(facts.scope_of(current).function)
