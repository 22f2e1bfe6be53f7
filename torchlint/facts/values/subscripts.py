"""Tensors that index something."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.model import FileFacts
from torchlint.facts.values.values import Values
from torchlint.rule import Kind, Value


def tensor_indices(values: Values, facts: FileFacts, node: ast.Subscript) -> Iterator[Value]:
    """The parts of an index that are proven tensors."""
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(part, (ast.Slice, ast.Constant)):
            value = values.of(facts, part)
            if value.kind is Kind.TENSOR:
                yield value


def tensor_bounds(values: Values, facts: FileFacts, node: ast.Subscript) -> Iterator[Value]:
    """The bounds of slices in an index that are proven tensors, also where arithmetic makes them: ``x[: n[i] - 1]``."""
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        for bound in (part.lower, part.upper) if isinstance(part, ast.Slice) else ():
            if bound is not None and not isinstance(bound, ast.Constant):
                value = values.of(facts, bound)
                if value.kind is Kind.TENSOR:
                    yield value
