"""What a run of the engine gives back: plain data for the command line and the output formats."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchlint.rule import Finding
from torchlint.sources.text import Source


class NoCodeError(Exception):
    """There is nothing on a line that could run; the message says why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept a file from being linted, or a crash inside torchlint (``internal``). Exit code 2."""

    path: str
    message: str
    internal: bool = False


@dataclass(frozen=True, slots=True)
class FixedFile:
    """What the fixes made of a file: both texts, and the findings whose fixes were applied."""

    before: Source
    after: Source
    applied: tuple[Finding, ...]


@dataclass(slots=True)
class Result:
    """Findings that remain (sorted by path and place), the sources they point into, and what was fixed.

    ``files`` counts the files that were looked at; ``sources`` maps names to the texts that positions refer to.
    ``unpaired`` counts candidate statements whose two trees could not be brought together, so no rule saw them.
    """

    findings: list[Finding] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    fixed: dict[str, FixedFile] = field(default_factory=dict)
    files: int = 0
    unpaired: int = 0
