"""What a run found, kept to compare a later run with (``--save``, ``--compare``), and as a badge (``--badge``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from torchlint.late import dataclass
from torchlint.report.entries import group_of
from torchlint.report.total import total
from torchlint.report.words import title_and_cure
from torchlint.rule import Finding, Level

VERSION = 1
"""Of the file: raised when a field goes away or changes its meaning."""
_STRINGS = ("path", "code", "fingerprint", "severity", "title")
_COLORS = ((Level.ERROR, "red"), (Level.WARNING, "orange"), (Level.NOTE, "yellow"))
_CLEAN = "brightgreen"


class StateError(Exception):
    """The text is not state of a run; the message says why."""


@dataclass(frozen=True, slots=True)
class SavedFinding:
    """A finding of an earlier run: its file relative to the project root, where it was, and what it said."""

    path: str
    row: int
    code: str
    severity: str
    title: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A run beside an earlier one: ``gone`` is what it found no longer, ``same`` how many it found again.

    ``name`` is that of the file which holds the earlier run.
    """

    name: str
    same: int
    gone: tuple[SavedFinding, ...]


def to_text(findings: Iterable[Finding], version: str) -> str:
    """Return the state of a run as JSON, sorted by path and place, a finding a line so that a diff can be read."""
    found = sorted(findings, key=lambda finding: finding.order)
    rows = ",".join(f"\n    {json.dumps(_row(finding))}" for finding in found)
    told = json.dumps(total(found))
    return (
        f'{{\n  "version": {VERSION},\n  "torchlint": {json.dumps(version)},\n  "cost": {told},\n'
        f'  "findings": [{rows}{chr(10) + "  " if rows else ""}]\n}}\n'
    )


def _row(finding: Finding) -> dict[str, object]:
    saves = finding.events.saves if finding.events is not None else None
    return {
        "path": finding.path,
        "row": finding.start.row,
        "code": finding.code,
        "severity": finding.level.value,
        "title": title_and_cure(finding.message)[0],
        "fingerprint": finding.fingerprint,
        "group": group_of(finding),
        "frequency": finding.hot.frequency.name.lower(),
        "fix": None if finding.fix is None else finding.fix.applicability.value,
        "saves_us": None if finding.cost is None else finding.cost.saves_us,
        "waits": None if saves is None else saves.waits,
        "launches": None if saves is None else saves.launches,
    }


def read(text: str) -> tuple[SavedFinding, ...]:
    """Return the findings of a state.

    Raises:
        StateError: the text holds something else.
    """
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StateError("not JSON") from error
    if not isinstance(state, dict) or not isinstance(state.get("findings"), list):
        raise StateError("not what --save writes")
    if state.get("version") != VERSION:
        raise StateError(f"written by another version: {state.get('version')!r}, not {VERSION}")
    return tuple(map(_kept, state["findings"]))


def _kept(row: object) -> SavedFinding:
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in _STRINGS):
        raise StateError(f"a finding holds the strings {', '.join(_STRINGS)}")
    if not isinstance(row.get("row"), int) or isinstance(row["row"], bool):
        raise StateError("a finding holds the number row")
    return SavedFinding(row["path"], row["row"], row["code"], row["severity"], row["title"], row["fingerprint"])


def compare(
    findings: Iterable[Finding], before: Iterable[SavedFinding], looked_at: Callable[[str], bool], name: str
) -> tuple[list[Finding], Compared]:
    """Return the findings that an earlier run did not have, and what became of its own.

    ``looked_at`` says whether this run would have found something in a file.
    """
    known = {_key(kept): kept for kept in before}
    found = list(findings)
    now = {_key(finding) for finding in found}
    new = [finding for finding in found if _key(finding) not in known]
    gone = tuple(kept for key, kept in known.items() if key not in now and looked_at(kept.path))
    return new, Compared(name, len(found) - len(new), gone)


def _key(finding: Finding | SavedFinding) -> tuple[str, str, str]:
    return finding.path, finding.code, finding.fingerprint


def badge(findings: Iterable[Finding]) -> str:
    """Return the text of a badge that shields.io draws (the schema of its endpoint badge)."""
    found = list(findings)
    levels = {finding.level for finding in found}
    color = next((color for level, color in _COLORS if level in levels), _CLEAN)
    message = f"{len(found)} finding{'' if len(found) == 1 else 's'}" if found else "nothing slow"
    told: Mapping[str, object] = {"schemaVersion": 1, "label": "torchlint", "message": message, "color": color}
    return json.dumps(told, indent=2) + "\n"
