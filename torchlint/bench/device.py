"""Where programs run, and what can be read there: time, waits of the host, memory."""

from __future__ import annotations

import itertools
import json
import os
import platform
import tempfile
import time
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypedDict

import numpy as np
import torch

from torchlint.bench.host import processor
from torchlint.bench.program import Program
from torchlint.bench.record import record, synchronising, warned
from torchlint.bench.result import Machine, Recorded


class _Arguments(TypedDict, total=False):
    Bytes: int


class ProfilerEvent(TypedDict):
    """What a trace of torch's profiler says of one event, as far as it is read here."""

    name: str
    ts: float
    args: _Arguments


class NoDeviceError(Exception):
    """The device that was asked for is not there."""


class BenchDevice(Protocol):
    """A place to run programs."""

    name: str

    def clock(self, program: Program, calls: int) -> float:
        """Run a program several times, and return the seconds that took."""

    def syncs(self, program: Program) -> int | None:
        """Run a program once, and return how often the host waited for the device, ``None`` if nothing can wait."""

    def peak(self, program: Program) -> int:
        """Run a program once, and return the most bytes that its tensors took beyond what was there before."""

    def record(self, program: Program) -> Recorded | None:
        """Run a program once, and return what the accelerator did, ``None`` where nothing can be recorded."""

    def machine(self) -> Machine:
        """Return the machine that figures measured here hold for."""


def device_of(name: str) -> BenchDevice:
    """Return the device ``cpu`` or ``cuda``.

    Raises:
        NoDeviceError: torch sees no such device.
    """
    if name == "cpu":
        return Cpu()
    if not torch.cuda.is_available():
        raise NoDeviceError(f"torch {torch.__version__} sees no CUDA device on this machine")
    return Cuda(torch.cuda)


class Cpu:
    """The processor, by the processor time of this process: other programs on the machine count little."""

    name = "cpu"

    def clock(self, program: Program, calls: int) -> float:
        """Return seconds of processor time."""
        start = time.process_time()
        for _ in range(calls):
            program()
        return time.process_time() - start

    def syncs(self, program: Program) -> int | None:  # noqa: ARG002  the protocol's
        """Return ``None``: nothing waits on a CPU."""
        return None

    def peak(self, program: Program) -> int:
        """Return the most bytes allocated at once, by torch's profiler."""
        silence_profiler()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            program()
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace.json")
            profile.export_chrome_trace(str(trace))
            events: list[ProfilerEvent] = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        return peak_of(events)

    def record(self, program: Program) -> Recorded | None:  # noqa: ARG002  the protocol's
        """Return ``None``: there is no accelerator to record."""
        return None

    def machine(self) -> Machine:
        """Return this processor."""
        return machine("cpu")


class Cuda:
    """An accelerator, by events on its stream."""

    name = "cuda"

    def __init__(self, cuda: types.ModuleType) -> None:
        """Take the module that drives the device: ``torch.cuda``."""
        self._cuda = cuda

    def clock(self, program: Program, calls: int) -> float:
        """Return seconds between two events on the stream; they hold the waits for the host, too."""
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
        self._cuda.synchronize()
        start.record()
        for _ in range(calls):
            program()
        end.record()
        self._cuda.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def syncs(self, program: Program) -> int | None:
        """Return how many operations made the host wait, by torch's warnings."""
        program()  # what is made once, on the first call, does not count
        with warned(self._cuda) as messages:
            program()
        return synchronising(messages)

    def peak(self, program: Program) -> int:
        """Return the most bytes allocated at once, as torch's allocator counts."""
        self._cuda.synchronize()
        self._cuda.reset_peak_memory_stats()
        start = int(self._cuda.memory_allocated())
        program()
        self._cuda.synchronize()
        return int(self._cuda.max_memory_allocated()) - start

    def record(self, program: Program) -> Recorded | None:
        """Run the program, and return what torch's profiler and warnings record."""
        silence_profiler()
        return record(program, self._cuda)

    def machine(self) -> Machine:
        """Return this accelerator and the processor that drives it."""
        return machine(str(self._cuda.get_device_name()))


def silence_profiler() -> None:
    """Stop torch's profiler from printing on standard error; call this before its first use."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")


def peak_of(events: Iterable[ProfilerEvent]) -> int:
    """Return the peak of bytes allocated in a trace of torch's profiler.

    Counted from the first of its ``traceEvents``.
    """
    steps = sorted((float(event["ts"]), int(event["args"]["Bytes"])) for event in events if event["name"] == "[memory]")
    return max(itertools.accumulate((change for _, change in steps), initial=0))


def machine(device: str) -> Machine:
    """Return this machine with the name of the measured device."""
    return Machine(
        device=device,
        processor=processor(),
        threads=1,
        python=platform.python_version(),
        torch=str(torch.__version__),
        numpy=np.__version__,
    )
