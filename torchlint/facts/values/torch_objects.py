"""What modules and distributions of torch give."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.values.containers import ANY_MODULE, HOLDING, element_of
from torchlint.facts.values.creation import meeting
from torchlint.facts.values.dtypes import floating, typed
from torchlint.facts.values.join import TENSOR, join, tuple_of
from torchlint.facts.values.ranks import broadcast
from torchlint.facts.values.signatures import Of, device_of, operands, rules, starred, table
from torchlint.facts.values.tensors import WHOLE_LOSSES, loss_value
from torchlint.models import method_names
from torchlint.rule import UNKNOWN, Device, Kind, Value

KEEPING = method_names("Module", returns="receiver")
"""The methods of modules that give the module itself, moved or in another mode."""
UNBIASED = "unbiased"
"""The literal of a module that was made with ``bias=False``: its attribute ``bias`` is ``None``."""


def distribution(last: str, call: ast.Call, of: Of) -> Value:
    """Return a distribution: its class, and where its parameters lie, in which dtype and of which rank."""
    values = [v for v in operands(call, of) if v.kind in (Kind.TENSOR, Kind.DISTRIBUTION)]
    first = values[0] if values else TENSOR
    where = meeting([v if v.kind is Kind.TENSOR else replace(v, kind=Kind.TENSOR) for v in values])
    rank = first.rank if last != "Normal" else broadcast(operands(call, of))
    return Value(Kind.DISTRIBUTION, dtype=floating(first.dtype), device=where, rank=rank, name=last)


def distribution_method(name: str, source: Value, call: ast.Call) -> Value:
    """Return the value of ``distribution.name(...)``."""
    if name not in table()["distribution_methods"]["tensor"]:
        return UNKNOWN
    whole = source.name == "Categorical"
    rank = source.rank if source.name in ("Normal", "Bernoulli", "Uniform", "Laplace", "Beta") else None
    if whole and source.rank:
        rank = source.rank - 1
    if name in ("sample", "rsample"):
        dtype = "int64" if whole else source.dtype
        drawn = Value(Kind.TENSOR, device=source.device, rank=None if call.args or call.keywords else rank)
        return typed(drawn, dtype, inexact=name == "rsample")
    inexact = name in table()["distribution_methods"]["floats"]
    found = Value(Kind.TENSOR, device=source.device, rank=rank if name == "entropy" else None)
    return typed(found, source.dtype, inexact=inexact)


def distribution_attribute(name: str, source: Value) -> Value:
    """Return the value of ``distribution.name``."""
    tensors = table()["distribution_methods"]["tensor_attributes"]
    return Value(Kind.TENSOR, device=source.device) if name in tensors else UNKNOWN


def module_call(last: str, module: Value) -> Value:
    """Return what a module of ``torch.nn`` gives, where the module lies.

    Its inputs are not asked: networks, replay and rollout would all become one circle of questions.
    """
    result = Value(Kind.TENSOR, device=module.device)
    rule = rules("modules").get(last)
    if rule == "pair":
        return tuple_of(result, UNKNOWN)  # weights, or None
    if rule in ("state", "states"):
        return tuple_of(result, result if rule == "state" else tuple_of(result, result))
    if rule != "loss":
        return result
    return replace(result, rank=None if module.literal == "none" else 0, inexact=last not in WHOLE_LOSSES)


def made_module(name: str, call: ast.Call, of: Of) -> Value:
    """Return a module of ``torch.nn``; one that may not reduce its losses says so, and one that has no bias."""
    if any(keyword.arg == "bias" and _is_false(of(keyword.value)) for keyword in call.keywords):
        return Value(Kind.MODULE, name=name, literal=UNBIASED)
    if (held := _held(name, call, of)).kind is Kind.MODULE:
        return Value(Kind.MODULE, name=name, items=(held,))
    reduced = loss_value(name, call, of, Device.UNKNOWN).rank == 0
    return Value(Kind.MODULE, name=name, literal=None if reduced or not name.endswith("Loss") else "none")


def _held(name: str, call: ast.Call, of: Of) -> Value:
    """The modules that a container is given, of a class that is not known where they have nothing in common.

    Unknown for other modules, and for a container that is given none.
    """
    last = name.rpartition(".")[2]
    if not call.args or last not in HOLDING:
        return UNKNOWN
    given = [UNKNOWN] if starred(call) else [of(argument) for argument in call.args]
    if last == "ModuleList":
        given = [element_of(given[0])]
    elif last == "ModuleDict":
        given = list(given[0].items) or [UNKNOWN]
    held = join(given)
    return held if held is not None and held.kind is Kind.MODULE else ANY_MODULE


def _is_false(value: Value) -> bool:
    return value.literal is False


def module_moved(name: str, source: Value, call: ast.Call, of: Of) -> Value:
    """Return a module, or another object that holds tensors, after ``.to(device)``, ``.cuda()``, ...: itself."""
    if name in ("cpu", "cuda"):
        return replace(source, device=Device.CPU if name == "cpu" else Device.CUDA)
    if name == "to" and source.kind is not Kind.DEVICE and call.args:
        where = of(call.args[0])
        if where.kind in (Kind.DEVICE, Kind.STRING):
            return replace(source, device=device_of(where))
    return source


def on_device(result: Value, device: Device) -> Value:
    """Return the result of a module that lies on a device: there, where nothing else is known."""
    if device is Device.UNKNOWN:
        return result
    if result.kind is Kind.TENSOR and result.device is Device.UNKNOWN:
        return replace(result, device=device)
    if result.kind is Kind.TUPLE:
        return replace(result, items=tuple(on_device(item, device) for item in result.items))
    return result
