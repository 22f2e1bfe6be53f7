"""What was tried and found, as data, and its JSON."""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from torchlint.engine.result import Problem
from torchlint.late import dataclass
from torchlint.report.escape import encodable
from torchlint.rule import Finding, Position
from torchlint.verify.metric import Gain

SCHEMA = 1


class Status(enum.Enum):
    """What became of a fix."""

    KEPT = "kept"
    REJECTED = "rejected"
    """The command fails with it."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A fix, and what became of it.

    Attributes:
        finding: what the fix is for. place: where that stands in the text before all fixes, if it stood there.
        status: what became of it.
        reason: how the command ended with it, where it was rejected. output: the end of what it printed then.
        against: the numbers, from 1, of kept fixes with which it fails though it passes alone.
    """

    finding: Finding
    place: Position
    status: Status
    reason: str = ""
    output: str = ""
    against: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """What a run found out.

    Attributes:
        fixes: in the order of files and places.
        command: what was run. runs: how often. seconds: how long it ran without fixes.
        gain: the metric with the kept fixes and without; ``None``: not measured.
        remarks: what else the user must know, a sentence each.
    """

    fixes: tuple[Tried, ...]
    command: tuple[str, ...]
    runs: int = 0
    seconds: float = 0.0
    gain: Gain | None = None
    remarks: tuple[str, ...] = ()

    def count(self, status: Status) -> int:
        """How many fixes this became of."""
        return sum(fix.status is status for fix in self.fixes)


def as_json(verified: Verified, root: Path, written: Sequence[str], problems: Sequence[Problem], diff: str) -> str:
    """One JSON object; ``written`` are the files that were, ``diff`` is what the kept fixes change."""
    gain = verified.gain
    told = {
        "schema": SCHEMA,
        "command": verified.command,
        "runs": verified.runs,
        "seconds": verified.seconds,
        "fixes": [_fix(number, fix, root) for number, fix in enumerate(verified.fixes, 1)],
        "metric": {**asdict(gain), "verdict": gain.verdict.value} if gain is not None else None,
        "remarks": verified.remarks,
        "written": [(root / name).as_posix() for name in written],
        "problems": [{"filename": problem.path, "message": problem.message} for problem in problems],
        "diff": diff,
    }
    return encodable(json.dumps(told, indent=2, ensure_ascii=False)) + "\n"


def _fix(number: int, fix: Tried, root: Path) -> dict[str, object]:
    finding = fix.finding
    return {
        "number": number,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": (root / finding.path).as_posix(),
        "location": {"row": fix.place.row, "column": fix.place.column},
        "status": fix.status.value,
        "reason": fix.reason or None,
        "output": fix.output or None,
        "against": fix.against,
    }
