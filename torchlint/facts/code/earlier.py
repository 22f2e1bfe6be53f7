"""Whether the value of a name was used before it is read, and whether what is put into it came too late for a read."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import around, is_above, unconditional
from torchlint.facts.code.project import Project

_CONSUMING = frozenset({"sum", "max", "min", "any", "all", "list", "tuple", "set", "dict", "sorted"})
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def used_before(project: Project, facts: FileFacts, place: ast.Name, node: ast.Name) -> bool:
    """Return whether a name at ``place`` had the value that it has at a node, and was read there in any case before."""
    stmt = facts.statement(place)
    if not isinstance(stmt, _SIMPLE) or not is_above(facts, stmt, node) or place not in unconditional(stmt):
        return False
    bound = project.reaching(facts, node).bindings
    if project.reaching(facts, place).bindings != bound:
        return False
    between = range(place.lineno + 1, node.lineno + 1)
    return not any(getattr(binding.stmt, "lineno", 0) in between for binding in bound)


def took_before(facts: FileFacts, read: ast.Name, node: ast.Name, made: ast.AST) -> bool:
    """Return whether a read took an element of a container before one was put into it: ``x[0]``, then ``x[1] = y``.

    ``made``: the statement that makes the container, in each round of what runs both again. A generator that takes
    elements may run later, and so may a function.
    """
    taken, put = facts.parent.get(read), facts.parent.get(node)
    if not (isinstance(taken, ast.Subscript) and isinstance(taken.ctx, ast.Load) and isinstance(put, ast.Subscript)):
        return False
    if not isinstance(put.ctx, ast.Store) or _may_wait(facts, taken):
        return False
    if facts.scope_of(read).function is not facts.scope_of(node).function:
        return False
    places = {id(block): place for block, place in facts.blocks(node)}
    earlier = any(place < places.get(id(block), 0) for block, place in facts.blocks(read))
    loops = [loop for loop in around(facts, node) if loop in facts.ancestors(read)]
    return earlier and is_above(facts, made, read) and all(loop in facts.ancestors(made) for loop in loops)


def _may_wait(facts: FileFacts, node: ast.expr) -> bool:
    """Whether an expression is evaluated later than its statement, or more often."""
    for above in facts.ancestors(node):
        if isinstance(above, (ast.stmt, ast.Lambda)):
            return isinstance(above, ast.Lambda)
        if isinstance(above, ast.GeneratorExp):
            consumer = facts.parent.get(above)
            if not isinstance(consumer, ast.Call) or getattr(consumer.func, "id", "") not in _CONSUMING:
                return True
    return False
