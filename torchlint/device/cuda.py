"""``torch.cuda`` and its relatives, as they answer where there is one device."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from typing import Any

import torch

from torchlint.device.dispatch import CountingMode
from torchlint.device.events import Events
from torchlint.device.naming import DEVICE, as_cpu, side
from torchlint.device.patches import Patches
from torchlint.device.place import Place, put_storage, storage_on_device

_MEMORY = 16 * 2**30
_NAME = "torchlint counted device"


class Stream:
    """A queue of work; the counted device has one, and its work is done at once."""

    def __init__(self, counting: CountingMode) -> None:
        """Make a stream."""
        self._counting = counting
        self.device = DEVICE
        self.cuda_stream = 0

    def synchronize(self) -> None:
        """Wait for the work of the stream."""
        _wait(self._counting, "Stream.synchronize")

    def wait_stream(self, stream: object) -> None:
        """Make later work wait for another stream, not the host."""

    def wait_event(self, event: object) -> None:
        """Make later work wait for an event, not the host."""

    def record_event(self, event: Any = None) -> Any:
        """Record an event on this stream."""
        event = event or Event(self._counting)
        event.record()
        return event

    def query(self) -> bool:
        """Return whether all work is done."""
        return True

    def is_capturing(self) -> bool:
        """Return whether a graph is recorded; the counted device records none."""
        return False

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Event:
    """A point in a stream."""

    def __init__(self, counting: CountingMode, **_: object) -> None:
        """Make an event that is not recorded yet."""
        self._counting = counting
        self._seconds = 0.0

    def record(self, *_: object) -> None:
        """Record the time."""
        self._seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Wait until the event was reached."""
        _wait(self._counting, "Event.synchronize")

    def wait(self, stream: object = None) -> None:
        """Make later work of a stream wait, not the host."""

    def query(self) -> bool:
        """Return whether the event was reached."""
        return True

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds between two events, on this machine's clock."""
        return (end._seconds - self._seconds) * 1e3


def _wait(counting: CountingMode, name: str) -> None:
    """Count one wait."""
    counting.ledger.book(Events(waits=1), waiting=name)


def patch_cuda(patches: Patches, counting: CountingMode) -> None:
    """Replace what asks for devices, waits for them, or names them."""
    _patch_module(patches, counting)
    _patch_accelerator(patches, counting)
    _patch_classes(patches)
    patches.set(torch._C, "_group_tensors_by_device_and_dtype", _grouped(torch._C._group_tensors_by_device_and_dtype))
    _patch_files(patches, counting)
    patches.set(torch, "compile", _uncompiled)
    patches.set(torch.nn.Module, "compile", _answering(None))


def _patch_module(patches: Patches, counting: CountingMode) -> None:
    """Replace functions of ``torch.cuda``."""
    cuda = torch.cuda
    answers: dict[str, object] = {
        "is_available": True,
        "is_initialized": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": _NAME,
        "get_device_capability": (8, 0),
        "is_bf16_supported": True,
        "is_current_stream_capturing": False,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "mem_get_info": (_MEMORY, _MEMORY),
        "memory_summary": "",
        "init": None,
        "set_device": None,
        "reset_peak_memory_stats": None,
        "reset_max_memory_allocated": None,
        "ipc_collect": None,
        "manual_seed": None,
        "manual_seed_all": None,
        "seed": None,
        "seed_all": None,
        "set_sync_debug_mode": None,
        "get_sync_debug_mode": 0,
        "set_per_process_memory_fraction": None,
        "memory_snapshot": [],
    }
    for name, answer in answers.items():
        patches.set(cuda, name, _answering(answer))
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        patches.set(cuda.nvtx, name, _answering(0))
    patches.set(cuda, "initial_seed", torch.initial_seed)
    patches.set(cuda, "device_of", _nothing)
    for name in ("synchronize", "empty_cache"):
        patches.set(cuda, name, functools.partial(_waiting, counting, f"torch.cuda.{name}"))
    patches.set(cuda, "get_device_properties", lambda *_: _Properties())
    patches.set(cuda, "get_rng_state", lambda *_: torch.get_rng_state())
    patches.set(cuda, "get_rng_state_all", lambda *_: [torch.get_rng_state()])
    patches.set(cuda, "set_rng_state", lambda *_, **__: None)
    patches.set(cuda, "set_rng_state_all", lambda *_: None)
    patches.set(cuda, "Stream", lambda *_, **__: Stream(counting))
    patches.set(cuda, "Event", lambda *_, **options: Event(counting, **options))
    patches.set(cuda, "current_stream", lambda *_: Stream(counting))
    patches.set(cuda, "default_stream", lambda *_: Stream(counting))
    patches.set(cuda, "stream", _nothing)
    patches.set(cuda, "device", _nothing)


def _patch_accelerator(patches: Patches, counting: CountingMode) -> None:
    """Replace functions of ``torch.accelerator``, where torch has it."""
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is None:
        return
    answers = {"is_available": True, "device_count": 1, "current_device_index": 0, "set_device_index": None}
    for name, answer in answers.items():
        patches.set(accelerator, name, _answering(answer))
    patches.set(accelerator, "current_stream", lambda *_: Stream(counting))
    patches.set(accelerator, "current_accelerator", _answering(torch.device("cuda")))
    patches.set(accelerator, "synchronize", functools.partial(_waiting, counting, "torch.accelerator.synchronize"))


def _patch_classes(patches: Patches) -> None:
    """Replace classes that take a device: generators and autocasting."""
    before: Any = torch.Generator
    make: Any = before.__new__

    def on_host(cls: type, device: object = None) -> Any:
        return make(cls, as_cpu("cpu" if device is None else device))

    patches.set(torch, "Generator", type("Generator", (before,), {"__new__": on_host}))
    autocast: Any = torch.amp.autocast_mode.autocast
    initialise = autocast.__init__

    def on_cpu(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        if device_type == "cuda" and not args and kwargs.get("dtype") is None:
            kwargs["dtype"] = torch.float16
        initialise(self, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    patches.set(autocast, "__init__", on_cpu)


def _grouped(group: Any) -> Any:
    """Return the function that groups tensors by device and dtype, with the device that they claim to lie on."""

    def grouped(tensors: Any, with_indices: bool = False) -> Any:
        groups = group(tensors, with_indices)
        return {(_first(lists[0]).device, dtype): lists for (_, dtype), lists in groups.items()}

    def _first(lists: Any) -> Any:
        return next(tensor for tensor in lists[0] if tensor is not None)

    return grouped


def _patch_files(patches: Patches, counting: CountingMode) -> None:
    """Let files remember which tensors lay on the device, and put them back there."""
    files: Any = torch.serialization
    save, load = files.location_tag, files.default_restore_location
    load_file = torch.load

    def tag(storage: Any) -> str:
        inner = getattr(storage, "_untyped_storage", storage)
        return "cuda:0" if storage_on_device(inner) else str(save(storage))

    def restore(storage: Any, location: str) -> Any:
        if side(location) is not Place.DEVICE:
            return load(storage, location)
        inner = getattr(storage, "_untyped_storage", storage)
        put_storage(inner, Place.DEVICE)
        size = inner.nbytes()
        events = Events(waits=1, copies_in=1, bytes=size, allocations=1, allocated=size)
        counting.ledger.book(events, waiting="torch.load")
        return storage

    def loaded(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(map_location, torch.device):
            map_location = str(map_location)
        return load_file(f, map_location, *args, **kwargs)

    patches.set(torch.serialization, "location_tag", tag)
    patches.set(torch.serialization, "default_restore_location", restore)
    patches.set(torch, "load", loaded)


class _Properties:
    """What ``torch.cuda.get_device_properties`` returns."""

    name = _NAME
    total_memory = _MEMORY
    major, minor = 8, 0
    multi_processor_count = 1


def _answering(answer: object) -> Any:
    """Return a function that takes anything and returns one thing."""
    return lambda *_, **__: answer


def _waiting(counting: CountingMode, name: str, *_: object, **__: object) -> None:
    """Count one wait, whatever the arguments."""
    _wait(counting, name)


@contextlib.contextmanager
def _nothing(*_: object) -> Iterator[None]:
    """Enter and leave a device or a stream."""
    yield


def _uncompiled(model: Any = None, *_: Any, **__: Any) -> Any:
    """Return what was to be compiled as it is: the counted device counts what runs without ``torch.compile``."""
    return (lambda function: function) if model is None else model
