"""What functions of torch and methods of tensors return: kind, dtype, device, rank, and how they lie in memory."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from torchlint.facts.values.creation import (
    chosen,
    converted,
    created,
    fresh,
    joined,
    legacy,
    like_first,
    meeting,
    new_like,
    places_along,
)
from torchlint.facts.values.dtypes import (
    arithmetic_is_inexact,
    cast,
    counted,
    floating,
    is_inexact,
    is_mean,
    promoted,
    reduced,
    typed,
)
from torchlint.facts.values.join import (
    BOOL,
    HOST,
    INT,
    NONE,
    NUMBER,
    SIZE,
    TENSOR,
    list_of,
    nested_list,
    picked,
    tuple_of,
)
from torchlint.facts.values.ranks import broadcast, nested, rank_of_sizes, rank_without
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
_PARTS = {"two": 2, "three": 3}
_NUMBERS = {"int64": "int", "int32": "int", "uint8": "int", "bool": "bool", "float32": "float", "float64": "float"}
WHOLE_LOSSES = frozenset({"l1_loss", "L1Loss", "hinge_embedding_loss", "HingeEmbeddingLoss"})
"""Losses that may hold whole numbers, where they are sums, or not reduced, of tensors that do."""


# functions of torch ---------------------------------------------------------------------------------------------------


def torch_call(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return the value of a call of a function of torch, ``None`` when the table does not have it."""
    module, _, last = name.rpartition(".")
    if module == "torch.nn.functional":
        return functional(last, call, of)
    if module == "torch.special":
        return _of_torch(last, call, of)
    if module == "torch.fft":
        return Value(Kind.TENSOR, device=meeting(operands(call, of)))
    if module in ("torch", "torch.cuda") and last in table()["legacy"]:
        return legacy(last, Device.CUDA if module == "torch.cuda" else Device.CPU, call, of)
    if name.startswith("torch.optim.") and last[:1].isupper() and "lr_scheduler" not in name:
        return Value(Kind.OPTIMIZER)
    if name == "torch.nn.utils.rnn.pad_sequence":
        return joined("stack", call, of)
    if name == "torch.nn.utils.rnn.pad_packed_sequence":
        return tuple_of(TENSOR, Value(Kind.TENSOR, dtype="int64", device=Device.CPU))
    if module == "torch.nn.utils" and last.startswith("clip_grad"):
        return Value(Kind.TENSOR, rank=0, inexact=True)
    if name in ("torch.nn.parameter.Parameter", "torch.nn.Parameter"):
        inner = of(call.args[0]) if call.args else UNKNOWN
        # A module takes its parameters along, so that one made on the host does not stay there.
        device = Device.UNKNOWN if inner.device is Device.CPU else inner.device
        return replace(inner, widened="", device=device, pinned=None) if inner.kind is Kind.TENSOR else TENSOR
    if name == "torch.device":
        return Value(Kind.DEVICE, device=device_of(of(call.args[0]) if call.args else UNKNOWN))
    if name == "torch.cuda.is_available":
        return BOOL
    if module == "torch.linalg":
        return _operation(rules("linalg").get(last), last, call, of)
    return _of_torch(last, call, of) if module == "torch" else None


def _of_torch(last: str, call: ast.Call, of: Of) -> Value | None:
    rule = rules("torch").get(last)
    if rule in ("create", "arange", "integers"):
        return created(rule, last, call, of)
    if rule == "convert":
        return converted(last, call, of)
    if rule == "like":
        return like_first(call, of)
    if rule == "where":
        return chosen(call, of)
    if rule == "join":
        return joined(last, call, of)
    if rule == "number":
        return NUMBER
    operation = rules("operations").get(last.rstrip("_"))
    return functional(last, call, of) if operation is None else _operation(operation, last, call, of)


def _operation(rule: str | None, name: str, call: ast.Call, of: Of) -> Value | None:
    """The value of a function that is an operation on its first argument."""
    if rule is None:
        return None
    first = of(call.args[0]) if call.args and not isinstance(call.args[0], ast.Starred) else UNKNOWN
    return operate(rule, name, first, call, call.args[1:], of)


def functional(last: str, call: ast.Call, of: Of) -> Value | None:
    """Return the value of a function of ``torch.nn.functional``."""
    rule = rules("functional").get(last)
    if rule is None:
        return None
    values = operands(call, of)
    where = meeting(values)
    if rule == "loss":
        # What is compared lies beside the input, or the loss raises.
        lying = meeting([v for v in values if v.device is not Device.UNKNOWN])
        return loss_value(last, call, of, lying if lying in (Device.CUDA, Device.EITHER) else where)
    first = values[0] if values and values[0].kind is Kind.TENSOR else TENSOR
    if rule == "same":
        to_float = rules("operations").get(last) == "float"
        dtype = floating(first.dtype) if to_float else first.dtype if is_inexact(first) else None
        kept = Value(Kind.TENSOR, device=where, rank=first.rank)
        return typed(kept, dtype, inexact=first.inexact or to_float)
    return Value(Kind.TENSOR, "int64" if last == "one_hot" else None, where)


def loss_value(name: str, call: ast.Call, of: Of, where: Device) -> Value:
    """Return the value of a loss, of rank 0 unless it is told not to reduce.

    Most losses are of floating-point numbers.
    """
    reduction = keyword(call, "reduction")
    kind = "mean" if reduction is None else of(reduction).literal
    whole = kind in ("mean", "sum", "batchmean") and keyword(call, "reduce") is None and not starred(call)
    return Value(
        Kind.TENSOR, device=where, rank=0 if whole else None, inexact=kind == "mean" or name not in WHOLE_LOSSES
    )


# operations, as functions and as methods ------------------------------------------------------------------------------


def operate(rule: str, name: str, source: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value | None:
    """Return the value of an operation on ``source`` by its rule of the table.

    ``rest`` are its other positional arguments.
    """
    result = _operated(rule, name, source, call, rest, of)
    told = keyword(call, "dtype")
    if told is None or result is None or result.kind is not Kind.TENSOR:
        return result
    return typed(result, dtype_of(of(told)))


def _operated(rule: str, name: str, source: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value | None:
    if source.kind is not Kind.TENSOR:
        source = Value(Kind.TENSOR, device=Device.CPU if source == HOST else Device.UNKNOWN)
    others = [of(arg) for arg in rest if not isinstance(arg, ast.Starred)]
    named = [of(k.value) for k in call.keywords if k.arg in ("other", "mask", "index", "min", "max", "value")]
    # What a view is given are sizes and dimensions, wherever they lie: it stays where its tensor is.
    # So does what a tensor of any device is copied into.
    where = source.device if rule in _VIEWS or name == "copy_" else meeting([source, *others, *named])
    same = replace(source, device=where, literal=None)
    if name.endswith("_") and not name.startswith("_"):
        return same
    if rule in _VIEWS:
        return _viewed(rule, name, same, call, rest, of)
    if rule in ("reduce", "reduce_bool", "index", "minmax"):
        return _reduced(rule, name, same, call, rest, of)
    if rule == "pairs" and is_true(keyword(call, "as_tuple")):
        return places_along(where)
    # A quotient may be rounded to whole numbers.
    whole = rule == "divide" and keyword(call, "rounding_mode") is not None
    return _plain("binary" if whole else rule, name, fresh(same), source, [*others, *named])


def _plain(rule: str, name: str, same: Value, source: Value, others: Sequence[Value]) -> Value | None:
    """Operations whose result has the rank of an operand, or none that is known."""
    kept = replace(same, widened=source.widened)
    indices = Value(Kind.TENSOR, dtype="int64", device=same.device)
    if rule in ("unary", "same_rank"):
        return typed(kept, counted(name, same.dtype), inexact=same.inexact)
    if rule == "float":
        return typed(kept, floating(same.dtype), inexact=True)
    if rule in ("binary", "divide", "bool"):
        tensors = [v for v in others if v.kind in (Kind.TENSOR, Kind.NUMBER, Kind.SCALAR)]
        rank = broadcast([source, *others])
        if rule == "bool":
            return typed(replace(same, rank=rank), "bool")
        if name == "float_power":
            return typed(replace(kept, rank=rank), None, inexact=True)
        dtype = _promoted([source, *tensors])
        inexact = rule == "divide" or is_inexact(source) or any(arithmetic_is_inexact(source, v) for v in others)
        return typed(replace(kept, rank=rank), floating(dtype) if rule == "divide" else dtype, inexact=inexact)
    if rule == "pair":
        return picked(same, replace(indices, rank=same.rank))
    if rule in _PARTS:
        return tuple_of(*[typed(replace(same, rank=None), None)] * _PARTS[rule])
    if rule == "list":
        return list_of(replace(same, rank=None))
    return {
        "positions": replace(indices, rank=same.rank),
        "pairs": replace(indices, rank=2),
        "loose": replace(same, rank=None),
        "loose_float": typed(replace(same, rank=None), None if others else floating(same.dtype), inexact=True),
        "masked": replace(same, rank=1),
        "unique": replace(same, rank=None),
        "other": Value(Kind.TENSOR, device=same.device),
    }.get(rule)


def _promoted(values: Sequence[Value]) -> str | None:
    """The dtype of an operation on all of these tensors and numbers."""
    result = values[0]
    for value in values[1:]:
        result = replace(result, dtype=promoted(result, value), rank=broadcast([result, value]))
    return result.dtype


def _viewed(rule: str, name: str, same: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value:
    """Operations that only show a tensor's elements in another shape; ``repeat`` and ``tile`` copy them."""
    view = replace(same, pinned=None) if name in ("repeat", "tile") else same
    if name == "permute" and same.rank is None and not starred(call):
        return replace(view, rank=rank_of_sizes(rest, of))  # it names each dimension once
    if rule == "move":
        return view
    if rule == "unsqueeze":
        return replace(view, rank=same.rank + 1 if same.rank is not None else None)
    if rule == "reshape" and name != "tile":  # which keeps the dimensions that it is told nothing of
        return replace(view, rank=None if starred(call) else rank_of_sizes(rest, of))
    if rule == "flatten" and not rest and not call.keywords:
        return replace(view, rank=1)
    if name == "select" and same.rank:
        return replace(view, rank=same.rank - 1)
    return replace(view, rank=None)


def _reduced(rule: str, name: str, same: Value, call: ast.Call, rest: Sequence[ast.expr], of: Of) -> Value:
    """Operations that give one element of all, or of each row of a dimension."""
    named = keyword(call, "dim") or keyword(call, "axis")
    arguments = [of(arg) for arg in rest]
    if name in ("norm", "vector_norm", "quantile", "nanquantile", "dist", "dot", "vdot"):
        arguments = arguments[1:]  # the order, the fraction or the other vector stand first
    whole = named is None and not arguments and not starred(call)
    if rule == "minmax" and arguments and arguments[0].kind is Kind.TENSOR:
        dtype, inexact = promoted(same, arguments[0]), arithmetic_is_inexact(same, arguments[0])
        return typed(replace(fresh(same), rank=broadcast([same, arguments[0]])), dtype, inexact=inexact)
    if rule == "minmax" and isinstance(rest[0] if rest else None, ast.Call) and not arguments[0].known:
        return typed(replace(fresh(same), rank=None), None)  # of two tensors; a dimension is seldom computed
    if rule == "minmax" and named is None and arguments and not arguments[0].known:
        return UNKNOWN  # another tensor, or a dimension
    dim = of(named) if named is not None else arguments[0] if arguments else UNKNOWN
    kept = is_true(keyword(call, "keepdim")) or (len(arguments) > 1 and name not in ("std", "var"))
    rank = rank_without(same.rank, dim, kept, whole)
    if name in ("norm", "vector_norm", "logsumexp") and not whole and dim.kind is not Kind.NUMBER:
        rank = None
    dtype, inexact = reduced(rule, name, same.dtype), same.inexact or is_mean(name)
    result = typed(replace(fresh(same), rank=rank), dtype, inexact=inexact)
    if rule == "minmax" and not whole:
        return picked(result, Value(Kind.TENSOR, dtype="int64", device=same.device, rank=rank))
    return result


# methods and attributes of tensors ------------------------------------------------------------------------------------


def tensor_method(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Return the value of ``tensor.name(...)``."""
    if name in ("to", "type", "cuda", "cpu", "type_as"):
        return _moved(name, source, call, of)
    if name in table()["tensor_methods"]["cast"]:
        return cast_here(source, table()["tensor_methods"]["cast"][name])
    if name == "pin_memory":
        return replace(source, pinned=True, device=Device.CPU)
    if name in ("size", "stride"):
        return INT if call.args else SIZE
    if name == "new":
        return fresh(replace(source, rank=_rank_of_new(call, of)))
    rule = _method_rules().get(name)
    if rule == "tolist":
        if not source.has_axes:
            return Value(Kind.ITEM)  # without dimensions it gives a number
        return nested_list(source.rank)
    if rule == "numpy":
        return Value(Kind.NDARRAY, dtype=source.dtype, rank=source.rank, widened=source.widened)
    if rule == "none":
        return NONE
    if rule == "number":
        return Value(Kind.NUMBER, dtype=_NUMBERS.get(source.dtype or "") if name == "item" else "int")
    if rule == "new":
        sizes = call.args if name in ("new_zeros", "new_ones", "new_empty") else call.args[:1]
        if name == "new_tensor":
            return new_like(typed(source, None), None, call, of)  # of the dtype of what it is made of
        return new_like(source, None if starred(call) else rank_of_sizes(sizes, of), call, of)
    operation = rules("operations").get(name.rstrip("_") if not name.startswith("_") else name)
    return (operate(operation, name, source, call, call.args, of) if operation else None) or UNKNOWN


def _rank_of_new(call: ast.Call, of: Of) -> int | None:
    """The rank of ``x.new(n)``, of so many elements, and of ``x.new([a, b])``, of these."""
    if starred(call) or not call.args:
        return None
    first = of(call.args[0])
    return nested(first) if first.kind in (Kind.LIST, Kind.TUPLE) else rank_of_sizes(call.args, of)


def _method_rules() -> dict[str, str]:
    return rules("tensor_methods")


def cast_here(source: Value, dtype: str | None) -> Value:
    """Return a tensor in another dtype, where it lies; one that changes is a new one."""
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
    dtype, device, inexact = source.dtype, source.device, source.inexact
    for arg in [*call.args, *(k.value for k in call.keywords if k.arg in ("device", "dtype", "other", None))]:
        value = of(arg)
        if value.kind is Kind.DTYPE or (value.kind is Kind.CLASS and dtype_of(value)):
            dtype, inexact = dtype_of(value), False
        elif value.kind in (Kind.DEVICE, Kind.STRING):
            device = device_of(value)
        elif value.kind is Kind.TENSOR:
            dtype, inexact = value.dtype, value.inexact
            device = source.device if name == "type_as" else value.device
        elif name == "to" and value.kind is Kind.NUMBER and value.dtype == "int" and arg in call.args[:1]:
            device = Device.CUDA  # the number of an accelerator
        elif value.kind is not Kind.NUMBER:
            dtype, device, inexact = None, Device.UNKNOWN, False
    if device is source.device and dtype != source.dtype:
        return typed(cast_here(source, dtype), dtype, inexact=inexact)
    return typed(_at(source, device), dtype, inexact=inexact)


def _at(source: Value, device: Device) -> Value:
    """A tensor moved: what is known of how it lay is known no longer, unless it stays."""
    if device is Device.CPU and source.device is Device.CPU:
        return source
    return replace(source, device=device, pinned=None, widened="")


def tensor_item(source: Value, indices: Sequence[Value | None]) -> Value:
    """Return what indexing a tensor gives; ``None`` stands for a slice.

    Indexing by tensors and lists makes a new tensor.
    """
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
    """Return the value of ``tensor.name``."""
    rule = table()["attributes"]["tensor"].get(name)
    if rule == "dtype":
        return Value(Kind.DTYPE, dtype=source.dtype)
    if rule == "device":
        return Value(Kind.DEVICE, device=source.device)
    if rule in ("view", "same"):
        return replace(source, literal=None)
    return {"size": SIZE, "bool": BOOL, "int": INT}.get(rule, UNKNOWN)
