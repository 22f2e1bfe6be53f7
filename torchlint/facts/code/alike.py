"""Whether expressions read the same: one syntax tree, wherever they stand and however they are laid out."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_CONTEXTS = frozenset({"ctx", "kind", "type_comment"})


def alike(one: object, other: object) -> bool:
    """Whether two nodes read the same; it makes no difference whether they are read or stored into."""
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if not isinstance(one, ast.AST):
        return one == other
    return all(
        alike(getattr(one, name, None), getattr(other, name, None)) for name in one._fields if name not in _CONTEXTS
    )


def among(node: ast.AST, others: Iterable[ast.AST | None]) -> bool:
    """Whether one of some nodes reads the same as another."""
    return any(alike(node, other) for other in others)
