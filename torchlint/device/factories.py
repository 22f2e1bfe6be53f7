"""Functions that make tensors, with the device that they are asked for."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils._device import DeviceContext

from torchlint.device.dispatch import CountingMode
from torchlint.device.naming import HOST, side
from torchlint.device.patches import Patches
from torchlint.device.place import Place, tensors_in
from torchlint.device.tensors import lies_on_device
from torchlint.device.transfers import move

_FROM_DATA = ("tensor", "as_tensor", "asarray")
_NO_FACTORIES = frozenset({"eq", "ne", "to", "Generator", "is_pinned", "pin_memory", *_FROM_DATA})


def factory_names() -> frozenset[str]:
    """Return the names of torch's public operators that take a device."""
    schemas = torch._C._jit_get_all_schemas()
    taking = (each for each in schemas if any("Device" in str(argument.type) for argument in each.arguments))
    names = (each.name.removeprefix("aten::") for each in taking if each.name.startswith("aten::"))
    return frozenset(name for name in names if not name.startswith("_")) - _NO_FACTORIES


def patch_factories(patches: Patches, counting: CountingMode) -> None:
    """Replace the functions and methods that make tensors."""
    for name in sorted(factory_names()):
        for owner in (torch, torch.Tensor):
            if callable(getattr(owner, name, None)):
                made = _placed(getattr(owner, name), counting)
                patches.set(owner, name, made)
                _known_to_scripts(made, name)
    for name in _FROM_DATA:
        patches.set(torch, name, _from_data(getattr(torch, name), counting))
    patches.set(torch.Tensor, "new_tensor", _new_tensor(torch.Tensor.new_tensor))


def _known_to_scripts(function: Any, name: str) -> None:
    """Let ``torch.jit.script`` take a replaced function for the operator that it replaces."""
    torch.jit._builtins._register_builtin(function, f"aten::{name}")


def _default() -> object:
    """Return the device that ``with torch.device(...)`` or ``set_default_device`` says, or ``None``."""
    for depth in reversed(range(torch._C._len_torch_function_stack())):
        mode = torch._C._get_function_stack_at(depth)
        if isinstance(mode, DeviceContext):
            return mode.device
    return None


def _placed(make: Any, counting: CountingMode) -> Any:
    """Return a function that makes what another one makes, on the side that it is asked for."""

    @functools.wraps(make)
    def placed(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        pinned = kwargs.pop("pin_memory", False) if "pin_memory" in kwargs else False
        if device is None and next(tensors_in((*args, *kwargs.values())), None) is not None:
            return make(*args, **kwargs)
        wanted = side(_default() if device is None else device)
        if wanted is None:
            if device is not None:
                return make(*args, **kwargs)
            wanted = Place.HOST
        with counting.making(Place.PINNED if pinned else wanted):
            return make(*args, **{**kwargs, "device": HOST})

    return placed


def _from_data(make: Any, counting: CountingMode) -> Any:
    """Return a function that makes a tensor of data, on the host first, as torch does."""

    @functools.wraps(make)
    def from_data(data: Any, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.pop("device", None)
        pinned = kwargs.pop("pin_memory", False)
        wanted = side(_default() if device is None and not isinstance(data, torch.Tensor) else device)
        if device is not None and wanted is None:
            return make(data, *args, device=device, **kwargs)
        grad = kwargs.pop("requires_grad", False)
        _read_each(data)
        with counting.making(Place.PINNED if pinned else Place.HOST):
            made = make(data, *args, device=HOST, **kwargs)
        if wanted is not None and (wanted is Place.DEVICE) != lies_on_device(made):
            made = move(counting, made, wanted)
        return made.requires_grad_() if grad else made

    return from_data


def _read_each(data: Any) -> None:
    """Read back the tensors of one number in a list, as torch does below what a mode sees."""
    if not isinstance(data, torch.Tensor):
        for tensor in tensors_in((data,)):
            if lies_on_device(tensor) and tensor.numel() == 1:
                tensor.item()


def _new_tensor(make: Any) -> Any:
    """Return ``Tensor.new_tensor``, which takes the device of the tensor."""

    @functools.wraps(make)
    def new_tensor(self: torch.Tensor, data: Any, **kwargs: Any) -> torch.Tensor:
        options: dict[str, Any] = {"dtype": self.dtype, "device": self.device}
        options.update((name, value) for name, value in kwargs.items() if value is not None)
        return torch.tensor(data, **options)

    return new_tensor
