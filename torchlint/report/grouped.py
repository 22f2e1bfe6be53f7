"""The format ``grouped``: the findings of each file under its name."""

from __future__ import annotations

from itertools import groupby

from torchlint.report.concise import marked_code
from torchlint.report.context import Context
from torchlint.report.escape import visible
from torchlint.rule import Finding


def render(context: Context) -> str:
    """Return each file's name, then ``row:col CODE [*] message; hot: why`` for each of its findings, in columns."""
    groups = groupby(context.findings, key=lambda finding: finding.path)
    return "".join(_group(context, path, list(findings)) for path, findings in groups)


def _group(context: Context, path: str, findings: list[Finding]) -> str:
    name = visible(path)
    title = f"\x1b[1m{name}\x1b[0m" if context.color else name
    places = [f"{finding.start.row}:{finding.start.column}" for finding in findings]
    width = max(map(len, places))
    lines = [f"  {place:<{width}} {_told(context, finding)}" for place, finding in zip(places, findings, strict=True)]
    return "\n".join([f"{title}:", *lines, "", ""])


def _told(context: Context, finding: Finding) -> str:
    why = f"; hot: {finding.hot.describe()}" if finding.hot.told else ""
    return f"{marked_code(context, finding)} {visible(finding.message + why)}"
