"""Walks the events of a torch trace in order of time and finds what ran inside what: contexts, operators, slices."""

from __future__ import annotations

import bisect
import re

from torchlint.late import dataclass, regex
from torchlint.profile.effects import effect_of_operator, effect_of_runtime
from torchlint.profile.events import EventKind, Thread, TraceEvent, TraceEvents
from torchlint.profile.model import MOST_ORDER, Effect, Operator, Slice
from torchlint.profile.names import without_address
from torchlint.profile.tree import FrameKey, Numbers, Timeline, Tree

# Contexts of operators beyond this many are counted without the Python code that called them.
_MOST_ROWS = 200_000
_PYTHON = regex(r"(?P<file>.*)\((?P<line>\d{1,9})\): (?P<name>.*)", re.DOTALL)
# What waits in Python while autograd works in threads of its own.
_BACKWARD = "run_backward"


def frame_key(name: str) -> FrameKey:
    """Return the frame that torch names ``FILE(LINE): FUNCTION``; built-ins and modules have only a name."""
    match = _PYTHON.fullmatch(name)
    return (match["file"], int(match["line"]), match["name"]) if match else ("", 0, without_address(name))


@dataclass(slots=True)
class _OperatorSum:
    """An operator in one context while it is summed up; ``within`` is the number of a name, or -1."""

    name: int
    node: int
    within: int
    effect: Effect
    calls: int = 0
    self_us: float = 0.0
    total_us: float = 0.0
    device_us: float = 0.0


@dataclass(slots=True)
class _Open:
    """An event that runs.

    ``row`` is ``None`` for Python code, ``caller`` the Python code around it. ``inner_us`` is the time of what ran
    inside: in Python code that of other Python code, in an operator all.
    """

    start_us: float
    end_us: float
    node: int
    name: int
    row: _OperatorSum | None
    caller: _Open | None
    inner_us: float = 0.0


class Nesting:
    """What ran inside what, over all threads."""

    def __init__(self, events: TraceEvents) -> None:
        """Walk all events of a trace."""
        threads = events.threads
        self.tree = Tree()
        self.numbers = Numbers()
        self.timeline = Timeline()
        self.order: list[str] = []
        self.device = events.device
        self.has_python = threads[0].has_python
        self.names = events.names
        self.device_us = events.device_us()
        self.device_copies = events.device_copies
        self._texts = events.stacks
        self._rows: dict[tuple[int, int, int, Effect], _OperatorSum] = {}
        # By the number of a name its frame, and by the number of a call stack its innermost context.
        self._frames: dict[int, int] = {}
        self._stacks: dict[int, int] = {0: -1}
        # Start, end and context of each wait for autograd.
        self._waits: list[tuple[float, float, int]] = []
        step = typical_step(events)
        for number, thread in enumerate(threads):
            _Walk(self, number, thread, step if thread is step.thread else None).run()
            self._waits.sort()

    def operators(self) -> tuple[Operator, ...]:
        """Return the operators by context."""
        names = [*self.names, ""]  # The last one is that of -1.
        return tuple(
            Operator(
                names[row.name],
                row.node,
                names[row.within],
                row.effect,
                row.calls,
                row.self_us,
                row.total_us,
                row.device_us,
            )
            for row in self._rows.values()
        )

    def python(self, parent: int, name: int) -> int:
        """Return the context of Python code with a name below another."""
        frame = self._frames.get(name)
        if frame is None:
            frame = self._frames[name] = self.numbers.number(frame_key(self.names[name]))
        return self.tree.child(parent, frame)

    def row(self, node: int, name: int, within: int, effect: Effect) -> _OperatorSum:
        """Return the sums of an operator in a context."""
        row = self._rows.get((node, name, within, effect))
        if row is None:
            if len(self._rows) >= _MOST_ROWS:
                node = -1
            row = self._rows.setdefault((node, name, within, effect), _OperatorSum(name, node, within, effect))
        return row

    def called_from(self, stack: int, start_us: float) -> int:
        """Return the context of an operator with no Python code around it in its thread.

        That of its call stack, where one was recorded; else of the code that waits for autograd meanwhile; else none.
        """
        if self.has_python:
            place = bisect.bisect_right(self._waits, start_us, key=_start) - 1
            return self._waits[place][2] if place >= 0 and start_us < self._waits[place][1] else -1
        node = self._stacks.get(stack)
        if node is None:
            callers = reversed([name for name in self._texts[stack - 1].split(";") if name.strip()])
            frames = [self.numbers.number(frame_key(name.strip())) for name in callers]
            node = self._stacks[stack] = self.tree.path(frames)[-1] if frames else -1
        return node

    def waited(self, start_us: float, end_us: float, node: int) -> None:
        """Record a time in which Python code waited for autograd."""
        self._waits.append((start_us, end_us, node))


def _start(wait: tuple[float, float, int]) -> float:
    return wait[0]


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of time in a thread, microseconds."""

    thread: Thread
    start_us: float
    end_us: float


def typical_step(events: TraceEvents) -> Step:
    """Return the announced step of median duration, or without steps the whole time of the busiest thread."""
    if not events.steps:
        return Step(max(events.threads, key=_operators), float("-inf"), float("inf"))
    start, duration, thread = sorted(events.steps, key=lambda step: step[1])[len(events.steps) // 2]
    return Step(thread, start, start + duration)


def _operators(thread: Thread) -> int:
    return len(thread.columns[EventKind.OPERATOR].starts)


class _Walk:
    """One thread in order of time: ``_open`` is what runs, the outermost first."""

    def __init__(self, whole: Nesting, number: int, thread: Thread, step: Step | None) -> None:
        self._whole = whole
        self._number = number
        self._thread = thread
        self._step = step
        self._open: list[_Open] = []
        self._effects: set[Effect] = set()

    def run(self) -> None:
        for event in self._thread.events():
            self._close_until(event.start_us)
            end = event.start_us - event.minus_us
            if self._open:
                # The clocks of Python code and operators differ by a little; what began inside ends inside.
                end = min(end, self._open[-1].end_us)
            column = self._thread.columns[event.kind]
            name, link = column.names[event.place], column.links[event.place]
            if event.kind is EventKind.PYTHON:
                self._begin_python(event.start_us, end, name)
            else:
                self._begin_operator(event, end, name, link)
        self._close_until(float("inf"))

    def _begin_python(self, start: float, end: float, name: int) -> None:
        outer = self._open[-1] if self._open else None
        node = self._whole.python(outer.node if outer else -1, name)
        caller = outer if outer is None or outer.row is None else outer.caller
        self._open.append(_Open(start, end, node, name, None, caller))

    def _begin_operator(self, event: TraceEvent, end: float, name: int, link: int) -> None:
        outer = self._open[-1] if self._open else None
        runtime = event.kind is EventKind.RUNTIME
        node = outer.node if outer else self._whole.called_from(0 if runtime else link, event.start_us)
        around = next((one.name for one in self._open if one.row is not None), -1)
        outermost = name if around < 0 else around
        effect = self._effect(name, outermost, runtime)
        row = self._whole.row(node, name, around, effect)
        caller = outer if outer is None or outer.row is None else outer.caller
        self._open.append(_Open(event.start_us, end, node, name, row, caller))
        if runtime:
            self._started(link, node, outermost)
        elif around < 0:
            self._list(event.start_us, name)
        if effect is not Effect.NONE:
            self._effects.add(effect)

    def _effect(self, name: int, outermost: int, runtime: bool) -> Effect:
        """What an operator does besides computing, if nothing around it is known for the same."""
        names = self._whole.names
        effect = effect_of_runtime(names[name]) if runtime else effect_of_operator(names[name], names[outermost])
        if effect is Effect.SYNC and not runtime and self._whole.device:
            # With a device the calls of its runtime tell when the host waited; a tensor on the host waits for nothing.
            return Effect.NONE
        return Effect.NONE if effect in self._effects else effect

    def _started(self, correlation: int, node: int, outermost: int) -> None:
        """Give the device's work that a runtime call started to the operators that run."""
        device_us = self._whole.device_us.get(correlation, 0.0)
        for one in self._open:
            if one.row is not None:
                one.row.device_us += device_us
        copy = self._whole.device_copies.get(correlation)
        if copy is not None:
            effect = Effect.NONE if Effect.COPY in self._effects else Effect.COPY
            row = self._whole.row(node, copy.name, outermost, effect)
            row.calls += 1
            row.device_us += device_us

    def _list(self, start: float, name: int) -> None:
        step = self._step
        if step and step.start_us <= start < step.end_us and len(self._whole.order) < MOST_ORDER:
            self._whole.order.append(self._whole.names[name])

    def _close_until(self, now: float) -> None:
        """End what has ended by now."""
        while self._open and self._open[-1].end_us <= now:
            one = self._open.pop()
            duration = one.end_us - one.start_us
            outer = self._open[-1] if self._open else None
            if outer is not None and outer.row is not None:
                outer.inner_us += duration
            if one.row is None:
                self._end_python(one, duration)
            else:
                self._end_operator(one, one.row, duration)
            if duration > self._whole.timeline.least_us:
                operator = "" if one.row is None else self._whole.names[one.name]
                depth = len(self._open)
                self._whole.timeline.add(Slice(self._number, depth, one.start_us, duration, one.node, operator))

    def _end_python(self, one: _Open, duration: float) -> None:
        if one.caller is not None:
            one.caller.inner_us += duration
        self._whole.tree.add(one.node, 1, max(0.0, duration - one.inner_us))
        if _BACKWARD in self._whole.names[one.name]:
            self._whole.waited(one.start_us, one.end_us, one.node)

    def _end_operator(self, one: _Open, row: _OperatorSum, duration: float) -> None:
        row.calls += 1
        row.total_us += duration
        row.self_us += max(0.0, duration - one.inner_us)
        self._effects.discard(row.effect)
        if not self._whole.has_python and one.node >= 0 and not any(outer.row for outer in self._open):
            self._whole.tree.add(one.node, 0, duration)
