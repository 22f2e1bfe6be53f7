"""Whether a statement used the value of a name before it is read: what a call that did not raise says of the value."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import is_above, unconditional
from torchlint.facts.code.project import Project

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
