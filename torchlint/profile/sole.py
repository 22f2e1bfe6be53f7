"""A trace without stacks: which operators can only be those of one place in the project, and which may be anyone's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from torchlint.late import dataclass, regex
from torchlint.profile.model import Profile
from torchlint.profile.smells import smell_of
from torchlint.rule import Finding
from torchlint.sources.decode import UndecodableError, read_source

_WORD = regex(r"\w+")
_ATEN = "aten::"
TELLING = frozenset(
    _ATEN + name
    for name in ("allclose", "any", "arange", "equal", "isinf", "isnan", "linspace", "repeat", "repeat_interleave")
)
"""Operators that run where code names them, and nowhere else: no syntax means them, and neither optimizers nor layers,
distributions or loaders of torch run them by themselves."""


def mentions(files: Sequence[Path]) -> Mapping[str, int]:
    """Return for each operator of ``TELLING`` how many lines of some files name it; unreadable files name none."""
    found = dict.fromkeys(TELLING, 0)
    for path in files:
        try:
            text = read_source(path, path.name).text
        except (OSError, UndecodableError):
            continue
        for line in text.splitlines():
            for name in named(line):
                found[name] += 1
    return found


def named(line: str) -> frozenset[str]:
    """Return the operators of ``TELLING`` that a line names."""
    return TELLING & {_ATEN + word.lower() for word in _WORD.findall(line)}


@dataclass(frozen=True, slots=True)
class Shared:
    """An operator that findings show as, and that other code may have run as well: its cost is no one's.

    ``us`` and ``calls`` are those of all its calls; ``findings`` are those that it may belong to.
    """

    name: str
    us: float
    calls: int
    findings: tuple[Finding, ...]


@dataclass(eq=False, slots=True)
class Unplaced:
    """Operators of a trace without stacks, beside the lines of findings; ``mentions`` are those of all the project."""

    profile: Profile
    mentions: Mapping[str, int]
    _ran: dict[str, tuple[float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.profile.operators:
            if not each.within:
                us, calls = self._ran.get(each.name, (0.0, 0))
                self._ran[each.name] = us + each.total_us, calls + each.calls

    def sole(self, code: str, lines: Sequence[str]) -> dict[str, tuple[float, int]]:
        """Return time in microseconds and calls of the operators that only the lines of one group name."""
        wanted = smell_of(code).operators & TELLING
        here = [named(line) for line in lines]
        return {
            name: self._ran[name]
            for name in sorted(wanted)
            if name in self._ran and 0 < sum(name in each for each in here) == self.mentions.get(name, 0)
        }

    def shared(self, findings: Sequence[tuple[Finding, Sequence[str]]], placed: frozenset[str]) -> list[Shared]:
        """Return the other operators that findings with these lines may have run, the costliest first."""
        takers: dict[str, list[Finding]] = {}
        for finding, lines in findings:
            for name in smell_of(finding.code).within(lines).operators - placed:
                if name in self._ran:
                    takers.setdefault(name, []).append(finding)
        found = [Shared(name, *self._ran[name], tuple(alike)) for name, alike in takers.items()]
        return sorted(found, key=lambda each: (-each.us, each.name))
