"""Findings, fixes and edits: the plain data that everything after the rules works on."""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterator
from dataclasses import field, replace

from torchlint.late import dataclass
from torchlint.rule.frequency import Hop, Hotness
from torchlint.rule.terms import Applicability, Change, Level


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the bytes ``start`` to ``end`` (exclusive) of the file's UTF-8 text by ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class PlainFix:
    """A fix as text edits.

    ``may_change`` names all it can change besides the time. ``assumes`` says what could not be proven and must hold
    for the fix to be right; such a fix is taken by ``--unsafe-fixes`` only. With neither the fix is safe.
    ``removes`` is the comment that it is there to take away or to shorten; every other comment stays.
    ``edits`` are those of the file of its finding, ``in_files`` those of other files by name: all are made, or none.
    ``instead`` is the fix that is offered where this one is not accepted, or one of these files is not to be changed.
    ``less``: it saves less than the figures of its finding say.
    """

    message: str
    edits: tuple[Edit, ...]
    may_change: tuple[Change, ...] = ()
    assumes: str = ""
    loses_comment: bool = False
    removes: str = ""
    in_files: tuple[tuple[str, tuple[Edit, ...]], ...] = ()
    instead: PlainFix | None = None
    less: bool = field(default=False, compare=False)

    def by_file(self, path: str) -> dict[str, tuple[Edit, ...]]:
        """Return the edits of each file that it changes, by name; ``path`` is the file of its finding."""
        own = {path: self.edits} if self.edits else {}
        return {**own, **dict(self.in_files)}

    def ways(self) -> Iterator[PlainFix]:
        """Return the fix and its alternatives, each by itself, in the order in which they are offered."""
        fix: PlainFix | None = self
        while fix is not None:
            yield replace(fix, instead=None)
            fix = fix.instead

    def within(self, files: Container[str]) -> PlainFix | None:
        """Return the fix or its alternative that changes no other files than these, ``None`` if there is none."""
        if all(name in files for name, _ in self.in_files):
            return self
        return self.instead.within(files) if self.instead is not None else None

    @property
    def applicability(self) -> Applicability:
        """Safe, unsafe (needs ``--accept`` or ``--unsafe-fixes``), or only for display (it would lose a comment)."""
        if self.loses_comment:
            return Applicability.DISPLAY
        return Applicability.UNSAFE if self.may_change or self.assumes else Applicability.SAFE

    def accepted(self, unsafe_fixes: bool, accept: frozenset[Change]) -> bool:
        """Return whether ``--fix`` applies the fix, by whether unsafe fixes are taken, and which changes."""
        if self.applicability is Applicability.UNSAFE:
            return unsafe_fixes or (not self.assumes and accept.issuperset(self.may_change))
        return self.applicability is Applicability.SAFE


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file: 1-based row, 1-based column in code points."""

    row: int
    column: int


NOISE = 1.05
"""A ratio whose 10th percentile is no higher is noise."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a smell costs as measured: microseconds saved by the better form and the ratio of the two times.

    Attributes:
        saves_us, ratio: the medians, at the size measured.
        low, high: the 10th and 90th percentile of the ratio.
        size: the workload in words. example: the name of the rule's example that it is.
        device: where it was measured. source: whose figures these are (``bundled`` or ``local``).
        unit: what ``saves_us`` is for: one ``call`` of the code, or what else is done once in that time, such as an
            ``update``; empty: all of it, however often the code runs.
        most_us, most_size: the same at the largest size, where several were measured and that of the code is not
            known; 0 and empty: there is one size.
        open: sizes that the code may have, too, wait to be measured; so nothing is known of what it costs at least.
    """

    saves_us: float
    ratio: float
    low: float
    high: float
    size: str
    device: str = "cpu"
    source: str = "bundled"
    example: str = ""
    unit: str = "call"
    most_us: float = 0.0
    most_size: str = ""
    open: bool = False

    @property
    def gains(self) -> bool:
        """Whether the better form is faster beyond the noise."""
        return self.low > NOISE and self.saves_us > 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Events that code has on an accelerator: waits of the host, kernel launches, copies between host and device.

    ``bytes`` is what these copies carry.
    """

    waits: int = 0
    launches: int = 0
    copies: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """What a smell costs an accelerator as counted: the events of its code, and those of the better form.

    Attributes:
        before, after: in one run of the workload.
        size: the workload in words. example: the name of the rule's example that it is.
        runs, unit: how often the workload does what counts are given for, and what that is.
    """

    before: Counts
    after: Counts
    size: str
    example: str = ""
    runs: int = 1
    unit: str = "call"

    @property
    def saves(self) -> Counts:
        """The events fewer in each ``unit``, to the nearest whole number; negative: more of them."""
        one, other, runs = self.before, self.after, self.runs
        return Counts(
            waits=round((one.waits - other.waits) / runs),
            launches=round((one.launches - other.launches) / runs),
            copies=round((one.copies - other.copies) / runs),
            bytes=round((one.bytes - other.bytes) / runs),
        )

    @property
    def gains(self) -> bool:
        """Whether something is saved: a wait counts more than any number of launches, and a copy than bytes."""
        saves = self.saves
        return (saves.waits, saves.copies, saves.launches, saves.bytes) > (0, 0, 0, 0)


class Basis(enum.Enum):
    """What the measured time of a finding is the time of."""

    LINE = "line"
    """Its line."""
    CALLS = "calls"
    """The operators and calls that the smell shows as, in its function."""
    FUNCTION = "function"
    """Its whole function: an upper bound."""
    ELSEWHERE = "elsewhere"
    """Nothing: such a smell costs time elsewhere, in code that it compiles, slows down or keeps alive."""
    NEVER = "never"
    """Nothing: its function did not run, or its line did not although its function did."""
    UNSEEN = "unseen"
    """Nothing was seen of it, or what was seen may be of other code; that does not mean that it did not run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a profile says of a finding.

    Attributes:
        basis: what the time is the time of.
        share: of the profiled time, 0 to 1. us: the same in microseconds.
        calls: how many were counted; 0: samples cannot tell.
        pace: calls per ``unit``, which is ``step`` or ``update``, or empty where neither is known.
        alike: how many findings share the time: those of one rule in one function.
    """

    basis: Basis
    share: float = 0.0
    us: float = 0.0
    calls: int = 0
    pace: float = 0.0
    unit: str = ""
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding as plain data.

    Attributes:
        code, name: of the rule, e.g. ``TL101`` and ``legacy-tensor-constructor``.
        message: one line: the smell and the better form, without cost and path.
        level: how bad it is.
        path: of the file, relative to the project root, with ``/``.
        start, end: the code it is about; ``end`` is exclusive.
        rows: first and last row of its statement (of a compound statement: of the header), for suppressions.
        hot: how often it runs, and why.
        cost: as measured, where it was and something is gained.
        figures: the names of the rule's examples whose figures fit the code; an empty name stands for the first.
        events: as counted, where something is saved and the code may run on an accelerator.
        fix: text edits, where there are some. seen: a better fix, by what a run of the user's program showed, for users
            who do not take ``fix``; what is offered of a finding has one of them, as ``fix``.
        cuda_only: whether the gain exists on an accelerator only.
        fingerprint: stable under moved lines: from rule, path, normalised code and occurrence.
        measured: what a profile says of it, where one was given.
        flow: the statements by which its value comes to what uses it, where that is more than its own statement.
    """

    code: str
    name: str
    message: str
    level: Level
    path: str
    start: Position
    end: Position
    rows: tuple[int, int]
    hot: Hotness = field(default_factory=Hotness)
    cost: Cost | None = None
    fix: PlainFix | None = None
    cuda_only: bool = False
    fingerprint: str = ""
    measured: Measured | None = None
    figures: tuple[str, ...] = ("",)
    events: Counted | None = None
    seen: PlainFix | None = None
    flow: tuple[Hop, ...] = ()

    def with_hops(self, place: Callable[[Hop], Hop]) -> Finding:
        """Return the finding with every place of its hot path and its flow mapped to another."""
        hot = replace(self.hot, path=tuple(map(place, self.hot.path)))
        return replace(self, hot=hot, flow=tuple(map(place, self.flow)))

    @property
    def order(self) -> tuple[str, Position, str]:
        """The order of a listing: by path, place and code."""
        return self.path, self.start, self.code
