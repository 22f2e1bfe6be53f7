"""Runs what a program defines, and then does all that code around it may do with its inputs and results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import UninitializedTensorMixin

from torchlint.bench.caught import Caught

AUTOGRAD = re.compile(r"requires[ _]grad|modified by an inplace operation|backward through the graph a second time")
NOTHING = re.compile(r"non-empty (TensorList|list of Tensors)")
Read = Callable[[], object]


def drive(
    call: Callable[..., object], given: list[Any], state: Read | None, learn: Callable[..., object] | None
) -> Any:
    """Everything that someone could see of a call, and of what is done later with its inputs and its result.

    Raises whatever the first call raises; what later steps raise is a part of the result.
    """
    result = plain(call(*given))
    seen: list[object] = [_looks(result), copied(result), _state(state)]
    seen.append(_tried(lambda: _backward(result, given)))
    if learn is not None:
        seen += [_tried(lambda: plain(learn(*given))), _state(state), copied(result)]
    seen += [_tried(lambda: copied(plain(call(*given)))), _state(state)]
    seen += [_overwritten(given), copied(result)]
    seen += [_overwritten([result]), copied(plain(given))]
    seen.append(_tried(lambda: _backward(result, given)))
    again = _tried(lambda: plain(call(*given)))  # nothing has written into this one
    return [again, seen, _state(state)]


def _looks(value: Any) -> list[object]:
    """What is known of tensors and arrays besides their values, before anyone writes into them."""
    return [
        [part.requires_grad, part.is_leaf, part.is_inference(), _strides(part.stride(), part.numel())]
        if isinstance(part, torch.Tensor)
        else _strides(part.strides, part.size)
        for part in parts(value)
    ]


def _strides(strides: tuple[int, ...], elements: int) -> list[int]:
    """The strides where they mean something."""
    return list(strides) if elements > 1 else []


def plain(value: Any) -> Any:
    """A value of kinds that can be compared; of others the class."""
    if isinstance(value, UninitializedTensorMixin):
        return type(value).__name__
    if isinstance(value, np.ndarray) and value.dtype == object:
        return ["objects", list(value.shape), *map(plain, value.reshape(-1).tolist())]
    if isinstance(value, (torch.Tensor, np.ndarray, np.generic, bool, int, float, str, torch.dtype, torch.device)):
        return value
    if value is None or isinstance(value, (torch.Size, range)):
        return value
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, dict):
        return {repr(key): plain(part) for key, part in value.items()}
    if isinstance(value, torch.nn.Module):
        return {name: plain(part) for name, part in value.state_dict().items()}
    if isinstance(value, torch.distributions.Distribution):
        return [type(value).__name__, *(plain(getattr(value, name)) for name in sorted(value.arg_constraints)[:2])]
    if hasattr(value, "observation"):
        return plain(value.observation)
    return type(value).__name__


def copied(value: Any) -> Any:
    """The same values in memory of their own."""
    if isinstance(value, torch.Tensor):
        with Caught():
            return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return [copied(part) for part in value]
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return value


def parts(value: Any) -> Iterator[torch.Tensor | np.ndarray]:
    """The tensors and arrays in a value."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from parts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from parts(part)


def _state(state: Read | None) -> object:
    return None if state is None else copied(plain(state()))


def _tried(step: Read) -> object:
    """What a step gives, or the class of what it raises."""
    with Caught() as caught:
        return step()
    return refusal(caught.error)


def refusal(error: BaseException | None) -> str:
    """What an exception counts as: its class, and one word for what different forms may say in different words."""
    told = str(error)
    if isinstance(error, (TypeError, AttributeError, IndexError)) or AUTOGRAD.search(told):
        return "refused"
    return "nothing to join" if NOTHING.search(told) else type(error).__name__


def _backward(result: Any, given: list[Any]) -> object:
    """The gradients of the inputs by what the result holds."""
    ends = [part for part in parts(result) if isinstance(part, torch.Tensor) and part.requires_grad]
    for end in ends:
        end.sum().backward(retain_graph=True)
    leaves = [part for part in parts(given) if isinstance(part, torch.Tensor) and part.is_leaf]
    return [len(ends), [copied(leaf.grad) for leaf in leaves]]


def _overwritten(value: Any) -> list[object]:
    """Write into every tensor and array in place; what each writing raised."""
    return [_tried(lambda part=part: _write(part)) for part in parts(value)]


def _write(part: torch.Tensor | np.ndarray) -> None:
    if isinstance(part, torch.Tensor):
        with torch.no_grad():
            part.fill_(True if part.dtype is torch.bool else 3)
    else:
        part[...] = 3
