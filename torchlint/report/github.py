"""The format ``github``: workflow commands that become annotations, and a table for the step's summary page."""

from __future__ import annotations

from collections import Counter

from torchlint.report.change import acceptance
from torchlint.report.context import Context
from torchlint.report.cost import cost_of
from torchlint.report.escape import visible
from torchlint.report.rank import worst_first
from torchlint.report.summary import count, summary
from torchlint.rule import Finding, Level

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
# GitHub shows this many annotations of each kind for a step and drops the others.
_SHOWN = 10
# A summary page holds 1 MiB; a row of ours is below 2 KiB.
_ROWS = 400


def render(context: Context) -> str:
    """The ten worst findings of each level as annotations, then one notice that counts the others."""
    ranked = worst_first(context.findings)
    seen: Counter[Level] = Counter()
    lines = []
    for finding in ranked:
        seen[finding.level] += 1
        if seen[finding.level] <= _SHOWN:
            lines.append(_annotation(context, finding))
    hidden = len(ranked) - len(lines)
    if hidden:
        lines.append(f"::notice title=torchlint::{hidden} more")
    return "".join(f"{line}\n" for line in lines)


def step_summary(context: Context) -> str:
    """A Markdown table of the findings, worst first, for the file that ``GITHUB_STEP_SUMMARY`` names."""
    lines = ["### torchlint", "", _cell(summary(context)), ""]
    ranked = worst_first(context.findings)
    if ranked:
        lines += ["| Level | Rule | Where | What | How often | Cost |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [_row(finding) for finding in ranked[:_ROWS]]
        lines.append("")
    if len(ranked) > _ROWS:
        lines += [f"{count(len(ranked) - _ROWS, 'finding')} more.", ""]
    return "\n".join(lines)


def _annotation(context: Context, finding: Finding) -> str:
    start, end = finding.start, finding.end
    properties: dict[str, str | int] = {"title": finding.code, "file": finding.path, "line": start.row}
    # GitHub rejects columns of an annotation over several lines.
    if start.row == end.row:
        properties |= {"col": start.column, "endLine": end.row, "endColumn": end.column}
    else:
        properties |= {"endLine": end.row}
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.level]} {listed}::{_data(_told(context, finding))}"


def _told(context: Context, finding: Finding) -> str:
    """What a reader of an annotation needs: the smell, why the line is hot, its cost, what a fix may change."""
    lines = [finding.message]
    if finding.hot.path:
        lines.append(f"hot: {finding.hot.describe()}")
    if cost := cost_of(finding):
        lines.append(f"cost: {cost}")
    if finding.fix is not None:
        lines.append(f"fix: {finding.fix.message}; {acceptance(finding.fix, context)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    """The escapes of a command's message; controls that have none are made visible."""
    escaped = visible(text, keep="\r\n")
    return escaped.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _row(finding: Finding) -> str:
    cells = (
        finding.level.value,
        f"{finding.code} {finding.name}",
        f"{finding.path}:{finding.start.row}",
        finding.message,
        finding.hot.describe(),
        cost_of(finding),
    )
    return f"| {' | '.join(_cell(text[:300]) for text in cells)} |"


def _cell(text: str) -> str:
    """Text on one line in which no character means anything to Markdown or HTML."""
    return "".join(f"&#{ord(char)};" if char in "\\`*_[]<>&|~$#@" else char for char in visible(text))
