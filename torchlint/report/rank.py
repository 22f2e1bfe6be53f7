"""Which finding matters most."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.rule import Finding, Frequency, Level
from torchlint.rule.finding import Position

_SEVERITY = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2}


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Errors, then warnings, then notes; in each by the time lost, then by path and place.

    What a profile was joined to comes with the costliest first, and keeps that order.
    """
    found = list(findings)
    if any(finding.measured is not None for finding in found):
        return sorted(found, key=lambda finding: _SEVERITY[finding.level])
    return sorted(found, key=_badness)


def time_lost(finding: Finding) -> float:
    """Microseconds lost per environment step, as a yardstick for sorting only.

    Each frequency counts as ten times as often as the next lower one: 5 us a step outweigh 40 us an update.
    """
    cost, frequency = finding.cost, finding.hot.frequency
    if cost is None:
        return 0.0
    # A total is lost once, and what is given for an update is lost in each, wherever the code is.
    least = Frequency.UPDATE if cost.unit == "update" else Frequency.ONCE
    return per_step(cost.saves_us, max(frequency, least) if cost.unit else Frequency.ONCE)


def per_step(microseconds: float, frequency: Frequency) -> float:
    """What is lost at a frequency, weighed as a loss in each step of the environment."""
    return microseconds * 10.0 ** (frequency - Frequency.STEP)


def _badness(finding: Finding) -> tuple[int, float, tuple[str, Position, str]]:
    return _SEVERITY[finding.level], -time_lost(finding), finding.order
