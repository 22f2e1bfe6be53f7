"""The format ``pylint``: ``path:row: [CODE] message``, which many editors and build servers read."""

from __future__ import annotations

from torchlint.report.context import Context
from torchlint.report.escape import visible
from torchlint.report.words import with_reasons


def render(context: Context) -> str:
    """Return one line for each finding, in order."""
    return "".join(
        f"{visible(finding.path)}:{finding.start.row}: [{finding.code}] {visible(with_reasons(finding))}\n"
        for finding in context.findings
    )
