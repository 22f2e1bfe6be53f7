"""What functions of torch return that make tensors: of sizes, of data, like another tensor, of many tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from torchlint.facts.values import tensordicts
from torchlint.facts.values.dtypes import arithmetic_is_inexact, cast, is_inexact, promoted, typed
from torchlint.facts.values.join import TENSOR, list_of
from torchlint.facts.values.ranks import broadcast, nested, shape_rank
from torchlint.facts.values.signatures import Of, device_of, dtype_of, is_true, keyword, operands, starred, table
from torchlint.rule import UNKNOWN, Device, Kind, Value


def meeting(values: Sequence[Value]) -> Device:
    """Return the device of a result, from its tensor operands: CPU when all of them are, or one that has a dimension.

    A number as a tensor on the host may stand beside tensors on an accelerator, nothing else may.
    """
    devices = {v.device for v in values if v.kind is Kind.TENSOR}
    here = any(v.has_axes for v in values if v.kind is Kind.TENSOR and v.device is Device.CPU)
    if here and devices.isdisjoint((Device.CUDA, Device.EITHER)):
        return Device.CPU
    if devices == {Device.CPU} and any(v.kind is Kind.UNKNOWN for v in values):
        sized = any(v.rank != 0 for v in values if v.kind is Kind.TENSOR)
        return Device.CPU if sized else Device.UNKNOWN
    for device in (Device.CUDA, Device.UNKNOWN, Device.EITHER):
        if device in devices:
            return device
    return Device.CPU if devices else Device.UNKNOWN


def fresh(value: Value) -> Value:
    """Return a new tensor: on the host its memory is pageable."""
    return replace(value, pinned=False if value.device is Device.CPU else None, widened="", literal=None)


def legacy(last: str, where: Device, call: ast.Call, of: Of) -> Value:
    """Return what a legacy constructor such as ``torch.FloatTensor`` gives."""
    dtype: str | None = table()["legacy"][last] or None
    only = call.args[0] if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred) else None
    source = of(only) if only is not None else UNKNOWN
    base = Value(Kind.TENSOR, dtype, where, pinned=False if where is Device.CPU else None)
    if source.kind is Kind.NDARRAY:
        return replace(base, rank=source.rank, widened=cast(source, dtype).widened if where is Device.CPU else "")
    if source.kind in (Kind.LIST, Kind.TUPLE) and (rank := nested(source)) is not None:
        return replace(base, rank=rank)
    if len(call.args) > 1 or source.kind is Kind.NUMBER:
        return replace(base, rank=shape_rank("", last, call, of))  # sizes
    return base


def _options(call: ast.Call, of: Of, default: str | None) -> tuple[str | None, Device]:
    dtype, device, filled = keyword(call, "dtype"), keyword(call, "device"), keyword(call, "out")
    if filled is not None:  # ``torch.arange(n, out=x.new())`` is the tensor that it fills
        given = of(filled)
        return given.dtype, given.device
    star = any(k.arg is None for k in call.keywords)
    where = device_of(of(device)) if device is not None else Device.UNKNOWN if star else Device.CPU
    return (dtype_of(of(dtype)) if dtype is not None else None if star else default), where


def _pinned(call: ast.Call, where: Device) -> bool | None:
    if is_true(keyword(call, "pin_memory")):
        return True
    return False if where is Device.CPU else None


def created(rule: str, last: str, call: ast.Call, of: Of) -> Value:
    """Return a tensor of sizes, a range or random numbers."""
    default: str | None = "int64" if rule == "integers" else "float32"
    if last == "full":
        filling = of(call.args[1]) if len(call.args) > 1 and not starred(call) else UNKNOWN
        default = {"int": "int64", "bool": "bool", "float": "float32"}.get(filling.dtype or "")
    if rule == "arange":
        kinds = [of(arg) for arg in call.args]
        default = "int64" if all(v.kind is Kind.NUMBER and v.dtype in ("int", "bool") for v in kinds) else None
    dtype, where = _options(call, of, default)
    return Value(Kind.TENSOR, dtype, where, shape_rank(rule, last, call, of), pinned=_pinned(call, where))


def _innermost(source: Value) -> Value:
    while source.kind in (Kind.LIST, Kind.TUPLE):
        source = source.element
    return source


def converted(last: str, call: ast.Call, of: Of) -> Value:
    """Return a tensor made of data."""
    source = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    device = keyword(call, "device")
    if source.kind is Kind.TENSOR and keyword(call, "dtype") is None and device is None and last != "tensor":
        return source
    inner = _innermost(source)
    default = inner.dtype if inner.kind in (Kind.NDARRAY, Kind.TENSOR, Kind.SCALAR) else None
    if inner.kind is Kind.NUMBER:
        default = {"float": "float32", "int": "int64", "bool": "bool"}.get(inner.dtype or "")
    dtype, where = _options(call, of, default)
    if source.kind in (Kind.UNKNOWN, Kind.TENSOR) and device is None and last in ("as_tensor", "asarray", "tensor"):
        where = source.device
    rank = 0 if source.kind in (Kind.NUMBER, Kind.SCALAR) else nested(source)
    result = Value(Kind.TENSOR, dtype, where, rank, pinned=_pinned(call, where))
    if where is Device.CPU and source.kind is Kind.NDARRAY:
        return replace(result, widened=cast(source, dtype).widened)
    return result


def like_first(call: ast.Call, of: Of) -> Value:
    """Return a new tensor like the first argument, or a TensorDict of such tensors."""
    source = of(call.args[0]) if call.args else UNKNOWN
    if source == tensordicts.TENSORDICT:
        return source
    source = source if source.kind is Kind.TENSOR else TENSOR
    return new_like(source, source.rank, call, of)


def new_like(source: Value, rank: int | None, call: ast.Call, of: Of) -> Value:
    """Return a new tensor that takes from another one what the call does not say."""
    dtype, device = keyword(call, "dtype"), keyword(call, "device")
    made = replace(source, rank=rank)
    if dtype is not None:
        made = typed(made, dtype_of(of(dtype)))
    if device is not None:
        made = replace(made, device=device_of(of(device)))
    return fresh(made)


def chosen(call: ast.Call, of: Of) -> Value:
    """Return what ``torch.where`` gives: a choice, or the places at which a condition holds."""
    values = operands(call, of)
    where = meeting(values)
    if len(values) == 1:
        return places_along(where)
    if len(values) != 3:
        return Value(Kind.TENSOR, device=where)
    chosen = Value(Kind.TENSOR, device=where, rank=broadcast(values))
    return typed(chosen, promoted(*values[1:]), inexact=arithmetic_is_inexact(*values[1:]))


def places_along(where: Device) -> Value:
    """Return the places at which a condition holds as a tuple: a tensor of numbers for each dimension."""
    return list_of(Value(Kind.TENSOR, dtype="int64", device=where, rank=1))


def joined(last: str, call: ast.Call, of: Of) -> Value:
    """Return what ``cat``, ``stack`` and the like make of several tensors."""
    parts = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    if parts.kind is Kind.TUPLE and all(v.kind is Kind.TENSOR for v in parts.items) and parts.items:
        members: tuple[Value, ...] = parts.items
    else:
        element = parts.element
        members = (element if element.kind is Kind.TENSOR else replace(TENSOR, device=element.device),)
    same = all(v.dtype == members[0].dtype for v in members)
    rank = members[0].rank if all(v.rank == members[0].rank for v in members) else None
    if rank is not None and last == "stack":
        rank += 1
    elif last not in ("cat", "concat", "concatenate", "stack"):
        rank = None
    whole = fresh(Value(Kind.TENSOR, device=meeting(members), rank=rank))
    return typed(whole, members[0].dtype if same else None, inexact=all(is_inexact(v) for v in members))
