"""Which arrays have at least one dimension, where their rank is not known: an array of integers without one is a size.

``torch.LongTensor(np.array(5))`` makes five elements, and so does all that may be such an array at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint.facts.values.signatures import Of, argument, is_true, keyword
from torchlint.models import last_names
from torchlint.rule import Kind, Value

_ALWAYS = last_names("numpy", array=True)
_FILLED = last_names("numpy", makes="filled")
_AS_THE_SOURCE = frozenset({"view", "round", "clip", "argsort", "copy", "astype", "transpose"})
_ONE_AT_LEAST = frozenset({"flatten", "ravel", "repeat", "cumsum", "cumprod", "swapaxes"})


def spans(size: Value) -> bool:
    """Return whether a value is proven to name a shape with a dimension: a number, or a tuple that is not empty."""
    if size.kind is Kind.NUMBER:
        return size.dtype == "int"
    return size.kind is Kind.TUPLE and bool(size.items)


def has_axes(value: Value) -> bool:
    """Return whether an array made of these values has a dimension: one of them is a list, or an array that has one."""
    return value.has_axes if value.kind is Kind.NDARRAY else value.kind in (Kind.LIST, Kind.TUPLE)


def of_function(last: str, first: Value, call: ast.Call, of: Of) -> bool:
    """Return whether ``numpy.last(first, ...)`` has a dimension."""
    if last in _ALWAYS:
        return True
    if last in _FILLED:
        return spans(first)
    if last in ("reshape", "broadcast_to"):
        shape = argument(call, 1, "shape") or keyword(call, "newshape")
        return shape is not None and spans(of(shape))
    if last == "take":
        indices = argument(call, 1, "indices")
        return indices is not None and has_axes(of(indices))
    if last == "tile":
        times = argument(call, 1, "reps")
        return has_axes(first) or (times is not None and spans(of(times)))
    return last not in ("squeeze", "matmul", "loadtxt") and has_axes(first)


def of_method(name: str, source: Value, call: ast.Call, of: Of) -> bool:
    """Return whether ``array.name(...)`` has a dimension, where the array is only seen in another form."""
    if name in _AS_THE_SOURCE:
        return source.has_axes
    if name == "reshape":
        return len(call.args) > 1 or (len(call.args) == 1 and spans(of(call.args[0])))
    return name in _ONE_AT_LEAST


def reduced_rank(source: Value, call: ast.Call, of: Of) -> int | None:
    """Return the rank of what is left of an array that is reduced along an axis; ``None``: not known."""
    axis, kept = argument(call, 0, "axis"), keyword(call, "keepdims")
    if source.rank is None or (kept is not None and not isinstance(kept, ast.Constant)):
        return None
    if is_true(kept):
        return source.rank
    along = of(axis) if axis is not None else None
    if along is None or not spans(along):
        return None
    return source.rank - (len(along.items) if along.kind is Kind.TUPLE else 1)


def of_item(source: Value, indices: Sequence[Value | None], slices: int) -> bool:
    """Return whether the result of indexing an array has a dimension; ``slices`` of the indices are slices."""
    if slices or any(v is not None and (v.kind is Kind.NONE or _picks_several(v)) for v in indices):
        return True
    return source.rank is not None and source.rank > sum(1 for v in indices if v is not None)


def _picks_several(index: Value) -> bool:
    """Whether an index gives a dimension of its own: a list, a mask, or an array with a dimension."""
    return index.kind is Kind.LIST or (index.kind is Kind.NDARRAY and (index.dtype == "bool" or index.has_axes))
