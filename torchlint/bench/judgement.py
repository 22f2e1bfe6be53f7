"""Whether a rule has a place among those that run by default: what was measured decides. Needs no torch, no numpy."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Sequence

from torchlint.report.cost import NOISE
from torchlint.rule import Cost, Level, Rule


class Ground(enum.Enum):
    """What a rule's place in the default set rests on."""

    GAIN = "faster"
    MEMORY = "memory, not time"
    NOTE = "a note that says so"
    NOT_MEASURED = "a note, not measured on an accelerator"
    MISTAKE = "a mistake whatever it costs, never measured"
    NONE = "nothing"


def ground(rule: type[Rule], costs: Sequence[Cost]) -> Ground:
    """Judge a rule by the figures of all its examples on all devices.

    A gain is one whose 10th percentile is above the noise at one size at least. Without one, the rule must be about
    memory, or be a note; and its documentation must say so in the section "Measured", in the words of ``Rule.kept``.
    """
    if any(cost.low > NOISE for cost in costs):
        return Ground.GAIN
    measured = section(rule, "Measured")
    if rule.about_memory:
        return Ground.MEMORY if "memory" in measured or "MiB" in measured else Ground.NONE
    if not costs and rule.cuda_only and rule.level is Level.NOTE:
        return Ground.NOT_MEASURED
    if not rule.kept or rule.kept not in measured:
        return Ground.NONE
    if rule.level is Level.NOTE:
        return Ground.NOTE
    return Ground.NONE if costs else Ground.MISTAKE


def section(rule: type[Rule], heading: str) -> str:
    """The text below a heading of a rule's documentation on one line; empty without it."""
    text = (inspect.getdoc(rule) or "").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return " ".join(text.split())
