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
    """Whether a node is a statement as ``ast`` counts them: a line of two statements is none, each of the two is."""
    return isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement))


def parents_of(root: cst.CSTNode) -> dict[int, cst.CSTNode]:
    """For each node below ``root`` but whitespace and punctuation, by ``id``, the node that holds it.

    Wrappers without a value of their own are passed over, and statements have no entry: a search upwards ends there.
    """
    parents: dict[int, cst.CSTNode] = {}
    stack: list[tuple[cst.CSTNode, cst.CSTNode]] = [(root, root)]
    while stack:
        node, holder = stack.pop()
        for name in _parts(type(node)):
            value = getattr(node, name)
            for part in value if isinstance(value, (list, tuple)) else (value,):
                if not isinstance(part, cst.CSTNode):
                    continue
                if not is_statement(part):
                    parents[id(part)] = holder
                stack.append((part, holder if isinstance(part, _WRAPPERS) else part))
    return parents


@functools.cache
def _parts(node_type: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(node_type) if not field.name.startswith(_TRIVIA))
