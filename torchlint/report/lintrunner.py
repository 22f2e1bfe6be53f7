"""The format ``lintrunner``: messages of an adapter for PyTorch's own lint runner, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from torchlint.report.context import Context
from torchlint.report.escape import encodable
from torchlint.report.words import with_reasons
from torchlint.rule import Finding, Level
from torchlint.sources.edits import apply_edits, choose_edits

_SEVERITIES = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "advice"}


def render(context: Context) -> str:
    """One message for each finding, and one for each file that ``--fix`` would change, with both of its texts.

    The runner writes whole files, so the fixes of a file come together or would undo each other.
    """
    lines = [_message(context, finding) for finding in context.findings]
    for path, findings in groupby(context.findings, key=lambda finding: finding.path):
        lines += _replacements(context, path, list(findings))
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def _message(context: Context, finding: Finding) -> dict[str, object]:
    return {
        "path": _path(context, finding.path),
        "line": finding.start.row,
        "char": finding.start.column,
        "code": finding.code,
        "severity": _SEVERITIES[finding.level],
        "name": finding.name,
        "original": None,
        "replacement": None,
        "description": encodable(with_reasons(finding)),
    }


def _replacements(context: Context, path: str, findings: list[Finding]) -> Iterator[dict[str, object]]:
    fixes = [finding.fix for finding in findings if finding.fix is not None and context.takes(finding)]
    chosen = [fixes[index] for index in choose_edits([fix.edits for fix in fixes])]
    if not chosen:
        return
    before = context.sources[path]
    after = apply_edits(before, [edit for fix in chosen for edit in fix.edits])
    yield {
        "path": _path(context, path),
        "line": None,
        "char": None,
        "code": "TORCHLINT",
        "severity": "advice",
        "name": "fixes",
        "original": before.text,
        "replacement": after.text,
        "description": f"torchlint check --fix: {len(chosen)} of {len(findings)} findings",
    }


def _path(context: Context, name: str) -> str:
    return encodable(context.in_repository(name))
