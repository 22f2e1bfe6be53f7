"""Loops in which a diffusion model takes noise away: each round runs a network on what the round before has left."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.code.tree import arguments_of, names_in, walk
from torchlint.models import Word

_TIMES = Word("times of a diffusion")
_STATE = Word("state of a diffusion")
_MENTIONED = (b"latent", b"nois")


def mentions_noise(facts: FileFacts) -> bool:
    """Return whether a file may have a diffusion model at all, by its text."""
    return any(word in facts.source.utf8 for word in _MENTIONED)


def denoises(facts: FileFacts, loop: ast.AST) -> bool:
    """Return whether each round of a loop runs a network on a state and a time, and makes the next state of its result.

    ``for t in timesteps: noise = net(latents, t); latents = scheduler.step(noise, t, latents)``, also with steps
    between, and through the parts of a dict.
    """
    if not isinstance(loop, ast.For) or not mentions_noise(facts):
        return False
    names = {name for stmt in loop.body for name in names_in(stmt)}
    if not any(map(_STATE.fits, names)):
        return False
    times = {name for name in names if _TIMES.fits(name)}
    if any(map(_TIMES.fits, names_in(loop.iter))):
        times.update(names_in(loop.target))
    return bool(times) and _carries_on(loop, times)


def _carries_on(loop: ast.For, times: Set[str]) -> bool:
    """Whether what a call makes of a carried name and a time comes to a carried name again."""
    carried = _carried(loop)
    states, given = set(carried), set[str]()
    for targets, value in _assigned(loop):
        read = set(names_in(value))
        if read & given or any(_runs_on(call, states, times) for call in walk(value) if isinstance(call, ast.Call)):
            if targets & carried:
                return True
            given |= targets
        if read & states:
            states |= targets
    return False


def _runs_on(call: ast.Call, states: Set[str], times: Set[str]) -> bool:
    """Whether a call takes a state, and a time beside it."""
    given = [set(names_in(node)) for node in arguments_of(call)]
    return any(names & times for names in given) and any(names & states for names in given)


def _carried(loop: ast.For) -> set[str]:
    """The names that a round reads before it binds them again."""
    bound: set[str] = set()
    found: set[str] = set()
    for targets, value in _assigned(loop):
        found.update(name for name in names_in(value) if name not in bound)
        bound |= targets
    return found & bound


def _assigned(loop: ast.For) -> Iterator[tuple[set[str], ast.expr]]:
    """The assignments in a loop, each with the names that it binds or changes, and the value.

    A table of which each round fills its own row goes on to no other round.
    """
    counted = set(names_in(loop.target))
    for stmt in nodes_of(loop.body):
        if isinstance(stmt, ast.Assign):
            bound = [each for each in stmt.targets if not (isinstance(each, ast.Subscript) and _picks(each, counted))]
            yield {name for target in bound for name in names_in(target)}, stmt.value


def _picks(target: ast.Subscript, counted: Set[str]) -> bool:
    """Whether the place of an item is one that a loop counts."""
    return not counted.isdisjoint(names_in(target.slice))
