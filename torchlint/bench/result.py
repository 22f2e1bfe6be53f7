"""What was measured, as data: rows, the machine they hold for, and their JSON. Needs neither torch nor numpy."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, fields

from torchlint.late import dataclass
from torchlint.report.nouns import events
from torchlint.rule import Cost, Counted, Counts, Example

SCHEMA = 1
CONTROL_LIMITS = (0.95, 1.05)
_DIGITS = 4


class BrokenResultsError(Exception):
    """A file holds no results of this version; the message says what is wrong."""


class ExampleStatus(enum.Enum):
    """How far an example came."""

    MEASURED = "measured"
    UNSTEADY = "unsteady"
    """The machine was too busy to conclude anything about the time."""
    DIFFERENT = "different"
    """The fix changes what it does not declare; nothing was timed."""
    FAILED = "failed"
    """A version raised, or the fixer did."""
    COUNTED = "counted"
    """The gain is on an accelerator, and there is none: events were counted, and nothing was timed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What the rounds of a measurement say.

    ``ratio`` is time before divided by time after (above 1: the fix is faster), its median, with ``low`` and ``high``,
    the 10th and 90th percentile. ``saves_us`` is the median of microseconds saved in one call, ``before_us`` and
    ``after_us`` the medians of the time of a call, ``control`` the median ratio of the program before to itself.
    """

    ratio: float
    low: float
    high: float
    saves_us: float
    before_us: float
    after_us: float
    control: float

    @property
    def steady(self) -> bool:
        """Whether the control stayed near 1, so that the other numbers mean something."""
        least, most = CONTROL_LIMITS
        return least <= self.control <= most


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Something counted in one call of the program before and after."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an accelerator did in one run, as torch's profiler and its warnings about waits say.

    Attributes:
        waits: calls of the runtime that wait, or warnings, whichever are more. warned: the warnings.
        launches: operators that started work on the device. kernels: pieces of this work.
        copies, bytes: between host and device.
    """

    waits: int = 0
    launches: int = 0
    copies: int = 0
    bytes: int = 0
    kernels: int = 0
    warned: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """What an accelerator did in a run of the program before and after; ``ResultRow.events`` is what was counted."""

    before: Recorded
    after: Recorded


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One example of one rule on one device.

    Attributes:
        code, name, example: the rule's code and name, and the example's name.
        size: what was run, in words. device: ``cpu`` or ``cuda``.
        by_hand: the program after was written by hand, for the rule has no fix.
        status: how far it came.
        inputs: how many sets of inputs gave equal results.
        changes: the declared changes that were seen on some of them.
        exceptions: the inputs on which the fix does otherwise, as the rule says.
        detail: what went wrong, in words or as a traceback.
        figure: the time. rounds: how many pairs of blocks it comes from.
        syncs: how often the host waited for the accelerator in a call; ``None`` where there is none.
        bytes: the most memory that tensors took in a call beyond what they had before; for rules about memory.
        events: what was counted on the counted device; ``None`` where the workload only runs on the host.
        held: what the accelerator did in place of the counted device; ``None`` where none recorded anything.
        runs, unit: of the example: how often the workload does what a figure is given for, and what that is.
    """

    code: str
    name: str
    example: str
    size: str
    device: str
    by_hand: bool
    status: ExampleStatus
    inputs: int = 0
    changes: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    detail: str = ""
    figure: Figure | None = None
    rounds: int = 0
    syncs: BeforeAfter | None = None
    bytes: BeforeAfter | None = None
    events: Counted | None = None
    held: Held | None = None
    runs: int = 1
    unit: str = "call"

    def cost(self, source: str) -> Cost | None:
        """Return the figure as messages quote it; ``None`` where nothing was concluded."""
        figure = self.figure
        if figure is None or self.status is not ExampleStatus.MEASURED:
            return None
        saves_us = figure.saves_us / self.runs
        ratios = figure.ratio, figure.low, figure.high
        return Cost(saves_us, *ratios, self.size, self.device, source, self.example, self.unit)


@dataclass(frozen=True, slots=True)
class Machine:
    """What figures hold for. ``device`` is ``cpu`` or the accelerator's name."""

    device: str
    processor: str
    threads: int
    python: str
    torch: str
    numpy: str


@dataclass(frozen=True, slots=True)
class Results:
    """One run of the suite; ``complete`` says that no one interrupted it."""

    machine: Machine
    rows: tuple[ResultRow, ...]
    complete: bool = True
    version: str = ""
    schema: int = field(default=SCHEMA)


def size_of(example: Example) -> str:
    """Describe what was measured: the example's name and the sizes of its inputs."""
    name = example.name.replace("-", " ")
    shapes = [(i.name, "x".join(map(str, i.shape))) for i in example.inputs if i.shape]
    # What the name says already is not said again: ``batch of 256x17, rows 256x17``.
    return ", ".join([name, *(f"{title} {shape}" for title, shape in shapes if shape not in name.split())])


def disagreements(row: ResultRow) -> list[str]:
    """Describe where accelerator and counted device differ, as ``before: counted 3 launches, measured 4``."""
    if row.held is None or row.events is None:
        return []
    sides = ("before", row.events.before, row.held.before), ("after", row.events.after, row.held.after)
    return [
        f"{side}: counted {events(counted, noun)}, measured {measured:,}"
        for side, counts, recorded in sides
        for noun, counted, measured in compared(counts, recorded)
        if counted != measured
    ]


def compared(counts: Counts, recorded: Recorded) -> Iterator[tuple[str, int, int]]:
    """Yield the quantities that are both counted and measured, each with its noun."""
    yield "sync", counts.waits, recorded.waits
    yield "launch", counts.launches, recorded.launches
    yield "copy", counts.copies, recorded.copies
    yield "byte", counts.bytes, recorded.bytes


def to_json(results: Results) -> str:
    """Return the results as JSON, with numbers of four significant digits."""
    data = asdict(results)
    for of, row in zip(results.rows, data["rows"], strict=True):
        row["status"] = row["status"].value
        if row["held"] is not None:
            row["held"]["disagreements"] = disagreements(of)
        if row["figure"] is not None:
            row["figure"] = {name: float(f"{value:.{_DIGITS}g}") for name, value in row["figure"].items()}
    return json.dumps(data, indent=1) + "\n"


def from_json(text: str) -> Results:
    """Read what ``to_json`` wrote.

    Raises:
        BrokenResultsError: it is something else, or of another version.
    """
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise BrokenResultsError("not written by this version of torchlint bench")
        rows = tuple(_row(row) for row in data["rows"])
        machine = _machine(data["machine"])
        return Results(machine, rows, bool(data["complete"]), str(data["version"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenResultsError(f"broken: {type(error).__name__}: {error}") from error


def _machine(data: Mapping[str, object]) -> Machine:
    words = {f.name: str(data[f.name]) for f in fields(Machine) if f.name != "threads"}
    return Machine(**words, threads=int(str(data["threads"])))


def _row(data: Mapping[str, object]) -> ResultRow:
    figure, syncs, peak, events = data["figure"], data["syncs"], data["bytes"], data.get("events")
    held = data.get("held")
    row = ResultRow(
        **{
            **data,
            "status": ExampleStatus(data["status"]),
            "changes": _words(data["changes"]),
            "exceptions": _words(data["exceptions"]),
            "figure": _figure(figure) if figure is not None else None,
            "syncs": _pair(syncs) if syncs is not None else None,
            "bytes": _pair(peak) if peak is not None else None,
            "events": _counted(events) if events is not None else None,
            "held": _held(held) if held is not None else None,
            "runs": max(1, int(str(data.get("runs", 1)))),
        }  # type: ignore[arg-type]  # the words are checked below
    )
    words = row.code, row.name, row.example, row.size, row.device, row.detail, row.unit
    if not all(isinstance(word, str) for word in words):
        raise TypeError("a row contains a value that is not a string")
    return row


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(map(str, value))


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return {str(name): float(number) for name, number in value.items()}


def _figure(value: object) -> Figure:
    return Figure(**_numbers(value))


def _counted(value: object) -> Counted:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    before, after = _numbers(value["before"]), _numbers(value["after"])
    one, other = (Counts(**{name: int(number) for name, number in side.items()}) for side in (before, after))
    return Counted(one, other, str(value["size"]), str(value["example"]), int(value["runs"]), str(value["unit"]))


def _held(value: object) -> Held:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    sides = (_numbers(value[side]) for side in ("before", "after"))
    return Held(*(Recorded(**{name: int(number) for name, number in side.items()}) for side in sides))


def _pair(value: object) -> BeforeAfter:
    return BeforeAfter(**{name: int(number) for name, number in _numbers(value).items()})
