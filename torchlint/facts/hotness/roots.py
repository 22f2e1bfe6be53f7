"""Where hot code begins: loops that step an environment or run gradient updates, and entry points of frameworks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeGuard

from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.indirect import indirect
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.code.relaying import fans_out
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness import environments
from torchlint.facts.hotness.around import around, branches, unlooped
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.hotness.entering import MOST
from torchlint.facts.hotness.evaluation import begins_episode
from torchlint.facts.hotness.fitting import fitting
from torchlint.facts.hotness.guards import Guards
from torchlint.facts.hotness.intervals import shows_at_intervals
from torchlint.facts.hotness.iterations import demoted
from torchlint.facts.hotness.programs import Programs
from torchlint.facts.hotness.protocols import EntryPoint, entry_point, entry_points
from torchlint.facts.hotness.receivers import Receivers
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import method_names
from torchlint.rule import Kind

_ENV = regex(r"(^|_)(v?envs?|environments?|vecenv|venv|vec_env|world|simulator)\d*($|_)", re.IGNORECASE)
_NOT_ENV = regex(
    r"(optim\w*|opt|sched\w*|scaler|prof\w*|lr|timer|pbar|bar|meter|accelerator|run|logger|manager)\d*$", re.I
)
_MAKES_ENV = regex(r"(^|_)(make|create|build)(_|$)|^[A-Z]")
_OPTIMIZER = regex(r"(optim\w*|(^|_)opt\w*|scaler|trainer)\d*$", re.IGNORECASE)
_TRAINER = regex(r"trainer\d*$", re.IGNORECASE)
_SHOWS = regex(r"_*(save\w*|render\w*|plot\w*|visuali\w+|export\w*|test_\w+|\w+_test|print_\w+)$")
_ADVANCING = method_names(environment=("acts", "answers"))
# Methods of pipes and queues that give what was sent.
_RECEIVES = frozenset({"recv", "recv_multipart", "get", "get_nowait"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# A program that runs fewer rounds in all is a trial of it.
_TRIAL = 5

Begun = tuple[Scope, ast.Call, str]
"""A call that steps an environment or runs a gradient update, where it stands, and which of the two it does."""


@dataclass(eq=False, slots=True)
class Roots:
    """The roots: loops and functions, each with what makes it one (``step``, ``update``) or its protocol.

    ``drivers`` are functions that contain or reach a root loop; ``episodes`` the loops around these, and ``programs``
    the functions that hold one around steps of an environment; ``receivers`` the objects on which the
    ``functions`` are roots; ``updating`` the
    branches that hold a gradient update themselves; ``paced`` the statements that hold one, or a call that leads to
    one, with no loop between; ``aside`` the statements that run instead of a step, when a worker
    is sent another command; ``fitting`` the functions that hold a loop of updates. ``given`` are the functions that are
    handed to frameworks, ``begun`` the steps and updates of each file, from which all others are found.
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
    aside: set[ast.AST] = field(default_factory=set)
    fitting: set[Scope] = field(default_factory=set)
    given: dict[Scope, EntryPoint] = field(default_factory=dict)
    begun: dict[FileFacts, list[Begun]] = field(default_factory=dict)

    def edited(self, project: Project, graph: CallGraph, values: Values, guards: Guards, edits: FileEdits) -> Roots:
        """The roots of a project in which files were edited: what begins in the rest is not looked for again."""
        kept = Roots(begun={facts: begun for facts, begun in self.begun.items() if not edits.is_old(facts)})
        kept.given = {now: entry for scope, entry in self.given.items() if (now := edits.scope(scope)) is not None}
        return _found_roots(kept, project, graph, values, guards, list(edits.files.values()))


def runs_each_time(node: ast.AST, child: ast.AST) -> TypeGuard[ast.For | ast.AsyncFor | ast.While]:
    """Whether a node is a loop that runs a child again and again: its body, or its test."""
    return isinstance(node, _LOOPS) and (child in node.body or (isinstance(node, ast.While) and child is node.test))


def enclosing_loop(facts: FileFacts, node: ast.AST, scope: Scope) -> ast.AST | None:
    """The innermost loop of the same function that runs a node in its body."""
    child, current = node, facts.parent.get(node)
    while current is not None and current is not scope.node:
        if runs_each_time(current, child) and not fans_out(node, current):
            return current
        child, current = current, facts.parent.get(current)
    return None


def find_roots(project: Project, graph: CallGraph, values: Values, guards: Guards) -> Roots:
    """Find all roots of a project, and the places that run functions without calling them."""
    return _found_roots(Roots(), project, graph, values, guards, list(project.files.values()))


def _found_roots(
    roots: Roots, project: Project, graph: CallGraph, values: Values, guards: Guards, files: Sequence[FileFacts]
) -> Roots:
    """Look into some files, and find the roots that these and what is known of the others lead to."""
    for scope, entry in indirect(project, graph, values, files).items():
        roots.given.setdefault(scope, entry)
    roots.protocols = dict(roots.given)
    roots.begun.update((facts, list(_begun(facts, graph, values))) for facts in files if not cold_file(facts.path))
    found = [each for facts in project.files.values() for each in roots.begun.get(facts, ())]
    stepping: dict[Scope, list[ast.AST]] = {}
    for scope, call, kind in found:
        if kind == "step":
            stepping.setdefault(scope, []).append(call)
        else:
            roots.updating.update(branches(scope, call))
    for scope, steps in stepping.items():
        roots.aside.update(_other_commands(scope, steps))
    shown = _Shown(graph)
    programs = Programs(project, graph)
    _climb(roots, Receivers(project, graph), programs, guards, [each for each in found if not shown.only(*each[:2])])
    inline = {enclosing_loop(scope.file, call, scope) for scope, call, _ in found}
    roots.episodes |= demoted(project, graph, roots.loops, inline)
    roots.fitting = fitting(project, roots.loops, roots.functions)
    _protocols(project, roots)
    _drive(project, graph, roots)
    return roots


def _begun(facts: FileFacts, graph: CallGraph, values: Values) -> Iterator[Begun]:
    """The steps and updates of a file."""
    for scope in facts.scopes:
        for call in scope.calls:
            kind = _kind(facts, call, values)
            if not kind or _demo(enclosing_loop(facts, call, scope)):
                continue
            if kind == "update" and _has_own_loop(graph, call):
                continue
            if not (_lives_for_one(scope, call) if kind == "step" else _primes(scope, call)):
                yield scope, call, kind


def _kind(facts: FileFacts, call: ast.Call, values: Values) -> str:
    func = call.func
    runs = values.row(facts, call).get("runs")
    if isinstance(runs, str):
        return runs
    if not isinstance(func, ast.Attribute):
        return ""
    if func.attr == "backward":
        return "update"
    if func.attr == "step":
        name = rightmost_name(func.value)
        if _OPTIMIZER.search(name):
            # A trainer that is given prompts, answers and rewards makes many updates of them.
            return "" if _TRAINER.search(name) and len(call.args) > 2 else "update"
        if _NOT_ENV.search(name):
            return ""
        if _ENV.search(name) or _unpacks(facts.parent.get(call)) or _drawn_from_envs(facts, func.value):
            return "step" if call.args or call.keywords else ""
        receiver = values.of(facts, func.value)
        if receiver.kind is Kind.OPTIMIZER:
            return "update"
        return "step" if receiver.kind is Kind.ENV and call.args else ""
    if func.attr in _ADVANCING and _ENV.search(rightmost_name(func.value)):
        return "step"
    return ""


def _has_own_loop(graph: CallGraph, call: ast.Call) -> bool:
    """Whether a call of ``trainer.step(...)`` runs a method of a trainer of the project: its body says what it does."""
    if not isinstance(call.func, ast.Attribute) or not _TRAINER.search(rightmost_name(call.func.value)):
        return False
    owners = (function.method_of for function in graph.callees.get(call, ()))
    return any(owner is not None and _TRAINER.search(owner.name) for owner in owners)


def _drawn_from_envs(facts: FileFacts, node: ast.expr) -> bool:
    """``e`` of ``for e, a in zip(envs, actions)``."""
    bindings = facts.scope_of(node).bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    for binding in bindings:
        source, path = binding.value, binding.path
        while binding.how is Bind.ELEMENT and isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
            place = path[0] if path and source.func.id == "zip" else 0
            if source.func.id not in ("zip", "enumerate", "reversed", "list") or not 0 <= place < len(source.args):
                break
            source, path = source.args[place], path[1:]
        if binding.how is Bind.ELEMENT and source is not None and _ENV.search(rightmost_name(source)):
            return True
    return False


def _unpacks(parent: ast.AST | None) -> bool:
    """``obs, reward, done, info = x.step(action)``."""
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Tuple):
        return False
    return len(parent.targets[0].elts) in (4, 5)


def _demo(loop: ast.AST | None) -> bool:
    """Whether a loop of steps only shows something: it renders each time or waits for a plot."""
    if not isinstance(loop, _LOOPS):
        return False
    for stmt in loop.body:
        value = stmt.value if isinstance(stmt, (ast.Expr, ast.Assign)) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in ("render", "imshow", "pause", "capture_frame", "append_data", "flip"):
                return True
    return False


def _trial(scope: Scope, loop: ast.AST, programs: Programs) -> bool:
    """Whether a program runs a loop once, and only for a handful of rounds: ``for _ in range(3)``."""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range" | "trange"), args=[ast.Constant(value=int(rounds))])):
            alone = enclosing_loop(scope.file, loop, scope) is None
            return rounds < _TRIAL and alone and programs.once(scope)
    return False


def _primes(scope: Scope, call: ast.Call) -> bool:
    """Whether an optimizer takes one step where it is made, without gradients: its scheduler asks for it."""
    if not isinstance(call.func, ast.Attribute):
        return False
    methods = {other.func.attr for other in scope.calls if isinstance(other.func, ast.Attribute)}
    if call.func.attr != "step" or "backward" in methods or enclosing_loop(scope.file, call, scope) is not None:
        return False
    optimizer = ast.unparse(call.func.value)
    made = (target for stmt in _assigned(scope) if stmt.lineno < call.lineno for target in stmt.targets)
    return any(ast.unparse(target) == optimizer for target in made)


def _assigned(scope: Scope) -> Iterator[ast.Assign]:
    """The assignments of calls in a function itself."""
    return (
        stmt
        for stmt in walk(scope.node)
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call) and scope.file.scope_of(stmt) is scope
    )


def _lives_for_one(scope: Scope, step: ast.Call) -> bool:
    """Whether a function makes an environment and steps it once: a loop around it runs an episode in each round."""
    func = step.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    if enclosing_loop(scope.file, step, scope) is not None:
        return False
    made = [binding.value for binding in scope.bindings.get(func.value.id, ())]
    return bool(made) and all(
        isinstance(value, ast.Call) and bool(_MAKES_ENV.search(rightmost_name(value.func))) for value in made
    )


class _Shown:
    """Finds the functions that nothing but demos, tests and savers call: a saliency map that is saved."""

    def __init__(self, graph: CallGraph) -> None:
        self.graph = graph
        self.known: dict[Scope, bool] = {}

    def only(self, scope: Scope, node: ast.AST) -> bool:
        """Whether a node in no loop stands in such a function."""
        return enclosing_loop(scope.file, node, scope) is None and self._function(scope)

    def _function(self, scope: Scope) -> bool:
        """Whether every known place that runs a function is a call that shows something, and there is one."""
        if scope not in self.known:
            self.known[scope] = False  # what only calls itself is not shown
            # In the order of the calls, because in a circle the answer depends on which is asked first.
            homes = dict.fromkeys(
                caller.facts.scope_of(caller.call).function for caller in self.graph.callers.get(scope, ())
            )
            homes.pop(scope, None)
            self.known[scope] = (
                bool(homes)
                and scope not in self.graph.runs
                and all(home.kind == "function" and (_SHOWS.match(home.name) or self._function(home)) for home in homes)
            )
        return self.known[scope]


def _climb(
    roots: Roots,
    receivers: Receivers,
    programs: Programs,
    guards: Guards,
    found: Sequence[Begun],
) -> None:
    """Mark the innermost loop around each step or update, in the callers when the function itself has none.

    Functions on the way are roots too, for someone else's loop may call them, unless they begin with a reset, make an
    object of their class or a program runs them once; those of base classes for objects of the class that steps or
    updates.
    """
    todo: list[tuple[Scope, ast.AST, str, bool, Receiver]] = []
    looping = {scope for scope, call, kind in found if kind == "step" and enclosing_loop(scope.file, call, scope)}
    resets: dict[Scope, list[ast.Attribute]] = {}
    for scope, step, kind in found:
        if kind == "step" and scope not in resets:
            resets[scope] = _resets(scope)
        own = Receiver(scope.method_of.dotted) if scope.method_of is not None else ANY
        fresh = kind == "step" and (_makes_object(scope) or _starts_over(step, resets[scope]))
        todo.append((scope, step, kind, fresh, own))
    seen: dict[tuple[Scope, str, bool], set[Receiver]] = {}
    while todo:
        scope, call, kind, fresh, cls = todo.pop()
        facts = scope.file
        loop = enclosing_loop(facts, call, scope)
        if _shown(scope, call):
            continue
        if loop is not None:
            if not _demo(loop) and not _trial(scope, loop, programs):
                roots.loops.setdefault(loop, set()).add(kind)
                if kind == "update" and call not in receivers.graph.weak:
                    roots.paced.update(unlooped(scope, call))
            continue
        if kind == "update" and call not in receivers.graph.weak:
            roots.paced.update(unlooped(scope, call))
        if kind == "step" and scope in looping:
            continue  # what a function does before its loop of steps is set-up
        classes = seen.setdefault((scope, kind, fresh), set())
        cls = cls if len(classes) < MOST else ANY
        if scope.kind != "function" or begins_episode(scope) or scope.name == "__init__" or classes & {cls, ANY}:
            continue
        if programs.once(scope):
            continue
        classes.add(cls)
        if not fresh:
            roots.functions.setdefault(scope, set()).add(kind)
            roots.receivers.setdefault(scope, {}).setdefault(cls, set()).add(kind)
        for where, node in _entrances(receivers.graph, scope):
            home = where.scope_of(node).function
            above = receivers.above(node, home, cls)
            if above is None or cold_file(where.path):
                continue
            if not _gated(guards, where, node):
                todo.append((home, node, kind, fresh, above))
            elif kind == "update" and node not in receivers.graph.weak:
                roots.paced.update(unlooped(home, node))


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


def _makes_object(scope: Scope) -> bool:
    """Whether a function is a second constructor: a class method that returns ``cls(...)``."""
    if "classmethod" not in scope.decorator_names or not scope.params:
        return False
    made = [given.value for given in scope.returns if isinstance(given.value, ast.Call)]
    return any(isinstance(call.func, ast.Name) and call.func.id == scope.params[0] for call in made)


def _resets(scope: Scope) -> list[ast.Attribute]:
    """The calls of ``reset`` that a function makes whatever comes."""
    return [
        call.func
        for call in scope.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "reset"
        and not any(isinstance(node, (ast.If, ast.IfExp, *_LOOPS)) for node in around(scope, call))
    ]


def _starts_over(step: ast.Call, resets: Sequence[ast.Attribute]) -> bool:
    """Whether a function resets an environment before it steps it, whatever comes: it tries the environment out."""
    assert isinstance(step.func, ast.Attribute)
    if not resets:
        return False
    env = ast.unparse(step.func.value)
    return any(reset.lineno < step.lineno and ast.unparse(reset.value) == env for reset in resets)


def _shown(scope: Scope, node: ast.AST) -> bool:
    """Whether a node runs only at the intervals at which a program shows what it has learned."""
    child = node
    for current in around(scope, node):
        if isinstance(current, ast.If) and child in current.body and shows_at_intervals(current.test):
            return True
        child = current
    return False


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
    child = node
    current = facts.parent.get(node)
    while current is not None and not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, *_LOOPS)):
        if isinstance(current, ast.If) and child in current.body and guards.bound(current.test, facts) is not None:
            return True
        child, current = current, facts.parent.get(current)
    return False


def _protocols(project: Project, roots: Roots) -> None:
    hidden = project.names.hidden & project.unused()
    for cls in project.classes.values():
        if cold_file(cls.file.path) or cls.file.path in hidden:
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
    current = facts.parent.get(node)
    while current is not None and current not in by_node:
        if isinstance(current, _LOOPS) and current not in roots.loops:
            roots.episodes.add(current)
            if steps:
                roots.programs.add(facts.scope_of(current).function)
        current = facts.parent.get(current)
