"""Whether a rule has a place among those that run by default: what was measured decides. Needs no torch, no numpy."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Sequence

from torchlint.rule import Cost, Counted, Level, Rule


class Rationale(enum.Enum):
    """What a rule's place in the default set rests on."""

    GAIN = "faster"
    EVENTS = "fewer events on an accelerator"
    MEMORY = "memory, not time"
    NOTE = "a note that says so"
    MISTAKE = "a mistake whatever it costs"
    NONE = "nothing"


def ground(rule: type[Rule], costs: Sequence[Cost], counts: Sequence[Counted]) -> Rationale:
    """Judge a rule by the times of all its examples on all devices, and by the events of an accelerator.

    A gain in time is one whose 10th percentile is above the noise at one size at least; counts have no noise. Without
    either, the rule must be about memory, or be a note; and its documentation must say so in the section "Measured",
    in the words of ``Rule.kept``.
    """
    if any(cost.gains for cost in costs):
        return Rationale.GAIN
    if any(count.gains for count in counts):
        return Rationale.EVENTS
    measured = section(rule, "Measured")
    if rule.about_memory:
        return Rationale.MEMORY if "memory" in measured or "MiB" in measured else Rationale.NONE
    if not rule.kept or rule.kept not in measured:
        return Rationale.NONE
    if rule.level is Level.NOTE:
        return Rationale.NOTE
    return Rationale.NONE if costs else Rationale.MISTAKE


def section(rule: type[Rule], heading: str) -> str:
    """Return the text below a heading of a rule's documentation on one line; empty without it."""
    text = (inspect.getdoc(rule) or "").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return " ".join(text.split())
