"""The format ``gitlab``: a Code Quality report, for the widget of a merge request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from torchlint.report.context import Context
from torchlint.report.escape import encodable
from torchlint.report.words import with_reasons
from torchlint.rule import Finding, Level

_SEVERITIES = {Level.ERROR: "critical", Level.WARNING: "major", Level.NOTE: "minor"}


def render(context: Context) -> str:
    """Return a JSON array of issues. The fingerprints are unique, and stay when lines move."""
    return json.dumps(list(_issues(context)), indent=2) + "\n"


def _issues(context: Context) -> Iterator[dict[str, object]]:
    seen: Counter[str] = Counter()
    for finding in context.findings:
        seen[finding.fingerprint] += 1
        count = seen[finding.fingerprint]
        fingerprint = finding.fingerprint if count == 1 else f"{finding.fingerprint}-{count}"
        yield _issue(context, finding, fingerprint)


def _issue(context: Context, finding: Finding, fingerprint: str) -> dict[str, object]:
    return {
        # GitLab shows no check_name, so the code is in the description, too.
        "description": encodable(f"{finding.code}: {with_reasons(finding)}"),
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.level],
        "location": {
            "path": encodable(context.in_repository(finding.path)),
            "positions": {
                "begin": {"line": finding.start.row, "column": finding.start.column},
                "end": {"line": finding.end.row, "column": finding.end.column},
            },
        },
    }
