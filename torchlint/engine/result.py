"""What a run of the engine gives back: plain data for the command line and the output formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.rule import Finding, PlainFix
    from torchlint.sources.baseline import BaselineEntry
    from torchlint.sources.text import Source

    Accepts = Callable[[PlainFix], bool]
    """Whether ``--fix`` applies a fix."""


class NoCodeError(Exception):
    """There is nothing on a line that could run; the message says why."""


class UnusableError(Exception):
    """Something that a run cannot do without is not there, or cannot be read; the message says what in one line."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept a file from being linted, or a crash inside torchlint (``internal``). Exit code 2.

    Attributes:
        path: the file. message: what happened, in one line.
        code: of the rule that crashed. fixing: whether it happened while fixes were applied.
        trace: where in torchlint, as Python tells it.
    """

    path: str
    message: str
    internal: bool = False
    code: str = ""
    fixing: bool = False
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was asked for and not looked at, which is not a fault of anyone: why, in one line."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class FixedFile:
    """What the fixes made of a file: both texts, and the findings whose fixes were applied."""

    before: Source
    after: Source
    applied: tuple[Finding, ...]


@dataclass(slots=True)
class Result:
    """Findings that remain (sorted by path and place), the sources they point into, and what was fixed.

    Attributes:
        sources: by name, the texts that positions refer to.
        fixed: by name, the files that were changed.
        files: how many files were looked at. context: how many were read only for what they say of those.
        unpaired: how many candidate statements no rule saw, because their two trees could not be brought together.
        names: the files that would be linted, of a run that only lists them.
        stale: the entries of the baseline for files looked at, or gone, that fit no finding.
        outdated: how many observations are about no expression that there is, and how many observations there are.
        accepts: by name, which fixes are taken.
        skipped: files that are too large or too deep to be followed.
        plugins: the rule packages, besides the built-in one, of whose rules there may be findings.
    """

    findings: list[Finding] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    fixed: dict[str, FixedFile] = field(default_factory=dict)
    files: int = 0
    unpaired: int = 0
    context: int = 0
    names: tuple[str, ...] = ()
    stale: tuple[BaselineEntry, ...] = ()
    outdated: tuple[int, int] = (0, 0)
    accepts: dict[str, Accepts] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    plugins: tuple[str, ...] = ()
