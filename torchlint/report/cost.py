"""Measured figures in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchlint.report.escape import visible
from torchlint.rule import Basis, Cost, Finding, Frequency

# A ratio whose 10th percentile is no higher is noise.
NOISE = 1.05

_UNMEASURED = {
    Basis.NEVER: "its function never ran in the profile",
    Basis.UNSEEN: "nothing was seen of it in the profile",
}
_ROOTS = {
    Frequency.INNER: "environment step",
    Frequency.STEP: "environment step",
    Frequency.UPDATE: "gradient update",
}


def duration(microseconds: float) -> str:
    """Two significant digits or a little more: ``3.6 us``, ``310 us``, ``12 ms``."""
    if microseconds >= 1000:
        milliseconds = microseconds / 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    return f"{microseconds:.1f} us" if microseconds < 10 else f"{microseconds:.0f} us"


def factor(ratio: float) -> str:
    """A ratio of two times: ``1.04``, ``3.1``, ``127``."""
    if ratio >= 100:
        return f"{ratio:.0f}"
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def percent(share: float) -> str:
    """``18%``, ``0.4%``, ``<0.1%``."""
    hundredths = 100 * share
    if hundredths >= 9.95:
        return f"{hundredths:.0f}%"
    return f"{hundredths:.1f}%" if hundredths >= 0.05 else "<0.1%"


def number(value: float) -> str:
    """``63``, ``2.5``, ``0.02``: as many digits as matter."""
    if value >= 9.95 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2g}"


def measured_of(finding: Finding) -> str:
    """``measured: 63 calls per step, 18% of the time``; empty when no profile says anything."""
    found = finding.measured
    if found is None or found.basis is Basis.ELSEWHERE:
        return ""
    if found.basis in _UNMEASURED:
        return f"measured: {_UNMEASURED[found.basis]}"
    size = number(found.pace) if found.unit else f"{found.calls:,}"
    calls = f"{size} call{'' if size == '1' else 's'}{f' per {found.unit}' if found.unit else ''}"
    share = percent(found.share)
    if found.basis is Basis.FUNCTION:
        return f"measured: {calls} of its function, which takes {share} of the time"
    told = [calls] if found.calls else []
    told.append(
        f"about {share} of the time, a guess by operator" if found.basis is Basis.GUESS else f"{share} of the time"
    )
    alike = f", {found.alike} findings together" if found.alike > 1 else ""
    return f"measured: {', '.join(told)}{alike}"


def figure(cost: Cost, unit: str = " a call") -> str:
    """``about 3.6 us a call, 3.1x (2.3-3.1x) at 17-dim observations, measured on CPU``."""
    size = f" at {visible(cost.size)}" if cost.size else ""
    where = f"{cost.device.upper()} of this machine" if cost.source == "local" else cost.device.upper()
    spread = f"{factor(cost.low)}-{factor(cost.high)}x"
    return f"about {duration(cost.saves_us)}{unit}, {factor(cost.ratio)}x ({spread}){size}, measured on {where}"


def cost_of(finding: Finding) -> str:
    """What a finding costs in words, empty when nothing is known."""
    if finding.cost is not None and finding.cost.saves_us > 0:
        # Code that runs seldom is reported for what follows from it, so its figure is a total, not one call's.
        return figure(finding.cost, " a call" if finding.hot.frequency > Frequency.ONCE else "")
    return "not measured here: the gain is on CUDA" if finding.cuda_only else ""


def own_of(finding: Finding, own: Mapping[str, Sequence[Cost]]) -> Cost | None:
    """The user's own figure for a finding: at the size of the shipped one, else the rule's first; by code of the rule.

    Of two devices that of the shipped figure counts.
    """
    costs = own.get(finding.code, ())
    if finding.cost is None:
        return next(iter(costs), None)
    alike = [cost for cost in costs if cost.size == finding.cost.size]
    return next((cost for cost in alike if cost.device == finding.cost.device), next(iter(alike), None))


def own_cost_of(finding: Finding, own: Mapping[str, Sequence[Cost]]) -> str:
    """What a finding costs on the user's machine in words, empty when that was not measured there."""
    cost = own_of(finding, own)
    if cost is None:
        return ""
    if cost.low <= NOISE:
        spread = f"{factor(cost.ratio)}x, {factor(cost.low)}-{factor(cost.high)}x"
        return f"no gain beyond noise ({spread}), measured on {cost.device.upper()} of this machine"
    return figure(cost, " a call" if finding.hot.frequency > Frequency.ONCE else "")


def total(findings: Iterable[Finding]) -> str:
    """What the findings cost together: ``about 310 us per environment step at the sizes measured (CPU)``.

    Every finding counts once per step (or per update), also one in an inner loop, so the figure is a lower bound.
    Empty when nothing hot was measured.
    """
    sums: dict[str, dict[str, float]] = {}
    for finding in findings:
        root = _ROOTS.get(finding.hot.frequency)
        if finding.cost is not None and root and finding.cost.saves_us > 0:
            by_root = sums.setdefault(finding.cost.device, {})
            by_root[root] = by_root.get(root, 0.0) + finding.cost.saves_us
    return "; ".join(_total_on(device, by_root) for device, by_root in sorted(sums.items()))


def _total_on(device: str, by_root: dict[str, float]) -> str:
    parts = [f"{duration(us)} per {root}" for root, us in sorted(by_root.items())]
    return f"about {' and '.join(parts)} at the sizes measured ({device.upper()})"
