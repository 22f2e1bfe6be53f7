"""Makes a program smaller as long as its fixes still make a difference."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import replace

from fuzz.fixes.campaign import Task, program
from fuzz.fixes.program import Program
from fuzz.fixes.running import tried
from fuzz.properties import tree_of


def shrunk(task: Task) -> Program:
    """The smallest program found by leaving out statements and taking parts of expressions for the whole."""
    smallest, choice = program(task)
    state = choice.getstate()
    if not _differs(smallest, task, state):
        return smallest
    while True:
        smaller = next((one for one in _smaller(smallest) if _differs(one, task, state)), None)
        if smaller is None:
            return smallest
        smallest = smaller


def _differs(one: Program, task: Task, state: object) -> bool:
    choice = random.Random()
    choice.setstate(state)  # type: ignore[arg-type]
    try:
        return bool(tried(one, task.inputs, choice).differences)
    except Exception:  # noqa: BLE001  a part of a program may fail in any way
        return False


def _smaller(one: Program) -> Iterator[Program]:
    tree = tree_of(one.text)
    assert tree is not None
    nodes = list(ast.walk(tree))
    for node in nodes:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield from _without_rows(one, tree, block)
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)) and node.value is not None:
            yield from _parts(one, tree, node)


def _without_rows(one: Program, tree: ast.Module, block: list[ast.stmt]) -> Iterator[Program]:
    for index, row in enumerate(list(block)):
        if len(block) > 1:
            del block[index]
            yield replace(one, text=ast.unparse(tree) + "\n")
            block.insert(index, row)


def _parts(one: Program, tree: ast.Module, node: ast.Assign | ast.AugAssign | ast.Return) -> Iterator[Program]:
    for above in list(ast.walk(node)):
        for name, value in list(ast.iter_fields(above)):
            if isinstance(value, ast.expr):
                for part in ast.iter_child_nodes(value):
                    if isinstance(part, ast.expr):
                        setattr(above, name, part)
                        yield replace(one, text=ast.unparse(tree) + "\n")
                setattr(above, name, value)
