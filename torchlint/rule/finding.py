"""Findings, fixes and edits: the plain data that everything after the rules works on."""

from __future__ import annotations

import enum
from dataclasses import field

from torchlint.late import dataclass
from torchlint.rule.frequency import Hotness


class Level(enum.Enum):
    """How bad a finding is. Syntax errors are errors; rules are warnings or notes."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    def at_least(self, other: Level) -> bool:
        """Whether this level is as bad as another or worse."""
        order = list(Level)
        return order.index(self) >= order.index(other)


class Change(enum.Enum):
    """What a fix may change besides the time. A fix that may change nothing is safe."""

    ROUNDING = "rounding"
    NONFINITE = "nonfinite"
    RNG = "rng"
    VALIDATION = "validation"
    ALIASING = "aliasing"
    ORDER = "order"
    UPDATES = "updates"
    MEMORY = "memory"


class Applicability(enum.Enum):
    """Whether a fix is applied by ``--fix`` alone, only when the user accepts what it may change, or never."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


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
    """

    message: str
    edits: tuple[Edit, ...]
    may_change: tuple[Change, ...] = ()
    assumes: str = ""
    loses_comment: bool = False
    removes: str = ""

    @property
    def applicability(self) -> Applicability:
        """Safe, unsafe (needs ``--accept`` or ``--unsafe-fixes``), or only for display (it would lose a comment)."""
        if self.loses_comment:
            return Applicability.DISPLAY
        return Applicability.UNSAFE if self.may_change or self.assumes else Applicability.SAFE

    def accepted(self, unsafe_fixes: bool, accept: frozenset[Change]) -> bool:
        """Whether ``--fix`` applies it for a user who takes unsafe fixes, or who accepts no more than these changes."""
        if self.applicability is Applicability.UNSAFE:
            return unsafe_fixes or (not self.assumes and accept.issuperset(self.may_change))
        return self.applicability is Applicability.SAFE


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file: 1-based row, 1-based column in code points."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What a smell costs as measured: microseconds saved by the better form and the ratio of the two times.

    ``low`` and ``high`` are the 10th and 90th percentile of the ratio; ``size`` names the workload, ``device`` where
    it was measured, ``source`` whose figures these are (``bundled`` or ``local``).
    """

    saves_us: float
    ratio: float
    low: float
    high: float
    size: str
    device: str = "cpu"
    source: str = "bundled"


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
    GUESS = "guess"
    """Such operators wherever they ran, for where is not known."""
    NEVER = "never"
    """Nothing: its function did not run, or its line did not although its function did."""
    UNSEEN = "unseen"
    """Nothing was seen of it, which does not mean that it did not run."""


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
        cost: as measured, where it was.
        fix: text edits, where there are some.
        cuda_only: whether the gain exists on an accelerator only.
        fingerprint: stable under moved lines: from rule, path, normalised code and occurrence.
        measured: what a profile says of it, where one was given.
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

    @property
    def order(self) -> tuple[str, Position, str]:
        """The order of a listing: by path, place and code."""
        return self.path, self.start, self.code
