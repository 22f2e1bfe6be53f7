"""Tensors that index something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.values.values import Values
from torchlint.models import Word
from torchlint.rule import Kind, Value

_MASK = Word("mask")


def tensor_indices(values: Values, facts: FileFacts, node: ast.Subscript) -> Iterator[Value]:
    """Yield the parts of an index that are tensors."""
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(part, (ast.Slice, ast.Constant)):
            value = as_index(values, facts, part)
            if value.kind is Kind.TENSOR:
                yield value


def as_index(values: Values, facts: FileFacts, part: ast.expr) -> Value:
    """Return what is known of a part of an index; a tensor of unknown dtype with the name of a mask counts as one."""
    value = values.of(facts, part)
    if value.kind is Kind.TENSOR and _is_called_mask(part, value):
        return values.guess(replace(value, dtype="bool"), value)
    return value


def _is_called_mask(index: ast.expr, value: Value) -> bool:
    return value.dtype is None and isinstance(index, (ast.Name, ast.Attribute)) and _MASK.fits(last_name(index))


def tensor_bounds(values: Values, facts: FileFacts, node: ast.Subscript) -> Iterator[Value]:
    """Yield the bounds of slices that are proven tensors, also through arithmetic: ``x[: n[i] - 1]``."""
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        for bound in (part.lower, part.upper) if isinstance(part, ast.Slice) else ():
            if bound is not None and not isinstance(bound, ast.Constant):
                value = values.of(facts, bound)
                if value.kind is Kind.TENSOR:
                    yield value
