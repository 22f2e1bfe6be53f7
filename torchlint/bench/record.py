"""Records what a program does on an accelerator: torch's profiler, and its warnings about operations that wait."""

from __future__ import annotations

import tempfile
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from torchlint.bench.program import Program
from torchlint.bench.result import Recorded
from torchlint.profile.work import Work, read_work

_SYNCHRONISING = "synchronizing CUDA operation"
"""What torch warns with, from C++, and at times with where it was triggered."""
_STEP = "ProfilerStep#0"
"""How ``torch.profiler.profile.step`` names a step; what is outside of it belongs to the profiler."""


def record(program: Program, cuda: types.ModuleType) -> Recorded | None:
    """Run a program once under the profiler; ``None`` where the profiler records nothing of the device.

    ``cuda`` is ``torch.cuda``. CUPTI, by which the profiler records, may be missing or forbidden.
    """
    activity = torch.profiler.ProfilerActivity
    with (
        warned(cuda) as messages,
        torch.profiler.profile(activities=[activity.CPU, activity.CUDA]) as profile,
    ):
        cuda.synchronize()  # recorded outside of the step, wherever the profiler sees the device
        with torch.profiler.record_function(_STEP):
            program()
        cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profile.export_chrome_trace(str(path))
        return recorded(read_work(path), synchronising(messages))


def recorded(work: Work, warned_of: int) -> Recorded | None:
    """Return what a trace and warnings record together, ``None`` if the trace records no device.

    Some waits are seen in one of them alone: ``torch.cuda.synchronize`` does not warn, and a runtime may have a call
    that both copies and waits.
    """
    if not work.device:
        return None
    return Recorded(max(work.waits, warned_of), work.operators, work.copies, work.bytes, work.kernels, warned_of)


def synchronising(messages: Sequence[warnings.WarningMessage]) -> int:
    """Return how many of these warnings are about an operation that made the host wait."""
    return sum(_SYNCHRONISING in str(message.message) for message in messages)


@contextmanager
def warned(cuda: types.ModuleType) -> Iterator[list[warnings.WarningMessage]]:
    """Make torch warn of operations that wait; the yielded list holds the warnings after the block."""
    mode = cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cuda.set_sync_debug_mode("warn")
        try:
            yield caught
        finally:
            cuda.set_sync_debug_mode(mode)
