"""See every operator that torch runs, keep tensors on their side, and count what the device does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from torchlint.device.events import Events
from torchlint.device.ledger import Ledger, Line
from torchlint.device.operators import UnknownOperatorError, model_of
from torchlint.device.place import Pending, Place, mark_of, put, tensors_in

_COPY = "aten::copy_"
_INDEXING = ("aten::index", "aten::_index_put_impl_")
_COUNTED = Events(launches=1, waits=1, copies_out=1, bytes=4)
"""``nonzero``: aten/src/ATen/native/cuda/Nonzero.cu reads an ``int`` back."""


class CountingMode(TorchDispatchMode):
    """Count the operators of the threads that enter this mode; each thread has one of its own, with one ledger.

    ``made_on`` says where operators that make a tensor from nothing put it: the side that the program asked for, or
    ``None`` inside operators of torch, where it is not known yet.
    """

    def __init__(self, ledger: Ledger, state: threading.local) -> None:
        """Count into a ledger."""
        TorchDispatchMode.__init__(self)
        self.ledger = ledger
        self._state = state

    @contextmanager
    def making(self, place: Place) -> Iterator[None]:
        """Place newly made tensors on a side within the block."""
        before = getattr(self._state, "made_on", None)
        self._state.made_on = place
        try:
            yield
        finally:
            self._state.made_on = before

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operator on the CPU and count what the device would do."""
        kwargs = kwargs or {}
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            with self:  # in inference mode, operators arrive before they are taken apart
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        operands = list(tensors_in((*args, *kwargs.values())))
        place = self._place(func, operands)
        if place is Place.HOST or place is Place.PINNED:
            result = func(*args, **kwargs)
            if place is Place.HOST and not operands and getattr(self._state, "made_on", None) is None:
                self._leave_open(func, result)
            return result
        try:
            model = model_of(_on_cuda(func))
            before = {tensor.untyped_storage()._cdata for tensor in operands}
            if model.inside is None:
                result = func(*args, **kwargs)
                hidden = 0
            else:
                result, hidden = self._composed(func, model.inside, args, kwargs)
            self._count(_on_cuda(func), args, operands, result, before, hidden)
        except UnknownOperatorError as error:
            self.ledger.unknown = str(error)
            raise
        return result

    def _composed(
        self, func: OpOverload, key: torch._C.DispatchKey, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, int]:
        """Run an operator so that the operators inside are counted; 1 with the result if none of them was a launch.

        The CPU has shortcuts, such as the one of ``stack``, that call no other operator.
        """
        seen = self._launches
        outer = getattr(self._state, "composed", "")
        self._state.composed = outer or func.name()
        try:
            with self:
                result = func._op_dk(key, *args, **kwargs)
        finally:
            self._state.composed = outer
        makes = next(tensors_in((result,)), None) is not None
        return result, int(makes and self._launches == seen)

    @property
    def _launches(self) -> int:
        """Launches of this thread so far."""
        return getattr(self._state, "launches", 0)

    # places ----------------------------------------------------------------------------------------------------------

    def _place(self, func: OpOverload, operands: Sequence[torch.Tensor]) -> Place:
        """Return the side that an operator runs on, and settle operands that were undecided.

        Raises:
            RuntimeError: operands lie on both sides, as on a real device.
        """
        if not operands:
            made_on = getattr(self._state, "made_on", None)
            return Place.HOST if made_on is None else made_on
        marks = [_mark(tensor) for tensor in operands]
        if Place.DEVICE not in marks:
            made_on = getattr(self._state, "made_on", None)
            return Place.DEVICE if made_on is Place.DEVICE and _takes_device(func) else Place.HOST
        if getattr(self._state, "made_on", None) in (Place.HOST, Place.PINNED) and _takes_device(func):
            return Place.HOST
        for tensor, mark in zip(operands, marks, strict=True):
            if isinstance(mark, Pending):
                put(tensor, Place.DEVICE)
                self.ledger.book(mark.events, line=mark.line if isinstance(mark.line, Line) else None)
            elif mark is not Place.DEVICE and tensor.dim() and not model_of(func).host_arguments:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
                    f"(in {func.name()})"
                )
        return Place.DEVICE

    def _leave_open(self, func: OpOverload, result: object) -> None:
        """Mark what an operator of torch made from nothing, for itself, as undecided."""
        made = list(tensors_in((result,)))
        events = Events(launches=model_of(func).launches) if made else Events()
        for tensor in made:
            events.allocations += 1
            events.allocated += tensor.untyped_storage().nbytes()
            put(tensor, Pending(events, self.ledger.here()))

    # counting --------------------------------------------------------------------------------------------------------

    def _count(
        self,
        func: OpOverload,
        args: Sequence[Any],
        operands: Sequence[torch.Tensor],
        result: object,
        before: set[int],
        hidden: int,
    ) -> None:
        """Mark the results of an operator, and add its events to the line that runs."""
        model = model_of(func)
        name = func._schema.name
        events = Events(launches=hidden or model.launches_for(args))
        if model.waits:
            size = model.read or operands[0].element_size()
            events.add(Events(waits=model.waits, copies_out=model.waits, bytes=model.waits * size))
        if name == _COPY:
            events = copied(args[0], args[1], non_blocking=len(args) > 2 and bool(args[2]))
        elif name in _INDEXING:
            events.add(_indexed(args, name))
        for tensor in tensors_in((result,)):
            if tensor.layout is not torch.strided:
                raise UnknownOperatorError(f"the counted device knows no {tensor.layout} tensors (from {func.name()})")
            storage = tensor.untyped_storage()
            inside = model.inside is not None and not hidden  # the operators inside have put it somewhere
            if inside or storage._cdata in before or (func.is_view and operands):
                continue
            put(tensor, Place.DEVICE)
            if model.fresh:
                events.allocations += 1
                events.allocated += storage.nbytes()
        self._state.launches = self._launches + events.launches
        if events:
            self.ledger.book(events, waiting=self._named(func, args, events) if events.waits else None)

    def _named(self, func: OpOverload, args: Sequence[Any], events: Events) -> str:
        """Return what to call a wait: a copy of the host's indices or values, or the operator that was called."""
        if func._schema.name in _INDEXING and not events.copies_out:
            return "index of the host" if any(map(_of_host, args[1])) else "copy"
        return getattr(self._state, "composed", "") or func.name()


def _on_cuda(func: OpOverload) -> OpOverload:
    """Return the operator that CUDA runs in place of one that torch chose because of a dispatch mode.

    The backward pass of an index writes into fresh zeros; with modes torch copies them first (``index_backward`` in
    torch/csrc/autograd/FunctionsManual.cpp).
    """
    aten = torch.ops.aten
    backward = torch._C._current_graph_task_id() != -1
    return aten._index_put_impl_.default if backward and func is aten.index_put.default else func


def copied(target: torch.Tensor, source: torch.Tensor, *, non_blocking: bool) -> Events:
    """Return the events of ``target.copy_(source)``.

    Source: aten/src/ATen/native/cuda/Copy.cu. Between host and device, blocking copies convert on the host, others on
    the device; strides that differ cost a launch on the side of the device. The host waits for every blocking copy,
    and for one from or to pageable memory (CUDA: API synchronization behavior, Memcpy).
    """
    here, there = mark_of(target), mark_of(source)
    if here is Place.DEVICE and there is Place.DEVICE:
        return Events(launches=1)
    inward = here is Place.DEVICE
    device = target if inward else source
    moved = target if (inward and not non_blocking) or (not inward and non_blocking) else source
    same = target.dtype == source.dtype
    launches = int(not (device.is_contiguous() or _in_one_piece(target, source)) or (non_blocking and not same))
    pinned = (there if inward else here) is Place.PINNED
    size = target.numel() * moved.element_size()
    return Events(
        launches=launches,
        waits=int(not (non_blocking and pinned)),
        copies_in=int(inward),
        copies_out=int(not inward),
        bytes=size,
    )


def _of_host(index: object) -> bool:
    """Whether an index is a tensor of the host."""
    return isinstance(index, torch.Tensor) and mark_of(index) is not Place.DEVICE


def _in_one_piece(target: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether two tensors have the same strides and no gaps, so that their memory is copied as it is."""
    if target.stride() != source.stride():
        return False
    span = 1 + sum((size - 1) * stride for size, stride in zip(target.size(), target.stride(), strict=True))
    return span == target.numel()


def _indexed(args: Sequence[Any], name: str) -> Events:
    """Return what the indices of an indexing operator add: the host's are copied, boolean ones are looked up first."""
    events = Events()
    indices = [index for index in args[1] if isinstance(index, torch.Tensor)]
    for index in indices:
        if mark_of(index) is not Place.DEVICE:
            events.add(Events(waits=1, copies_in=1, bytes=index.numel() * index.element_size()))
    masks = [index for index in indices if index.dtype in (torch.bool, torch.uint8)]
    value = args[2] if name != "aten::index" else None
    if value is not None and not (len(args) > 3 and args[3]) and _fills(indices, masks, value):
        return events
    for _ in masks:
        events.add(_COUNTED)
    if value is not None and mark_of(value) is not Place.DEVICE:
        events.add(Events(waits=1, copies_in=1, bytes=value.numel() * value.element_size()))
    return events


def _fills(indices: Sequence[torch.Tensor], masks: Sequence[torch.Tensor], value: torch.Tensor) -> bool:
    """Whether one number of the host is written to a mask, as ``masked_fill_`` does.

    Source: ``canDispatchToMaskedFill`` in ATen/native/TensorAdvancedIndexingUtils.h.
    """
    return len(masks) == len(indices) == 1 and value.numel() == 1 and mark_of(value) is not Place.DEVICE


def _mark(tensor: torch.Tensor) -> Place | Pending:
    """Return the mark of an operand.

    Raises:
        UnknownOperatorError: it has no storage, as sparse tensors have none.
    """
    if tensor.layout is not torch.strided:
        return Place.HOST
    return mark_of(tensor)


def _takes_device(func: OpOverload) -> bool:
    """Whether an operator can be asked to put its result on a device."""
    return any(argument.name == "device" for argument in func._schema.arguments)
