"""Environments in other processes: a worker steps one and sends the answer, and the trainer receives it.

``state, reward, done, info = conn.recv()`` is a step of the trainer where a worker of the project sends as many things
from the function that steps its environment.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.project import Project
from torchlint.late import regex
from torchlint.models import Word, method_names

_RECEIVES = method_names(receives=True)
_SENDS = method_names(sends=True)
_STEPS = frozenset({"step"})
_ENDED = Word("end of an episode")
_REWARDS = regex(r"^(r|rs)$|rew", re.IGNORECASE)
# What a step of an environment gives, sent as it is: with one flag for the end of an episode, or two.
_STEP = frozenset({4, 5})


def answers(
    project: Project, graph: CallGraph, steps: Iterable[tuple[Scope, ast.Call]]
) -> Iterator[tuple[Scope, ast.Call]]:
    """Yield the calls that receive what workers answer to a step; ``steps`` are the known steps of environments.

    A method of the project that steps one, ``def step(self, action)`` of a game, is a step where it is called.
    """
    stepping: dict[Scope, set[ast.AST]] = {}
    for scope, step in steps:
        stepping.setdefault(scope, set()).add(step)
        for where, node in graph.places(scope) if scope.name in _STEPS and scope.method_of is not None else ():
            stepping.setdefault(where.scope_of(node).function, set()).add(node)
    sent = {count for scope, calls in stepping.items() for count in _sent(scope, calls)}
    for facts in project.files.values() if sent else ():
        for scope in facts.scopes:
            for call in scope.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr in _RECEIVES:
                    if _unpacked(facts, call) in sent:
                        yield scope, call


def _sent(scope: Scope, steps: Container[ast.AST]) -> Iterator[int]:
    """How many things a function that steps an environment sends at once, where it sends several."""
    for call in scope.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _SENDS and len(call.args) == 1:
            given = call.args[0]
            if given in steps:
                yield from _STEP
            elif isinstance(given, (ast.List, ast.Tuple)) and len(given.elts) >= min(_STEP):
                yield len(given.elts)


def _unpacked(facts: FileFacts, call: ast.Call) -> int:
    """Into how many names an answer is unpacked, also those of all workers: ``zip(*[c.recv() for c in conns])``."""
    above = facts.parent.get(call)
    if isinstance(above, (ast.ListComp, ast.GeneratorExp)) and above.elt is call:
        above = facts.parent.get(above)
        above = facts.parent.get(above) if isinstance(above, ast.Starred) else None
        name = above.func if isinstance(above, ast.Call) else None
        above = facts.parent.get(above) if isinstance(name, ast.Name) and name.id == "zip" and above else None
    match above:
        case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)]):
            words = [rightmost_name(name) for name in names]
            ends = any(_ENDED.fits(word) or _REWARDS.search(word) for word in words)
            return len(names) if ends else 0  # what whole episodes gave is sent in as many parts
    return 0
