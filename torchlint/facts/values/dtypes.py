"""Dtypes of results: promotion in PyTorch and NumPy, and casts that widen."""

from __future__ import annotations

from dataclasses import replace

from torchlint.rule import Device, Kind, Value

_INTEGERS = {"uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8}
_FLOATS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_WIDTHS = {"bool": 1, **_INTEGERS, **_FLOATS}
_INEXACT_REDUCTIONS = frozenset({"mean", "nanmean", "std", "var", "norm", "logsumexp", "quantile", "nanquantile"})
_COUNTING = frozenset({"sum", "prod", "nansum", "trace", "cumsum", "cumprod"})
_REDUCED = {"bool": "int64", "uint8": "int64", "int8": "int64", "int16": "int64", "int32": "int64"}
_FLOAT_FOR = {"bool": "float16", "uint8": "float16", "int8": "float16", "int16": "float32"}  # NumPy's exact float


def width(dtype: str | None) -> int | None:
    """Return the bytes of one element, ``None`` for a dtype that is not known."""
    return _WIDTHS.get(dtype or "")


def is_floating(dtype: str | None) -> bool:
    """Return whether a dtype is known and a floating one."""
    return dtype in _FLOATS


def is_counting(dtype: str | None) -> bool:
    """Return whether a dtype is known and one of integers or truths."""
    return dtype == "bool" or dtype in _INTEGERS


def is_inexact(value: Value) -> bool:
    """Return whether a tensor is proven to be of a floating or a complex dtype, known or not."""
    return value.kind is Kind.TENSOR and (value.inexact if value.dtype is None else is_floating(value.dtype))


def floating(dtype: str | None) -> str | None:
    """Return the dtype of ``exp`` and the like in PyTorch: integers become the default dtype."""
    return "float32" if dtype in _INTEGERS or dtype == "bool" else dtype


def _category(dtype: str) -> int:
    return 2 if dtype in _FLOATS else 1 if dtype in _INTEGERS else 0


def _wider(one: str, other: str) -> str:
    """The dtype that two of one category promote to."""
    if {one, other} == {"float16", "bfloat16"}:
        return "float32"
    if {one, other} == {"uint8", "int8"}:
        return "int16"
    return one if _WIDTHS[one] >= _WIDTHS[other] else other


def promoted(left: Value, right: Value) -> str | None:
    """Return the dtype that PyTorch gives an operation on two tensors, or on a tensor and a number."""
    if right.kind is not Kind.TENSOR:
        left, right = right, left
    if left.kind is not Kind.TENSOR:
        return _with_number(right.dtype, left)
    one, other = left.dtype, right.dtype
    if one is None or other is None or one == other:
        return one if one == other else None
    if _category(one) != _category(other):
        return one if _category(one) > _category(other) else other
    if left.rank is None or right.rank is None:
        return None
    if (left.rank == 0) != (right.rank == 0):
        return other if left.rank == 0 else one
    return _wider(one, other)


def typed(source: Value, dtype: str | None, *, inexact: bool = False) -> Value:
    """Return a tensor as one of another dtype; of one that is not known, whether it is proven to be inexact."""
    return replace(source, dtype=dtype, inexact=dtype is None and inexact)


def arithmetic_is_inexact(left: Value, right: Value) -> bool:
    """Return whether a sum or a product is floating or complex: one operand is, or is a ``float`` of Python."""
    return any(is_inexact(v) or (v.kind is Kind.NUMBER and v.dtype == "float") for v in (left, right))


def _with_number(dtype: str | None, number: Value) -> str | None:
    if dtype is None or number.kind is not Kind.NUMBER or number.dtype is None:
        return dtype if is_floating(dtype) and number.kind in (Kind.NUMBER, Kind.SCALAR) else None
    if number.dtype == "float":
        return floating(dtype)
    return "int64" if dtype == "bool" and number.dtype == "int" else dtype


def promoted_arrays(left: Value, right: Value) -> str | None:
    """Return the dtype that NumPy gives an operation on two arrays, or on an array and a number."""
    if right.kind is not Kind.NDARRAY:
        left, right = right, left
    if left.kind is Kind.NUMBER:
        return _array_with_number(right.dtype, left.dtype)
    one, other = left.dtype, right.dtype
    if one is None or other is None or one == other:
        return one if one == other else "float64" if "float64" in (one, other) else None
    if left.kind is not Kind.NDARRAY:
        return None  # a NumPy scalar counts less in NumPy 1 than in NumPy 2
    if _category(one) == _category(other):
        return _wider(one, other)
    low, high = sorted((one, other), key=_category)
    if _category(high) == 1:
        return high
    exact = _FLOAT_FOR.get(low, "float64")
    return high if _WIDTHS[high] >= _WIDTHS[exact] else exact


def _array_with_number(dtype: str | None, number: str | None) -> str | None:
    if dtype is None or number is None:
        return None
    if number == "float":
        return dtype if is_floating(dtype) else "float64"
    return "int64" if dtype == "bool" and number == "int" else dtype


def is_mean(name: str) -> bool:
    """Return whether a reduction gives a floating or a complex number, whatever it is taken of."""
    return name in _INEXACT_REDUCTIONS


def counted(name: str, dtype: str | None) -> str | None:
    """Return the dtype of sums and products, for which torch takes wider whole numbers; also of each element alone."""
    if name in _COUNTING:
        return _REDUCED.get(dtype or "", dtype)
    return "int64" if name == "square" and dtype == "bool" else dtype


def reduced(rule: str, name: str, dtype: str | None) -> str | None:
    """Return the dtype of a reduction, by its rule of the table and its name."""
    if rule == "reduce_bool":
        return dtype if dtype in (None, "uint8") else "bool"  # of bytes it is a byte
    if rule == "index":
        return "int64"
    if name == "dist":
        return None
    return floating(dtype) if is_mean(name) else counted(name, dtype)


def cast(source: Value, dtype: str | None) -> Value:
    """Return a tensor or array in another dtype; on the host it remembers what narrower one it was widened from."""
    here = source.kind is Kind.NDARRAY or source.device is Device.CPU
    new, old = width(dtype), width(source.dtype)
    widened = source.widened if new is not None and (width(source.widened) or new) < new else ""
    if here and not widened and new is not None and old is not None and source.dtype is not None and old < new:
        widened = source.dtype
    return replace(source, dtype=dtype, widened=widened, inexact=False)
