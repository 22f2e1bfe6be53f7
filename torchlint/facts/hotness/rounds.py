"""Rounds in which a model generates what is learned from later, or elsewhere: no step or update is in them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Container, Iterator
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
from torchlint.facts.hotness.iterations import is_generation
from torchlint.facts.hotness.tokens import chooses_token, fills_in, makes_tokens
from torchlint.models import Word

_LEARNED = Word("what is learned from texts")
_ONLY_READ = Word("use of a model without learning")


class RolloutRounds(NamedTuple):
    """The loops whose rounds generate, and the functions that do so and that no known code calls."""

    loops: set[ast.AST]
    functions: set[Scope]


def find_rounds(project: Project, graph: CallGraph, roots: Collection[ast.AST]) -> RolloutRounds:
    """Find where rollouts of a language model are made: in loops that are no ``roots``, or by functions.

    The file that generates has to mention, or to have in its name, rewards, advantages or the like: an evaluation and a
    program that answers questions generate, too.
    """
    rounds = RolloutRounds(set(), set())
    for facts in project.files.values():
        if cold_file(facts.path) or _reads_only(PurePosixPath(facts.path).stem) or facts.path in project.unused():
            continue
        making = [(scope, place) for scope in facts.scopes for place in _generations(scope)]
        if making and any(map(_LEARNED.fits, (PurePosixPath(facts.path).stem, *names_in(facts.top.node)))):
            for scope, place in making:
                _climb(project, graph, rounds, scope, place)
    rounds.loops.difference_update(roots)
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


def _climb(project: Project, graph: CallGraph, rounds: RolloutRounds, scope: Scope, place: ast.AST) -> None:
    """Mark the loops around a generation, in its function and in the callers, and where nothing calls it, that."""
    todo, seen = [(scope.function, place, False)], set[tuple[Scope, bool]]()
    while todo:
        function, node, looped = todo.pop()
        if _is_cold(project, function):
            continue
        loops = [each for child, each in _around(function, node) if runs_each_time(each, child)]
        rounds.loops.update(loops)
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


def _is_cold(project: Project, function: Scope) -> bool:
    if cold_file(function.file.path) or cold_function(project, function):
        return True
    return any(_reads_only(part) for part in function.qualname.split("."))


def _reads_only(name: str) -> bool:
    return _ONLY_READ.fits(name.lower())
