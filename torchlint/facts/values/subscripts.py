"""Tensors that index something."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import forms_of, receiver_of
from torchlint.facts.values.accelerators import in_host_branch
from torchlint.facts.values.values import Values
from torchlint.models import Word, method_names
from torchlint.rule import Device, Kind, Value

_MASK = Word("mask")
_END = Word("end of an episode")
_VIEWS = method_names("torch.Tensor torch", elements=("all", "repeated"))


def tensor_indices(values: Values, facts: FileFacts, node: ast.Subscript) -> Iterator[Value]:
    """Yield the parts of an index that are tensors."""
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(part, (ast.Slice, ast.Constant)):
            value = as_index(values, facts, part)
            if value.kind is Kind.TENSOR:
                yield value


def as_index(values: Values, facts: FileFacts, part: ast.expr) -> Value:
    """Return what is known of a part of an index; a tensor of unknown dtype with the name of a mask counts as one.

    So does one of the flags that say where an episode is over: numbers of that name would pick the first two rows.
    """
    value = values.of(facts, part)
    if value.kind is Kind.TENSOR and _is_called_mask(part, value):
        return values.guess(replace(value, dtype="bool"), value)
    return value


def _is_called_mask(index: ast.expr, value: Value) -> bool:
    """Whether a tensor of unknown dtype, or what it is a view or a part of, has the name of a mask."""
    if value.dtype is not None:
        return False
    match receiver_of(index, _VIEWS):
        case ast.Subscript(value=whole, slice=ast.Slice() | ast.Tuple()):
            return _is_called_mask(whole, value)
        case inner if inner is not index:
            return _is_called_mask(inner, value)
    match index:
        case ast.Name() | ast.Attribute():
            name = last_name(index)
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            pass
        case _:
            return False
    return _MASK.fits(name) or _END.fits(name.rpartition("_")[2])  # `done_envs` may be the numbers of some


def tensor_bounds(
    values: Values, facts: FileFacts, node: ast.Subscript, leaves: Callable[[FileFacts, ast.expr], bool]
) -> Iterator[Value]:
    """Yield the bounds of slices that are proven tensors, also through arithmetic: ``x[: n[i] - 1]``.

    A bound may be a tensor in one case and a number in another: ``end = found[0] if len(found) else n``.
    Those that ``leaves`` holds for are left out.
    """
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        for bound in (part.lower, part.upper) if isinstance(part, ast.Slice) else ():
            if bound is not None and not isinstance(bound, ast.Constant) and not leaves(facts, bound):
                found = next((value for value in _cases(values, facts, bound) if value.kind is Kind.TENSOR), None)
                if found is not None:
                    yield found


def _cases(values: Values, facts: FileFacts, node: ast.expr) -> Iterator[Value]:
    """What is known of an expression; where that is nothing, of each that a name was bound to, and of each case."""
    value = values.of(facts, node)
    yield value
    if value.known:
        return
    given = values.project.reaching(facts, node).values if isinstance(node, ast.Name) else (node,)
    cases = [[values.of(facts, form) for form in forms_of(each) or [each]] for each in given]
    others = len(given) - sum(all(case.kind is Kind.NUMBER for case in found) for found in cases)
    for each, found in zip(given, cases, strict=True):
        # Of several statements that give a tensor one may be for another device.
        only = len(given) == 1 or (others == 1 and not in_host_branch(values.project, facts, each))
        yield from (case for case in found if only or case.device is Device.CUDA)
