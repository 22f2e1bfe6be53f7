"""Measured figures in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchlint.report.escape import visible
from torchlint.report.nouns import events as noun
from torchlint.rule import Basis, Cost, Counted, Finding

_UNMEASURED = {
    Basis.NEVER: "measured: its function never ran in the profile",
    Basis.UNSEEN: "the profile does not show what it takes",
}


def duration(microseconds: float) -> str:
    """Return two significant digits or a little more: ``3.6 us``, ``310 us``, ``12 ms``."""
    if microseconds >= 1000:
        milliseconds = microseconds / 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    return f"{microseconds:.1f} us" if microseconds < 10 else f"{microseconds:.0f} us"


def factor(ratio: float) -> str:
    """Return a ratio of two times: ``1.04``, ``3.1``, ``127``."""
    if ratio >= 100:
        return f"{ratio:.0f}"
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def percent(share: float) -> str:
    """Format a share: ``18%``, ``0.4%``, ``<0.1%``."""
    hundredths = 100 * share
    if hundredths >= 9.95:
        return f"{hundredths:.0f}%"
    return f"{hundredths:.1f}%" if hundredths >= 0.05 else "<0.1%"


def number(value: float) -> str:
    """Format a number with the digits that matter: ``63``, ``2.5``, ``0.02``."""
    if value >= 9.95 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2g}"


def measured_of(finding: Finding) -> str:
    """Describe what a profile measured: ``measured: 63 calls per step, 18% of the time``.

    The result is empty without a measurement.
    """
    found = finding.measured
    if found is None or found.basis is Basis.ELSEWHERE:
        return ""
    if found.basis in _UNMEASURED:
        return _UNMEASURED[found.basis]
    size = number(found.pace) if found.unit else f"{found.calls:,}"
    calls = f"{size} call{'' if size == '1' else 's'}{f' per {found.unit}' if found.unit else ''}"
    share = percent(found.share)
    if found.basis is Basis.FUNCTION:
        return f"measured: {calls} of its function, which takes {share} of the time"
    told = [calls] if found.calls else []
    told.append(f"{share} of the time")
    alike = f", {found.alike} findings together" if found.alike > 1 else ""
    return f"measured: {', '.join(told)}{alike}"


def figure(cost: Cost) -> str:
    """Describe a cost with the size measured, of several sizes both ends.

    ``about 3.6 us a call, 3.1x (2.3-3.1x), measured at 17-dim observations on CPU``.
    """
    where = f"{cost.device.upper()} of this machine" if cost.source == "local" else cost.device.upper()
    if cost.most_us:
        most = f"{duration(cost.most_us)} at {visible(cost.most_size)}"
        return f"about {saving(cost)} at {visible(cost.size)} to {most}, measured on {where}"
    size = f"at {visible(cost.size)} " if cost.size else ""
    if cost.open:
        return f"measured {size}on {where}: {saving(cost)}, {factor(cost.ratio)}x; smaller data were not measured"
    return f"about {saving(cost)}, {factor(cost.ratio)}x ({spread_of(cost)}), measured {size}on {where}"


def saving(cost: Cost) -> str:
    """Describe the time saved: ``3.6 us a call``, ``490 us an update``; of a total the time alone."""
    return f"{duration(cost.saves_us)}{_per(cost.unit)}"


def spread_of(cost: Cost) -> str:
    """Return the 10th to the 90th percentile: ``2.3-3.1x``."""
    return f"{factor(cost.low)}-{factor(cost.high)}x"


def _per(unit: str) -> str:
    return f" {_article(unit)} {unit}" if unit else ""


def _article(word: str) -> str:
    return "an" if word[:1] in "aeiou" else "a"


def brief_cost_of(finding: Finding) -> str:
    """Return what a finding costs in few words, without the sizes that were measured: for a line of a terminal."""
    parts = [_brief_figure(finding.cost)] if finding.cost is not None and finding.cost.gains else []
    if finding.events is not None and finding.events.gains:
        parts.append(_briefest_events(finding.events))
    return "; ".join(parts)


def _briefest_events(events: Counted) -> str:
    """``on a GPU 2 syncs, 10 launches a call``: what is saved, copies only where they are all."""
    saves = events.saves
    less = [_number(saves.waits, "sync"), _number(saves.launches, "launch")]
    told = ", ".join(part for part in less if part) or fewer(events)
    return f"on a GPU {told}{_per(events.unit)}"


def _brief_figure(cost: Cost) -> str:
    if cost.most_us:
        return f"{duration(cost.saves_us)} to {duration(cost.most_us)}{_per(cost.unit)} on {cost.device.upper()}"
    doubt = "; smaller data were not measured" if cost.open else ""
    return f"{saving(cost)}, {factor(cost.ratio)}x on {cost.device.upper()}{doubt}"


def cost_of(finding: Finding) -> str:
    """Return what a finding costs in words, time and events of an accelerator; empty when nothing is known."""
    parts = [figure(finding.cost)] if finding.cost is not None and finding.cost.gains else []
    if finding.events is not None and finding.events.gains:
        parts.append(spared(finding.events))
    return "; ".join(parts)


def spared(events: Counted) -> str:
    """Describe the events saved.

    ``on a GPU 7 syncs fewer and 10 launches more a call, counted at loss of each batch``.
    """
    return f"on a GPU {fewer(events)}{_per(events.unit)}, counted at {visible(events.size)}"


def fewer(events: Counted) -> str:
    """Describe a difference of events.

    ``1 sync and 3 launches fewer``, ``2 copies (16 kB) fewer and 1 launch more``.
    """
    saves = events.saves
    size = f" ({amount(saves.bytes)})" if saves.copies > 0 and saves.bytes > 0 else ""
    less = [_number(saves.waits, "sync"), _number(saves.copies, "copy", size), _number(saves.launches, "launch")]
    more = [_number(-saves.waits, "sync"), _number(-saves.copies, "copy"), _number(-saves.launches, "launch")]
    if saves.copies == 0 and saves.bytes > 0:
        less.append(f"{amount(saves.bytes)} copied")
    sides = [(less, "fewer"), (more, "more")]
    return " and ".join(f"{_listed(side)} {word}" for side, word in sides if any(side))


def _number(count: int, thing: str, size: str = "") -> str:
    """``1 sync``, ``2 copies (16 kB)``; empty where there is none."""
    return f"{noun(count, thing)}{size}" if count > 0 else ""


def _listed(parts: Sequence[str]) -> str:
    """``1 sync, 2 copies and 3 launches``."""
    *rest, last = [part for part in parts if part]
    return f"{', '.join(rest)} and {last}" if rest else last


def amount(count: int) -> str:
    """Return a number of bytes: ``512 B``, ``16.4 kB``, ``30.4 MB``."""
    for unit, limit in (("B", 1e3), ("kB", 1e6), ("MB", 1e9)):
        if count < limit:
            return f"{count / (limit / 1e3):.3g} {unit}"
    return f"{count / 1e9:.3g} GB"


def own_of(finding: Finding, own: Mapping[str, Sequence[Cost]]) -> Cost | None:
    """Return the user's own figure for a finding, of the example that fits it; by code of the rule.

    Of two devices that of the shipped figure counts.
    """
    costs = own.get(finding.code, ())
    wanted = {finding.cost.example} if finding.cost is not None else set(finding.figures)
    if "" in wanted and costs:
        wanted.add(costs[0].example)
    alike = [cost for cost in costs if cost.example in wanted]
    device = finding.cost.device if finding.cost is not None else ""
    return next((cost for cost in alike if cost.device == device), next(iter(alike), None))


def own_cost_of(finding: Finding, own: Mapping[str, Sequence[Cost]]) -> str:
    """Return what a finding costs on the user's machine in words, empty when that was not measured there."""
    cost = own_of(finding, own)
    if cost is None:
        return ""
    if not cost.gains:
        ratios = f"{factor(cost.ratio)}x, {spread_of(cost)}"
        return f"no gain beyond noise ({ratios}), measured on {cost.device.upper()} of this machine"
    return figure(cost)
