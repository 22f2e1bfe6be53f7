"""Loops in which a language model generates before it learns: each round is a rollout with many gradient updates."""

from __future__ import annotations

import ast
from collections.abc import Set
from itertools import takewhile

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.around import around
from torchlint.facts.hotness.phases import STEP, UPDATE
from torchlint.facts.hotness.tokens import makes_tokens
from torchlint.models import Word

_DEEPEST = 4
_LENGTHS = Word("argument of a generation")
_GENERATES = Word("generation")
_SETTINGS = Word("settings of a generation")


def demoted(
    project: Project, graph: CallGraph, loops: dict[ast.AST, set[str]], inline: Set[ast.AST | None]
) -> set[ast.AST]:
    """Remove the loops whose rounds also generate from those that run gradient updates, and return them.

    A function that runs one update stays as hot as it is; what stands around the call of it runs once per rollout.
    Loops that hold an update themselves (``inline``) stay. So do those that step an environment before each update,
    but not where that step takes what was generated, and a function with a loop of updates learns from it.
    """
    updating = {loop for loop, kinds in loops.items() if UPDATE in kinds}
    candidates = {loop for loop, kinds in loops.items() if kinds == {UPDATE} and loop not in inline}
    stepping = {loop for loop, kinds in loops.items() if STEP in kinds and loop not in inline} if updating else set()
    learners = {
        facts.scope_of(stmt).function
        for facts in (project.files.values() if stepping else ())
        for stmt in facts.places
        if stmt in updating
    }
    found: set[ast.AST] = set()
    for facts in project.files.values() if candidates or stepping else ():
        for stmt in facts.places:
            rolls = stmt in candidates or (stmt in stepping and _learns(graph, facts, stmt, learners))
            if rolls and _generates(graph, facts, stmt):
                found.add(stmt)
    for loop in found:
        del loops[loop]
    return found


def rolls_out(graph: CallGraph, scope: Scope) -> bool:
    """Return whether a function produces rollouts of a language model: it generates in a loop of its own."""
    facts = scope.file
    for call in scope.calls:
        inside = takewhile(lambda node: node is not scope.node, facts.ancestors(call))
        if any(isinstance(node, LOOPS) for node in inside) and (_names_it(call) or _reaches_it(graph, call, 1)):
            return True
    return False


def _generates(graph: CallGraph, facts: FileFacts, loop: ast.AST) -> bool:
    """Whether a loop itself calls something that generates, or a function that does."""
    calls = _calls(facts, loop)
    return any(map(_names_it, calls)) or any(_reaches_it(graph, call, _DEEPEST) for call in calls)


def _learns(graph: CallGraph, facts: FileFacts, loop: ast.AST, learners: Set[Scope]) -> bool:
    """Whether each round of a loop calls a function that has a loop of updates of its own."""
    scope = facts.scope_of(loop).function
    for call in _calls(facts, loop):
        inside = takewhile(lambda node: node is not loop, around(scope, call))
        if not any(isinstance(node, ast.If) for node in inside) and not learners.isdisjoint(graph.sure(call)):
            return True
    return False


def _calls(facts: FileFacts, loop: ast.AST) -> list[ast.Call]:
    """The calls in a loop that are not in a function below it."""
    scope = facts.scope_of(loop).function
    return [node for node in walk(loop) if isinstance(node, ast.Call) and facts.scope_of(node).function is scope]


def _names_it(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and _GENERATES.fits(call.func.attr)


def _reaches_it(graph: CallGraph, call: ast.Call, depth: int) -> bool:
    """Whether a call runs a function that makes tokens, or has them made, through so many others."""
    todo, seen = [(call, depth)], set[Scope]()
    while todo:
        node, left = todo.pop()
        for target in graph.sure(node):
            if target in seen:
                continue
            seen.add(target)
            if _has_token_loop(target) or (depth > 1 and any(map(is_generation, target.calls))):
                return True
            todo += [(each, left - 1) for each in target.calls] if left > 1 else ()
    return False


def is_generation(call: ast.Call) -> bool:
    """Return whether a call has a model make texts: ``model.generate(ids, max_new_tokens=9)``, not any ``generate``."""
    if not _names_it(call):
        return False
    if any(_LENGTHS.fits(keyword.arg or "") for keyword in call.keywords):
        return True
    settings = (*call.args[1:], *(keyword.value for keyword in call.keywords))
    return any(_SETTINGS.fits(last_name(node.func if isinstance(node, ast.Call) else node)) for node in settings)


def _has_token_loop(scope: Scope) -> bool:
    loops = (node for node in walk(scope.node) if isinstance(node, LOOPS))
    return any(makes_tokens(scope.file, loop) for loop in loops)
