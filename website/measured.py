"""What was measured, read from ``docs/benchmarks``: one file for each machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """One example of a rule on one machine.

    ``before_us`` and ``after_us`` are microseconds of one call, ``low`` and ``high`` the 10th and 90th percentile of
    ``ratio``. ``by_hand``: the rule has no fix, and the program after was written by hand.
    """

    code: str
    example: str
    size: str
    device: str
    machine: str
    by_hand: bool
    before_us: float
    after_us: float
    ratio: float
    low: float
    high: float

    @property
    def gains(self) -> bool:
        """Whether the program after is faster beyond noise."""
        return self.low > 1.05


def measurements(folder: Path) -> tuple[Measured, ...]:
    """Return all examples that were timed, by code, machine by machine; other files in the folder are left alone."""
    found: list[Measured] = []
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "rows" in document:
            found.extend(_rows(document))
    return tuple(sorted(found, key=lambda row: row.code))


def _rows(document: dict[str, object]) -> list[Measured]:
    machine, rows = document["machine"], document["rows"]
    assert isinstance(machine, dict)
    assert isinstance(rows, list)
    words = f"{machine['processor']}, Python {machine['python']}, torch {machine['torch']}"
    return [
        Measured(
            row["code"],
            row["example"],
            row["size"],
            row["device"],
            words,
            row["by_hand"],
            *(row["figure"][name] for name in ("before_us", "after_us", "ratio", "low", "high")),
        )
        for row in rows
        if row["status"] == "measured" and row["figure"]
    ]
