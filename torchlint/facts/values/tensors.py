"""What functions of torch and methods of tensors return: kind, dtype, device, rank, and how they lie in memory."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from torchlint.facts.values.dtypes import cast, floating, promoted
from torchlint.facts.values.join import BOOL, HOST, INT, NONE, NUMBER, SIZE, TENSOR, list_of, picked, tuple_of
from torchlint.facts.values.signatures import (
    Of,
    device_of,
    dtype_of,
    is_true,
    keyword,
    operands,
    rules,
    starred,
    table,
)
from torchlint.rule import UNKNOWN, Device, Kind, Value

_VIEWS = frozenset({"move", "unsqueeze", "reshape", "flatten", "like_other", "loose_view"})
_NUMBERS = {"int64": "int", "int32": "int", "uint8": "int", "bool": "bool", "float32": "float", "float64": "float"}
_REDUCED = {"bool": "int64", "uint8": "int64", "int8": "int64", "int16": "int64", "int32": "int64"}


def meeting(values: Sequence[Value]) -> Device:
    """The device of a result, from its tensor operands: CPU only when all of them are.

    A number as a tensor on the host may stand beside tensors on an accelerator, nothing else may.
    """
    devices = {v.device for v in values if v.kind is Kind.TENSOR}
    if devices == {Device.CPU} and any(v.kind is Kind.UNKNOWN for v in values):
        sized = any(v.rank != 0 for v in values if v.kind is Kind.TENSOR)
        return Device.CPU if sized else Device.UNKNOWN
    for device in (Device.CUDA, Device.UNKNOWN, Device.EITHER):
        if device in devices:
            return device
    return Device.CPU if devices else Device.UNKNOWN


def fresh(value: Value) -> Value:
    """A new tensor: on the host its memory is pageable."""
    return replace(value, pinned=False if value.device is Device.CPU else None, widened="", literal=None)


# functions of torch ---------------------------------------------------------------------------------------------------


def torch_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Value of a call of a function of torch, ``None`` when the table does not have it."""
    module, _, last = name.rpartition(".")
    if module in ("torch.nn.functional", "torch.special"):
        return functional(last, call, of)
    if module in ("torch", "torch.cuda") and last in table()["legacy"]:
        return _legacy(last, Device.CUDA if module == "torch.cuda" else Device.CPU, call, of)
    if name.startswith("torch.optim.") and last[:1].isupper() and "lr_scheduler" not in name:
        return Value(Kind.OPTIMIZER)
    if module == "torch.nn.utils" and last.startswith("clip_grad"):
        return Value(Kind.TENSOR, rank=0)
    if name in ("torch.nn.parameter.Parameter", "torch.nn.Parameter"):
        inner = of(call.args[0]) if call.args else UNKNOWN
        return replace(inner, widened="") if inner.kind is Kind.TENSOR else TENSOR
    if name == "torch.device":
        return Value(Kind.DEVICE, device=device_of(of(call.args[0]) if call.args else UNKNOWN))
    if name == "torch.cuda.is_available":
        return BOOL
    if module != "torch":
        return None
    return _of_torch(last, call, of)


def _of_torch(last: str, call: ast.Call, of: Of) -> Value | None:
    rule = rules("torch").get(last)
    if rule in ("create", "arange", "integers"):
        return _created(rule, last, call, of)
    if rule == "convert":
        return _converted(last, call, of)
    if rule == "like":
        return _like(call, of)
    if rule == "where":
        return _where(call, of)
    if rule == "join":
        return _joined(last, call, of)
    if rule == "number":
        return NUMBER
    operation = rules("operations").get(last)
    if operation is None:
        return None
    first = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    return operate(operation, last, first, call, call.args[1:], of)


def functional(last: str, call: ast.Call, of: Of) -> Value | None:
    """Value of a function of ``torch.nn.functional``."""
    rule = rules("functional").get(last)
    if rule is None:
        return None
    values = operands(call, of)
    where = meeting(values)
    if rule == "loss":
        return loss_value(call, of, where)
    first = values[0] if values and values[0].kind is Kind.TENSOR else TENSOR
    if rule == "same":
        return Value(Kind.TENSOR, floating(first.dtype), where, first.rank)
    return Value(Kind.TENSOR, "int64" if last == "one_hot" else None, where)


def loss_value(call: ast.Call, of: Of, where: Device) -> Value:
    """The value of a loss, of rank 0 unless it is told not to reduce."""
    reduction = keyword(call, "reduction")
    kind = "mean" if reduction is None else of(reduction).literal
    whole = kind in ("mean", "sum", "batchmean") and keyword(call, "reduce") is None and not starred(call)
    return Value(Kind.TENSOR, device=where, rank=0 if whole else None)


def _legacy(last: str, where: Device, call: ast.Call, of: Of) -> Value:
    dtype: str | None = table()["legacy"][last] or None
    only = call.args[0] if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred) else None
    source = of(only) if only is not None else UNKNOWN
    base = Value(Kind.TENSOR, dtype, where, pinned=False if where is Device.CPU else None)
    if source.kind is Kind.NDARRAY:
        return replace(base, rank=source.rank, widened=cast(source, dtype).widened if where is Device.CPU else "")
    if source.kind in (Kind.LIST, Kind.TUPLE) and (rank := nested(source)) is not None:
        return replace(base, rank=rank)
    return base


def _options(call: ast.Call, of: Of, default: str | None) -> tuple[str | None, Device]:
    dtype, device = keyword(call, "dtype"), keyword(call, "device")
    star = any(k.arg is None for k in call.keywords)
    where = device_of(of(device)) if device is not None else Device.UNKNOWN if star else Device.CPU
    return (dtype_of(of(dtype)) if dtype is not None else None if star else default), where


def _pinned(call: ast.Call, where: Device) -> bool | None:
    if is_true(keyword(call, "pin_memory")):
        return True
    return False if where is Device.CPU else None


def _created(rule: str, last: str, call: ast.Call, of: Of) -> Value:
    default: str | None = "int64" if rule == "integers" else "float32"
    if last == "full":
        filling = of(call.args[1]) if len(call.args) > 1 and not starred(call) else UNKNOWN
        default = {"int": "int64", "bool": "bool", "float": "float32"}.get(filling.dtype or "")
    if rule == "arange":
        kinds = [of(arg) for arg in call.args]
        default = "int64" if all(v.kind is Kind.NUMBER and v.dtype in ("int", "bool") for v in kinds) else None
    dtype, where = _options(call, of, default)
    return Value(Kind.TENSOR, dtype, where, _shape_rank(rule, last, call, of), pinned=_pinned(call, where))


def _shape_rank(rule: str, last: str, call: ast.Call, of: Of) -> int | None:
    """The rank that the size arguments of a creator give."""
    if starred(call):
        return None
    if rule == "arange" or last in ("linspace", "logspace", "randperm", "hann_window"):
        return 1
    if last in ("eye", "tril_indices", "triu_indices"):
        return 2
    if last == "randint":
        size = next((arg for arg in reversed(call.args) if isinstance(arg, ast.Tuple)), None)
        return _rank_of_sizes([size], of) if size is not None and len(call.args) > 1 else None
    return _rank_of_sizes(call.args[:1] if last == "full" else call.args, of)


def _rank_of_sizes(sizes: Sequence[ast.expr], of: Of) -> int | None:
    """How many dimensions sizes name, given one by one or as one tuple."""
    values = [of(size) for size in sizes]
    if len(values) == 1 and values[0].kind is Kind.TUPLE and not values[0].keys:
        return len(values[0].items)
    if len(values) == 1 and isinstance(sizes[0], ast.List):
        return len(sizes[0].elts)
    numbers = all(v.kind is Kind.NUMBER and v.dtype == "int" for v in values)
    return len(values) if values and (numbers or len(values) > 1) else None


def nested(source: Value) -> int | None:
    """The rank of what nested lists of numbers become."""
    rank = 0
    while source.kind in (Kind.LIST, Kind.TUPLE):
        rank += 1
        source = source.element
    if source.kind in (Kind.NUMBER, Kind.SCALAR):
        return rank
    known = source.kind in (Kind.NDARRAY, Kind.TENSOR) and source.rank is not None
    return rank + source.rank if known and source.rank is not None else None


def _innermost(source: Value) -> Value:
    while source.kind in (Kind.LIST, Kind.TUPLE):
        source = source.element
    return source


def _converted(last: str, call: ast.Call, of: Of) -> Value:
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


def _like(call: ast.Call, of: Of) -> Value:
    source = of(call.args[0]) if call.args else UNKNOWN
    source = source if source.kind is Kind.TENSOR else TENSOR
    return _new(source, source.rank, call, of)


def _new(source: Value, rank: int | None, call: ast.Call, of: Of) -> Value:
    """A new tensor that takes from another one what the call does not say."""
    dtype, device = keyword(call, "dtype"), keyword(call, "device")
    made = replace(source, rank=rank)
    if dtype is not None:
        made = replace(made, dtype=dtype_of(of(dtype)))
    if device is not None:
        made = replace(made, device=device_of(of(device)))
    return fresh(made)


def _where(call: ast.Call, of: Of) -> Value:
    values = operands(call, of)
    where = meeting(values)
    if len(values) == 1:
        return tuple_of(Value(Kind.TENSOR, dtype="int64", device=where))
    if len(values) != 3:
        return Value(Kind.TENSOR, device=where)
    dtype = promoted(values[1], values[2])
    return Value(Kind.TENSOR, dtype=dtype, device=where, rank=broadcast(values))


def _joined(last: str, call: ast.Call, of: Of) -> Value:
    parts = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    if parts.kind is Kind.TUPLE and all(v.kind is Kind.TENSOR for v in parts.items) and parts.items:
        members: tuple[Value, ...] = parts.items
    else:
        element = parts.element
        members = (element if element.kind is Kind.TENSOR else TENSOR,)
    same = all(v.dtype == members[0].dtype for v in members)
    rank = members[0].rank if all(v.rank == members[0].rank for v in members) else None
    if rank is not None and last == "stack":
        rank += 1
    elif last not in ("cat", "concat", "concatenate", "stack"):
        rank = None
    return fresh(Value(Kind.TENSOR, members[0].dtype if same else None, meeting(members), rank))


# operations, as functions and as methods ------------------------------------------------------------------------------


def broadcast(values: Sequence[Value]) -> int | None:
    """The rank of an elementwise result, ``None`` when that of an operand is not known."""
    ranks = [v.rank if v.kind is Kind.TENSOR else 0 for v in values if v.kind is not Kind.NONE]
    scalars = all(v.kind in (Kind.TENSOR, Kind.NUMBER, Kind.SCALAR, Kind.NONE) for v in values)
    known = [rank for rank in ranks if rank is not None]
    return max(known) if known and scalars and len(known) == len(ranks) else None


def operate(rule: str, name: str, source: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value | None:
    """Value of an operation on ``source`` by its rule of the table; ``rest`` are its other positional arguments."""
    if source.kind is not Kind.TENSOR:
        source = Value(Kind.TENSOR, device=Device.CPU if source == HOST else Device.UNKNOWN)
    others = [of(arg) for arg in rest if not isinstance(arg, ast.Starred)]
    named = [of(k.value) for k in call.keywords if k.arg in ("other", "mask", "index", "min", "max", "value")]
    where = meeting([source, *others, *named])
    same = replace(source, device=where, literal=None)
    if name.endswith("_") and not name.startswith("_"):
        return same
    if rule in _VIEWS:
        return _viewed(rule, name, same, call, rest, of)
    if rule in ("reduce", "reduce_bool", "index", "minmax"):
        return _reduced(rule, name, same, call, rest, of)
    return _plain(rule, fresh(same), source, others)


def _plain(rule: str, same: Value, source: Value, others: Sequence[Value]) -> Value | None:
    """Operations whose result has the rank of an operand, or none that is known."""
    kept = replace(same, widened=source.widened)
    indices = Value(Kind.TENSOR, dtype="int64", device=same.device)
    if rule in ("unary", "same_rank"):
        return kept
    if rule == "float":
        return replace(kept, dtype=floating(same.dtype))
    if rule in ("binary", "divide", "bool"):
        tensors = [v for v in others if v.kind in (Kind.TENSOR, Kind.NUMBER, Kind.SCALAR)]
        rank = broadcast([source, *others])
        dtype = same.dtype if not tensors else promoted(source, tensors[0])
        if rule == "bool":
            return replace(same, dtype="bool", rank=rank)
        return replace(kept, dtype=floating(dtype) if rule == "divide" else dtype, rank=rank)
    if rule == "pair":
        return picked(same, replace(indices, rank=same.rank))
    if rule == "list":
        return list_of(replace(same, rank=None))
    return {
        "positions": replace(indices, rank=same.rank),
        "pairs": replace(indices, rank=2),
        "loose": replace(same, rank=None),
        "masked": replace(same, rank=1),
        "unique": replace(same, rank=None),
    }.get(rule)


def _viewed(rule: str, name: str, same: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value:
    """Operations that only show a tensor's elements in another shape; ``repeat`` and ``tile`` copy them."""
    view = replace(same, pinned=None) if name in ("repeat", "tile") else same
    if rule == "move":
        return view
    if rule == "unsqueeze":
        return replace(view, rank=same.rank + 1 if same.rank is not None else None)
    if rule == "reshape":
        return replace(view, rank=None if starred(call) else _rank_of_sizes(rest, of))
    if rule == "flatten" and not rest and not call.keywords:
        return replace(view, rank=1)
    if name == "select" and same.rank:
        return replace(view, rank=same.rank - 1)
    return replace(view, rank=None)


def _reduced(rule: str, name: str, same: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value:
    """Operations that give one element of all, or of each row of a dimension."""
    named = keyword(call, "dim") or keyword(call, "axis")
    arguments = [of(arg) for arg in rest]
    if name in ("norm", "quantile", "nanquantile", "dist", "dot", "vdot"):
        arguments = arguments[1:]  # the order, the fraction or the other vector stand first
    whole = named is None and not arguments and not starred(call)
    if rule == "minmax" and arguments and arguments[0].kind is Kind.TENSOR:
        return replace(fresh(same), rank=broadcast([same, arguments[0]]))
    if rule == "minmax" and isinstance(rest[0] if rest else None, ast.Call) and not arguments[0].known:
        return replace(fresh(same), rank=None)  # of two tensors; a dimension is seldom computed
    if rule == "minmax" and named is None and arguments and not arguments[0].known:
        return UNKNOWN  # another tensor, or a dimension
    dim = of(named) if named is not None else arguments[0] if arguments else UNKNOWN
    kept = is_true(keyword(call, "keepdim")) or (len(arguments) > 1 and name not in ("std", "var"))
    rank = _rank_without(same.rank, dim, kept, whole)
    if name in ("norm", "logsumexp") and not whole and dim.kind is not Kind.NUMBER:
        rank = None
    dtype = _reduced_dtype(rule, name, same.dtype)
    if (told := keyword(call, "dtype")) is not None:
        dtype = dtype_of(of(told))
    result = replace(fresh(same), dtype=dtype, rank=rank)
    if rule == "minmax" and not whole:
        return picked(result, Value(Kind.TENSOR, dtype="int64", device=same.device, rank=rank))
    return result


def _rank_without(rank: int | None, dim: Value, kept: bool, whole: bool) -> int | None:
    if whole or rank == 0:
        return 0
    if dim.kind is Kind.NONE:
        return 0 if not kept else None
    if kept:
        return rank
    if rank is None:
        return None
    if dim.kind is Kind.NUMBER:
        return rank - 1
    return rank - len(dim.items) if dim.kind is Kind.TUPLE and len(dim.items) <= rank else None


def _reduced_dtype(rule: str, name: str, dtype: str | None) -> str | None:
    if rule == "reduce_bool":
        return "bool"
    if rule == "index":
        return "int64"
    return _REDUCED.get(dtype or "", dtype) if name in ("sum", "prod", "nansum") else dtype


# methods and attributes of tensors ------------------------------------------------------------------------------------


def tensor_method(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Value of ``tensor.name(...)``."""
    if name in ("to", "type", "cuda", "cpu", "type_as"):
        return _moved(name, source, call, of)
    if name in table()["tensor_methods"]["cast"]:
        return cast_here(source, table()["tensor_methods"]["cast"][name])
    if name == "pin_memory":
        return replace(source, pinned=True, device=Device.CPU)
    if name in ("size", "stride"):
        return INT if call.args else SIZE
    rule = _method_rules().get(name)
    if rule == "tolist":
        if not source.has_axes:
            return Value(Kind.ITEM)  # without dimensions it gives a number
        return list_of(NUMBER) if source.rank == 1 else Value(Kind.LIST, items=(NUMBER,))
    if rule == "numpy":
        return Value(Kind.NDARRAY, dtype=source.dtype, rank=source.rank, widened=source.widened)
    if rule == "none":
        return NONE
    if rule == "number":
        return Value(Kind.NUMBER, dtype=_NUMBERS.get(source.dtype or "") if name == "item" else "int")
    if rule == "new":
        sizes = call.args if name in ("new_zeros", "new_ones", "new_empty") else call.args[:1]
        rank = None if name == "new_tensor" or starred(call) else _rank_of_sizes(sizes, of)
        return _new(source, rank, call, of)
    operation = rules("operations").get(name.rstrip("_") if not name.startswith("_") else name)
    return (operate(operation, name, source, call, call.args, of) if operation else None) or UNKNOWN


def _method_rules() -> dict[str, str]:
    return rules("tensor_methods")


def cast_here(source: Value, dtype: str | None) -> Value:
    """A tensor in another dtype, where it lies; one that changes is a new one."""
    result = cast(source, dtype)
    if dtype == source.dtype and dtype is not None:
        return result
    changed = dtype is not None and source.dtype is not None
    return replace(result, pinned=False if changed and source.device is Device.CPU else None)


def _moved(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    if name == "cpu":
        return _at(source, Device.CPU)
    if name == "cuda":
        return _at(source, Device.CUDA)
    dtype, device = source.dtype, source.device
    for arg in [*call.args, *(k.value for k in call.keywords if k.arg in ("device", "dtype", "other", None))]:
        value = of(arg)
        if value.kind is Kind.DTYPE or (value.kind is Kind.CLASS and dtype_of(value)):
            dtype = dtype_of(value)
        elif value.kind in (Kind.DEVICE, Kind.STRING):
            device = device_of(value)
        elif value.kind is Kind.TENSOR:
            dtype, device = value.dtype, (source.device if name == "type_as" else value.device)
        elif value.kind is not Kind.NUMBER:
            dtype, device = None, Device.UNKNOWN
    if device is source.device and dtype != source.dtype:
        return cast_here(source, dtype)
    return replace(_at(source, device), dtype=dtype)


def _at(source: Value, device: Device) -> Value:
    """A tensor moved: what is known of how it lay is known no longer, unless it stays."""
    if device is Device.CPU and source.device is Device.CPU:
        return source
    return replace(source, device=device, pinned=None, widened="")


def tensor_item(source: Value, indices: Sequence[Value | None]) -> Value:
    """What indexing a tensor gives; ``None`` stands for a slice. Indexing by tensors and lists makes a new tensor."""
    advanced = any(v is not None and v.kind in (Kind.TENSOR, Kind.NDARRAY, Kind.LIST) for v in indices)
    unknown = any(v is not None and v.kind in (Kind.UNKNOWN, Kind.ITEM) for v in indices)
    rank = source.rank
    for v in indices:
        if v is None or rank is None:
            continue
        if v.kind is Kind.NONE:
            rank += 1
        elif v.kind is Kind.NUMBER:
            rank -= 1
        elif v.kind is Kind.TENSOR and v.dtype not in (None, "bool") and v.rank is not None:
            rank += v.rank - 1
        else:
            rank = None
    several = sum(1 for v in indices if v is not None and v.kind in (Kind.TENSOR, Kind.NDARRAY, Kind.LIST)) > 1
    result = replace(source, rank=None if several or rank is None or rank < 0 else rank, literal=None)
    if advanced:
        pageable = source.pinned is True or source.device is Device.CPU
        return replace(result, pinned=False if pageable else None, device=Device.CPU if pageable else result.device)
    return replace(result, pinned=None) if unknown else result


def tensor_attribute(name: str, source: Value) -> Value:
    """Value of ``tensor.name``."""
    rule = table()["attributes"]["tensor"].get(name)
    if rule == "dtype":
        return Value(Kind.DTYPE, dtype=source.dtype)
    if rule == "device":
        return Value(Kind.DEVICE, device=source.device)
    if rule in ("view", "same"):
        return replace(source, literal=None)
    return {"size": SIZE, "bool": BOOL, "int": INT}.get(rule, UNKNOWN)
