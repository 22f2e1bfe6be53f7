"""The format ``markdown``: a table for a pull request or the summary page of a workflow's step."""

from __future__ import annotations

from torchlint.report.context import Context
from torchlint.report.cost import cost_of, measured_of
from torchlint.report.escape import visible
from torchlint.report.rank import worst_first
from torchlint.report.summary import count, summary
from torchlint.rule import Finding

# A summary page of GitHub holds 1 MiB; a row of ours is below 2 KiB.
_ROWS = 400


def render(context: Context) -> str:
    """A heading, the line that sums up, and a table of the findings, worst first."""
    lines = ["### torchlint", "", _cell(summary(context)), ""]
    ranked = worst_first(context.findings)
    if ranked:
        lines += ["| Level | Rule | Where | What | How often | Cost |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [_row(finding) for finding in ranked[:_ROWS]]
        lines.append("")
    if len(ranked) > _ROWS:
        lines += [f"{count(len(ranked) - _ROWS, 'finding')} more.", ""]
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    cells = (
        finding.level.value,
        f"{finding.code} {finding.name}",
        f"{finding.path}:{finding.start.row}",
        finding.message,
        finding.hot.describe(),
        measured_of(finding) or cost_of(finding),
    )
    return f"| {' | '.join(_cell(text[:300]) for text in cells)} |"


def _cell(text: str) -> str:
    """Text on one line in which no character means anything to Markdown or HTML."""
    return "".join(f"&#{ord(char)};" if char in "\\`*_[]<>&|~$#@" else char for char in visible(text))
