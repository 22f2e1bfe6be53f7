"""What of its function a node is in: all of it, the conditions, and what no loop lies between."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from itertools import takewhile
from typing import TypeGuard

from torchlint.facts.code.callers import part_of
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import fans_out
from torchlint.facts.code.tree import names_in, walk
from torchlint.models import Word

_ACCUMULATED = Word("accumulation of gradients")
_MICRO_BATCH = Word("micro-batch")


def around(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that hold a node."""
    return takewhile(lambda current: current is not scope.node, scope.file.ancestors(node))


def branches(scope: Scope, node: ast.AST) -> list[ast.If]:
    """Return the conditions around a node of a function, innermost first."""
    return [current for current in around(scope, node) if isinstance(current, ast.If)]


def unlooped(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that hold a node, up to the innermost loop around it."""
    return takewhile(lambda current: not isinstance(current, LOOPS), around(scope, node))


def runs_each_time(node: ast.AST, child: ast.AST) -> TypeGuard[ast.For | ast.AsyncFor | ast.While]:
    """Return whether a node is a loop that runs a child again and again: its body, or its test."""
    return isinstance(node, LOOPS) and (child in node.body or (isinstance(node, ast.While) and child is node.test))


def tested_before(node: ast.AST, child: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the tests that a node asks before it runs a child, each with the truth value that it then has.

    The test of a branching, and the operands before one of ``and`` or ``or``.
    """
    match node:
        case ast.If(test=test, body=body) if child is not test:
            yield test, child in body
        case ast.IfExp(test=test, body=body) if child is not test:
            yield test, child is body
        case ast.BoolOp(op=op, values=values):
            for part in takewhile(lambda each: each is not child, values):
                yield part, isinstance(op, ast.And)


def enclosing_loop(facts: FileFacts, node: ast.AST, scope: Scope) -> ast.AST | None:
    """Return the innermost loop of the same function that runs a node in its body."""
    for child, current in facts.climb(node):
        if current is scope.node:
            break
        if runs_each_time(current, child) and not fans_out(node, current):
            return current
    return None


def loops_of_one_update(facts: FileFacts, node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yield the innermost loop around a node; where its rounds are parts of one update, also that around it."""
    loop = enclosing_loop(facts, node, scope)
    while loop is not None:
        yield loop
        loop = enclosing_loop(facts, loop, scope) if _is_over_micro_batches(facts, loop) else None


def loops_of_one_step(project: Project, facts: FileFacts, node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yield the innermost loop around a step; where it steps each of several environments, also that around it."""
    loop = enclosing_loop(facts, node, scope)
    if loop is not None:
        yield loop
        outer = enclosing_loop(facts, loop, scope) if _picks(project, facts, loop, node) else None
        if outer is not None:
            yield outer


def _picks(project: Project, facts: FileFacts, loop: ast.AST, step: ast.AST) -> bool:
    """Whether a loop picks the object of a call: ``for i in range(n): env = envs[i]``, ``for env in envs:``.

    Or what has it: ``worker.conn`` of ``for worker in workers:``.
    """
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not isinstance(step, ast.Call):
        return False
    stepped = step.func.value if isinstance(step.func, ast.Attribute) else step.func
    targets = {part.id for part in walk(loop.target) if isinstance(part, ast.Name)}
    owner = stepped
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if isinstance(owner, ast.Name) and owner.id in targets:
        return True
    picked = [part_of(value, path) for value, path in project.reaching(facts, stepped).parts] or [stepped]
    return all(
        isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Name) and each.slice.id in targets
        for each in picked
    )


def _is_over_micro_batches(facts: FileFacts, loop: ast.AST) -> bool:
    """Whether a loop goes over parts of the samples of one update: ``for start in range(0, batch, micro_batch):``."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    named = (name for part in (loop.target, loop.iter) for name in names_in(part))
    return any(map(_MICRO_BATCH.fits, named)) or _accumulates(facts, loop.iter)


def _accumulates(facts: FileFacts, over: ast.expr) -> bool:
    """Whether a range has as many rounds as an update has parts: the file says ``size = part * accumulation_steps``."""
    match over:
        case ast.Call(func=ast.Name(id="range" | "trange"), args=[_, size, part]):
            pair = {last_name(size), last_name(part)} - {""}
        case _:
            return False
    return len(pair) == 2 and any(
        last_name(stmt.targets[0]) in pair and _is_share(stmt.value, pair - {last_name(stmt.targets[0])})
        for stmt in facts.nodes(ast.Assign)
    )


def _is_share(value: ast.expr, other: Set[str]) -> bool:
    """Whether a value is another one, times or by the number of parts that gradients are accumulated over."""
    match value:
        case ast.BinOp(left=one, op=ast.Mult() | ast.Div() | ast.FloorDiv(), right=two):
            names = {last_name(one), last_name(two)}
        case ast.Call(args=[one, two]):
            names = {last_name(one), last_name(two)}
        case _:
            return False
    return other < names and any(map(_ACCUMULATED.fits, names - other))
