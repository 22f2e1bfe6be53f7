"""Functions that CUDA computes by other operators than the CPU does: run as the CPU does, counted as CUDA.

Each departure has its reason here; the CPU's own operators below it are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional
from torch.utils import _pytree as pytree

from torchlint.device.dispatch import CountingMode
from torchlint.device.events import Events
from torchlint.device.patches import Patches
from torchlint.device.place import tensors_in
from torchlint.device.tensors import lies_on_device
from torchlint.late import dataclass

_VF: Any = torch._VF
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def patch_composites(patches: Patches, counting: CountingMode) -> None:
    """Replace functions that the CPU takes apart differently."""
    functional: Any = torch.nn.functional
    # Two products and one fused kernel: aten/src/ATen/native/RNN.cpp, _thnn_fused_lstm_cell and _thnn_fused_gru_cell.
    for owner in (_VF, torch):
        for name, cell in _CELLS.items():
            patches.set(owner, name, _fused(getattr(owner, name), counting, 3, cell))
    for name in _RECURRENT:
        # cuDNN runs all steps of all layers in one operator: aten/src/ATen/native/RNN.cpp, _cudnn_rnn.
        patches.set(_VF, name, _fused(getattr(_VF, name), counting))
        patches.set(torch, name, _fused(getattr(torch, name), counting))
    # One attention kernel in place of the CPU's: aten/src/ATen/native/transformers/attention.cpp.
    attention = "scaled_dot_product_attention"
    patches.set(functional, attention, _fused(getattr(functional, attention), counting))
    patches.set(functional, "one_hot", _one_hot(functional.one_hot, counting))
    for owner in (_VF, torch):
        patches.set(owner, "dropout", _dropout(owner.dropout, counting))


def _on_device(values: Any) -> bool:
    """Whether a tensor among arguments lies on the device."""
    return any(lies_on_device(tensor) for tensor in tensors_in(values))


@dataclass(frozen=True, slots=True)
class _RecurrentCell:
    """Where a recurrent cell has, among its arguments, what is multiplied and what is only added."""

    products: tuple[int, ...]
    sums: tuple[tuple[int, ...], ...]

    def __call__(self, taking: Sequence[bool]) -> int:
        """Return the launches of the backward pass: a fused kernel, a product for each factor, sums for the biases."""
        sums = sum(any(taking[at] for at in together) for together in self.sums)
        return 1 + sum(taking[at] for at in self.products) + sums


# Biases of an LSTM share the sum of their gradient: aten/src/ATen/native/cuda/RNN.cu.
_CELLS = {"lstm_cell": _RecurrentCell((0, 1, 3, 4), ((5, 6),)), "gru_cell": _RecurrentCell((0, 1, 2, 3), ((4,), (5,)))}


def _once(_: Sequence[bool]) -> int:
    """Return the launches of a backward pass that is one operator."""
    return 1


def _fused(
    function: Callable[..., Any],
    counting: CountingMode,
    forward: int = 1,
    backward: Callable[[Sequence[bool]], int] = _once,
) -> Any:
    """Return a function that counts ``forward`` launches, and for its backward pass those of leaves with gradients."""

    def fused(*args: Any, **kwargs: Any) -> Any:
        if not _on_device((*args, *kwargs.values())):
            return function(*args, **kwargs)
        leaves, tree = pytree.tree_flatten((args, kwargs))
        apply: Any = _Fused.apply
        # autograd turns recording off before it calls a function; the CPU has faster cells where nothing records
        launches = forward, backward
        results = apply(counting, function, launches, torch.is_grad_enabled(), tree, *leaves)
        return results[0] if len(results) == 1 else results

    return fused


class _Fused(torch.autograd.Function):
    """A function with known launches of its forward and backward passes."""

    @staticmethod
    def forward(
        ctx: Any,
        counting: CountingMode,
        function: Callable[..., Any],
        launches: Any,
        recording: bool,
        tree: Any,
        *leaves: Any,
    ) -> Any:
        """Run the function as the CPU does and keep its graph."""
        inner = [
            leaf.detach().requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf
            for leaf in leaves
        ]
        args, kwargs = pytree.tree_unflatten(inner, tree)
        recording = recording and any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in leaves)
        with counting.ledger.paused(), torch.set_grad_enabled(recording):
            found = function(*args, **kwargs)
        results = found if isinstance(found, tuple) else (found,)
        forward, ctx.launches = launches
        counting.ledger.book(_launched(forward, results))
        ctx.counting, ctx.inner, ctx.results = counting, inner, results
        return tuple(result.detach() for result in results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Run the backward pass of the kept graph."""
        taking = [leaf for leaf in ctx.inner if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        given = [(result, grad) for result, grad in zip(ctx.results, gradients, strict=True) if result.requires_grad]
        results, grads = [list(each) for each in zip(*given, strict=True)]
        with ctx.counting.ledger.paused():
            found = iter(torch.autograd.grad(results, taking, grads, allow_unused=True))
        answers = [next(found) if isinstance(leaf, torch.Tensor) and leaf.requires_grad else None for leaf in ctx.inner]
        launches = ctx.launches([answer is not None for answer in answers])
        ctx.counting.ledger.book(_launched(launches, [answer for answer in answers if answer is not None]))
        return (None, None, None, None, None, *answers)


def _launched(launches: int, results: Any) -> Events:
    """Return the events of operators with these results."""
    sizes = [tensor.untyped_storage().nbytes() for tensor in tensors_in(results)]
    return Events(launches=launches, allocations=len(sizes), allocated=sum(sizes))


def _one_hot(function: Callable[..., Any], counting: CountingMode) -> Any:
    """Return ``one_hot``, which checks values on the CPU alone: aten/src/ATen/native/Onehot.cpp."""

    def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> Any:
        if not _on_device((tensor,)):
            return function(tensor, num_classes)
        with counting.ledger.paused():
            result = function(tensor, num_classes)
        size = result.untyped_storage().nbytes()
        events = Events(launches=2, allocations=1, allocated=size)
        if num_classes < 0:
            events.add(Events(launches=1, waits=1, copies_out=1, bytes=tensor.element_size()))
        counting.ledger.book(events, waiting="aten::one_hot")
        return result

    return one_hot


def _dropout(function: Callable[..., Any], counting: CountingMode) -> Any:
    """Return ``dropout``, one operator forward and one back: aten/src/ATen/native/Dropout.cpp, native_dropout."""
    fused = _fused(function, counting)

    def dropout(input: torch.Tensor, p: float, train: bool) -> Any:
        if train and 0 < p < 1 and input.numel():
            return fused(input, p, train)
        return function(input, p, train)

    return dropout
