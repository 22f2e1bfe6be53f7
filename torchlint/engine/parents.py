"""Which LibCST node holds which, for the nodes that a rule asks about."""

from __future__ import annotations

import dataclasses
import functools

import libcst as cst

_WRAPPERS = (
    cst.Annotation,
    cst.Arg,
    cst.AsName,
    cst.AssignTarget,
    cst.CompIf,
    cst.ComparisonTarget,
    cst.Decorator,
    cst.DictElement,
    cst.Element,
    cst.Else,
    cst.Finally,
    cst.From,
    cst.Index,
    cst.NameItem,
    cst.SubscriptElement,
    cst.TypeParam,
)
_STATEMENTS = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
_TRIVIA = (
    "whitespace",
    "leading_",
    "trailing_",
    "lines_",
    "comma",
    "semicolon",
    "lpar",
    "rpar",
    "lbracket",
    "rbracket",
    "lbrace",
    "rbrace",
    "header",
    "footer",
    "equal",
    "colon",
    "first_colon",
    "second_colon",
    "dot",
    "asynchronous",
)


def is_statement(node: cst.CSTNode) -> bool:
    """Return whether a node is a statement of ``ast``: each of two on a line is, the line of both is not."""
    kind = _kind(node.__class__)
    return kind is not None and kind[0]


def parents_of(root: cst.CSTNode) -> dict[int, cst.CSTNode]:
    """Return the parent of each node below ``root``, by ``id``, but of whitespace and punctuation.

    Wrappers without a value of their own are passed over, and statements have no entry: a search upwards ends there.
    """
    parents: dict[int, cst.CSTNode] = {}
    stack: list[tuple[cst.CSTNode, cst.CSTNode]] = [(root, root)]
    while stack:
        node, holder = stack.pop()
        for name in _parts(type(node)):
            value = getattr(node, name)
            for part in value if isinstance(value, (list, tuple)) else (value,):
                kind = _kind(part.__class__)
                if kind is None:
                    continue
                states, wraps = kind
                if not states:
                    parents[id(part)] = holder
                stack.append((part, holder if wraps else part))
    return parents


@functools.cache
def _kind(cls: type[object]) -> tuple[bool, bool] | None:
    """Whether nodes of a class are statements, and whether they are wrappers; ``None`` if its objects are no nodes.

    Found out once for a class: LibCST's are abstract, and to ask each object took most of the time of the walk.
    """
    return (issubclass(cls, _STATEMENTS), issubclass(cls, _WRAPPERS)) if issubclass(cls, cst.CSTNode) else None


@functools.cache
def _parts(node_type: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(node_type) if not field.name.startswith(_TRIVIA))
