"""What the commands that fix would gain: the two lines above the findings on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from torchlint.report.context import Context
from torchlint.report.cost import duration
from torchlint.report.escape import visible
from torchlint.report.nouns import events
from torchlint.report.offers import FIX, offers, saves_all
from torchlint.report.summary import count
from torchlint.report.total import Root, by_loop, in_words, time_on
from torchlint.rule import Finding

_MOST = 2


def header(context: Context, width: int) -> list[str]:
    """Return at most two lines of ``width`` cells: a command, how much it fixes, and, if it fits, what that gains."""
    shown = offers(context)[:_MOST]
    room = max((len(offer.command) for offer in shown), default=0)
    lines = []
    for index, offer in enumerate(shown):
        more = index and shown[0].command == FIX
        number = len(offer.findings)
        fixes = f"{number} more" if more else count(number, "finding")
        start = f"{offer.command:<{room}}  {fixes} {offer.mark}"
        verb = "gain" if number > 1 or more else "gains"
        longer = (f"{start} {verb} {gain}" for gain in _gains(offer.findings))
        lines.append(next((line for line in longer if cell_len(line) <= width), start))
    return lines


def _gains(fixed: Sequence[Finding]) -> Iterator[str]:
    """What fixes gain in the training loop in which that is most, from many words to few; at least, as far as known."""
    findings = [finding for finding in fixed if saves_all(finding)]
    devices = sorted({finding.cost.device for finding in findings if finding.cost is not None})
    times = [(by_loop(findings, time_on(device)), device.upper()) for device in devices]
    told = [f"{in_words(loops[0][0], duration, brief=True)} on {device}" for loops, device in times if loops]
    waits = by_loop(findings, _waits)
    seen = [f"{in_words(waits[0][0], _wait, brief=True)} on a GPU"] if waits else []
    place = _place([root for loops in (*(loops for loops, _ in times), waits) for _, root in loops[:1]])
    for parts in ([*told, *seen], told or seen, [part.partition(" and ")[0] for part in told]):
        if parts:
            yield f"{', '.join(parts)}{place}"
            yield ", ".join(parts)


def _place(roots: Sequence[Root]) -> str:
    if len(set(roots)) != 1:
        return ""
    path, row, _ = roots[0]
    return f" ({visible(path)}:{row})" if row else ""


def _wait(number: float) -> str:
    return events(round(number), "sync")


def _waits(finding: Finding) -> float:
    found = finding.events
    return float(max(0, found.saves.waits)) if found is not None and found.gains and found.unit else 0.0
