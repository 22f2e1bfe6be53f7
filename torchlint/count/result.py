"""What a program did on the counted device, line by line, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import field

from torchlint.device.events import Events
from torchlint.late import dataclass
from torchlint.rule import Finding


class LineStatus(enum.Enum):
    """What ``check`` says about a line that waits, copies or launches."""

    FIXABLE = "fixable"
    REPORTED = "reported"
    NEEDED = "needed"
    SELDOM = "seldom"
    LIBRARY = "library"
    MISSED = "missed"
    UNCOVERED = "uncovered"


@dataclass(frozen=True, slots=True)
class CountedLine:
    """A line of the project and its events.

    Attributes:
        path: relative to the project root. row: 1-based.
        waiting: how often each operator waited there; libraries: how often code of an installed package did.
        status: what the findings say of the line; findings: those on it, of a line that waits those about waits.
        why: the reason, of a needed wait; of a missed one what kind of wait it is; the package, of one in a library.
    """

    path: str
    row: int
    events: Events
    waiting: Mapping[str, int]
    status: LineStatus
    findings: tuple[Finding, ...] = ()
    why: str = ""
    libraries: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountedRun:
    """A run of a program on the counted device.

    Attributes:
        lines: those of the project, in the order of files and rows. elsewhere: events of no line of the project.
        steps, updates: calls of ``env.step`` and of ``optimizer.step``. seconds: from the import of torch to the end.
    """

    lines: Sequence[CountedLine] = ()
    elsewhere: Events = field(default_factory=Events)
    steps: int = 0
    updates: int = 0
    seconds: float = 0.0
    torch: str = ""
    processes: int = 1

    @property
    def totals(self) -> Events:
        """All events of the run."""
        total = Events()
        for line in self.lines:
            total.add(line.events)
        total.add(self.elsewhere)
        return total

    def waits_of(self, status: LineStatus) -> int:
        """Return the waits of the lines of a status."""
        return sum(line.events.waits for line in self.lines if line.status is status)
