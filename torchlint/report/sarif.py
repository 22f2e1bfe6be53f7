"""The format ``sarif`` (2.1.0), for code scanning services."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from torchlint.report.columns import utf16_column
from torchlint.report.context import Context
from torchlint.report.escape import encodable
from torchlint.report.rank import worst_first
from torchlint.report.words import with_reasons
from torchlint.rule import Edit, Finding, Hop, PlainFix, Position

if TYPE_CHECKING:
    from torchlint.rule import Rule

_ROOT = "%SRCROOT%"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# GitHub takes this many results of a run and refuses a file with more.
_RESULTS = 25_000


def render(context: Context) -> str:
    """Return a log with one run. Columns are 1-based UTF-16 code units, paths relative to the repository."""
    found = worst_first(context.findings)[:_RESULTS]
    codes = sorted({finding.code for finding in found})
    names = {finding.code: finding for finding in found}
    driver = {
        "name": "torchlint",
        "semanticVersion": context.version,
        "rules": [_rule(names[code], context.rules.get(code), context.page_of(names[code])) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(context)],
        "results": [_result(context, finding, codes.index(finding.code)) for finding in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _invocation(context: Context) -> dict[str, object]:
    notifications = [
        {"level": "error", "message": {"text": encodable(f"{problem.path}: {problem.message}")}}
        for problem in context.problems
    ]
    return {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}


def _rule(finding: Finding, rule: type[Rule] | None, page: str) -> dict[str, object]:
    """What a finding's rule is; a syntax error belongs to none."""
    level = finding.level if rule is None else rule.level
    described: dict[str, object] = {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": "a file does not parse" if rule is None else rule.summary},
        "defaultConfiguration": {"level": level.value},
        **({"helpUri": page} if page else {}),
        "properties": {"tags": ["performance", "pytorch"], "problem.severity": _severity(level.value)},
    }
    if rule is None:
        return described
    from torchlint.report.explain import as_markdown, explain

    explanation = explain(rule, ())
    text = as_markdown([explanation]).partition("\n")[2].strip()
    return {
        **described,
        "fullDescription": {"text": explanation.introduction.replace("`", "")},
        "help": {"text": text, "markdown": text},
    }


def _severity(level: str) -> str:
    """GitHub's word for a level."""
    return "recommendation" if level == "note" else level


def _result(context: Context, finding: Finding, index: int) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.level.value,
        "message": {"text": encodable(with_reasons(finding))},
        "locations": [_location(context, finding.path, _region(context, finding.path, finding.start, finding.end))],
        "partialFingerprints": {"primaryLocationLineHash": finding.fingerprint},
    }
    flows = [_hot_path(context, finding), *([_steps(context, finding.flow)] if finding.flow else [])]
    if told := [flow for flow in flows if flow]:
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]} for flow in told]
    if finding.fix is not None and finding.path in context.tables:
        result["fixes"] = [_fix(context, finding.path, finding.fix)]
    return result


def _hot_path(context: Context, finding: Finding) -> list[dict[str, object]]:
    """How the line comes to run as often as it does: the calls from the loop down, and the line itself."""
    end = Hop(finding.path, finding.start.row, finding.name)
    return _steps(context, (*finding.hot.path, end)) if finding.hot.path else []


def _steps(context: Context, hops: Sequence[Hop]) -> list[dict[str, object]]:
    return [
        {
            "location": {
                **_location(context, hop.path, {"startLine": hop.row}),
                "message": {"text": encodable(hop.name)},
            }
        }
        for hop in hops
    ]


def _location(context: Context, path: str, region: dict[str, int]) -> dict[str, object]:
    return {"physicalLocation": {"artifactLocation": _artifact(context, path), "region": region}}


def _artifact(context: Context, path: str) -> dict[str, str]:
    return {"uri": quote(os.fsencode(context.in_repository(path))), "uriBaseId": _ROOT}


def _region(context: Context, path: str, start: Position, end: Position) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": utf16_column(context, path, start),
        "endLine": end.row,
        "endColumn": utf16_column(context, path, end),
    }


def _fix(context: Context, path: str, fix: PlainFix) -> dict[str, object]:
    changes = [_change(context, name, edits) for name, edits in fix.by_file(path).items()]
    return {"description": {"text": f"{fix.message} ({fix.applicability.value})"}, "artifactChanges": changes}


def _change(context: Context, path: str, edits: Sequence[Edit]) -> dict[str, object]:
    table = context.tables[path]
    replacements = [
        {
            "deletedRegion": _region(context, path, table.position(edit.start), table.position(edit.end)),
            "insertedContent": {"text": edit.text},
        }
        for edit in sorted(edits)
    ]
    return {"artifactLocation": _artifact(context, path), "replacements": replacements}
