"""What calls into torch, numpy and Python's builtins return, from the table in ``tables/signatures.json``."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from torchlint.facts.join import BOOL, FLOAT, INT, NDARRAY, NONE, NUMBER, SIZE, STRING, TENSOR, list_of, tuple_of
from torchlint.rule import UNKNOWN, Device, Kind, Value

Of = Callable[[ast.expr], Value]


@cache
def table() -> dict[str, Any]:
    """The signature table as stored: groups of function and method names by what they return."""
    text = (Path(__file__).parent / "tables" / "signatures.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@cache
def _rules(*path: str) -> dict[str, str]:
    """Name → rule, from a group of the table that lists names by rule."""
    group: Any = table()
    for part in path:
        group = group[part]
    return {name: rule for rule, names in group.items() for name in names}


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """A keyword argument of a call."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument by position or keyword; ``None`` when absent or behind a star."""
    if position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return call.args[position]
    return keyword(call, name)


def dtype_of(value: Value) -> str | None:
    """The dtype that a ``dtype=`` argument names."""
    if value.kind is Kind.DTYPE:
        return value.dtype
    if value.kind is Kind.STRING and isinstance(value.literal, str):
        named: str | None = table()["numpy_dtypes"].get(value.literal)
        return named
    if value.kind is Kind.CLASS:
        return {"builtins.float": "float64", "builtins.int": "int64", "builtins.bool": "bool"}.get(value.name)
    return None


def device_of(value: Value) -> Device:
    """The device that a ``device=`` argument names."""
    if value.kind is Kind.STRING and isinstance(value.literal, str):
        return Device.CPU if value.literal == "cpu" else Device.CUDA if value.literal[:4] == "cuda" else Device.UNKNOWN
    return value.device if value.kind is Kind.DEVICE else Device.UNKNOWN


def _options(call: ast.Call, of: Of, default: str | None) -> tuple[str | None, Device]:
    dtype, device = keyword(call, "dtype"), keyword(call, "device")
    star = any(k.arg is None for k in call.keywords)
    where = device_of(of(device)) if device is not None else Device.UNKNOWN if star else Device.CPU
    return (dtype_of(of(dtype)) if dtype is not None else None if star else default), where


def _operands(call: ast.Call, of: Of) -> list[Value]:
    return [of(arg) for arg in [*call.args, *(k.value for k in call.keywords)] if not isinstance(arg, ast.Starred)]


def meeting(values: list[Value]) -> Device:
    """The device of a result, from its tensor operands: CPU only when all of them are."""
    devices = {v.device for v in values if v.kind is Kind.TENSOR}
    return devices.pop() if len(devices) == 1 else Device.UNKNOWN


# torch ----------------------------------------------------------------------------------------------------------------


def torch_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Value of a call of a function of torch, ``None`` when the table does not have it."""
    module, _, last = name.rpartition(".")
    if module in ("torch.nn.functional", "torch.special"):
        return Value(Kind.TENSOR, device=meeting(_operands(call, of))) if last in table()["functional"] else None
    if module in ("torch", "torch.cuda") and last in table()["legacy"]:
        where = Device.CUDA if module == "torch.cuda" else Device.CPU
        return Value(Kind.TENSOR, dtype=table()["legacy"][last] or None, device=where)
    if module == "torch.distributions" or ".distributions." in module:
        return Value(Kind.DISTRIBUTION) if last in table()["distributions"] else None
    if name.startswith("torch.optim.") and last[:1].isupper() and "lr_scheduler" not in name:
        return Value(Kind.OPTIMIZER)
    if module == "torch.nn.utils" and last.startswith("clip_grad"):
        return TENSOR
    if name == "torch.nn.parameter.Parameter" or name == "torch.nn.Parameter":
        return Value(Kind.TENSOR)
    if name == "torch.device":
        inner = of(call.args[0]) if call.args else UNKNOWN
        return Value(Kind.DEVICE, device=device_of(inner))
    if name == "torch.cuda.is_available":
        return BOOL
    if module != "torch":
        return None
    rule = _rules("torch").get(last)
    return _by_rule(rule, call, of) if rule else None


def _by_rule(rule: str, call: ast.Call, of: Of) -> Value | None:
    if rule in ("create", "arange", "integers", "convert", "like"):
        return _creation(rule, call, of)
    operands = _operands(call, of)
    where = meeting(operands)
    first = next((v for v in operands if v.kind is Kind.TENSOR), TENSOR)
    if rule == "where":
        if len(call.args) + len(call.keywords) == 1:
            return tuple_of(Value(Kind.TENSOR, dtype="int64", device=where))
        return Value(Kind.TENSOR, device=where)
    return reduce_rule(rule, first, call, of, where)


def _creation(rule: str, call: ast.Call, of: Of) -> Value:
    if rule == "like":
        source = of(call.args[0]) if call.args else UNKNOWN
        dtype, device = keyword(call, "dtype"), keyword(call, "device")
        known = source.kind is Kind.TENSOR
        return Value(
            Kind.TENSOR,
            dtype=dtype_of(of(dtype)) if dtype is not None else source.dtype if known else None,
            device=device_of(of(device)) if device is not None else source.device if known else Device.UNKNOWN,
            rank=source.rank if known else None,
        )
    if rule == "convert":
        source = of(call.args[0]) if call.args else UNKNOWN
        if source.kind is Kind.TENSOR and keyword(call, "dtype") is None and keyword(call, "device") is None:
            return source
        default = source.dtype if source.kind in (Kind.NDARRAY, Kind.TENSOR, Kind.SCALAR) else None
        if source.kind is Kind.NUMBER:
            default = {"float": "float32", "int": "int64", "bool": "bool"}.get(source.dtype or "")
        dtype_, where = _options(call, of, default)
        if source.kind in (Kind.UNKNOWN, Kind.TENSOR) and keyword(call, "device") is None:
            where = Device.UNKNOWN if source.kind is Kind.UNKNOWN else source.device
        rank = 0 if source.kind in (Kind.NUMBER, Kind.SCALAR) else source.rank if source.kind is Kind.NDARRAY else None
        return Value(Kind.TENSOR, dtype=dtype_, device=where, rank=rank)
    default = "int64" if rule == "integers" else "float32"
    if rule == "arange":
        kinds = [of(arg) for arg in call.args]
        default = "int64" if all(v.kind is Kind.NUMBER and v.dtype in ("int", "bool") for v in kinds) else ""
    dtype_, where = _options(call, of, default or None)
    return Value(Kind.TENSOR, dtype=dtype_, device=where, rank=1 if rule == "arange" else None)


def reduce_rule(rule: str, source: Value, call: ast.Call, of: Of, where: Device) -> Value | None:
    """Value of an operation by its rule of the table, for a function or a method on ``source``."""
    same = Value(Kind.TENSOR, dtype=source.dtype, device=where)
    has_dim = len(call.args) > (0 if isinstance(call.func, ast.Attribute) else 1) or keyword(call, "dim") is not None
    if rule in ("same", "maximum", "masked", "unique"):
        return same
    if rule in ("bool", "reduce_bool"):
        return Value(Kind.TENSOR, dtype="bool", device=where, rank=source.rank if rule == "bool" else None)
    if rule == "index":
        return Value(Kind.TENSOR, dtype="int64", device=where)
    if rule == "minmax":
        if not has_dim:
            return Value(Kind.TENSOR, dtype=source.dtype, device=where, rank=0)
        second = [of(arg) for arg in call.args]
        if len(second) >= 1 and second[-1].kind is Kind.TENSOR and keyword(call, "dim") is None and len(second) > 1:
            return same
        return tuple_of(same, Value(Kind.TENSOR, dtype="int64", device=where))
    if rule == "pair":
        return tuple_of(same, Value(Kind.TENSOR, dtype="int64", device=where))
    if rule == "join":
        parts = of(call.args[0]) if call.args else UNKNOWN
        element = parts.element if parts.kind in (Kind.LIST, Kind.TUPLE) else UNKNOWN
        known = element.kind is Kind.TENSOR
        device = element.device if known else Device.UNKNOWN
        return Value(Kind.TENSOR, dtype=element.dtype if known else None, device=device)
    if rule == "list":
        return list_of(same)
    if rule == "number":
        return NUMBER
    return None


def tensor_method(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Value of ``tensor.name(...)``."""
    if name in ("to", "type", "cuda", "cpu", "type_as"):
        return _moved(name, source, call, of)
    if name in table()["tensor_methods"]["cast"]:
        return replace(source, dtype=table()["tensor_methods"]["cast"][name])
    if name in ("size", "stride"):
        return INT if call.args else SIZE
    rule = _method_rules().get(name)
    if rule == "tolist":
        return list_of(NUMBER) if source.rank == 1 else Value(Kind.LIST, items=(NUMBER,))
    if rule == "numpy":
        return Value(Kind.NDARRAY, dtype=source.dtype, rank=source.rank)
    if rule == "none":
        return NONE
    if rule == "number":
        number = {"int64": "int", "int32": "int", "bool": "bool", "float32": "float", "float64": "float"}
        return Value(Kind.NUMBER, dtype=number.get(source.dtype or "") if name == "item" else "int")
    operands = [source, *_operands(call, of)]
    return (reduce_rule(rule, source, call, of, meeting(operands)) if rule else None) or UNKNOWN


@cache
def _method_rules() -> dict[str, str]:
    methods = table()["tensor_methods"]
    return {name: rule for rule, names in methods.items() if rule != "cast" for name in names}


def _moved(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    if name == "cpu":
        return replace(source, device=Device.CPU)
    if name == "cuda":
        return replace(source, device=Device.CUDA)
    dtype, device = source.dtype, source.device
    for arg in [*call.args, *(k.value for k in call.keywords if k.arg in ("device", "dtype", "other", None))]:
        value = of(arg)
        if value.kind is Kind.DTYPE or (value.kind is Kind.CLASS and dtype_of(value)):
            dtype = dtype_of(value)
        elif value.kind in (Kind.DEVICE, Kind.STRING):
            device = device_of(value)
        elif value.kind is Kind.TENSOR:
            dtype, device = value.dtype, value.device
        elif value.kind is not Kind.NUMBER:
            dtype, device = None, Device.UNKNOWN
    return replace(source, dtype=dtype, device=device)


def tensor_attribute(name: str, source: Value) -> Value:
    """Value of ``tensor.name``."""
    return _attribute("tensor", name, source)


def ndarray_attribute(name: str, source: Value) -> Value:
    """Value of ``array.name``."""
    return _attribute("ndarray", name, source)


def _attribute(group: str, name: str, source: Value) -> Value:
    rule = table()["attributes"][group].get(name)
    plain = {"size": SIZE, "bool": BOOL, "int": INT, "shape": list_of(INT), "same": replace(source, rank=None)}
    if rule == "dtype":
        return Value(Kind.DTYPE, dtype=source.dtype)
    if rule == "device":
        return Value(Kind.DEVICE, device=source.device)
    return plain.get(rule, UNKNOWN)


# numpy ----------------------------------------------------------------------------------------------------------------


def numpy_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Value of a call of a function of numpy, ``None`` when the table does not have it."""
    module, _, last = name.rpartition(".")
    dtype = keyword(call, "dtype")
    named = dtype_of(of(dtype)) if dtype is not None else None
    if module == "numpy.random":
        return _numpy_random(last, call)
    if module != "numpy":
        return None
    rule = _rules("numpy").get(last)
    first = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    if rule == "array":
        filled = last in ("zeros", "ones", "empty", "full", "eye", "identity", "linspace") and dtype is None
        return Value(Kind.NDARRAY, dtype="float64" if filled else named, rank=_numpy_rank(last, first))
    if rule == "bool_array":
        return Value(Kind.NDARRAY, dtype="bool") if first.kind in (Kind.NDARRAY, Kind.LIST) else UNKNOWN
    if rule == "elementwise":
        scalar_dtype = table()["numpy_dtypes"].get(last)
        values = _operands(call, of)
        if any(v.kind in (Kind.NDARRAY, Kind.LIST) for v in values):
            return Value(Kind.NDARRAY, dtype=scalar_dtype)
        scalars = bool(values) and all(v.kind in (Kind.NUMBER, Kind.SCALAR) for v in values)
        return Value(Kind.SCALAR, dtype=scalar_dtype) if scalars else UNKNOWN
    if rule == "reduce":
        whole = len(call.args) == 1 and keyword(call, "axis") is None and keyword(call, "keepdims") is None
        return Value(Kind.SCALAR) if whole else NDARRAY if last not in ("dot",) else UNKNOWN
    return NUMBER if rule == "number" else None


def _numpy_rank(last: str, first: Value) -> int | None:
    if last in ("array", "asarray") and first.kind is Kind.LIST:
        inner = first.element
        if inner.kind in (Kind.NUMBER, Kind.SCALAR):
            return 1
        if inner.kind is Kind.NDARRAY and inner.rank is not None:
            return inner.rank + 1
    if last in ("zeros", "ones", "empty", "full"):
        if first.kind is Kind.NUMBER:
            return 1
        if first.kind is Kind.TUPLE:
            return len(first.items)
    if last in ("arange", "linspace"):
        return 1
    return None


def mapped(name: str) -> Value:
    """What a function gives for each element of ``map(function, rows)``, whatever the rows are."""
    module, _, last = name.rpartition(".")
    if module == "numpy" and _rules("numpy").get(last) == "array":
        return NDARRAY
    if module == "torch" and _rules("torch").get(last) in ("convert", "join", "create"):
        return TENSOR
    return {"builtins.int": INT, "builtins.float": FLOAT, "builtins.str": STRING}.get(name, UNKNOWN)


def _numpy_random(last: str, call: ast.Call) -> Value | None:
    if last == "RandomState" or last == "default_rng":
        return None
    if last in table()["numpy_random"]["array"]:
        return NDARRAY
    if last not in table()["numpy_random"]["sized"]:
        return None
    sized = keyword(call, "size") is not None
    if last in ("rand", "randn", "random", "random_sample", "standard_normal"):
        return NDARRAY if call.args or sized else FLOAT
    limit = {"randint": 2, "integers": 2, "choice": 1, "uniform": 2, "normal": 2, "beta": 2, "gamma": 2}.get(last, 1)
    if sized or len(call.args) > limit:
        return NDARRAY
    return Value(Kind.SCALAR) if last not in ("choice",) else UNKNOWN


def ndarray_method(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Value of ``array.name(...)``."""
    rule = _rules("ndarray_methods").get(name)
    if rule == "astype":
        return replace(source, dtype=dtype_of(of(call.args[0])) if call.args else None)
    if rule == "same":
        return Value(Kind.NDARRAY, dtype=source.dtype, rank=1 if name in ("ravel", "flatten") else None)
    if rule == "elementwise":
        return Value(Kind.NDARRAY, dtype=source.dtype)
    if rule == "reduce":
        whole = not call.args and keyword(call, "axis") is None and keyword(call, "keepdims") is None
        return Value(Kind.SCALAR, dtype=source.dtype) if whole else Value(Kind.NDARRAY)
    if rule == "item":
        return NUMBER
    if rule == "tolist":
        return list_of(NUMBER)
    return NONE if rule == "none" else UNKNOWN


# builtins -------------------------------------------------------------------------------------------------------------


def builtin_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Value of a call of a builtin, or of one of the standard library's containers."""
    fixed = {
        "int": INT,
        "float": FLOAT,
        "bool": BOOL,
        "len": INT,
        "str": STRING,
        "repr": STRING,
        "round": NUMBER,
        "isinstance": BOOL,
        "hasattr": BOOL,
        "callable": BOOL,
        "id": INT,
        "ord": INT,
        "print": NONE,
        "range": list_of(INT),
        "input": STRING,
        "any": BOOL,
        "all": BOOL,
    }
    if name in fixed:
        return fixed[name]
    first = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    if name in ("list", "sorted", "reversed", "tuple", "iter", "set", "deque"):
        if not call.args:
            return Value(Kind.LIST)
        return _as_list(first)
    if name == "zip":
        return _zip(call, of)
    if name == "enumerate":
        return list_of(tuple_of(INT, element_of(first)))
    if name == "next":
        return element_of(first)
    if name in ("max", "min", "sum", "abs"):
        if name == "abs" or len(call.args) > 1:
            values = [of(arg) for arg in call.args if not isinstance(arg, ast.Starred)]
            return next(iter(values)) if values and all(v.kind is values[0].kind for v in values) else UNKNOWN
        element = element_of(first)
        return element if element.kind in (Kind.NUMBER, Kind.SCALAR, Kind.TENSOR) else UNKNOWN
    return None


def _as_list(source: Value) -> Value:
    element = element_of(source)
    return Value(Kind.LIST, items=(element,) if element.known else (), nonempty=source.nonempty)


def element_of(source: Value) -> Value:
    """What iteration over a value gives."""
    if source.kind in (Kind.LIST, Kind.TUPLE):
        return source.element
    if source.kind is Kind.TENSOR:
        return Value(
            Kind.TENSOR, dtype=source.dtype, device=source.device, rank=source.rank - 1 if source.rank else None
        )
    if source.kind is Kind.NDARRAY and source.rank is not None:
        rank = source.rank - 1
        return Value(Kind.NDARRAY, source.dtype, rank=rank) if rank > 0 else Value(Kind.SCALAR, dtype=source.dtype)
    return INT if source.kind is Kind.SIZE else UNKNOWN


def _zip(call: ast.Call, of: Of) -> Value:
    if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
        rows = element_of(of(call.args[0].value))
        if rows.kind is Kind.TUPLE:
            return tuple_of(*(list_of(item) for item in rows.items))
        return UNKNOWN
    return list_of(tuple_of(*_zipped(call, of)))


def _zipped(call: ast.Call, of: Of) -> Iterator[Value]:
    for arg in call.args:
        yield UNKNOWN if isinstance(arg, ast.Starred) else element_of(of(arg))
