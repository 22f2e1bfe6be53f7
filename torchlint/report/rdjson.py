"""The format ``rdjson``: reviewdog's diagnostics, with suggestions that a reviewer takes with a click."""

from __future__ import annotations

import json

from torchlint.report.change import one_edit
from torchlint.report.columns import utf8_column
from torchlint.report.context import Context
from torchlint.report.escape import encodable
from torchlint.report.words import with_reasons
from torchlint.rule import Finding, Level, Position

_SEVERITIES = {Level.ERROR: "ERROR", Level.WARNING: "WARNING", Level.NOTE: "INFO"}


def render(context: Context) -> str:
    """Return one JSON object with all findings. Columns are 1-based and count bytes of UTF-8."""
    diagnostics = [_diagnostic(context, finding) for finding in context.findings]
    report = {"source": {"name": "torchlint"}, "severity": "WARNING", "diagnostics": diagnostics}
    return json.dumps(report, indent=2) + "\n"


def _diagnostic(context: Context, finding: Finding) -> dict[str, object]:
    diagnostic: dict[str, object] = {
        "message": encodable(with_reasons(finding)),
        "location": {
            "path": encodable(context.in_repository(finding.path)),
            "range": _range(context, finding.path, finding.start, finding.end),
        },
        "severity": _SEVERITIES[finding.level],
        "code": {"value": finding.code, **({"url": page} if (page := context.page_of(finding)) else {})},
    }
    suggestion = _suggestion(context, finding)
    return diagnostic if suggestion is None else {**diagnostic, "suggestions": [suggestion]}


def _suggestion(context: Context, finding: Finding) -> dict[str, object] | None:
    """A fix that ``--fix`` would apply. Suggestions are alternatives, so one has to hold all of it, in one file."""
    if finding.fix is None or finding.fix.in_files or not context.takes(finding):
        return None
    table, source = context.tables[finding.path], context.sources[finding.path]
    edit = one_edit(source.utf8, table, finding.fix.edits)
    if edit is None:
        return None
    start, end = table.position(edit.start), table.position(edit.end)
    return {"range": _range(context, finding.path, start, end), "text": edit.text}


def _range(context: Context, path: str, start: Position, end: Position) -> dict[str, object]:
    return {"start": _place(context, path, start), "end": _place(context, path, end)}


def _place(context: Context, path: str, position: Position) -> dict[str, int]:
    return {"line": position.row, "column": utf8_column(context, path, position)}
