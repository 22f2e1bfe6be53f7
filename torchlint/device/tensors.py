"""Methods and attributes of tensors as a program with an accelerator sees them."""

from __future__ import annotations

from typing import Any

import torch

from torchlint.device.dispatch import CountingMode
from torchlint.device.events import Events
from torchlint.device.naming import DEVICE, as_cpu, side
from torchlint.device.patches import Patches
from torchlint.device.place import Place, on_device, place_of, put, put_storage, storage_on_device
from torchlint.device.transfers import move

_BASE: Any = torch._C.TensorBase


def patch_tensors(patches: Patches, counting: CountingMode) -> None:
    """Replace what tensors say of their device, and the methods that move them or read them."""
    tensor = torch.Tensor
    for name in ("device", "is_cuda", "is_cpu"):
        patches.set(tensor, name, property(_ATTRIBUTES[name]))
    patches.set(tensor, "get_device", lambda self: 0 if lies_on_device(self) else _BASE.get_device(self))
    patches.set(tensor, "to", _to(counting))
    patches.set(tensor, "cuda", _cuda(counting))
    patches.set(tensor, "cpu", _cpu(counting))
    patches.set(tensor, "numpy", _numpy)
    patches.set(tensor, "tolist", _tolist(counting))
    patches.set(tensor, "pin_memory", _pin_memory(counting))
    patches.set(tensor, "is_pinned", lambda self, *_, **__: place_of(self) is Place.PINNED)
    patches.set(tensor, "type", _type(counting))
    patches.set(torch.storage._StorageBase, "clone", _clone(counting))


def lies_on_device(tensor: torch.Tensor) -> bool:
    """Return whether a tensor lies on the device; tensors without storage never do."""
    return _BASE.layout.__get__(tensor) is torch.strided and torch._C._has_storage(tensor) and on_device(tensor)


def _device(self: torch.Tensor) -> torch.device:
    """Return the device of a tensor."""
    device: torch.device = _BASE.device.__get__(self)
    return DEVICE if device.type == "cpu" and lies_on_device(self) else device


_ATTRIBUTES = {
    "device": _device,
    "is_cuda": lies_on_device,
    "is_cpu": lambda self: _BASE.is_cpu.__get__(self) and not lies_on_device(self),
}


def _to(counting: CountingMode) -> Any:
    """Return ``Tensor.to``."""

    def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if (args and isinstance(args[0], torch.Tensor)) or "other" in kwargs:
            other = kwargs.pop("other", None) if "other" in kwargs else args[0]
            device, dtype = other.device, other.dtype
            non_blocking, memory_format = kwargs.get("non_blocking", args[1] if len(args) > 1 else False), None
        else:
            flags = {name: value for name, value in kwargs.items() if name != "copy"}
            device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args[:3], **flags)
        wanted = side(device)
        if wanted is None or (wanted is Place.DEVICE) == lies_on_device(self):
            copy = kwargs.get("copy", False) or (len(args) > 3 and args[3] is True)
            options = {"memory_format": memory_format} if memory_format is not None else {}
            target = as_cpu(device)
            return _BASE.to(self, target, dtype or self.dtype, non_blocking, copy, **options)
        return move(
            counting,
            self,
            wanted,
            dtype=dtype,
            non_blocking=non_blocking,
            memory_format=memory_format or torch.preserve_format,
        )

    return to


def _cuda(counting: CountingMode) -> Any:
    """Return ``Tensor.cuda``."""

    def cuda(
        self: torch.Tensor,
        device: object = None,
        non_blocking: bool = False,
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> torch.Tensor:
        side(device)
        if lies_on_device(self):
            return self
        return move(counting, self, Place.DEVICE, non_blocking=non_blocking, memory_format=memory_format)

    return cuda


def _cpu(counting: CountingMode) -> Any:
    """Return ``Tensor.cpu``."""

    def cpu(self: torch.Tensor, memory_format: torch.memory_format = torch.preserve_format) -> Any:
        if not lies_on_device(self):
            return _BASE.cpu(self)
        return move(counting, self, Place.HOST, memory_format=memory_format)

    return cpu


def _numpy(self: torch.Tensor, *, force: bool = False) -> Any:
    """Return ``Tensor.numpy()`` of a tensor of the host.

    Raises:
        TypeError: it lies on the device.
    """
    if not lies_on_device(self):
        return _BASE.numpy(self, force=force)
    if force:
        return _BASE.numpy(self.detach().cpu(), force=True)
    raise TypeError(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    )


def _tolist(counting: CountingMode) -> Any:
    """Return ``Tensor.tolist``, which copies to the host first."""

    def tolist(self: torch.Tensor) -> Any:
        if lies_on_device(self):
            size = self.numel() * self.element_size()
            launches = int(not self.is_contiguous())
            counting.ledger.book(Events(launches=launches, waits=1, copies_out=1, bytes=size), waiting="tolist")
        with counting.ledger.paused():
            return _BASE.tolist(self)

    return tolist


def _pin_memory(counting: CountingMode) -> Any:
    """Return ``Tensor.pin_memory``."""

    def pin_memory(self: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        if lies_on_device(self):
            raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
        if place_of(self) is Place.PINNED:
            return self
        with counting.ledger.paused():
            pinned = self.detach().clone()
        put(pinned, Place.PINNED)
        return pinned

    return pin_memory


def _type(counting: CountingMode) -> Any:
    """Return ``Tensor.type``, which names the device as well."""

    def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            name: str = _BASE.type(self)
            return name.replace("torch.", "torch.cuda.", 1) if lies_on_device(self) else name
        name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}" if _is_type(dtype) else ""
        if not name:
            return _BASE.type(self, dtype, non_blocking, **kwargs)
        wanted = Place.DEVICE if name.startswith("torch.cuda.") else Place.HOST
        converted = _BASE.type(self, name.replace("torch.cuda.", "torch.", 1), non_blocking, **kwargs)
        if (wanted is Place.DEVICE) == lies_on_device(self):
            return converted
        return move(counting, self, wanted, dtype=converted.dtype, non_blocking=non_blocking)

    return type_


def _is_type(dtype: object) -> bool:
    """Whether a value is one of torch's tensor types, such as ``torch.cuda.FloatTensor``."""
    return not isinstance(dtype, torch.dtype) and hasattr(dtype, "__name__")


def _clone(counting: CountingMode) -> Any:
    """Return the copy of a storage, by which tensors are deep-copied, on the same side."""
    before: Any = torch.storage._StorageBase.clone

    def clone(self: Any) -> Any:
        copy = before(self)
        if storage_on_device(self):
            put_storage(copy, Place.DEVICE)
            counting.ledger.book(Events(launches=1, allocations=1, allocated=copy.nbytes()))
        return copy

    return clone
