"""The events of a torch trace as they are read: kept in columns of numbers, 24 bytes for each."""

from __future__ import annotations

import enum
import heapq
import operator
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, TypeGuard

from torchlint.profile.names import without_address
from torchlint.profile.stream import Json

_STEP = "ProfilerStep#"
# Older traces count microseconds since 1970.
_LONGEST = 1e18
_WORD = 0xFFFFFFFF

Lane: TypeAlias = "tuple[int | str, int | str]"
"""Process and thread."""


class EventKind(enum.IntEnum):
    """What an event of a thread of the host is."""

    PYTHON = 0
    OPERATOR = 1
    RUNTIME = 2


# Categories of Kineto, and their names in torch before 1.11.
_HOST = {
    "python_function": EventKind.PYTHON,
    "cpu_op": EventKind.OPERATOR,
    "Operator": EventKind.OPERATOR,
    "cuda_runtime": EventKind.RUNTIME,
    "cuda_driver": EventKind.RUNTIME,
    "xpu_runtime": EventKind.RUNTIME,
    "mtia_runtime": EventKind.RUNTIME,
    "privateuse1_runtime": EventKind.RUNTIME,
    "Runtime": EventKind.RUNTIME,
}
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"})
_COPY = frozenset({"gpu_memcpy", "Memcpy"})
_ANNOTATION = frozenset({"user_annotation", "UserAnnotation"})


class TraceEvent(NamedTuple):
    """One event of a thread: microseconds, ``-duration`` so that outer events sort before inner ones, and its place."""

    start_us: float
    minus_us: float
    kind: EventKind
    place: int


class CopyEvent(NamedTuple):
    """A copy from, to or on the device: the number of its name, and its bytes, 0 where they are not said."""

    name: int
    bytes: int


class Column:
    """The events of one kind in one thread.

    ``names`` are numbers of names; ``links`` of operators the number of their call stack plus one, of runtime calls
    their correlation, 0 where there is none.
    """

    def __init__(self, kind: EventKind) -> None:
        """Start with nothing."""
        self.kind = kind
        self.starts = array("d")
        self.durations = array("d")
        self.names = array("I")
        self.links = array("I")
        self._last = (float("-inf"), 0.0)
        self._sorted = True

    def add(self, start: float, duration: float, name: int, link: int) -> None:
        """Append an event."""
        here = (start, -duration)
        self._sorted = self._sorted and self._last <= here
        self._last = here
        self.starts.append(start)
        self.durations.append(duration)
        self.names.append(name)
        self.links.append(link)

    def events(self) -> Iterator[TraceEvent]:
        """Yield the events by start, outer ones before inner ones.

        Kineto writes them in this order; nothing is sorted then.
        """
        places: range | list[int] = range(len(self.starts))
        if not self._sorted:
            longest_first = sorted(places, key=self.durations.__getitem__, reverse=True)
            places = sorted(longest_first, key=self.starts.__getitem__)
        for place in places:
            yield TraceEvent(self.starts[place], -self.durations[place], self.kind, place)


class Thread:
    """The events of one thread of the host."""

    def __init__(self, lane: Lane) -> None:
        """Start with nothing."""
        self.lane = lane
        self.columns = tuple(Column(kind) for kind in EventKind)

    @property
    def has_python(self) -> bool:
        """Whether it is known which Python code ran in it."""
        return bool(self.columns[EventKind.PYTHON].starts)

    @property
    def count(self) -> int:
        """How many events it has."""
        return sum(len(column.starts) for column in self.columns)

    def events(self) -> Iterator[TraceEvent]:
        """Yield all of them by start, outer ones before inner ones."""
        return heapq.merge(*(column.events() for column in self.columns))

    def span(self) -> tuple[float, float]:
        """Return the first start and the last end."""
        columns = [column for column in self.columns if column.starts]
        first = min(min(column.starts) for column in columns)
        return first, max(max(map(operator.add, column.starts, column.durations)) for column in columns)


class TraceEvents:
    """All events of a trace that count.

    ``steps`` holds start, duration and thread of each announced step, ``device_copies`` each copy from, to or on the
    device by the correlation of the runtime call that started it.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.names: list[str] = []
        self.stacks: list[str] = []
        self.steps: list[tuple[float, float, Thread]] = []
        self.device_copies: dict[int, CopyEvent] = {}
        self._numbers: dict[str, int] = {}
        self._stack_numbers: dict[str, int] = {}
        self._threads: dict[Lane, Thread] = {}
        self._labels: dict[Lane, str] = {}
        self._correlations = array("I")
        self._device_us = array("d")

    @property
    def threads(self) -> list[Thread]:
        """The threads of the host with events, those with Python code first, then by number of events."""
        return sorted(filter(_count, self._threads.values()), key=lambda one: (one.has_python, one.count), reverse=True)

    def label(self, thread: Thread) -> str:
        """Return the name of a thread."""
        return self._labels.get(thread.lane, f"thread {thread.lane[1]}")

    @property
    def device(self) -> bool:
        """Whether work of an accelerator was recorded."""
        return bool(self._correlations) or any(one.columns[EventKind.RUNTIME].starts for one in self._threads.values())

    def device_us(self) -> dict[int, float]:
        """Return microseconds on the device by the correlation of the runtime call that started the work."""
        found: dict[int, float] = {}
        for correlation, duration in zip(self._correlations, self._device_us, strict=True):
            found[correlation] = found.get(correlation, 0.0) + duration
        return found

    def device_pieces(self) -> Counter[int]:
        """Return the kernels and copies on the device, by the correlation of the runtime call that started them."""
        pieces = Counter(self._correlations)
        pieces.pop(0, None)  # it is not known which call started these
        return pieces

    def add(self, event: Json) -> None:
        """Keep an event if it counts; skip others and incomplete ones."""
        if not isinstance(event, dict):
            return
        name, process, thread = event.get("name"), event.get("pid"), event.get("tid")
        if not isinstance(name, str) or not isinstance(process, (int, str)) or not isinstance(thread, (int, str)):
            return
        lane = (process, thread)
        arguments = event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        if event.get("ph") == "M":
            label = arguments.get("name")
            if name == "thread_name" and isinstance(label, str):
                self._labels[lane] = label
            return
        start, duration, category = event.get("ts"), event.get("dur"), event.get("cat")
        if not _is_time(start) or not _is_time(duration) or duration < 0 or not isinstance(category, str):
            return
        kind = _HOST.get(category)
        if kind is not None:
            link = self._link(kind, arguments)
            self._thread(lane).columns[kind].add(start, duration, self._number(name), link)
        elif category in _DEVICE:
            self._correlations.append(_correlation(arguments))
            self._device_us.append(duration)
            if category in _COPY:
                size = arguments.get("bytes")
                copy = CopyEvent(self._number(name), size if isinstance(size, int) else 0)
                self.device_copies[_correlation(arguments)] = copy
        elif category in _ANNOTATION and name.startswith(_STEP):
            self.steps.append((start, duration, self._thread(lane)))

    def _thread(self, lane: Lane) -> Thread:
        if lane not in self._threads:
            self._threads[lane] = Thread(lane)
        return self._threads[lane]

    def _number(self, name: str) -> int:
        if " at 0x" in name:
            name = without_address(name)
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def _link(self, kind: EventKind, arguments: dict[str, Json]) -> int:
        if kind is EventKind.RUNTIME:
            return _correlation(arguments)
        stack = arguments.get("Call stack") if kind is EventKind.OPERATOR else None
        if not isinstance(stack, str) or not stack:
            return 0
        number = self._stack_numbers.get(stack)
        if number is None:
            self.stacks.append(stack)
            number = self._stack_numbers[stack] = len(self.stacks)
        return number


def _correlation(arguments: dict[str, Json]) -> int:
    number = arguments.get("correlation")
    return number & _WORD if isinstance(number, int) else 0


def _is_time(value: Json) -> TypeGuard[float]:
    """Whether a value is a number of microseconds that can be; ``NaN`` is in no range."""
    return isinstance(value, (int, float)) and -_LONGEST < value < _LONGEST


def _count(thread: Thread) -> int:
    return thread.count
