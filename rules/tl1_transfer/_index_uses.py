"""Subscripts that one index has in common: where they stand, and which of them run again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchlint.facts.code.model import COMPREHENSIONS, FileFacts
from torchlint.facts.code.nesting import unconditional
from torchlint.facts.code.tree import walk

Use = tuple[ast.Subscript, ast.Name]
"""A subscript, and a name that stands as a part of its index."""


def parts_of_index(node: ast.Subscript) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names, and the attributes of names, that stand as parts of an index."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return (part for part in parts if isinstance(part, (ast.Name, ast.Attribute)) and is_chain(part))


def names_in_index(node: ast.Subscript) -> Iterator[ast.Name]:
    """Yield the names that stand as parts of an index."""
    return (part for part in parts_of_index(node) if isinstance(part, ast.Name))


def anchor_of(first: ast.stmt, members: Iterable[Use]) -> ast.expr | None:
    """Return a tensor with a name that the first statement indexes in any case: it says where to move the index."""
    certain = set(unconditional(first))
    bases = [node.value for node, _ in members if node in certain]
    return next((base for base in bases if is_chain(base)), None)


def is_chain(node: ast.expr) -> bool:
    """Return whether an expression is a name, or attributes of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def place_in(facts: FileFacts, node: ast.AST, block: Sequence[ast.stmt]) -> int:
    """Return where a node is in a block: the index of the statement that holds it, -1 where none does."""
    for part in (node, *facts.ancestors(node)):
        if isinstance(part, ast.stmt) and part in facts.places and facts.places[part][0] is block:
            return facts.places[part][1]
    return -1


def may_copy_again(facts: FileFacts, uses: Sequence[Use]) -> bool:
    """Return whether a name indexes something more than once."""
    return len(uses) > 1 or any(is_repeated(facts, *use) for use in uses)


def is_conditional(facts: FileFacts, node: ast.AST, block: Sequence[ast.stmt]) -> bool:
    """Return whether a branch that a block holds decides whether a node runs."""
    for part in facts.ancestors(node):
        if isinstance(part, (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.Match)):
            return True
        if isinstance(part, ast.stmt) and part in facts.places and facts.places[part][0] is block:
            return False
    return False


def is_repeated(facts: FileFacts, node: ast.Subscript, name: ast.Name) -> bool:
    """Return whether a comprehension or a loop indexes something else by one name in each round."""
    if comprehension_over(facts, node, name) is not None:
        return True
    loops = (part for part in facts.ancestors(node) if isinstance(part, ast.For))
    loop = next(loops, None)
    if loop is None or not differs_from(loop.target, node, name):
        return False
    bound = (part for part in walk(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return all(each.id != name.id for each in bound)


def comprehension_over(facts: FileFacts, node: ast.Subscript, name: ast.Name) -> ast.expr | None:
    """Return the comprehension that indexes something else by one name in each round."""
    for part in facts.ancestors(node):
        if isinstance(part, ast.stmt):
            return None
        if isinstance(part, COMPREHENSIONS) and any(differs_from(each.target, node, name) for each in part.generators):
            return part
    return None


def differs_from(target: ast.expr, node: ast.Subscript, name: ast.Name) -> bool:
    """Return whether the targets of a loop are in what is indexed, and none of them is the index."""
    bound = {each.id for each in walk(target) if isinstance(each, ast.Name)}
    mentioned = {each.id for each in walk(node.value) if isinstance(each, ast.Name)}
    return name.id not in bound and bool(bound & mentioned)
