"""What a finding says in one line, for formats that have one field for it."""

from __future__ import annotations

from torchlint.report.cost import cost_of
from torchlint.rule import Finding


def with_reasons(finding: Finding) -> str:
    """The message, why the line is hot, and what the smell costs."""
    parts = [finding.message]
    if finding.hot.told:
        parts.append(f"hot: {finding.hot.describe()}")
    if cost := cost_of(finding):
        parts.append(f"cost: {cost}")
    return "; ".join(parts)
