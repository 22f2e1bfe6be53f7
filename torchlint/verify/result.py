"""What was tried and found, as data, and its JSON."""

from __future__ import annotations

import enum
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from torchlint.engine.result import Problem
from torchlint.late import dataclass
from torchlint.report.escape import encodable
from torchlint.rule import Finding, PlainFix, Position
from torchlint.verify.metric import Fall, Gain

SCHEMA = 1


class Status(enum.Enum):
    """What became of a fix."""

    KEPT = "kept"
    REJECTED = "rejected"
    """The command fails with it."""
    IDLE = "spares nothing"
    """The events that were to be counted do not become fewer with it."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A fix, and what became of it.

    Attributes:
        finding: what the fix is for. place: where that is in the text before all fixes, if it stood there.
        status: what became of it.
        reason: how the command ended with it, where it was rejected, or what was counted, where it spares nothing.
        output: the end of what the command printed then.
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
        gain: the metric with the kept fixes and without; ``None``: it is not measured.
        fall: the events with the kept fixes and without; ``None``: they are not counted.
        remarks: what else the user must know, a sentence each.
        waiting: where there was nothing to try, the fixes that ``--unsafe-fixes`` or ``--accept`` would bring.
    """

    fixes: tuple[Tried, ...]
    command: tuple[str, ...]
    runs: int = 0
    seconds: float = 0.0
    gain: Gain | None = None
    remarks: tuple[str, ...] = ()
    waiting: tuple[PlainFix, ...] = ()
    fall: Fall | None = None

    def count(self, status: Status) -> int:
        """Return how many fixes ended this way."""
        return sum(fix.status is status for fix in self.fixes)

    def acceptable(self) -> Mapping[str, int]:
        """Return what ``--accept`` would have to name for some of the waiting fixes, and for how many."""
        ways = (",".join(sorted(change.value for change in fix.may_change)) for fix in self.waiting if not fix.assumes)
        return dict(sorted(Counter(ways).items()))


def as_json(verified: Verified, root: Path, written: Sequence[str], problems: Sequence[Problem], diff: str) -> str:
    """Return one JSON object; ``written`` are the files that were, ``diff`` is what the kept fixes change."""
    gain = verified.gain
    told = {
        "schema": SCHEMA,
        "command": verified.command,
        "runs": verified.runs,
        "seconds": verified.seconds,
        "fixes": [_fix(number, fix, root) for number, fix in enumerate(verified.fixes, 1)],
        "metric": {**asdict(gain), "verdict": gain.verdict.value} if gain is not None else None,
        "count": asdict(verified.fall) if verified.fall is not None else None,
        "remarks": verified.remarks,
        "waiting": {"unsafe_fixes": len(verified.waiting), "accept": verified.acceptable()},
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
