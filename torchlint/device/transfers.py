"""Move tensors between host and device: copies on the CPU that carry the mark of the other side."""

from __future__ import annotations

from typing import Any

import torch

from torchlint.device.dispatch import CountingMode, copied
from torchlint.device.place import Place, put


def move(
    counting: CountingMode,
    tensor: torch.Tensor,
    place: Place,
    *,
    dtype: torch.dtype | None = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """Return a copy of a tensor on the other side, of another dtype if one is given; autograd goes through it."""
    if torch.is_grad_enabled() and tensor.requires_grad:
        apply: Any = _Move.apply
        moved: torch.Tensor = apply(counting, tensor, place, dtype, non_blocking, memory_format)
        return moved
    return _copy(counting, tensor, place, dtype, non_blocking, memory_format)


def _copy(
    counting: CountingMode,
    tensor: torch.Tensor,
    place: Place,
    dtype: torch.dtype | None,
    non_blocking: bool,
    memory_format: torch.memory_format,
) -> torch.Tensor:
    """Copy without autograd, and count."""
    with counting.ledger.paused(), torch._C._DisableTorchDispatch():
        result = tensor.detach().to(dtype or tensor.dtype, copy=True, memory_format=memory_format)
    # Asked not to block, a copy to the host goes into pinned memory: aten/src/ATen/native/TensorConversions.cpp.
    put(result, Place.PINNED if place is Place.HOST and non_blocking else place)
    events = copied(result, tensor, non_blocking=non_blocking)
    if place is Place.DEVICE:
        events.allocations += 1
        events.allocated += result.untyped_storage().nbytes()
    counting.ledger.book(events, waiting="copy" if events.waits else None)
    return result


class _Move(torch.autograd.Function):
    """A copy to the other side, whose gradient comes back."""

    @staticmethod
    def forward(
        ctx: Any,
        counting: CountingMode,
        tensor: torch.Tensor,
        place: Place,
        dtype: torch.dtype | None,
        non_blocking: bool,
        memory_format: torch.memory_format,
    ) -> torch.Tensor:
        """Copy."""
        ctx.counting = counting
        ctx.back = Place.HOST if place is Place.DEVICE else Place.DEVICE
        ctx.dtype = tensor.dtype
        return _copy(counting, tensor, place, dtype, non_blocking, memory_format)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Copy the gradient back."""
        back = move(ctx.counting, gradients[0], ctx.back, dtype=ctx.dtype)
        return None, back, None, None, None, None
