"""Awkward values of the kinds that examples declare: what real programs pass now and then, and fixes must survive.

One generator for all rules: a rule states the kind of its inputs and cannot choose among their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from torchlint.bench.program import make
from torchlint.late import dataclass
from torchlint.rule import Input, Kind

_DTYPES = ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")
_NONFINITE = (float("nan"), float("inf"), float("-inf"))
_SMALL = (0.0, -0.0, 1e-45, -1e-45)
# What the change ``nonfinite`` mentions.
_STRANGE = ("nan and inf", "zeros and tiny numbers")
# Halfway between two numbers of float32, and barely more: rounded by way of float64 it goes the other way.
_LARGE = 2**60 + 2**36 + 1
_NUMBERS: tuple[int | float | bool, ...] = (0, 1, -1, 2**24 - 3, 2**40, True, 0.0, -0.0, 1e-45, 1e39, *_NONFINITE)


@dataclass(frozen=True, slots=True)
class Variant:
    """One value for one input: what is special about it, and how to make it afresh."""

    input: str
    label: str
    make: Callable[[], object]
    nonfinite: bool = False


class ListSubclass(list[object]):
    """A list of a class of its own."""


class ArraySubclass(np.ndarray):
    """An array of a class of its own."""


class Marked(torch.Tensor):
    """A tensor of a class of its own."""


def variants(declared: Input) -> Iterator[Variant]:
    """Yield the awkward values of an input, of the kind that it declares."""
    if declared.kind is Kind.NDARRAY:
        yield from _arrays(declared)
    elif declared.kind is Kind.TENSOR:
        yield from _tensors(declared)
    elif declared.kind is Kind.LIST:
        yield from _lists(declared)
    elif declared.kind is Kind.NUMBER:
        for number in (value for value in _NUMBERS if declared.dtype != "int" or isinstance(value, int)):
            strange = isinstance(number, float) and not np.isfinite(number)
            yield Variant(declared.name, repr(number), _always(number), strange)


def _always(number: float) -> Callable[[], object]:
    return lambda: number


def array(declared: Input) -> np.ndarray:
    """Return an ordinary array of an input's shape and dtype, writable and contiguous."""
    made = make(replace(declared, kind=Kind.NDARRAY))
    assert isinstance(made, np.ndarray)
    return made


def _arrays(declared: Input) -> Iterator[Variant]:
    def variant(label: str, change: Callable[[np.ndarray], np.ndarray], dtype: str = "") -> Variant:
        given = replace(declared, dtype=dtype or declared.dtype)
        return Variant(declared.name, label, lambda: change(array(given)), label in _STRANGE)

    for dtype in _DTYPES:
        if dtype != declared.dtype:
            yield variant(dtype, _same, dtype)
    if declared.dtype.startswith("float"):
        yield variant("nan and inf", _poisoned)
        yield variant("zeros and tiny numbers", _vanishing)
    yield variant("0-d", lambda a: np.array(a.reshape(-1)[0]))
    yield variant("0-d of integers", lambda a: np.array(a.size), "int64")
    yield variant("large integers", lambda a: a + _LARGE, "int64")
    if declared.shape:
        yield variant("empty", lambda a: a[:0])
        yield variant("one row", lambda a: a[:1])
        yield variant("one row of foreign byte order", lambda a: a[:1].astype(a.dtype.newbyteorder()))
        yield variant("negative strides", lambda a: a[::-1])
        yield variant("every second row", lambda a: np.repeat(a, 2, axis=0)[::2])
    if len(declared.shape) > 1:
        yield variant("empty rows", lambda a: a[:, :0])
        yield variant("Fortran order", np.asfortranarray)
    yield variant("read-only", _read_only)
    yield variant("foreign byte order", lambda a: a.astype(a.dtype.newbyteorder()))
    yield variant("objects", lambda a: a.astype(object))
    yield variant("an array of its own class", lambda a: a.view(ArraySubclass))


def _tensors(declared: Input) -> Iterator[Variant]:
    def variant(label: str, change: Callable[[torch.Tensor], torch.Tensor], dtype: str = "") -> Variant:
        given = replace(declared, dtype=dtype or declared.dtype)
        return Variant(declared.name, label, lambda: change(torch.from_numpy(array(given))), label in _STRANGE)

    floating = declared.dtype.startswith("float")
    for dtype in _DTYPES:
        if dtype != declared.dtype:
            yield variant(dtype, lambda t: t, dtype)
    yield variant("bfloat16", lambda t: t.to(torch.bfloat16))
    if floating:
        yield variant("nan and inf", lambda t: torch.from_numpy(_poisoned(t.numpy())))
        yield variant("zeros and tiny numbers", lambda t: torch.from_numpy(_vanishing(t.numpy())))
        if declared.grad:
            yield variant("asks for gradients", lambda t: t.requires_grad_())
            yield variant("a parameter", nn.Parameter)
    yield variant("a tensor of its own class", lambda t: t.as_subclass(Marked))
    yield variant("0-d", lambda t: t.reshape(-1)[0].clone())
    yield variant("0-d of integers", lambda t: torch.tensor(t.numel()), "int64")
    yield variant("large integers", lambda t: t + _LARGE, "int64")
    if declared.shape:
        yield variant("empty", lambda t: t[:0])
        yield variant("one row", lambda t: t[:1])
        yield variant("every second row", lambda t: t.repeat_interleave(2, 0)[::2])
        yield variant("expanded", lambda t: t[:1].expand(t.shape))
    if len(declared.shape) > 1:
        yield variant("transposed twice", lambda t: t.transpose(0, 1).contiguous().transpose(0, 1))
    if torch.cuda.is_available():
        yield variant("on the accelerator", lambda t: t.cuda())


def _lists(declared: Input) -> Iterator[Variant]:
    def variant(label: str, change: Callable[[list[object]], object], dtype: str = "") -> Variant:
        given = replace(declared, dtype=dtype or declared.dtype)
        return Variant(declared.name, label, lambda: change(list(array(given))), label in _STRANGE)

    for dtype in _DTYPES:
        if dtype != declared.dtype:
            yield variant(f"of {dtype}", _same_list, dtype)
    if declared.dtype.startswith("float"):
        yield Variant(declared.name, "nan and inf", lambda: list(_poisoned(array(declared))), nonfinite=True)
        yield Variant(
            declared.name, "zeros and tiny numbers", lambda: list(_vanishing(array(declared))), nonfinite=True
        )
    yield variant("large integers", lambda rows: [row + _LARGE for row in np.asarray(rows)], "int64")
    yield variant("empty", lambda rows: rows[:0])
    yield variant("one", lambda rows: rows[:1])
    yield variant("a list of its own class", ListSubclass)
    yield variant("of plain numbers", lambda rows: [np.asarray(row).tolist() for row in rows])
    yield variant("mixed dtypes", _mixed)
    if len(declared.shape) > 1:
        yield variant("ragged", lambda rows: [np.asarray(row)[: 1 + index] for index, row in enumerate(rows)])
        yield variant("of empty rows", lambda rows: [np.asarray(row)[:0] for row in rows])
        yield variant("of lists", lambda rows: [list(np.asarray(row)) for row in rows])


def _same(values: np.ndarray) -> np.ndarray:
    return values


def _same_list(rows: list[object]) -> object:
    return rows


def _poisoned(values: np.ndarray) -> np.ndarray:
    """The values with NaN and both infinities among them."""
    return _with(values, _NONFINITE)


def _vanishing(values: np.ndarray) -> np.ndarray:
    """The values with both zeros among them, and numbers that are barely more than zero."""
    return _with(values, _SMALL)


def _with(values: np.ndarray, some: Sequence[float]) -> np.ndarray:
    flat = values.reshape(-1)
    for index, value in enumerate(some[: flat.size]):
        flat[index] = value
    return values


def _read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def _mixed(rows: list[object]) -> list[object]:
    return [np.asarray(row).astype("float64" if index % 2 else "float32") for index, row in enumerate(rows)]
