"""Functions with a loop of gradient updates of their own: what stands around that loop runs once per iteration."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import takewhile

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import conjuncts, names_in, walk
from torchlint.facts.hotness.around import around
from torchlint.models import Word

# What an update has several of: a loop over these is a part of one update.
_PARTS = Word("parts of an update")
_OPTIMIZER = Word("optimizer")
_VIEWS = frozenset({"copy", "items", "keys", "values"})


def fitting(project: Project, loops: Mapping[ast.AST, set[str]], functions: Mapping[Scope, set[str]]) -> set[Scope]:
    """Find the functions that hold a loop of gradient updates.

    ``loops`` are the roots, ``functions`` those with an update that is in no loop of theirs. Such a function runs one
    update each time, unless it also goes over epochs and over batches.
    """
    found: set[Scope] = set()
    for facts in project.files.values():
        for loop in facts.places:
            if "update" in loops.get(loop, ()):
                scope = facts.scope_of(loop).function
                if _repeats(loop, scope) >= (2 if "update" in functions.get(scope, ()) else 1):
                    found.add(scope)
    return found


def accumulating(
    graph: CallGraph, found: Iterable[Scope], updates: Iterable[tuple[Scope, ast.Call]], functions: Container[Scope]
) -> set[Scope]:
    """Find the functions whose loops only add up gradients, for an optimizer that steps in loops around their calls.

    ``for batch in batches: self.backward_of_each_token(batch)`` and then ``optimizer.step()``: such a function is a
    part of one update. ``updates`` are backward passes and steps; ``functions`` have an update that is in no loop.
    """
    own: dict[Scope, list[ast.Call]] = {}
    for scope, call in updates:
        own.setdefault(scope, []).append(call)

    def steps_around(where: FileFacts, node: ast.AST) -> bool:
        home = where.scope_of(node).function
        steps = [call for call in own.get(home, ()) if last_name(call.func) == "step"]
        loops = {current for current in around(home, node) if isinstance(current, LOOPS)}
        return any(loop in loops for step in steps for loop in around(home, step))

    def only_adds_up(scope: Scope) -> bool:
        calls = own.get(scope, ())
        if not calls or any(last_name(call.func) != "backward" for call in calls):
            return False
        return not any(target in functions for call in scope.calls for target in graph.sure(call))

    return {
        scope
        for scope in found
        if only_adds_up(scope)
        and (places := [place for place in graph.places(scope) if place[1] not in graph.weak])
        and all(steps_around(where, node) for where, node in places)
    }


def awaited(scope: Scope, node: ast.AST) -> bool:
    """Return whether a node of a function runs only where a call without arguments says so: ``if self._fit_due():``.

    What the call asks is not known, or a guard would be found; it is how a rollout is waited for.
    """
    child = node
    for current in takewhile(lambda each: each is not scope.node and not isinstance(each, LOOPS), around(scope, node)):
        if isinstance(current, ast.If) and child in current.body:
            tests = (test for test, truth in conjuncts(current.test, True) if truth)
            if any(isinstance(test, ast.Call) and not test.args and not test.keywords for test in tests):
                return True
        child = current
    return False


def _repeats(loop: ast.stmt, scope: Scope) -> int:
    """How many loops of a function run a loop, itself included, but for those over the parts of one update."""
    around = takewhile(lambda node: node is not scope.node, scope.file.ancestors(loop))
    return sum(isinstance(node, LOOPS) and not goes_over_parts(node) for node in (loop, *around))


def goes_over_parts(loop: ast.AST) -> bool:
    """Return whether a loop goes over what an update has several of: agents, critics, networks.

    Over their keys or numbers, too: then each round takes another optimizer, ``self.optimizers[key]``.
    """
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    return any(_PARTS.fits(name) for name in _gone_over(loop.iter)) or _takes_optimizer(loop)


def _takes_optimizer(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether what a loop binds picks one of several optimizers."""
    bound = set(names_in(loop.target))
    picked = (
        last_name(part.value)
        for stmt in loop.body
        for part in walk(stmt)
        if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Name) and part.slice.id in bound
    )
    return any(_PARTS.fits(name) and _OPTIMIZER.fits(name) for name in picked)


def _gone_over(node: ast.AST) -> Iterator[str]:
    """The names of what a loop goes over, not of its holder: no agent in ``tqdm(agent.batches(), file=agent.log)``."""
    match node:
        case ast.Attribute(attr=name):
            yield name
        case ast.Call(func=func, args=args):
            viewed = [func.value] if isinstance(func, ast.Attribute) and func.attr in _VIEWS else []
            for each in (func, *viewed, *args):
                yield from _gone_over(each)
        case ast.Name() | ast.Constant():
            yield from names_in(node)
        case ast.expr():
            for child in ast.iter_child_nodes(node):
                yield from _gone_over(child)
