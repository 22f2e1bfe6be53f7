"""The format ``lintrunner``: messages of an adapter for PyTorch's own lint runner, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from torchlint.report.context import Context
from torchlint.report.escape import encodable
from torchlint.report.words import with_reasons
from torchlint.rule import Edit, Finding, Level
from torchlint.sources.edits import apply_edits, choose_in_files

_SEVERITIES = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "advice"}


def render(context: Context) -> str:
    """Return one message for each finding, and one for each file that ``--fix`` would change, with both of its texts.

    The runner writes whole files, so the fixes of a file come together or would undo each other.
    """
    lines = [_message(context, finding) for finding in context.findings]
    found = [finding for finding in context.findings if context.takes(finding)]
    edits = [finding.fix.by_file(finding.path) if finding.fix is not None else {} for finding in found]
    chosen = [edits[index] for index in choose_in_files(edits)]
    lines += [_replacement(context, path, chosen) for path in sorted({path for files in chosen for path in files})]
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


def _replacement(context: Context, path: str, chosen: Sequence[Mapping[str, Sequence[Edit]]]) -> dict[str, object]:
    here = [files[path] for files in chosen if path in files]
    before = context.sources[path]
    after = apply_edits(before, [edit for edits in here for edit in edits])
    whole = max(len(here), sum(finding.path == path for finding in context.findings))
    return {
        "path": _path(context, path),
        "line": None,
        "char": None,
        "code": "TORCHLINT",
        "severity": "advice",
        "name": "fixes",
        "original": before.text,
        "replacement": after.text,
        "description": f"torchlint check --fix: {len(here)} of {whole} findings",
    }


def _path(context: Context, name: str) -> str:
    return encodable(context.in_repository(name))
