"""What CUDA does for an operator of ATen: a default by the operator's schema and tags, and rows for those that differ.

An operator is one launch if it starts work on the device, however many kernels it is made of. A view, and an operator
that only changes sizes and strides, starts none; torch says which these are. An operator whose result's shape or value
the host must know waits; torch tags these, and each reads a number back. An operator that torch composes of others for
all devices counts as what is inside. What differs is in ``operators.json``, each row with its source.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._ops import OpOverload

from torchlint.late import dataclass

_KEYS = torch._C.DispatchKey
_COMPOSED = (_KEYS.CompositeExplicitAutograd, _KEYS.CompositeExplicitAutogradNonFunctional)
_LISTS = "aten::_foreach_"  # composed for the CPU; CUDA has a kernel for the whole list
_COUNT = 8  # the bytes of a number of elements


class UnknownOperatorError(RuntimeError):
    """An operator that the counted device has no model of, so that no count would be right."""


@dataclass(frozen=True, slots=True)
class Model:
    """What one call of an operator does, besides copies between host and device.

    Attributes:
        launches: operators that start work, 0 for a view.
        waits: how often the host waits; each wait reads ``read`` bytes back, or one element if that is 0.
        fresh: whether results that are no views take new memory.
        host_arguments: tensors of the host are allowed beside those of the device.
        given: arguments, with their defaults, that cost one more launch each if they are given and not 0; of a list of
            flags each one that is set.
        inside: the dispatch key of the kernel whose operators count besides, if the operator is composed of others.
    """

    launches: int
    waits: int
    fresh: bool
    host_arguments: bool = False
    read: int = _COUNT
    given: tuple[tuple[int, object], ...] = ()
    inside: torch._C.DispatchKey | None = None

    def launches_for(self, args: Sequence[object]) -> int:
        """Return the launches of a call; torch passes all arguments by place but those that are keywords alone."""
        values = (args[place] if place < len(args) else default for place, default in self.given)
        return self.launches + sum(map(_times, values))


@functools.cache
def model_of(operator: OpOverload) -> Model:
    """Return the model of an operator.

    Raises:
        UnknownOperatorError: it belongs to no library of torch itself.
    """
    row = _rows().get(operator.name()) or _rows().get(operator._schema.name, {})
    host = bool(row.get("host_arguments", False))
    namespace = operator.namespace
    if namespace not in ("aten", "prims", "_c10d_functional") and not row:
        raise UnknownOperatorError(
            f"the counted device does not know the operator {operator.name()}: it is not one of torch's own"
        )
    if _is_view(operator):
        return Model(0, 0, False, host)
    inside = _inside(operator, row)
    launches = row.get("launches", 0 if inside else 1)
    waits = row.get("waits", 0 if inside else _waits(operator))
    given = tuple(_place(operator, name) for name in row.get("given", ()))
    fresh = launches > 0 or bool(given) or bool(row.get("fresh", False))
    return Model(launches, waits, fresh, host, row.get("read", _COUNT), given, inside)


def _inside(operator: OpOverload, row: Mapping[str, Any]) -> torch._C.DispatchKey | None:
    """Return the key of the kernel that is composed of other operators, the same on CUDA and here."""
    if "inside" in row:
        return torch._C.DispatchKey.CPU
    name = operator.name()
    if "launches" in row or name.startswith(_LISTS):
        return None
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if has_kernel(name, "CPU") or _takes_number(operator):
        return None
    return next((key for key in _COMPOSED if has_kernel(name, key.name)), None)


def _takes_number(operator: OpOverload) -> bool:
    """Whether an operator is the one for two tensors, with a number in place of one of them."""
    names = (operator._schema.name, f"{operator._schema.name}.Tensor")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return "scalar" in operator._overloadname.lower() and any(
        torch._C._dispatch_has_kernel(name) and has_kernel(name, "CPU") for name in names
    )


def _place(operator: OpOverload, name: str) -> tuple[int, object]:
    """Return the place of an argument, and its default."""
    arguments = enumerate(operator._schema.arguments)
    return next((at, argument.default_value) for at, argument in arguments if argument.name == name)


def _times(value: object) -> int:
    """How often an argument counts."""
    if isinstance(value, (list, tuple)):
        return sum(map(bool, value))
    return int(bool(value) if isinstance(value, int) else value is not None)


def _is_view(operator: OpOverload) -> bool:
    """Whether an operator only makes another view, or changes sizes and strides in place."""
    return operator.is_view or torch.Tag.inplace_view in operator.tags


def _waits(operator: OpOverload) -> int:
    """How often the host waits, as far as tags tell."""
    tags = operator.tags
    return int(torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags)


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
    """Read the operators that differ from the default, by qualified name, with the overload or for all of them."""
    table = json.loads((Path(__file__).parent / "operators.json").read_text(encoding="utf-8"))
    rows: dict[str, dict[str, Any]] = table["operators"]
    return rows
