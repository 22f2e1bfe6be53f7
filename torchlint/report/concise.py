"""The format ``concise``: one finding a line, ``path:row:col: CODE [*] message; hot: why``."""

from __future__ import annotations

from torchlint.report.context import Context
from torchlint.report.cost import measured_of
from torchlint.report.escape import visible
from torchlint.rule import Finding, Level

_STYLES = {Level.ERROR: "1;31", Level.WARNING: "1;33", Level.NOTE: "1;36"}


def render(context: Context) -> str:
    """One line for each finding in order; ``[*]`` marks those that ``--fix`` would fix. Columns count code points."""
    return "".join(f"{_line(context, finding)}\n" for finding in context.findings)


def marked_code(context: Context, finding: Finding) -> str:
    """``TL101 [*]``: the code, and a mark where ``--fix`` would fix it, in colours where there are some."""
    mark = "[*]" if context.takes(finding) else ""
    code = finding.code
    if context.color:
        code = f"\x1b[{_STYLES[finding.level]}m{code}\x1b[0m"
        mark = mark and f"\x1b[36m{mark}\x1b[0m"
    return f"{code} {mark}".rstrip()


def _line(context: Context, finding: Finding) -> str:
    place = f"{visible(finding.path)}:{finding.start.row}:{finding.start.column}:"
    why = f"; hot: {finding.hot.describe()}" if finding.hot.told else ""
    cost = f"; {told}" if (told := measured_of(finding)) else ""
    return f"{place} {marked_code(context, finding)} {visible(finding.message + why + cost)}"
