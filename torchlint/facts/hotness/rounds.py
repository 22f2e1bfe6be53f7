"""Rounds in which a model generates what is learned from later, or elsewhere: no step or update is in them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Container, Iterator, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import NamedTuple

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, NESTED, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import children, names_in, walk
from torchlint.facts.hotness.around import runs_each_time
from torchlint.facts.hotness.coldness import cold_file, cold_function
from torchlint.facts.hotness.denoising import denoises, mentions_noise
from torchlint.facts.hotness.exemptions import at_intervals
from torchlint.facts.hotness.guards import TESTED, Bound, Guards
from torchlint.facts.hotness.iterations import is_generation
from torchlint.facts.hotness.tokens import chooses_token, fills_in, makes_tokens
from torchlint.models import Word

_LEARNED = Word("what is learned from texts")
_ONLY_READ = Word("use of a model without learning")


class RolloutRounds(NamedTuple):
    """The loops whose rounds generate, and the functions that do so and that no known code calls."""

    loops: set[ast.AST]
    functions: set[Scope]


def find_rounds(
    project: Project, graph: CallGraph, guards: Guards, roots: Collection[ast.AST], around: Collection[ast.AST]
) -> RolloutRounds:
    """Find where rollouts of a language model are made: in loops that are no ``roots``, or by functions.

    The file that generates has to mention, or to have in its name, rewards, advantages or the like: an evaluation and a
    program that answers questions generate, too. Where a loop ``around`` updates, or one of the roots, generates what
    it learns from, the loops that stand before or behind it prepare or evaluate.
    """
    rounds = RolloutRounds(set(), set())
    reading = _Reading(project, graph, guards)
    for facts in project.files.values():
        if cold_file(facts) or _reads_only(PurePosixPath(facts.path).stem) or facts.path in project.unused():
            continue
        making = [(scope, place) for scope in facts.scopes for place in _generations(scope)]
        if making and any(map(_LEARNED.fits, (PurePosixPath(facts.path).stem, *names_in(facts.top.node)))):
            for scope, place in making:
                _climb(reading, rounds, scope, place)
    learning = [loop for loop in reading.always if loop in roots or loop in around]
    rounds.loops.difference_update(roots, [loop for loop in rounds.loops if _stands_beside(project, loop, learning)])
    return rounds


def waits_to_learn(loop: ast.AST, updates: Container[ast.AST]) -> bool:
    """Return whether all that learns in the rounds of a loop is in branches: it waits for many rounds."""
    found = False
    todo = [loop]
    while todo:
        for child in children(todo.pop()):
            if isinstance(child, ast.If) and not child.orelse:
                found = found or any(part in updates for part in walk(child))
            elif child in updates:
                return False
            elif not isinstance(child, NESTED):
                todo.append(child)
    return found


def _stands_beside(project: Project, loop: ast.AST, others: Sequence[ast.AST]) -> bool:
    """Whether a loop is in the function of one of some others, and neither of the two is in the other one."""
    facts = next((facts for facts in project.files.values() if loop in facts.parent), None) if others else None
    if facts is None:
        return False
    own, above = facts.scope_of(loop).function, {loop, *facts.ancestors(loop)}
    return any(
        other in facts.parent
        and facts.scope_of(other).function is own
        and other not in above
        and loop not in facts.ancestors(other)
        for other in others
    )


def _generations(scope: Scope) -> Iterator[ast.AST]:
    """Where a function has a model generate: a call, or the loop that makes one token after the other, or denoises."""
    chooses = False
    for call in scope.calls:
        if is_generation(call):
            yield call
        chooses = chooses or chooses_token(call)
    if scope.kind != "function":
        return
    if mentions_noise(scope.file):
        yield from (loop for loop in walk(scope.node) if denoises(scope.file, loop))
    if chooses or b"mask" in scope.file.source.utf8:
        makes = makes_tokens if chooses else fills_in
        yield from (loop for loop in walk(scope.node) if isinstance(loop, LOOPS) and makes(scope.file, loop))


def _climb(reading: _Reading, rounds: RolloutRounds, scope: Scope, place: ast.AST) -> None:
    """Mark the loops around a generation, in its function and in the callers, and where nothing calls it, that."""
    graph = reading.graph
    todo, seen = [(scope.function, place, False)], set[tuple[Scope, bool]]()
    while todo:
        function, node, looped = todo.pop()
        if reading.holds(function) or reading.at(function, node):
            continue
        loops = [each for child, each in _around(function, node) if runs_each_time(each, child)]
        rounds.loops.update(loops)
        if not reading.seldom(function, node):
            reading.always.update(loops)
        looped = looped or bool(loops)
        if (function, looped) in seen or function.kind != "function":
            continue
        seen.add((function, looped))
        above = list(_calls(graph, function))
        todo += [(caller, call, looped) for caller, call in above]
        if not looped and not above and not any(True for _ in graph.places(function)):
            rounds.functions.add(function)


def _around(function: Scope, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes of a function that hold a node, each with the one below it."""
    return takewhile(lambda pair: pair[1] is not function.node, function.file.climb(node))


def _calls(graph: CallGraph, function: Scope) -> Iterator[tuple[Scope, ast.AST]]:
    for facts, node in graph.places(function):
        if node not in graph.weak:
            yield facts.scope_of(node).function, node


class _Reading:
    """Finds the functions that only look at what a model generates: nothing is learned from it."""

    def __init__(self, project: Project, graph: CallGraph, guards: Guards) -> None:
        """Take the call graph, and what limits the branches around calls."""
        self.project = project
        self.graph = graph
        self.guards = guards
        self.known: dict[Scope, bool] = {}
        self.always: set[ast.AST] = set()

    def holds(self, function: Scope) -> bool:
        """Return whether a function is one by its name or its file's, or all known calls of it are such a look."""
        if function not in self.known:
            self.known[function] = False  # what only calls itself learns or not by its name
            calls = list(_calls(self.graph, function)) if function.kind == "function" else []
            self.known[function] = _is_cold(self.project, function) or (
                bool(calls) and all(self.at(home, call) or self.holds(home) for home, call in calls)
            )
        return self.known[function]

    def at(self, function: Scope, node: ast.AST) -> bool:
        """Return whether a node runs at intervals that show something, or where a flag for an evaluation is set."""
        return at_intervals(function, node) or any(each.guard == TESTED.name for each in self._bounds(function, node))

    def seldom(self, function: Scope, node: ast.AST) -> bool:
        """Return whether a condition around a node in its function makes it seldom."""
        return any(True for _ in self._bounds(function, node))

    def _bounds(self, function: Scope, node: ast.AST) -> Iterator[Bound]:
        facts = function.file
        for child, current in _around(function, node):
            if isinstance(current, ast.If) and child is not current.test:
                bound = self.guards.bound(current.test, facts, child in current.body)
                if bound is not None:
                    yield bound


def _is_cold(project: Project, function: Scope) -> bool:
    if cold_file(function.file) or cold_function(project, function):
        return True
    return any(map(_reads_only, (PurePosixPath(function.file.path).stem, *function.qualname.split("."))))


def _reads_only(name: str) -> bool:
    return _ONLY_READ.fits(name.lower())
