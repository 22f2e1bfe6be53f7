"""Traces of an accelerator, written by hand as torch's profiler exports them. No GPU recorded them.

The layout is that of Kineto with CUPTI, learned from public traces and from what the installed torch exports on a CPU:
each call of the runtime has a ``correlation``, the work that it starts on the device has the same one, and an arrow
(``ac2g``) leads from one to the other. The operators, their order and all times are made up; the clock is in
microseconds, the device runs 10 behind the host.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PROCESS, _THREAD, _STREAM = 4711, 4711, 7
WARNING = "called a synchronizing CUDA operation (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:147.)"
"""The warning of ``set_sync_debug_mode("warn")``: ``warn_or_error_on_sync`` with the place that ``TORCH_WARN`` adds."""
PROTOTYPE = "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"
"""What ``set_sync_debug_mode`` itself warns of, once in a process; it is not a wait."""


class CudaTrace:
    """A trace while it is written: what the host does in turn, and what the device does because of it."""

    def __init__(self) -> None:
        self._clock = 1000.0
        self._events: list[dict[str, Any]] = []
        self._correlation = 100
        self._thread = _THREAD

    @contextmanager
    def step(self) -> Iterator[None]:
        """What the host does in a step that was announced."""
        with self._host("user_annotation", "ProfilerStep#0"):
            yield

    @contextmanager
    def operator(self, name: str) -> Iterator[None]:
        """What the host does inside of an operator."""
        with self._host("cpu_op", name):
            yield

    @contextmanager
    def autograd_thread(self) -> Iterator[None]:
        """What the thread of autograd does, while the one that called it waits."""
        self._thread += 1
        yield
        self._thread -= 1

    def launch(self, kernel: str = "void at::native::vectorized_elementwise_kernel<4>(int)", times: int = 1) -> None:
        """A launch; a graph's starts several kernels."""
        number = self._call("cudaLaunchKernel" if times == 1 else "cudaGraphLaunch", "cuda_runtime", cbid=211)
        for _ in range(times):
            self._work("kernel", kernel, number, grid=[1, 1, 1], block=[128, 1, 1])

    def triton(self, kernel: str) -> None:
        """A launch by the driver, as Triton's."""
        self._work("kernel", kernel, self._call("cuLaunchKernel", "cuda_driver"))

    def fill(self, size: int) -> None:
        """A memset."""
        self._work("gpu_memset", "Memset (Device)", self._call("cudaMemsetAsync", "cuda_runtime", cbid=51), bytes=size)

    def copy(self, which: str, size: int) -> None:
        """A copy: ``HtoD (Pageable -> Device)``, ``DtoH (Device -> Pinned)``, ``DtoD (Device -> Device)``."""
        number = self._call("cudaMemcpyAsync", "cuda_runtime", cbid=41)
        self._work("gpu_memcpy", f"Memcpy {which}", number, bytes=size)

    def wait(self, call: str = "cudaStreamSynchronize", kind: str = "Stream Sync") -> None:
        """A call in which the host waits; Kineto writes it on the device, too."""
        number = self._call(call, "cuda_runtime", cbid=131)
        self._work("cuda_sync", kind, number, cuda_sync_kind=kind)

    def other(self, call: str) -> None:
        """A call of the runtime that starts nothing."""
        self._call(call, "cuda_runtime", cbid=317)

    def text(self) -> str:
        """The file."""
        head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Some Accelerator", "numSms": 4}]}
        names = [
            {"ph": "M", "name": "process_name", "ts": 0.0, "pid": _PROCESS, "tid": 0, "args": {"name": "python"}},
            {"ph": "M", "name": "thread_name", "ts": 0.0, "pid": 0, "tid": _STREAM, "args": {"name": "stream 7 "}},
        ]
        span = {"ph": "X", "cat": "Trace", "ts": 1000.0, "dur": 1e4, "pid": "Spans", "tid": "PyTorch Profiler"}
        last = [
            {**span, "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
            {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": self._clock},
        ]
        events = [*names, *self._events, *last]
        return json.dumps({**head, "displayTimeUnit": "ms", "traceEvents": events, "traceName": "trace.json"})

    @contextmanager
    def _host(self, category: str, name: str) -> Iterator[None]:
        start = self._tick()
        about = {"External id": len(self._events), "Record function id": 0, "Ev Idx": len(self._events)}
        event = self._event(category, name, _PROCESS, self._thread, start, about)
        self._events.append(event)
        yield
        event["dur"] = self._tick() - start

    def _call(self, name: str, category: str, **about: Any) -> int:
        self._correlation += 1
        about = {"External id": 1, **about, "correlation": self._correlation}
        event = self._event(category, name, _PROCESS, self._thread, self._tick(), about)
        self._events += [event, self._arrow("s", _PROCESS, self._thread)]
        return self._correlation

    def _work(self, category: str, name: str, correlation: int, **about: Any) -> None:
        about = {"External id": 1, "device": 0, "context": 1, "stream": _STREAM, "correlation": correlation, **about}
        event = self._event(category, name, 0, _STREAM, self._clock + 10, about)
        self._events += [event, {**self._arrow("f", 0, _STREAM), "bp": "e"}]

    def _event(
        self, category: str, name: str, process: int, thread: int, start: float, about: object
    ) -> dict[str, Any]:
        place = {"pid": process, "tid": thread, "ts": start, "dur": 0.5}
        return {"ph": "X", "cat": category, "name": name, **place, "args": about}

    def _arrow(self, phase: str, process: int, thread: int) -> dict[str, Any]:
        place = {"id": self._correlation, "pid": process, "tid": thread, "ts": self._clock}
        return {"ph": phase, **place, "cat": "ac2g", "name": "ac2g"}

    def _tick(self) -> float:
        self._clock += 1
        return self._clock


def read_back(trace: CudaTrace, size: int) -> None:
    """``x.item()`` and ``x.cpu()`` end so: a copy to the host, and a wait for it (``memcpy_and_sync``)."""
    trace.copy("DtoH (Device -> Pageable)", size)
    trace.wait()


def forward(trace: CudaTrace) -> None:
    """``net(obs).argmax().item()`` of two layers, from an array of the host: what CUDA does, as its sources say."""
    with trace.operator("aten::to"), trace.operator("aten::_to_copy"), trace.operator("aten::copy_"):
        trace.copy("HtoD (Pageable -> Device)", 16)
        trace.wait()
    for _ in range(2):
        with trace.operator("aten::linear"):
            with trace.operator("aten::t"), trace.operator("aten::transpose"):
                pass
            with trace.operator("aten::addmm"):
                trace.other("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
                trace.fill(64)
                trace.launch("ampere_sgemm_32x32_sliced1x4_tn")
    with trace.operator("aten::tanh"):
        trace.launch()
    with trace.operator("aten::argmax"):
        trace.launch("void at::native::reduce_kernel<512, 1>(at::native::ReduceOp)")
    with trace.operator("aten::item"), trace.operator("aten::_local_scalar_dense"):
        read_back(trace, 8)


def framed(trace: CudaTrace) -> Iterator[None]:
    """Around a step stand the waits that recording itself makes."""
    trace.wait("cudaDeviceSynchronize", "Context Sync")
    with trace.step():
        yield
    trace.wait("cudaDeviceSynchronize", "Context Sync")


recording = contextmanager(framed)
