"""What keeps calls that step an environment or run an update from making code hot: a table, and its recognisers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torchlint.facts.code.alike import among
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, Bind, Scope
from torchlint.facts.code.naming import last_name, rightmost_name
from torchlint.facts.code.tree import conjuncts, walk
from torchlint.facts.hotness.around import around, enclosing_loop
from torchlint.facts.hotness.beginnings import TRAINER, stepped
from torchlint.facts.hotness.branches import renders
from torchlint.facts.hotness.coldness import LEARNING
from torchlint.facts.hotness.conditions import is_evaluation_flag
from torchlint.facts.hotness.evaluation import evaluates
from torchlint.facts.hotness.intervals import is_interval, shows_at_intervals
from torchlint.facts.hotness.phases import STEP, UPDATE
from torchlint.facts.hotness.programs import Programs
from torchlint.models import Word, last_names

_EVALUATION = Word("evaluation")
_LEARNERS = Word("parts of an update")
_ENV = Word("environment")
_MAKES_ENV = Word("maker of an environment")
_SHOWS = Word("function that shows or saves")
_REQUEST = Word("answer to a request")
_ROUTES = frozenset({"delete", "get", "post", "put", "route", "websocket"})
_SHOWING = last_names(shows=True)
# A program that runs fewer rounds in all is a trial of it.
_TRIAL = 5


class Exemption(NamedTuple):
    """A reason for which a call or a loop makes nothing hot; ``says`` completes "nothing hot begins in"."""

    name: str
    says: str


SHOWS = Exemption(
    "loop that shows", "a loop that renders or plots in each round, or where a parameter that is on by default says so"
)
OWN_LOOP = Exemption("trainer with its own loop", "a call of a trainer of the project, whose method says what it does")
ONE_STEP = Exemption("environment for one step", "a function that makes an environment and steps it once")
PRIMING = Exemption("step without gradients", "a function that makes an optimizer and steps it for its scheduler")
REQUEST = Exemption("answer to a request", "a function that answers a request of a web page or a program elsewhere")
SHOWN = Exemption("function that is shown", "a function that demos, tests and savers alone call")
AT_INTERVALS = Exemption(
    "interval that shows",
    "a branch that shows or evaluates at intervals what was learned, or an evaluation after it or by a framework",
)
TRIAL = Exemption("trial", "a loop of a handful of rounds that a program runs once")
BEFORE_LOOP = Exemption(
    "set-up before a loop",
    "a function that steps an environment in a loop, outside of that loop, or before it in a round with a reset",
)
TRIES_OUT = Exemption("fresh environment", "a function that makes or resets an environment before it steps it")

EXEMPTIONS = (
    SHOWS,
    OWN_LOOP,
    ONE_STEP,
    PRIMING,
    REQUEST,
    SHOWN,
    AT_INTERVALS,
    TRIAL,
    BEFORE_LOOP,
    TRIES_OUT,
)


class WorkCall(NamedTuple):
    """A call that runs a step or an update, with the function and the innermost loop that it is in."""

    scope: Scope
    call: ast.Call
    runs: str
    loop: ast.AST | None
    graph: CallGraph


CALLS: tuple[tuple[Exemption, Callable[[WorkCall], bool]], ...] = (
    (SHOWS, lambda at: shows(at.loop) or (at.runs == STEP and _shows_by_default(at))),
    (OWN_LOOP, lambda at: at.runs == UPDATE and _has_own_loop(at.graph, at.call)),
    (ONE_STEP, lambda at: at.runs == STEP and _lives_for_one(at)),
    (PRIMING, lambda at: at.runs == UPDATE and _primes(at)),
    (REQUEST, lambda at: at.loop is None and any(map(_answers, at.scope.outward()))),
)
"""The exemptions that a call alone shows; the others need to know what calls its function."""


def exempts(scope: Scope, call: ast.Call, runs: str, graph: CallGraph) -> Exemption | None:
    """Find why a call that runs a step or an update (``runs``) makes nothing hot."""
    at = WorkCall(scope, call, runs, enclosing_loop(scope.file, call, scope), graph)
    return next((exemption for exemption, holds in CALLS if holds(at)), None)


def _answers(scope: Scope) -> bool:
    """Whether a function answers requests: ``def do_POST(self)``, ``@app.post("/step")``."""
    routed = (each.func for each in getattr(scope.node, "decorator_list", ()) if isinstance(each, ast.Call))
    return _REQUEST.fits(scope.name) or any(isinstance(func, ast.Attribute) and func.attr in _ROUTES for func in routed)


def _has_own_loop(graph: CallGraph, call: ast.Call) -> bool:
    """Whether a call of ``trainer.step(...)`` runs a method of a trainer of the project: its body says what it does."""
    if not isinstance(call.func, ast.Attribute) or not TRAINER.fits(rightmost_name(call.func.value)):
        return False
    owners = (function.method_of for function in graph.callees.get(call, ()))
    return any(owner is not None and TRAINER.fits(owner.name) for owner in owners)


def shows(loop: ast.AST | None) -> bool:
    """Return whether a loop of steps only shows something: it renders each time or waits for a plot."""
    if not isinstance(loop, LOOPS):
        return False
    for stmt in loop.body:
        value = stmt.value if isinstance(stmt, (ast.Expr, ast.Assign)) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in _SHOWING:
                return True
    return False


def _shows_by_default(at: WorkCall) -> bool:
    """Whether a loop of steps renders under a parameter that is true by default and in all calls, and learns nothing.

    ``def show(env, policy, make_video=True)`` and in its loop ``if make_video: frames.append(env.render())``.
    """
    if not isinstance(at.loop, LOOPS):
        return False
    tests = (stmt.test for stmt in at.loop.body if isinstance(stmt, ast.If) and renders(stmt.body, stmt.test))
    if not any(isinstance(test, ast.Name) and _is_left_on(at, test.id) for test in tests):
        return False
    return not any(isinstance(part, ast.Call) and _learns(at.graph, part) for part in walk(at.loop))


def _learns(graph: CallGraph, call: ast.Call) -> bool:
    """Whether a call learns, by its name; dicts and bars of progress have a method ``update``, too."""
    name = last_name(call.func)
    if name != "update" or not isinstance(call.func, ast.Attribute):
        return name == "backward" or LEARNING.fits(name)
    held = rightmost_name(call.func.value)
    return bool(graph.sure(call)) or _LEARNERS.fits(held) or TRAINER.fits(held)


def _is_left_on(at: WorkCall, name: str) -> bool:
    """Whether a parameter is true by default, and no known call of its function gives it another literal."""
    bound = at.scope.function.bindings.get(name, ())
    if not bound or not all(each.how is Bind.PARAM and _is_literally_on(each.value) for each in bound):
        return False
    given = (node for _, node in at.graph.arguments(at.scope.function, name))
    return all(_is_literally_on(node) for node in given if isinstance(node, ast.Constant))


def _is_literally_on(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def trial(scope: Scope, loop: ast.AST, programs: Programs) -> bool:
    """Return whether a program runs a loop once, and only for a handful of rounds: ``for _ in range(3)``."""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range" | "trange"), args=[ast.Constant(value=int(rounds))])):
            alone = enclosing_loop(scope.file, loop, scope) is None
            return rounds < _TRIAL and alone and programs.once(scope)
    return False


def _primes(at: WorkCall) -> bool:
    """Whether an optimizer takes one step where it is made, without gradients: its scheduler asks for it."""
    scope, call = at.scope, at.call
    if not isinstance(call.func, ast.Attribute):
        return False
    methods = {other.func.attr for other in scope.calls if isinstance(other.func, ast.Attribute)}
    if call.func.attr != "step" or "backward" in methods or at.loop is not None:
        return False
    made = (target for stmt in _assigned(scope) if stmt.lineno < call.lineno for target in stmt.targets)
    return among(call.func.value, made)


def _assigned(scope: Scope) -> Iterator[ast.Assign]:
    """The assignments of calls in a function itself."""
    return (
        stmt
        for stmt in walk(scope.node)
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call) and scope.file.scope_of(stmt) is scope
    )


def _lives_for_one(at: WorkCall) -> bool:
    """Whether a function makes an environment and steps it once: a loop around it runs an episode in each round."""
    func = at.call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name) or at.loop is not None:
        return False
    made = [binding.value for binding in at.scope.bindings.get(func.value.id, ())]
    return bool(made) and all(
        isinstance(value, ast.Call) and _MAKES_ENV.fits(rightmost_name(value.func)) for value in made
    )


class Shown:
    """Finds the functions that nothing but demos, tests and savers call: a saliency map that is saved."""

    def __init__(self, graph: CallGraph) -> None:
        """Take the call graph."""
        self.graph = graph
        self.known: dict[Scope, bool] = {}

    def only(self, scope: Scope, node: ast.AST) -> bool:
        """Return whether a node in no loop is in such a function."""
        return enclosing_loop(scope.file, node, scope) is None and self._function(scope)

    def _function(self, scope: Scope) -> bool:
        """Whether every known place that runs a function is a call that shows something, and there is one."""
        if scope not in self.known:
            self.known[scope] = False  # what only calls itself is not shown
            # In the order of the calls, because in a circle the answer depends on which is asked first.
            homes = dict.fromkeys(home for home, _ in _calls(self.graph, scope))
            homes.pop(scope, None)
            self.known[scope] = (
                bool(homes)
                and scope not in self.graph.runs
                and all(home.kind == "function" and (_SHOWS.fits(home.name) or self._function(home)) for home in homes)
            )
        return self.known[scope]


class Evaluations:
    """Finds the functions that a program runs at the intervals at which it evaluates what it has learned, or after it.

    ``learning`` are the loops of functions that hold an update.
    """

    def __init__(self, graph: CallGraph, learning: Mapping[Scope, Sequence[ast.AST]]) -> None:
        """Take the call graph, and the loops."""
        self.graph = graph
        self.learning = learning
        self.known: dict[Scope, bool] = {}

    def holds(self, scope: Scope) -> bool:
        """Return whether every known call of a function is made at such intervals, and there is one.

        Of a function that evaluates by its name one call at an interval of any kind or under a flag of an evaluation is
        enough, and where it sets a mode in which nothing learns, one behind the loop that does: others are for programs
        that evaluate alone.
        """
        if scope not in self.known:
            self.known[scope] = False  # what only calls itself is not due
            own = scope.kind == "function" and scope not in self.graph.runs
            calls = _calls(self.graph, scope) if own else []
            if _EVALUATION.fits(scope.name):
                self.known[scope] = any(
                    at_intervals(home, call, _is_due) or self.holds(home) for home, call in calls
                ) or (evaluates(scope) and any(self._ends(home, call, set()) for home, call in calls))
            else:
                due = [at_intervals(home, call) or self.holds(home) for home, call in calls]
                self.known[scope] = bool(due) and all(due)
        return self.known[scope]

    def _ends(self, home: Scope, call: ast.Call, seen: set[Scope]) -> bool:
        """Whether a call runs after a loop of its function that learns, or in a function that is called so."""
        if home in seen or enclosing_loop(home.file, call, home) is not None:
            return False
        seen.add(home)
        if any(getattr(loop, "end_lineno", call.lineno) < call.lineno for loop in self.learning.get(home, ())):
            return True
        return any(self._ends(*above, seen) for above in _calls(self.graph, home))


def _is_due(test: ast.expr) -> bool:
    return any(is_interval(part) or is_evaluation_flag(part) for part, truth in conjuncts(test, True) if truth)


def _calls(graph: CallGraph, scope: Scope) -> list[tuple[Scope, ast.Call]]:
    """The known calls of a function, each with the function that makes it."""
    return [(caller.facts.scope_of(caller.call).function, caller.call) for caller in graph.callers.get(scope, ())]


def makes_object(scope: Scope) -> bool:
    """Return whether a function is a second constructor: a class method that returns ``cls(...)``."""
    if "classmethod" not in scope.decorator_names or not scope.params:
        return False
    made = [given.value for given in scope.returns if isinstance(given.value, ast.Call)]
    return any(isinstance(call.func, ast.Name) and call.func.id == scope.params[0] for call in made)


def resets(scope: Scope, loop: ast.AST | None = None) -> list[ast.Attribute]:
    """Return the calls of ``reset`` that a function, or each round of a loop of it, makes whatever comes."""
    return [
        call.func
        for call in scope.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "reset"
        if next((node for node in around(scope, call) if isinstance(node, (ast.If, ast.IfExp, *LOOPS))), None) is loop
    ]


def starts_over(step: ast.Call, resets: Sequence[ast.Attribute]) -> bool:
    """Return whether a function always resets an environment before it steps it: it tries the environment."""
    return among(stepped(step), (reset.value for reset in resets if reset.lineno < step.lineno))


def first_moves(scope: Scope, steps: Sequence[ast.Call]) -> Iterator[ast.Call]:
    """Yield the steps of rounds of a loop that reset an environment, step it, and go on in an inner loop of steps."""
    loops = {step: enclosing_loop(scope.file, step, scope) for step in steps}
    last: dict[ast.AST, int] = {}
    for step, loop in loops.items():
        for outer in around(scope, loop) if loop is not None else ():
            last[outer] = max(last.get(outer, 0), step.lineno)
    for step, loop in loops.items():
        if loop in last and last[loop] > step.lineno and _begins_over(step, resets(scope, loop)):
            yield step


def _begins_over(step: ast.Call, resets: Sequence[ast.Attribute]) -> bool:
    """Whether a function always resets an environment, or the one in it, before it steps it: ``h3d.env.reset()``."""
    inner = (reset.value for reset in resets if isinstance(reset.value, ast.Attribute) and _ENV.fits(reset.value.attr))
    return starts_over(step, (*resets, *inner))


def at_intervals(scope: Scope, node: ast.AST, shows: Callable[[ast.expr], bool] = shows_at_intervals) -> bool:
    """Return whether a node runs only at the intervals at which a program shows what it has learned."""
    child = node
    for current in around(scope, node):
        if isinstance(current, ast.If) and child in current.body and shows(current.test):
            return True
        child = current
    return False
