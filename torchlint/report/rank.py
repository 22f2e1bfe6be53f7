"""Which finding matters most."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.rule import Finding, Frequency, Level
from torchlint.rule.finding import Position

_SEVERITY = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2}
# Yardsticks for sorting only: what a bare launch takes the host on a GPU, and a wait on top of it (docs/count.md).
_LAUNCH_US = 2.3
_WAIT_US = 4.8


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings: errors, warnings, notes; in each by what is lost, then by path and place.

    What a profile was joined to comes with the costliest first, and keeps that order.
    """
    found = list(findings)
    if any(finding.measured is not None for finding in found):
        return sorted(found, key=severity)
    return sorted(found, key=_badness)


def severity(finding: Finding) -> int:
    """Return the order of a level: 0 for errors, 1 for warnings, 2 for notes."""
    return _SEVERITY[finding.level]


def loss(finding: Finding) -> float:
    """Return microseconds lost per environment step, in time and in events on a GPU; a yardstick for sorting only."""
    return time_lost(finding) + _events_lost(finding)


def time_lost(finding: Finding) -> float:
    """Return the microseconds lost per environment step, as a yardstick for sorting only.

    Each frequency counts as ten times as often as the next lower one: 5 us a step outweigh 40 us an update.
    """
    cost = finding.cost
    return 0.0 if cost is None else per_step(cost.saves_us, _paid(finding.hot.frequency, cost.unit))


def _events_lost(finding: Finding) -> float:
    events = finding.events
    if events is None or not events.gains:
        return 0.0
    saves = events.saves
    us = max(0.0, saves.waits * _WAIT_US + saves.launches * _LAUNCH_US)
    return per_step(us, _paid(finding.hot.frequency, events.unit))


def _paid(frequency: Frequency, unit: str) -> Frequency:
    """How often a figure is paid: a total once, and what is given for an update in each, wherever the code is."""
    least = Frequency.UPDATE if unit == "update" else Frequency.ONCE
    return max(frequency, least) if unit else Frequency.ONCE


def per_step(microseconds: float, frequency: Frequency) -> float:
    """Return what is lost at a frequency, weighed as a loss in each step of the environment."""
    return microseconds * 10.0 ** (frequency - Frequency.STEP)


def _badness(finding: Finding) -> tuple[int, float, int, tuple[str, Position, str]]:
    return severity(finding), -loss(finding), -finding.hot.frequency, finding.order
