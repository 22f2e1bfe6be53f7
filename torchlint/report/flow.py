"""The statements by which the value of a finding comes to what uses it, in words."""

from __future__ import annotations

from rich.cells import cell_len

from torchlint.report.cells import fit
from torchlint.report.escape import visible
from torchlint.report.style import Signs
from torchlint.rule import Finding, Hop


def flow_of(finding: Finding) -> list[str]:
    """Return each statement with its place: ``:52 return losses``, and in another file ``train.py:90 log(losses)``."""
    return [f"{_place(hop, finding)} {visible(hop.name)}" for hop in finding.flow]


def brief_flow_of(finding: Finding, width: int, signs: Signs) -> str:
    """Return the path of a value on one line, or as much of its beginning as fits, or the use alone."""
    *between, use = flow_of(finding)
    arrow, dots = f" {signs.arrow} ", signs.dots
    for kept in range(len(between), -1, -1):
        left = [dots] if kept < len(between) else []
        line = arrow.join([*between[:kept], *left, use])
        if cell_len(line) <= width:
            return line
    line = arrow.join([*([dots] if between else []), use])
    return fit(line, 0, 0, width, dots).text


def _place(hop: Hop, finding: Finding) -> str:
    return f"{'' if hop.path == finding.path else visible(hop.path)}:{hop.row}"
