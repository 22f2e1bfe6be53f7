"""Join the counts of lines to the findings on them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from torchlint.count.result import CountedLine, CountedRun, Status
from torchlint.count.run import Tally
from torchlint.device.events import Events
from torchlint.rule import Finding


def rows_without_finding(tally: Tally, root: Path, findings: Sequence[Finding]) -> dict[str, list[int]]:
    """Return the rows, by the name of the file, that wait and on which there is no finding."""
    found: dict[str, list[int]] = {}
    for line in joined(tally, root, findings, {}).lines:
        if line.events.waits and not line.findings:
            found.setdefault(line.path, []).append(line.row)
    return found


def joined(tally: Tally, root: Path, findings: Sequence[Finding], needed: Mapping[tuple[str, int], str]) -> CountedRun:
    """Return the run with a status for each line; ``needed`` says why the wait of a line (path, row) must be."""
    base = os.path.realpath(root)
    elsewhere = Events()
    lines = []
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    for (absolute, row), events in sorted(tally.lines.items()):
        if not absolute:
            elsewhere.add(events)
            continue
        path = Path(os.path.relpath(absolute, base)).as_posix()
        on_line = tuple(each for each in by_path.get(path, ()) if _covers(each, row))
        why = needed.get((path, row), "")
        waiting = dict(tally.waiting[absolute, row])
        lines.append(CountedLine(path, row, events, waiting, _status(on_line, why), on_line, why))
    return CountedRun(lines, elsewhere, tally.steps, tally.updates, tally.seconds, tally.torch, tally.processes)


def _covers(finding: Finding, row: int) -> bool:
    """Whether a finding is about a row."""
    return min(finding.start.row, finding.rows[0]) <= row <= max(finding.end.row, finding.rows[1])


def _status(findings: Sequence[Finding], why: str) -> Status:
    if any(finding.fix is not None for finding in findings):
        return Status.FIXABLE
    if findings:
        return Status.REPORTED
    return Status.NEEDED if why else Status.UNCOVERED
