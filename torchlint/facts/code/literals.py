"""Which texts an expression may be, as far as literals say."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.project import Project

_SEQUENCES = (ast.List, ast.Tuple, ast.Set)


def strings(project: Project, facts: FileFacts, node: ast.expr, depth: int = 4) -> frozenset[str]:
    """All texts that an expression may be: literals, names bound to them, items of literal lists; else none."""
    if isinstance(node, ast.Constant):
        return frozenset({node.value}) if isinstance(node.value, str) else frozenset()
    if not depth:
        return frozenset()
    if isinstance(node, ast.IfExp):
        return strings(project, facts, node.body, depth - 1) | strings(project, facts, node.orelse, depth - 1)
    if isinstance(node, ast.JoinedStr):
        return _joined(project, facts, node, depth - 1)
    if not isinstance(node, ast.Name):
        return frozenset()
    bindings = project.reaching(facts, node).bindings
    return _union(_bound(project, facts, binding, depth - 1) for binding in bindings)


def _joined(project: Project, facts: FileFacts, node: ast.JoinedStr, depth: int) -> frozenset[str]:
    """The text of ``f"{PREFIX}_mean"``, where each part is one text."""
    found = ""
    for part in node.values:
        plain = not isinstance(part, ast.FormattedValue) or (part.format_spec is None and part.conversion < 0)
        texts = strings(project, facts, part.value if isinstance(part, ast.FormattedValue) else part, depth)
        if not plain or len(texts) != 1:
            return frozenset()
        found += next(iter(texts))
    return frozenset({found})


def _bound(project: Project, facts: FileFacts, binding: Binding, depth: int) -> frozenset[str]:
    """The texts that one binding may give."""
    value = binding.value
    if value is None or binding.path:
        return frozenset()
    if binding.how is Bind.ASSIGN:
        return strings(project, facts, value, depth)
    if binding.how is Bind.ELEMENT:
        return _union(strings(project, facts, item, depth) for item in _items(project, facts, value))
    return frozenset()


def _items(project: Project, facts: FileFacts, node: ast.expr) -> list[ast.expr]:
    """The items of a literal sequence, or of the one that a name is bound to."""
    if isinstance(node, _SEQUENCES):
        return node.elts
    if isinstance(node, ast.Name):
        bindings = project.reaching(facts, node).bindings
        if len(bindings) == 1:
            value = next(iter(bindings)).value
            return value.elts if isinstance(value, _SEQUENCES) else []
    return []


def _union(found: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*found)
