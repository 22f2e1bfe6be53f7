"""Join the counts of lines to the findings on them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from torchlint.count.result import CountedLine, CountedRun, LineStatus
from torchlint.count.run import Tally
from torchlint.count.waits import is_about_waits, kinds_of
from torchlint.device.events import Events
from torchlint.rule import Finding


def rows_without_finding(tally: Tally, root: Path, findings: Sequence[Finding]) -> dict[str, dict[int, bool]]:
    """Return the rows, by the name of the file, that wait and have no finding about it; whether they only send data."""
    found: dict[str, dict[int, bool]] = {}
    for line in joined(tally, root, findings, {}).lines:
        events = line.events
        if events.waits and not line.findings:
            found.setdefault(line.path, {})[line.row] = events.waits == events.copies_in and not events.copies_out
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
        waits = bool(events.waits)
        on_line = tuple(
            each for each in by_path.get(path, ()) if covers(each, row) and (not waits or is_about_waits(each.code))
        )
        waiting = dict(tally.waiting[absolute, row])
        status, why = _status(on_line, waiting, needed.get((path, row), ""))
        libraries = dict(tally.libraries.get((absolute, row), ()))
        lines.append(CountedLine(path, row, events, waiting, status, on_line, why, libraries))
    return CountedRun(lines, elsewhere, tally.steps, tally.updates, tally.seconds, tally.torch, tally.processes)


def excused(run: CountedRun) -> CountedRun:
    """Return the run with those waits told apart that no rule should report: seldom ones, and those of libraries.

    A line waits seldom that waits less than once for each environment step and for each update.
    """
    times = min((number for number in (run.steps, run.updates) if number), default=0)
    return replace(run, lines=[_excused(line, times) for line in run.lines])


def _excused(line: CountedLine, times: int) -> CountedLine:
    if line.status not in (LineStatus.MISSED, LineStatus.UNCOVERED) or not line.events.waits:
        return line
    if sum(line.libraries.values()) == line.events.waits:
        return replace(line, status=LineStatus.LIBRARY, why=", ".join(sorted(line.libraries)))
    return replace(line, status=LineStatus.SELDOM, why="") if line.events.waits < times else line


def covers(finding: Finding, row: int) -> bool:
    """Return whether a finding is about a row."""
    return min(finding.start.row, finding.rows[0]) <= row <= max(finding.end.row, finding.rows[1])


def _status(findings: Sequence[Finding], waiting: Mapping[str, int], why: str) -> tuple[LineStatus, str]:
    """Return the status of a line, with the reason of a needed wait, or the kinds of a missed one."""
    if any(finding.fix is not None for finding in findings):
        return LineStatus.FIXABLE, why
    if findings:
        return LineStatus.REPORTED, why
    if why:
        return LineStatus.NEEDED, why
    kinds = kinds_of(waiting)
    return (LineStatus.MISSED, ", ".join(kind.what for kind in kinds)) if kinds else (LineStatus.UNCOVERED, "")
