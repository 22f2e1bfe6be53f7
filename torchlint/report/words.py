"""What a finding says: its message in two parts, and in one line for formats that have one field for it."""

from __future__ import annotations

from torchlint.late import regex
from torchlint.report.cost import cost_of
from torchlint.rule import Finding

_BREAKS = ("; ", ": ")
# Quoted code that is longer is shortened in a title, and the end of a title that is longer is cut.
_CODE = regex(r"`([^`]{38})[^`]{3,}`")
TITLE = 100
_OPENING, _CLOSING = "([{", ")]}"


def with_reasons(finding: Finding) -> str:
    """Return the message, why the line is hot, and what the smell costs."""
    parts = [finding.message]
    if finding.hot.told:
        parts.append(f"hot: {finding.hot.describe()}")
    if cost := cost_of(finding):
        parts.append(f"cost: {cost}")
    return "; ".join(parts)


def title_and_cure(message: str) -> tuple[str, str]:
    """Split a message at its first semicolon or colon outside of code: the smell, and what to do about it.

    The smell has at most 100 characters, for which long code in it is shortened. The cure is empty where the message
    does not say one.
    """
    at = _end_of_title(message)
    title = _CODE.sub(r"`\1...`", message[:at])
    return title if len(title) <= TITLE else f"{title[: TITLE - 3]}...", message[at + 2 :]


def _end_of_title(message: str) -> int:
    depth, quoted = 0, False
    for index, char in enumerate(message):
        if char == "`":
            quoted = not quoted
        elif not quoted:
            depth += (char in _OPENING) - (char in _CLOSING)
            if depth <= 0 and message.startswith(_BREAKS, index):
                return index
    return len(message)
