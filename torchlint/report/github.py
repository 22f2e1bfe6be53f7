"""The format ``github``: workflow commands that become annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from torchlint.report.change import acceptance
from torchlint.report.context import Context
from torchlint.report.cost import cost_of
from torchlint.report.escape import defused, visible
from torchlint.report.rank import worst_first
from torchlint.rule import Finding, Level

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
# GitHub shows this many annotations of each kind for a step and drops the others.
_SHOWN = 10


def render(context: Context) -> str:
    """Return the ten worst findings of each level as annotations, then one notice that counts the others."""
    ranked = worst_first(context.findings)
    shown = _first(ranked, dict.fromkeys(Level, _SHOWN))
    if len(shown) < len(ranked):
        # The count is a notice itself and must not be the eleventh.
        shown = _first(ranked, {**dict.fromkeys(Level, _SHOWN), Level.NOTE: _SHOWN - 1})
    lines = [_annotation(context, finding) for finding in shown]
    if len(shown) < len(ranked):
        lines.append(f"::notice title=torchlint::{len(ranked) - len(shown)} more")
    return "".join(f"{line}\n" for line in lines)


def _first(findings: Sequence[Finding], most: Mapping[Level, int]) -> list[Finding]:
    """The first findings of each level, as many as there may be of it."""
    seen: Counter[Level] = Counter()
    shown = []
    for finding in findings:
        seen[finding.level] += 1
        if seen[finding.level] <= most[finding.level]:
            shown.append(finding)
    return shown


def _annotation(context: Context, finding: Finding) -> str:
    start, end = finding.start, finding.end
    properties: dict[str, str | int] = {
        "title": finding.code,
        "file": context.in_repository(finding.path),
        "line": start.row,
    }
    # GitHub rejects columns of an annotation over several lines.
    if start.row == end.row:
        properties |= {"col": start.column, "endLine": end.row, "endColumn": end.column}
    else:
        properties |= {"endLine": end.row}
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.level]} {listed}::{_data(defused(_told(context, finding)))}"


def _told(context: Context, finding: Finding) -> str:
    """What a reader of an annotation needs: the smell, why the line is hot, its cost, what a fix may change."""
    lines = [finding.message]
    if finding.hot.told:
        lines.append(f"hot: {finding.hot.describe()}")
    if cost := cost_of(finding):
        lines.append(f"cost: {cost}")
    if finding.fix is not None:
        lines.append(f"fix: {finding.fix.message}; {acceptance(finding.fix, context.takes(finding))}")
    return "\n".join(lines)


def _data(text: str) -> str:
    """The escapes of a command's message; controls that have none are made visible."""
    escaped = visible(text, keep="\r\n")
    return escaped.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
