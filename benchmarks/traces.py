"""Measures how long profiles take to read and how much memory that needs, on traces that it makes itself.

    python benchmarks/traces.py [--megabytes N] [--folder FOLDER]

The traces are what the torch profiler writes of a training loop with stacks and a device: per iteration 20 calls of
modules with operators inside, runtime calls and kernels, grouped by kind as Kineto does. One more has its events in
random order, one is gzipped. Each is read in a process of its own; the table goes to standard output.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = 20
STEP_US = 4000
_MEGABYTE = 1_000_000

_EVENT = """\
  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {start:.3f}, "dur": {duration:.3f},
    "args": {{
      {arguments}
    }}
  }}"""


def event(category: str, name: str, start: float, duration: float, arguments: str, lane: tuple[int, int]) -> str:
    """An event as Kineto prints it."""
    pid, tid = lane
    return _EVENT.format(
        category=category, name=name, start=start, duration=duration, arguments=arguments, pid=pid, tid=tid
    )


def annotations(step: int) -> Iterator[str]:
    """The announcement of a step."""
    yield event(
        "user_annotation", f"ProfilerStep#{step}", origin(step), STEP_US - 1, '"External id": 1', (16270, 16270)
    )


def origin(step: int) -> float:
    """When a step starts; time stamps are as large as those of real traces."""
    return 4_439_743_921_541.787 + step * STEP_US


def operators(step: int) -> Iterator[str]:
    """The operators of a step: for each module a product with two operators inside, and a read of a value."""
    for module in range(MODULES):
        start = origin(step) + 30 + module * 190
        for name, at, duration in (
            ("aten::linear", 40, 60),
            ("aten::t", 42, 5),
            ("aten::addmm", 50, 45),
            ("aten::item", 110, 40),
        ):
            number = (step * MODULES + module) * 4
            about = f'"External id": {number}, "Record function id": 0, "Sequence number": {number}, "Ev Idx": {number}'
            yield event("cpu_op", name, start + at, duration, about, (16270, 16270))


def python(step: int) -> Iterator[str]:
    """The Python code of a step: a chain of calls down to a built-in, for each module."""
    start = origin(step)
    yield event("python_function", "train.py(31): update", start + 1, STEP_US - 5, '"Python id": 1', (16270, 16270))
    for module in range(MODULES):
        at = start + 30 + module * 190
        names = (
            "torch/nn/modules/module.py(1772): _wrapped_call_impl",
            f"nn.Module: Linear_{module}",
            f"src/networks/part{module}.py({10 + module}): forward",
            f"<built-in method item of Tensor object at 0x{0x7EFD47C00000 + step * 4096 + module * 64:x}>",
        )
        for depth, name in enumerate(names):
            number = (step * MODULES + module) * len(names) + depth
            about = f'"Python parent id": {number}, "Python id": {number + 1}, "Ev Idx": {number}'
            yield event("python_function", name, at + depth, 180 - 2 * depth, about, (16270, 16270))


def runtime(step: int) -> Iterator[str]:
    """The calls of the CUDA runtime in a step."""
    for module in range(MODULES):
        at = origin(step) + 30 + module * 190
        for index, (name, offset, duration) in enumerate(
            (("cudaLaunchKernel", 60, 8), ("cudaStreamSynchronize", 115, 20))
        ):
            about = f'"External id": 5, "cbid": 211, "correlation": {(step * MODULES + module) * 2 + index}'
            yield event("cuda_runtime", name, at + offset, duration, about, (16270, 16270))


def kernels(step: int) -> Iterator[str]:
    """The kernels of a step."""
    for module in range(MODULES):
        number = (step * MODULES + module) * 2
        about = f'"External id": 5, "device": 0, "stream": 7, "correlation": {number}, "grid": [1, 1, 1]'
        start = origin(step) + 110 + module * 190
        yield event("kernel", "void gemmSN_TN_kernel<float, 128, 16, 2, 4>", start, 33, about, (0, 7))


KINDS = (annotations, operators, python, runtime, kernels)


def grouped(steps: int) -> Iterator[str]:
    """All events as Kineto orders them: by kind, then by time."""
    return (text for kind in KINDS for step in range(steps) for text in kind(step))


def mixed(steps: int) -> Iterator[str]:
    """All events in no order: steps in random order, and the events of each."""
    chance = random.Random(0)
    for step in chance.sample(range(steps), steps):
        texts = [text for kind in KINDS for text in kind(step)]
        yield from chance.sample(texts, len(texts))


def write_trace(path: Path, events: Iterator[str]) -> int:
    """Write a trace; the number of its events."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n  "schemaVersion": 1,\n  "traceEvents": [\n')
        for count, text in enumerate(events, 1):
            file.write(text if count == 1 else f",\n{text}")
        file.write('\n  ],\n  "traceName": "trace.json"\n}\n')
    return count


def pack(path: Path, to: Path) -> None:
    """Write a file gzipped."""
    with path.open("rb") as source, gzip.open(to, "wb", compresslevel=5) as target:
        shutil.copyfileobj(source, target, 1 << 20)


def measure(path: Path) -> tuple[float, float]:
    """CPU seconds and megabytes at the peak of reading a trace in a new process, both without the interpreter's own."""
    empty = _child("pass")
    full = _child(f"from torchlint.profile.read import read; from pathlib import Path; read(Path({str(path)!r}))")
    return full[0] - empty[0], full[1] - empty[1]


# The peak that ``getrusage`` tells of a new process may be that of the process which started it.
_REPORT = """
import re, time
print(time.process_time(), re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def _child(code: str) -> tuple[float, float]:
    command = [sys.executable, "-c", code + _REPORT]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    seconds, kilobytes = run.stdout.split()
    return float(seconds), float(kilobytes) * 1024 / _MEGABYTE


def report(name: str, path: Path, size: int, count: int) -> None:
    """Measure a file with ``size`` bytes of JSON and ``count`` events, and print its row of the table."""
    seconds, megabytes = measure(path)
    cells = (
        name,
        f"{path.stat().st_size / _MEGABYTE:.0f} MB",
        f"{count:,}",
        f"{seconds:.1f} s",
        f"{1000 * seconds * _MEGABYTE / size:.0f} ms",
        f"{megabytes:.0f} MB",
        f"{megabytes * _MEGABYTE / count:.0f} bytes",
    )
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> int:
    """Make the traces, read them, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--folder", type=Path, help="where the traces are made; by default a temporary folder")
    options = parser.parse_args()
    print("| trace | file | events | CPU time | per MB of JSON | peak memory | per event |")
    print("|---|---|---|---|---|---|---|")
    steps = options.megabytes * _MEGABYTE // sum(len(text) + 2 for text in grouped(1))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        plain, packed = Path(folder, "trace.json"), Path(folder, "trace.json.gz")
        count = write_trace(plain, grouped(steps))
        report("as Kineto writes it", plain, plain.stat().st_size, count)
        pack(plain, packed)
        report("gzipped", packed, plain.stat().st_size, count)
        count = write_trace(plain, mixed(steps))
        report("in random order", plain, plain.stat().st_size, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
