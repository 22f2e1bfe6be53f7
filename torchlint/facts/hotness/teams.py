"""Loops over the parts of one update: several agents, critics or networks learn one after the other, then it goes on.

``for u in range(n): for a in range(nagents): team.update(batch, a); team.update_targets()``: a round of the outer loop
is one update of all, so what stands around the inner loop runs once per update.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.around import enclosing_loop
from torchlint.facts.hotness.fitting import goes_over_parts
from torchlint.facts.hotness.phases import STEP, UPDATE


def loops_of_teams(project: Project, graph: CallGraph, loops: Mapping[ast.AST, Set[str]]) -> Iterator[ast.AST]:
    """Yield the loops around a loop over the parts of an update, but for those whose rounds also step environments."""
    stepping: set[Scope] | None = None
    for facts in project.files.values():
        for loop in [stmt for stmt in facts.places if UPDATE in loops.get(stmt, ())]:
            for scope, outer in _around(graph, facts.scope_of(loop).function, loop) if goes_over_parts(loop) else ():
                if outer in loops:
                    continue
                if stepping is None:
                    stepping = _stepping(project, graph, loops)
                inside = [node for node in walk(outer) if scope.file.scope_of(node).function is scope]
                calls = (node for node in inside if isinstance(node, ast.Call))
                if any(STEP in loops.get(node, ()) for node in inside):
                    continue
                if not any(target in stepping for call in calls for target in graph.sure(call)):
                    yield outer


def _around(graph: CallGraph, scope: Scope, loop: ast.AST) -> Iterator[tuple[Scope, ast.AST]]:
    """The loop around a loop, or where its function has none those around the calls of the function, with the scope."""
    outer = enclosing_loop(scope.file, loop, scope)
    if outer is not None:
        yield scope, outer
        return
    for where, node in graph.places(scope):
        home = where.scope_of(node).function
        around = enclosing_loop(where, node, home) if node not in graph.weak else None
        if around is not None:
            yield home, around


def _stepping(project: Project, graph: CallGraph, loops: Mapping[ast.AST, Set[str]]) -> set[Scope]:
    """The functions that step an environment in a loop, and those that call one of these."""
    todo = [
        facts.scope_of(stmt).function
        for facts in project.files.values()
        for stmt in facts.places
        if STEP in loops.get(stmt, ())
    ]
    found: set[Scope] = set()
    while todo:
        scope = todo.pop()
        if scope not in found:
            found.add(scope)
            todo += (where.scope_of(node).function for where, node in graph.places(scope) if node not in graph.weak)
    return found
