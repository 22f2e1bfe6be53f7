"""Loops in which a language model generates before it learns: each round is a rollout with many gradient updates."""

from __future__ import annotations

import ast
from collections.abc import Set
from itertools import takewhile

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.tokens import makes_tokens
from torchlint.late import regex

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_GENERATES = regex(r"generate(_\w+)?$")


def demoted(project: Project, loops: dict[ast.AST, set[str]], inline: Set[ast.AST | None]) -> set[ast.AST]:
    """Take out of the loops that run gradient updates those whose rounds also generate; gives these.

    A function that runs one update stays as hot as it is; what stands around the call of it runs once per rollout.
    Loops that hold an update themselves (``inline``) stay, and so do those that step an environment before each update.
    """
    candidates = {loop for loop, kinds in loops.items() if kinds == {"update"} and loop not in inline}
    found: set[ast.AST] = set()
    for facts in project.files.values() if candidates else ():
        found.update(stmt for stmt in facts.places if stmt in candidates and _generates(facts, stmt))
    for loop in found:
        del loops[loop]
    return found


def rolls_out(graph: CallGraph, scope: Scope) -> bool:
    """Whether a function goes over rollouts of a language model: it generates in a loop of its own."""
    facts = scope.file
    for call in scope.calls:
        if not any(
            isinstance(node, _LOOPS) for node in takewhile(lambda n: n is not scope.node, facts.ancestors(call))
        ):
            continue
        if isinstance(call.func, ast.Attribute) and _GENERATES.match(call.func.attr):
            return True
        if any(_has_token_loop(target) for target in graph.callees.get(call, ())):
            return True
    return False


def _has_token_loop(scope: Scope) -> bool:
    loops = (node for node in walk(scope.node) if isinstance(node, _LOOPS))
    return any(makes_tokens(scope.file, loop) for loop in loops)


def _generates(facts: FileFacts, loop: ast.AST) -> bool:
    """Whether a loop itself calls something that generates."""
    scope = facts.scope_of(loop).function
    for node in walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _GENERATES.match(node.func.attr):
            if facts.scope_of(node).function is scope:
                return True
    return False
