"""Which command fixes which findings."""

from __future__ import annotations

from collections import defaultdict

from torchlint.late import dataclass
from torchlint.report.context import Context
from torchlint.report.rank import loss
from torchlint.rule import Applicability, Finding

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
    """Return the mark for what applies the fix; empty without a fix that a command applies.

    ``[*]`` if ``--fix`` does, ``[rounding]`` if that must be accepted, ``[unsafe]`` if the fix rests on an
    assumption.
    """
    fix = finding.fix
    if fix is None or fix.applicability is Applicability.DISPLAY:
        return ""
    if context.takes(finding):
        return _SAFE
    return _ASSUMED if fix.assumes else f"[{','.join(change.value for change in fix.may_change)}]"


def offers(context: Context) -> list[Offer]:
    """Return the commands that fix something.

    ``--fix`` comes first, then those for named changes that gain most, then the rest.
    """
    by_mark: dict[str, list[Finding]] = defaultdict(list)
    for finding in context.findings:
        if mark := mark_of(context, finding):
            by_mark[mark].append(finding)
    found = [Offer(command_of(mark), mark, tuple(group)) for mark, group in by_mark.items()]
    return sorted(found, key=lambda offer: (_ORDER.get(offer.mark, 1), -_gain(offer), offer.mark))


def _gain(offer: Offer) -> float:
    """What fixes save in training loops; what is saved once is not a reason to name a command before others."""
    return sum(loss(finding) for finding in offer.findings if finding.hot.told and saves_all(finding))


def saves_all(finding: Finding) -> bool:
    """Return whether the fix of a finding saves what its figures say."""
    return finding.fix is None or not finding.fix.less


def command_of(mark: str) -> str:
    """Return the options that fix what has a mark."""
    return {_SAFE: FIX, _ASSUMED: f"{FIX} --unsafe-fixes"}.get(mark, f"{FIX} --accept {mark[1:-1]}")
