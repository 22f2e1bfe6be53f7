"""Which loops and comprehensions run a node, and what is in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import COMPREHENSIONS, LOOPS, NESTED, FileFacts, Scope
from torchlint.facts.code.tree import children

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
LoopNode = ast.For | ast.AsyncFor | ast.While | Comprehension

OUTSIDE = (*NESTED, ast.Module)
"""Nodes that a search for the loops around a node does not leave."""
_DECIDING = (ast.IfExp, ast.BoolOp, *COMPREHENSIONS, *NESTED)
"""Nodes that decide whether a part of them runs."""


def around(facts: FileFacts, node: ast.AST) -> Iterator[LoopNode]:
    """Yield the loops and comprehensions of the same function that run a node again in every round, innermost first."""
    child, parent = node, facts.parent.get(node)
    while parent is not None and not isinstance(parent, OUTSIDE):
        if isinstance(parent, ast.comprehension):
            holder = facts.parent[parent]
            assert isinstance(holder, COMPREHENSIONS)
            if child is not parent.iter or parent is not holder.generators[0]:
                yield holder
            child, parent = holder, facts.parent.get(holder)
            continue
        if isinstance(parent, COMPREHENSIONS):
            yield parent
        elif isinstance(parent, LOOPS):
            tested = isinstance(parent, ast.While) and child is parent.test
            if tested or (isinstance(child, ast.stmt) and facts.places[child][0] is parent.body):
                yield parent
        child, parent = parent, facts.parent.get(parent)


def inside(loop: LoopNode) -> list[ast.AST]:
    """Return the parts of a loop that run in every round."""
    if isinstance(loop, ast.While):
        return [loop.test, *loop.body]
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        return list(loop.body)
    kept = [part for part in children(loop) if not isinstance(part, ast.comprehension)]
    first, *others = loop.generators
    return [*kept, *first.ifs, *others]


def head(loop: LoopNode) -> ast.expr | None:
    """Return what a loop iterates over, ``None`` for ``while``."""
    if isinstance(loop, ast.While):
        return None
    return loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else loop.generators[0].iter


def main_block(facts: FileFacts) -> ast.If | None:
    """Return the top-level ``if __name__ == "__main__":`` of a file, whose body an import does not run."""
    for stmt in facts.tree.body:
        match stmt:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
                )
            ):
                return stmt
    return None


def in_main_block(facts: FileFacts, node: ast.AST) -> bool:
    """Return whether a node runs only where its file is run as a program."""
    block = main_block(facts)
    child = node
    for above in facts.ancestors(node):
        if above is block:
            return child in block.body
        child = above
    return False


def stored_before(facts: FileFacts, node: ast.AST, text: str, loop: LoopNode | None) -> ast.expr | None:
    """Return what an attribute was last set to in the same iteration or call, on every path to the node.

    ``None`` where it may not have been.
    """
    for block, index in facts.blocks(node):
        if block[index] is loop:
            break
        for earlier in reversed(block[:index]):
            if isinstance(earlier, ast.Assign) and any(dotted(target) == text for target in earlier.targets):
                return earlier.value
    return None


def in_handler(facts: FileFacts, node: ast.AST) -> bool:
    """Return whether a node is in the ``except`` part of a ``try`` of its function."""
    return any(isinstance(parent, ast.ExceptHandler) for _, parent in facts.climb(node, *OUTSIDE))


def awaits_error(facts: FileFacts, node: ast.AST, error: str) -> bool:
    """Return whether a node is in the body of a ``try`` of its function that has a handler for an error, by name."""
    for child, parent in facts.climb(node, *OUTSIDE):
        if isinstance(parent, ast.Try) and child in parent.body:
            if any(isinstance(each, ast.Name) and each.id == error for each in caught_by(parent)):
                return True
    return False


def caught_by(node: ast.Try) -> Iterator[ast.expr | None]:
    """Yield the errors that the handlers of a ``try`` name; ``None`` for a handler of all errors."""
    for handler in node.handlers:
        yield from handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def unconditional(top: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression or a simple statement that run whenever it runs."""
    todo = [top]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.Compare):
            todo += [node.left, node.comparators[0]]  # the others only where the first comparison holds
        elif not isinstance(node, _DECIDING):
            todo.extend(ast.iter_child_nodes(node))


def is_above(facts: FileFacts, stmt: ast.AST, node: ast.AST) -> bool:
    """Return whether a statement precedes a node in an enclosing block, so that it always ran last before the node."""
    if not isinstance(stmt, ast.stmt) or stmt not in facts.places:
        return False
    block, index = facts.places[stmt]
    for part in (node, *facts.ancestors(node)):
        if isinstance(part, NESTED):
            return False
        if isinstance(part, ast.stmt) and part in facts.places and facts.places[part][0] is block:
            return index < facts.places[part][1]
    return False


def nodes_of(code: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes of some code in source order, without those inside of functions and classes that it defines."""
    todo = list(code)[::-1]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, NESTED):
            todo += reversed(children(node))


def body_of(node: ast.AST) -> list[ast.AST]:
    """Return what a function, class or module runs: statements, or of a lambda its expression."""
    body = getattr(node, "body", [])
    return list(body) if isinstance(body, list) else [body]


def code_of(function: Scope) -> Iterator[ast.AST]:
    """Yield all nodes of a function's or module's own code."""
    return nodes_of(body_of(function.node))
