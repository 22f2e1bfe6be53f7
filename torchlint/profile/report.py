"""All that a profile and the findings of a project say together: one value, from which every output is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from torchlint.engine.survey import Predicted
from torchlint.late import dataclass
from torchlint.profile.agree import Agreement, agreement
from torchlint.profile.join import UNMEASURED, Group, Join
from torchlint.profile.model import Attribution, FunctionCost, Profile
from torchlint.profile.names import AUTOGRAD, called_name
from torchlint.profile.pace import Pace
from torchlint.rule import Basis, Finding
from torchlint.sources.text import Source

# What takes less is not worth a look.
_LEAST = 0.01
_MOSTLY = 3


@dataclass(frozen=True, slots=True)
class Spot:
    """A line or function of the project that takes time although no finding is in it.

    Attributes:
        row: of the line, or the first of the function where lines are not known (``exact``).
        us, share: of its own code and of code outside the project that it called, without what findings in it cost.
        rest: whether there are such findings.
        calls: of the function. mostly: what it called that took most.
    """

    path: str
    function: str
    row: int
    exact: bool
    us: float
    share: float
    calls: int
    copies: int
    syncs: int
    launches: int
    mostly: tuple[str, ...]
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A profile joined to the findings of a project.

    Attributes:
        trace: the file, as it was given.
        groups: those that were measured, the costliest first. idle: those of which nothing was measured.
        spots: what is hot without a finding, the costliest first.
        agreement: ``None`` where the profile counts no calls, or too few.
        files: how many were linted.
    """

    trace: str
    profile: Profile
    attribution: Attribution
    pace: Pace
    groups: tuple[Group, ...]
    idle: tuple[Group, ...]
    spots: tuple[Spot, ...]
    agreement: Agreement | None
    sources: Mapping[str, Source]
    files: int

    @property
    def measured(self) -> tuple[Finding, ...]:
        """All findings that were measured, the costliest first."""
        return tuple(finding for group in self.groups for finding in group.findings)


def report(
    trace: str,
    profile: Profile,
    attribution: Attribution,
    functions: Sequence[Predicted],
    findings: Sequence[Finding],
    sources: Mapping[str, Source],
    files: int,
) -> Report:
    """Join a profile to what was found in a project whose functions are ``functions``."""
    join = Join(profile, attribution, sources)
    groups = join.groups(findings)
    return Report(
        trace,
        profile,
        attribution,
        join.pace,
        tuple(group for group in groups if not _is_idle(group)),
        tuple(group for group in groups if _is_idle(group)),
        tuple(sorted(_spots(profile, attribution, groups), key=lambda spot: (-spot.us, spot.path, spot.row))),
        agreement(attribution, functions, join.pace),
        sources,
        files,
    )


def _is_idle(group: Group) -> bool:
    return group.measured.basis in UNMEASURED


def _spots(profile: Profile, attribution: Attribution, groups: Sequence[Group]) -> Iterator[Spot]:
    """Lines without a finding; where lines are not known functions, without what is known of their findings."""
    rows: dict[str, set[int]] = {}
    known: dict[tuple[str, str], float] = {}
    for group in groups:
        key = group.path, group.function
        known[key] = known.get(key, 0.0) + (group.measured.us if group.measured.basis is Basis.CALLS else 0.0)
        for finding in group.findings:
            rows.setdefault(group.path, set()).update(range(finding.start.row, finding.end.row + 1))
    least = _LEAST * profile.total_us
    for cost in attribution.functions:
        key = cost.path, cost.name
        if cost.lines:
            own = rows.get(cost.path, set())
            spots = [_spot(cost, line.line, True, line.own_us) for line in cost.lines if line.line not in own]
        else:
            spots = [replace(_spot(cost, cost.line, False, cost.own_us - known.get(key, 0.0)), rest=key in known)]
        yield from (
            replace(each, share=each.us / profile.total_us) for each in spots if each.us > 0 and each.us >= least
        )


def _spot(cost: FunctionCost, row: int, exact: bool, us: float) -> Spot:
    named = [each.name.removeprefix(AUTOGRAD) for each in cost.operators if not each.within] or [
        called_name(each.name) for each in cost.callees
    ]
    mostly = tuple(dict.fromkeys(named))[:_MOSTLY] if not exact else ()
    return Spot(cost.path, cost.name, row, exact, us, 0.0, cost.calls, cost.copies, cost.syncs, cost.launches, mostly)
