"""What a trace of torch's profiler says an accelerator did during an announced step: kernels, copies, and waits."""

from __future__ import annotations

from pathlib import Path

from torchlint.late import dataclass
from torchlint.profile.effects import effect_of_runtime
from torchlint.profile.errors import ProfileError
from torchlint.profile.events import EventKind, Thread, TraceEvent, TraceEvents
from torchlint.profile.model import Effect
from torchlint.profile.stream import ByteStream, JsonStream

_IN, _OUT = "Memcpy HtoD", "Memcpy DtoH"
"""How Kineto names copies from host to device and back; what memory they touch follows in brackets."""


@dataclass(slots=True)
class Work:
    """What was recorded.

    Attributes:
        operators: innermost operators that started kernels, fills or copies within the device.
        kernels: kernels, fills and copies within the device.
        waits: calls of the runtime in which the host waits for the device.
        copies_in, copies_out: copies from host to device and back. bytes: of these copies.
        device: whether anything of an accelerator was recorded in the whole trace, within the step or not.
    """

    operators: int = 0
    kernels: int = 0
    waits: int = 0
    copies_in: int = 0
    copies_out: int = 0
    bytes: int = 0
    device: bool = False

    @property
    def copies(self) -> int:
        """Copies in both directions."""
        return self.copies_in + self.copies_out


def read_work(path: Path) -> Work:
    """Read a trace and return the work of its announced steps (``ProfilerStep#``), in all threads.

    Raises:
        OSError: it cannot be read.
        ProfileError: it is not a trace, is cut, or announces no step.
    """
    events = TraceEvents()
    with ByteStream(path) as file:
        stream = JsonStream(file.read)
        for key in stream.members():
            if key == "traceEvents":
                for event in stream.values():
                    events.add(event)
            else:
                stream.skip()
        stream.end()
    return work_in(events)


def work_in(events: TraceEvents) -> Work:
    """Return the work that the host started during the announced steps.

    A kernel or copy counts for the call of the runtime that has its correlation, so it need not have ended with the
    step. Waits outside of the steps, such as those of the profiler itself, count for nothing.

    Raises:
        ProfileError: no step is announced.
    """
    if not events.steps:
        raise ProfileError("announces no step: there is no ProfilerStep# in it")
    counting = _Counting(events)
    for thread in events.threads:
        counting.walk(thread)
    return counting.work


class _Counting:
    """Sums up threads one after the other."""

    def __init__(self, events: TraceEvents) -> None:
        self.work = Work(device=events.device)
        self._events = events
        self._spans = [(start, start + duration) for start, duration, _ in events.steps]
        self._pieces = events.device_pieces()

    def walk(self, thread: Thread) -> None:
        """Add what one thread of the host started; ``around`` are the operators that run, the outermost first."""
        around: list[tuple[float, int]] = []
        started: set[int] = set()
        for event in thread.events():
            while around and around[-1][0] <= event.start_us:
                around.pop()
            if event.kind is EventKind.OPERATOR:
                around.append((event.start_us - event.minus_us, event.place))
            elif event.kind is EventKind.RUNTIME and self._within(event):
                self._call(thread, event, around[-1][1] if around else -1, started)

    def _within(self, event: TraceEvent) -> bool:
        """Whether an event begins in an announced step."""
        return any(start <= event.start_us < end for start, end in self._spans)

    def _call(self, thread: Thread, event: TraceEvent, operator: int, started: set[int]) -> None:
        """Add a call of the runtime, inside of an operator or of none (-1)."""
        column = thread.columns[EventKind.RUNTIME]
        name, correlation = self._events.names[column.names[event.place]], column.links[event.place]
        work = self.work
        if effect_of_runtime(name) is Effect.SYNC:
            work.waits += 1
        copy = self._events.device_copies.get(correlation)
        kind = "" if copy is None else self._events.names[copy.name]
        if copy is not None and kind.startswith((_IN, _OUT)):
            work.copies_in += kind.startswith(_IN)
            work.copies_out += kind.startswith(_OUT)
            work.bytes += copy.bytes
        elif pieces := self._pieces.get(correlation, 0):
            work.kernels += pieces
            work.operators += operator < 0 or operator not in started
            started.add(operator)
