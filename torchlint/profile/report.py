"""All that a profile and the findings of a project say together: one value, from which every output is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from torchlint.engine.survey import Predicted
from torchlint.late import dataclass
from torchlint.profile.agree import Agreement, agreement
from torchlint.profile.join import UNMEASURED, Group, Join
from torchlint.profile.model import Attribution, FunctionCost, LibraryEvents, Profile
from torchlint.profile.names import AUTOGRAD, called_name
from torchlint.profile.pace import ENOUGH, SHARE, ProfilePace
from torchlint.profile.smells import smell_of
from torchlint.profile.sole import Shared
from torchlint.rule import Basis, Finding, Frequency
from torchlint.sources.text import Source

# What takes less is not worth a look.
_LEAST = 0.01
_MOSTLY = 3


@dataclass(frozen=True, slots=True)
class HotSpot:
    """A line or function of the project that takes time although no finding is in it.

    Attributes:
        row: of the line, or the first of the function where lines are not known (``exact``).
        us, share: of its own code and of code outside the project that it called, without what findings in it cost;
            the same holds for copies, syncs and launches.
        rest: whether there are such findings.
        calls: of the function. mostly: what it called that took most.
        inside: those of ``copies`` and ``syncs`` that installed code makes by itself.
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
    inside: tuple[LibraryEvents, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """A profile joined to the findings of a project.

    Attributes:
        trace: the file, as it was given.
        groups: those that were measured, the costliest first. idle: those of which nothing was measured.
        spots: what is hot without a finding, the costliest first.
        ran_us: the time that shares are of: the profiled one but for the imports.
        shared: without stacks the operators that findings may have run, and other code as well.
        agreement: ``None`` where the profile counts no calls, or too few.
        files: how many were linted.
    """

    trace: str
    profile: Profile
    attribution: Attribution
    pace: ProfilePace
    groups: tuple[Group, ...]
    idle: tuple[Group, ...]
    spots: tuple[HotSpot, ...]
    agreement: Agreement | None
    sources: Mapping[str, Source]
    files: int
    shared: tuple[Shared, ...] = ()
    ran_us: float = 1.0

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
) -> ProfileReport:
    """Join a profile to what was found in a project whose functions are ``functions``."""
    join = Join(profile, attribution, sources)
    groups = join.groups(findings)
    return ProfileReport(
        trace,
        profile,
        attribution,
        join.pace,
        tuple(group for group in groups if not _is_idle(group)),
        tuple(group for group in groups if _is_idle(group)),
        tuple(sorted(_spots(join, functions, groups), key=lambda spot: (-spot.us, spot.path, spot.row))),
        agreement(attribution, functions, join.pace),
        sources,
        files,
        tuple(join.shared(groups)),
        join.ran_us,
    )


def _is_idle(group: Group) -> bool:
    return group.measured.basis in UNMEASURED


def _spots(join: Join, functions: Sequence[Predicted], groups: Sequence[Group]) -> Iterator[HotSpot]:
    """Lines without a finding; where lines are not known functions, without what is known of their findings."""
    rows: dict[str, set[int]] = {}
    known: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        key = group.path, group.function
        known.setdefault(key, []).append(group)
        for finding in group.findings:
            rows.setdefault(group.path, set()).update(range(finding.start.row, finding.end.row + 1))
    total_us = join.ran_us
    least = _LEAST * total_us
    hot = {(each.path, each.name) for each in functions if each.frequency > Frequency.ONCE}
    for cost in join.attribution.functions:
        key = cost.path, cost.name
        if cost.lines:
            own = rows.get(cost.path, set())
            spots = [_spot(cost, line.line, True, line.own_us) for line in cost.lines if line.line not in own]
        else:
            own_us = cost.own_us if key in hot else _again(cost, join.pace)
            spots = [_without(_spot(cost, cost.line, False, own_us), known.get(key, ()))]
        yield from (replace(each, share=each.us / total_us) for each in spots if each.us > 0 and each.us >= least)


def _without(spot: HotSpot, groups: Sequence[Group]) -> HotSpot:
    """What is left of a function beside its findings; what these do inside of installed code is still counted there."""
    found = [group for group in groups if group.measured.basis is Basis.CALLS]
    own = [group for group in found if not smell_of(group.code).frames]
    return replace(
        spot,
        us=spot.us - sum(group.measured.us for group in found),
        copies=max(0, spot.copies - sum(group.copies for group in own)),
        syncs=max(0, spot.syncs - sum(group.syncs for group in own)),
        launches=max(0, spot.launches - sum(group.launches for group in own)),
        rest=bool(groups),
    )


def _again(cost: FunctionCost, pace: ProfilePace) -> float:
    """Microseconds of a function's own time but for what it does once: a main function, or code that sets up.

    What ran a few times counts only if it calls something, or runs an operator, often; without what it seldom calls.
    """
    if not cost.calls or cost.calls >= ENOUGH:
        return cost.own_us
    often = max(ENOUGH, min(filter(None, (pace.steps, pace.updates)), default=0) // SHARE)
    ran = [each.calls for each in cost.callees] + [each.calls for each in cost.operators]
    if max(ran, default=0) < often:
        return 0.0
    return cost.own_us - sum(each.total_us for each in cost.callees if not each.own and each.calls < often)


def _spot(cost: FunctionCost, row: int, exact: bool, us: float) -> HotSpot:
    named = [each.name.removeprefix(AUTOGRAD) for each in cost.operators if not each.within] or [
        called_name(each.name) for each in cost.callees
    ]
    mostly = tuple(dict.fromkeys(named))[:_MOSTLY] if not exact else ()
    counted = cost.calls, cost.copies, cost.syncs, cost.launches
    return HotSpot(cost.path, cost.name, row, exact, us, 0.0, *counted, mostly, inside=cost.inside)
