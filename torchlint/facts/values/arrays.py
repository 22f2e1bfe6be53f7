"""What functions of NumPy and methods of arrays return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from torchlint.facts.values import axes
from torchlint.facts.values.dtypes import cast, is_floating, promoted_arrays
from torchlint.facts.values.join import BOOL, FLOAT, INT, NDARRAY, NONE, NUMBER, STRING, TENSOR, list_of, nested_list
from torchlint.facts.values.signatures import Of, dtype_of, keyword, names_objects, operands, rules, starred, table
from torchlint.models import last_names
from torchlint.rule import UNKNOWN, Kind, Value

JOINING_SUBSCRIPTS = frozenset({"numpy.r_", "numpy.c_"})  # objects that join what they are indexed with
_FILLED = frozenset({"zeros", "ones", "empty", "eye", "identity", "linspace", "logspace"})
_MADE_OF = last_names("numpy", makes="data")
_JOINING = last_names("numpy", joins="parts")
_LIKE = last_names("numpy", makes="like")
_SAME_RANK = last_names("numpy", rank="same")
_KEEPS_DTYPE = last_names("numpy", keeps="dtype")
_INDICES = list_of(Value(Kind.NDARRAY, dtype="int64", rank=1))  # one array of each dimension
_OF_EACH = frozenset({"atleast_1d", "atleast_2d", "atleast_3d"})
_RANGES = frozenset({"linspace", "logspace", "geomspace"})
_OF_FRACTIONS = frozenset({"quantile", "percentile", "nanquantile", "nanpercentile"})
_SUMMING = frozenset({"cumsum", "cumprod"})  # integers and truths become as wide as the machine's
_NUMBERS = {"int": "int64", "float": "float64", "bool": "bool"}
_KEEPING = frozenset(
    {"clip", "maximum", "minimum", "fmax", "fmin", "abs", "absolute", "negative", "add", "subtract", "multiply"}
)


def numpy_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return the value of a call of a function of numpy, ``None`` when the table does not have it."""
    module, _, last = name.rpartition(".")
    if module == "numpy.random":
        return _random(last, call, of)
    if module != "numpy":
        return None
    rule = rules("numpy").get(last)
    first = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    if rule == "array" and last in _OF_EACH and len(call.args) > 1:
        return list_of(NDARRAY)
    if rule == "array":
        made = _array(last, first, call, of)
        if not made.known:
            return made
        return replace(made, shaped=made.rank is None and axes.of_function(last, first, call, of))
    if rule == "bool_array":
        if first.kind not in (Kind.NDARRAY, Kind.LIST):
            return UNKNOWN
        rank = first.rank if len(call.args) == 1 else None
        return Value(Kind.NDARRAY, dtype="bool", rank=rank, shaped=rank is None and axes.has_axes(first))
    if rule == "indices" or (last == "where" and len(call.args) == 1 and not starred(call)):
        return _INDICES
    if rule == "elementwise":
        return _elementwise(last, call, of)
    if rule == "arrays":
        return list_of(NDARRAY)
    if rule == "reduce":
        fraction = last in _OF_FRACTIONS and len(call.args) == 2 and of(call.args[1]).kind is Kind.NUMBER
        alone = keyword(call, "axis") is None and keyword(call, "keepdims") is None
        whole = alone and (fraction or len(call.args) == 1)
        return Value(Kind.SCALAR) if whole else NDARRAY if last not in ("dot",) else UNKNOWN
    if rule == "parts":
        rank = first.rank if first.kind is Kind.NDARRAY else None
        return list_of(replace(_made_of("asarray", first), rank=rank, shaped=rank is None))
    return NUMBER if rule == "number" else None


def _array(last: str, first: Value, call: ast.Call, of: Of) -> Value:
    dtype = keyword(call, "dtype") or (
        call.args[1] if (last in _FILLED or last in _MADE_OF) and len(call.args) == 2 else None
    )
    if dtype is not None and names_objects(dtype, of):
        return UNKNOWN
    if last == "take" and len(call.args) > 1 and of(call.args[1]).kind in (Kind.NUMBER, Kind.SCALAR):
        return Value(Kind.ITEM)
    rank = _rank(last, first)
    if last in _RANGES and any(v.kind in (Kind.NDARRAY, Kind.LIST, Kind.TUPLE) for v in operands(call, of)):
        return NDARRAY
    if dtype is not None and last not in ("linspace", "logspace"):
        source = _made_of(last, first)
        return replace(cast(source, dtype_of(of(dtype))), rank=rank)
    if last in _FILLED:
        return Value(Kind.NDARRAY, dtype="float64", rank=rank)
    if last == "full" and len(call.args) > 1:
        return Value(Kind.NDARRAY, dtype=_NUMBERS.get(of(call.args[1]).dtype or ""), rank=rank)
    if last == "arange":
        whole = all(v.kind is Kind.NUMBER and v.dtype == "int" for v in operands(call, of)) and not starred(call)
        return Value(Kind.NDARRAY, dtype="int64" if whole else None, rank=rank)
    return replace(_made_of(last, first), rank=rank)


def _made_of(last: str, first: Value) -> Value:
    """The array that a function makes of its first argument, in the same dtype."""
    inner = first
    while inner.kind in (Kind.LIST, Kind.TUPLE) and last in _MADE_OF | _JOINING:
        inner = inner.element
    if inner.kind is Kind.NDARRAY and last in _MADE_OF | _JOINING | _KEEPS_DTYPE | _LIKE:
        dtype = inner.dtype if last not in _SUMMING or is_floating(inner.dtype) else None
        return Value(Kind.NDARRAY, dtype=dtype, widened=inner.widened if last not in _LIKE else "")
    if last in _MADE_OF and first.kind is not Kind.NUMBER and inner.kind in (Kind.NUMBER, Kind.SCALAR):
        return Value(Kind.NDARRAY, dtype=_NUMBERS.get(inner.dtype or "", inner.dtype) if inner.dtype else None)
    return NDARRAY


def _rank(last: str, first: Value) -> int | None:
    if last in ("zeros", "ones", "empty", "full"):
        if first.kind is Kind.NUMBER:
            return 1
        return len(first.items) if first.kind is Kind.TUPLE else None
    if last in ("arange", "linspace", "logspace", "ravel"):
        return 1
    if first.kind is Kind.NDARRAY and last in _MADE_OF | _SAME_RANK | _LIKE:
        return first.rank
    if first.kind not in (Kind.LIST, Kind.TUPLE):
        return None
    inner, depth = first, 0
    while inner.kind in (Kind.LIST, Kind.TUPLE):
        inner, depth = inner.element, depth + 1
    if last in _MADE_OF and inner.kind in (Kind.NUMBER, Kind.SCALAR):
        return depth
    if inner.kind is Kind.NDARRAY and inner.rank is not None:
        added = depth if last in (*_MADE_OF, "stack") else depth - 1 if last == "concatenate" else None
        return inner.rank + added if added is not None else None
    return None


def _elementwise(last: str, call: ast.Call, of: Of) -> Value:
    named: str | None = table()["numpy_dtypes"].get(last)
    values = operands(call, of)
    arrays = [v for v in values if v.kind is Kind.NDARRAY]
    if named is not None and arrays:
        return cast(arrays[0], named)
    shaped = any(axes.has_axes(v) for v in values)
    if arrays or any(v.kind is Kind.LIST for v in values):
        dtype = arrays[0].dtype if arrays else None
        if last in ("divide", "true_divide") and len(values) == 2:
            return divided(values[0], values[1])
        fine = is_floating(dtype) or last in _KEEPING
        others = [v for v in values if v not in arrays[:1]]
        for other in others:
            dtype = promoted_arrays(Value(Kind.NDARRAY, dtype=dtype), other)
        rank = arrays[0].rank if arrays and not any(v.kind not in (Kind.NUMBER, Kind.SCALAR) for v in others) else None
        dtype = dtype if fine and last != "where" else None
        return Value(Kind.NDARRAY, dtype=dtype, rank=rank, shaped=rank is None and shaped)
    if values and all(v.kind in (Kind.NUMBER, Kind.SCALAR) for v in values):
        return Value(Kind.SCALAR, dtype=named)
    return Value(Kind.ITEM, dtype=named) if named is not None and len(values) == 1 else UNKNOWN


def divided(left: Value, right: Value) -> Value:
    """Return a quotient with an array in it: integers become float64, and narrow ones are widened."""
    array = left if left.kind is Kind.NDARRAY else right
    dtype = promoted_arrays(left, right)
    if dtype is None and array.dtype is not None and not is_floating(array.dtype) and right.kind is Kind.NUMBER:
        dtype = "float64"
    if dtype is not None and not is_floating(dtype):
        dtype = "float64"
    ranks = {v.rank for v in (left, right) if v.kind is Kind.NDARRAY}
    both = left.kind is right.kind is Kind.NDARRAY
    rank = ranks.pop() if len(ranks) == 1 and (both or Kind.NUMBER in (left.kind, right.kind)) else None
    narrow = left if left.kind is Kind.NDARRAY and right.kind is Kind.NUMBER else Value(Kind.NDARRAY)
    return replace(cast(narrow, dtype), rank=rank, shaped=rank is None and _either_has_axes(left, right))


def _either_has_axes(left: Value, right: Value) -> bool:
    return axes.has_axes(left) or axes.has_axes(right)


def combined(left: Value, right: Value) -> Value:
    """Return a sum, product, difference or power with an array in it."""
    array, other = (left, right) if left.kind is Kind.NDARRAY else (right, left)
    dtype = promoted_arrays(left, right)
    known = other.kind in (Kind.NUMBER, Kind.SCALAR) or (other.kind is Kind.NDARRAY and other.rank == array.rank)
    rank = array.rank if known else None
    shaped = rank is None and _either_has_axes(left, right)
    result = Value(Kind.NDARRAY, dtype=array.dtype, rank=rank, shaped=shaped, widened=array.widened)
    if other.kind is Kind.NUMBER:
        return cast(result, dtype)
    return replace(result, dtype=dtype, widened="")


def mapped(name: str) -> Value:
    """Return what a function gives for each element of ``map(function, rows)``, whatever the rows are."""
    module, _, last = name.rpartition(".")
    if module == "numpy" and rules("numpy").get(last) == "array":
        return NDARRAY
    if module == "torch" and rules("torch").get(last) in ("convert", "join", "create"):
        return TENSOR
    return {"builtins.int": INT, "builtins.float": FLOAT, "builtins.str": STRING}.get(name, UNKNOWN)


def _random(last: str, call: ast.Call, of: Of) -> Value | None:
    if last in table()["numpy_random"]["array"]:
        given = of(call.args[0]) if last == "permutation" and call.args else UNKNOWN
        whole = given.kind is Kind.NUMBER and given.dtype == "int"  # as of ``arange``
        dtype = "int64" if whole else given.dtype if given.kind is Kind.NDARRAY else None
        return Value(Kind.NDARRAY, dtype=dtype, shaped=True)
    if last not in table()["numpy_random"]["sized"]:
        return None
    dtype = table()["numpy_random"]["dtypes"].get(last) if keyword(call, "dtype") is None else None
    size = keyword(call, "size")
    if last in ("rand", "randn", "random", "random_sample", "standard_normal"):
        size = size or (call.args[0] if call.args else None)
        return Value(Kind.NDARRAY, dtype=dtype, shaped=axes.spans(of(size))) if size is not None else FLOAT
    limit = {"randint": 2, "integers": 2, "choice": 1, "uniform": 2, "normal": 2, "beta": 2, "gamma": 2}.get(last, 1)
    size = size or (call.args[limit] if len(call.args) > limit else None)
    if size is not None and last == "choice":
        dtype = _drawn(of(call.args[0])) if call.args and not starred(call) else None
    if size is not None:
        return Value(Kind.NDARRAY, dtype=dtype, shaped=axes.spans(of(size)))
    return Value(Kind.SCALAR) if last not in ("choice",) else UNKNOWN


def _drawn(source: Value) -> str | None:
    """The dtype of what is drawn of a number of integers, or of the elements of an array or a list."""
    if source.kind is Kind.NUMBER:
        return _NUMBERS["int"]
    return _made_of("asarray", source).dtype if source.kind in (Kind.NDARRAY, Kind.LIST, Kind.TUPLE) else None


# methods and attributes of arrays -------------------------------------------------------------------------------------


def ndarray_method(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Return the value of ``array.name(...)``."""
    rule = rules("ndarray_methods").get(name)
    if rule == "astype":
        dtype = call.args[0] if call.args else keyword(call, "dtype")
        if dtype is not None and names_objects(dtype, of):
            return UNKNOWN
        return cast(source, dtype_of(of(dtype)) if dtype is not None else None)
    shaped = axes.of_method(name, source, call, of)
    told = keyword(call, "dtype")
    if rule == "same":
        rank = 1 if name in ("ravel", "flatten") else source.rank if name in ("copy", "transpose", "swapaxes") else None
        dtype_ = "int64" if name == "argsort" else None if name == "view" and call.args else source.dtype
        if name in _SUMMING and not is_floating(dtype_):
            dtype_ = None
        dtype_ = dtype_ if told is None else dtype_of(of(told))
        widened = source.widened if dtype_ == source.dtype else ""
        return Value(Kind.NDARRAY, dtype=dtype_, rank=rank, shaped=rank is None and shaped, widened=widened)
    if rule == "elementwise":
        dtype_ = source.dtype if is_floating(source.dtype) or (name == "round" and source.dtype != "bool") else None
        for other in operands(call, of) if name == "clip" else ():
            dtype_ = promoted_arrays(replace(source, dtype=dtype_), other)
        dtype_ = dtype_ if told is None else dtype_of(of(told))
        return Value(Kind.NDARRAY, dtype=dtype_, rank=source.rank, shaped=source.rank is None and shaped)
    if rule == "reduce":
        dtype_ = _reduced_dtype(name, source.dtype) if told is None else dtype_of(of(told))
        whole = not call.args and keyword(call, "axis") is None and keyword(call, "keepdims") is None
        rank = axes.reduced_rank(source, call, of) if name != "dot" else None
        return Value(Kind.SCALAR, dtype=dtype_) if whole or rank == 0 else Value(Kind.NDARRAY, dtype=dtype_, rank=rank)
    if rule == "indices":
        return _INDICES
    if rule == "item":
        return NUMBER
    if rule == "tolist":
        return nested_list(source.rank) if source.has_axes else Value(Kind.ITEM)  # without dimensions it gives a number
    return NONE if rule == "none" else UNKNOWN


def _reduced_dtype(name: str, dtype: str | None) -> str | None:
    if name == "dot":
        return None  # of both
    if name in ("all", "any"):
        return "bool"
    if name in ("argmax", "argmin"):
        return "int64"
    if name in ("max", "min") or is_floating(dtype):
        return dtype
    return None if dtype is None else "float64" if name in ("mean", "std", "var") else None


def ndarray_attribute(name: str, source: Value) -> Value:
    """Return the value of ``array.name``."""
    rule = table()["attributes"]["ndarray"].get(name)
    if rule == "dtype":
        return Value(Kind.DTYPE, dtype=source.dtype)
    if rule == "same":
        return source
    return {"shape": list_of(INT), "bool": BOOL, "int": INT}.get(rule, UNKNOWN)


def array_item(source: Value, indices: Sequence[Value | None], slices: int) -> Value:
    """Return what indexing an array gives.

    ``None`` stands for a slice, of which there are ``slices``, or for ``...``.
    """
    integers = sum(1 for v in indices if v is not None and v.kind in (Kind.NUMBER, Kind.SCALAR))
    shaped = axes.of_item(source, indices, slices)
    if any(v is None or v.kind in (Kind.NDARRAY, Kind.LIST) for v in indices):
        plain = all(v is None or v.kind in (Kind.NUMBER, Kind.NONE) for v in indices) and len(indices) == 1
        rank = source.rank if plain else None
        return replace(source, rank=rank, shaped=rank is None and (shaped or (plain and source.has_axes)), literal=None)
    if not integers:
        added = all(v is not None and v.kind is Kind.NONE for v in indices)
        rank = source.rank + len(indices) if source.rank is not None else None
        return replace(source, rank=rank, shaped=rank is None) if added else UNKNOWN
    if source.rank is not None and integers == len(indices):
        rank = source.rank - integers
        return replace(source, rank=rank) if rank > 0 else Value(Kind.SCALAR, source.dtype)
    return Value(Kind.ITEM, dtype=source.dtype)
