"""Tensor types of ``torch.cuda``, such as ``torch.cuda.FloatTensor``, by which older programs choose the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchlint.device.dispatch import CountingMode
from torchlint.device.naming import side
from torchlint.device.patches import Patches
from torchlint.device.place import Place
from torchlint.device.tensors import lies_on_device
from torchlint.device.transfers import move

_CUDA = "torch.cuda."
_NAMES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")


def patch_legacy(patches: Patches, counting: CountingMode) -> None:
    """Replace the tensor types of ``torch.cuda`` and the function that makes one of them the default."""
    for name in _NAMES:
        patches.set(torch.cuda, f"{name}Tensor", _tensor_type(f"{name}Tensor", counting))
    patches.set(torch.Tensor, "new", _new(torch.Tensor.new, counting))
    patches.set(torch, "set_default_tensor_type", _with_default_type(torch.set_default_tensor_type))


def _tensor_type(name: str, counting: CountingMode) -> type:
    """Return a type that makes tensors of the device, and whose instances are those of its dtype there."""
    on_host: Any = getattr(torch, name)

    class Meta(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
            if _are_sizes(args):
                return torch.empty(*args or (0,), dtype=on_host.dtype, device="cuda")
            kwargs.pop("device", None)
            made: torch.Tensor = on_host(*args, **kwargs)
            return move(counting, made, Place.DEVICE)

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, torch.Tensor) and value.dtype is on_host.dtype and lies_on_device(value)

    return Meta(name, (), {"__module__": "torch.cuda", "dtype": on_host.dtype, "is_cuda": True})


def _are_sizes(args: Sequence[Any]) -> bool:
    """Whether the arguments of a legacy constructor are sizes, so that memory is taken and not filled."""
    return not args or all(isinstance(each, int) for each in args) or isinstance(args[0], torch.Size)


def _new(make: Any, counting: CountingMode) -> Any:
    """Return ``Tensor.new``, the constructor that takes dtype and side of a tensor; distributions of torch call it."""

    def new(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        device = kwargs.pop("device", None)
        wanted = Place.DEVICE if device is None and lies_on_device(self) else side(device)
        if wanted is not Place.DEVICE:
            with counting.making(Place.HOST):
                made: torch.Tensor = make(self, *args, **kwargs)
            return made
        if _are_sizes(args):
            return torch.empty(*args or (0,), dtype=self.dtype, device="cuda")
        if isinstance(args[0], torch.Tensor) and lies_on_device(args[0]):
            return args[0].detach()
        with counting.making(Place.HOST):
            made = make(self, *args, **kwargs)
        return move(counting, made, Place.DEVICE)

    return new


def _with_default_type(choose: Any) -> Any:
    """Return ``set_default_tensor_type``, which may name the device as well."""

    def chosen(type_: Any) -> None:
        name = type_ if isinstance(type_, str) else f"{type_.__module__}.{type_.__name__}"
        choose(name.replace(_CUDA, "torch.", 1))
        torch.set_default_device("cuda" if name.startswith(_CUDA) else None)

    return chosen
