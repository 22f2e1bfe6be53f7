"""The format ``json``: a list of findings, in the shape that readers of Ruff's JSON know, plus cost and hot path."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from torchlint.report.context import Context
from torchlint.report.entries import group_of
from torchlint.rule import Cost, Edit, Finding, Hop, Hotness, Measured, PlainFix, Position


def render(context: Context) -> str:
    """Return a JSON array, one object a finding, in order. Rows and columns are 1-based code points, paths absolute."""
    return json.dumps([as_object(context, finding) for finding in context.findings], indent=2) + "\n"


def schema_text() -> str:
    """Return the JSON schema of the format."""
    from importlib.resources import files  # which a run has no need of

    return files("torchlint.report").joinpath("findings.schema.json").read_text(encoding="utf-8")


def as_object(context: Context, finding: Finding) -> dict[str, object]:
    """Return one finding as the object that stands for it."""
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": finding.level.value,
        "filename": context.absolute(finding.path),
        **({"cell": context.cells[finding.path][1]} if finding.path in context.cells else {}),
        "location": _place(finding.start),
        "end_location": _place(finding.end),
        # A comment at the end of a statement's last row is always possible; inside it a string may be in the way.
        "noqa_row": finding.rows[1],
        "url": context.page_of(finding) or None,
        "fingerprint": finding.fingerprint,
        "group": group_of(finding),
        "hot": _hot(context, finding.hot),
        "flow": [_hop(context, hop) for hop in finding.flow],
        "cost": _cost(finding),
        **({"measured": measure(finding.measured)} if finding.measured is not None else {}),
        "fix": None if finding.fix is None else _fix(context, finding.path, finding.fix),
    }


def _place(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}


def _hot(context: Context, hot: Hotness) -> dict[str, object]:
    hops = [_hop(context, hop) for hop in hot.path]
    return {"frequency": hot.frequency.name.lower(), "path": hops, "proven": hot.proven}


def _hop(context: Context, hop: Hop) -> dict[str, object]:
    return {"filename": context.absolute(hop.path), "row": hop.row, "name": hop.name}


def _cost(finding: Finding) -> dict[str, object] | None:
    """The measured time and the counted events; ``None``: neither is known."""
    events = finding.events
    counted = {"events": {**asdict(events.saves), "size": events.size, "unit": events.unit}} if events else {}
    time = None if finding.cost is None else _time(finding.cost)
    return {**(time or {}), **counted} if time or counted else None


def _time(cost: Cost) -> dict[str, object]:
    several = {"most_us": cost.most_us, "most_size": cost.most_size} if cost.most_us else {}
    several |= {"smaller_measured": False} if cost.open else {}
    return {
        "saves_us": cost.saves_us,
        "ratio": cost.ratio,
        "low": cost.low,
        "high": cost.high,
        "size": cost.size,
        "unit": cost.unit or "all",
        **several,
        "device": cost.device,
        "source": cost.source,
    }


def measure(found: Measured) -> dict[str, object]:
    """Return what a profile says of a finding: its share of the time (0 to 1), and calls where they were counted."""
    return {
        "basis": found.basis.value,
        "share": found.share,
        "us": found.us,
        "calls": found.calls or None,
        "calls_per_unit": found.pace or None,
        "unit": found.unit or None,
        "alike": found.alike,
    }


def _fix(context: Context, path: str, fix: PlainFix) -> dict[str, object]:
    return {
        "applicability": fix.applicability.value,
        "may_change": [change.value for change in fix.may_change],
        "assumes": fix.assumes,
        "message": fix.message,
        "edits": _edits(context, path, fix.edits),
        **({"in_files": _in_files(context, fix)} if fix.in_files else {}),
    }


def _in_files(context: Context, fix: PlainFix) -> list[dict[str, object]]:
    return [{"filename": context.absolute(name), "edits": _edits(context, name, edits)} for name, edits in fix.in_files]


def _edits(context: Context, path: str, edits: Sequence[Edit]) -> list[dict[str, object]]:
    return [_edit(context, path, edit) for edit in sorted(edits)]


def _edit(context: Context, path: str, edit: Edit) -> dict[str, object]:
    table = context.tables[path]
    return {
        "content": edit.text,
        "location": _place(table.position(edit.start)),
        "end_location": _place(table.position(edit.end)),
    }
