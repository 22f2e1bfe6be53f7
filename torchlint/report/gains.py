"""What the commands that fix would gain: the two lines above the findings on a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from torchlint.late import dataclass
from torchlint.report.context import Context
from torchlint.report.cost import duration
from torchlint.report.escape import visible
from torchlint.report.nouns import events
from torchlint.report.rank import loss
from torchlint.report.summary import count
from torchlint.report.total import Root, by_loop, in_words, time_on
from torchlint.rule import Applicability, Finding

_MOST = 2
FIX = "--fix"
_SAFE, _ASSUMED = "[*]", "[unsafe]"
# Named changes stand between what is safe and what rests on an assumption.
_ORDER = {_SAFE: 0, _ASSUMED: 2}


@dataclass(frozen=True, slots=True)
class Offer:
    """A command, the mark of the findings that it fixes, and these."""

    command: str
    mark: str
    findings: tuple[Finding, ...]


def mark_of(context: Context, finding: Finding) -> str:
    """``[*]`` where ``--fix`` applies the fix, ``[rounding]`` where that must be accepted, ``[unsafe]`` where a fix
    rests on an assumption; empty without a fix that a command applies."""
    fix = finding.fix
    if fix is None or fix.applicability is Applicability.DISPLAY:
        return ""
    if context.takes(finding):
        return _SAFE
    return _ASSUMED if fix.assumes else f"[{','.join(change.value for change in fix.may_change)}]"


def offers(context: Context) -> list[Offer]:
    """The commands that fix something: ``--fix``, those for named changes, those that gain most first, and the rest."""
    by_mark: dict[str, list[Finding]] = defaultdict(list)
    for finding in context.findings:
        if mark := mark_of(context, finding):
            by_mark[mark].append(finding)
    found = [Offer(command_of(mark), mark, tuple(group)) for mark, group in by_mark.items()]
    return sorted(found, key=lambda offer: (_ORDER.get(offer.mark, 1), -sum(map(loss, offer.findings)), offer.mark))


def command_of(mark: str) -> str:
    """The options that fix what has a mark."""
    return {_SAFE: FIX, _ASSUMED: f"{FIX} --unsafe-fixes"}.get(mark, f"{FIX} --accept {mark[1:-1]}")


def header(context: Context, width: int) -> list[str]:
    """At most two lines of at most ``width`` cells: a command, how much it fixes, and what that gains where it fits."""
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


def _gains(findings: Sequence[Finding]) -> Iterator[str]:
    """What fixes gain in the training loop in which that is most, from many words to few."""
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
    return events(round(number), "wait")


def _waits(finding: Finding) -> float:
    found = finding.events
    return float(max(0, found.saves.waits)) if found is not None and found.gains and found.unit else 0.0
