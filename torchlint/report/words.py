"""What a finding says: its message in two parts, and in one line for formats that have one field for it."""

from __future__ import annotations

from torchlint.report.cost import cost_of
from torchlint.rule import Finding

_BREAKS = ("; ", ": ")
_OPENING, _CLOSING = "([{", ")]}"


def with_reasons(finding: Finding) -> str:
    """The message, why the line is hot, and what the smell costs."""
    parts = [finding.message]
    if finding.hot.told:
        parts.append(f"hot: {finding.hot.describe()}")
    if cost := cost_of(finding):
        parts.append(f"cost: {cost}")
    return "; ".join(parts)


def title_and_cure(message: str) -> tuple[str, str]:
    """Split a message at its first semicolon or colon outside of code: the smell, and what to do about it.

    The cure is empty where the message does not say one.
    """
    depth, quoted = 0, False
    for index, char in enumerate(message):
        if char == "`":
            quoted = not quoted
        elif not quoted:
            depth += (char in _OPENING) - (char in _CLOSING)
            if depth <= 0 and message.startswith(_BREAKS, index):
                return message[:index], message[index + 2 :]
    return message, ""
