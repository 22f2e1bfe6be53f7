"""Loops in which a language model generates before it learns: each round is a rollout with many gradient updates."""

from __future__ import annotations

import ast
from collections.abc import Set

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.late import regex

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


def _generates(facts: FileFacts, loop: ast.AST) -> bool:
    """Whether a loop itself calls something that generates."""
    scope = facts.scope_of(loop).function
    for node in walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _GENERATES.match(node.func.attr):
            if facts.scope_of(node).function is scope:
                return True
    return False
