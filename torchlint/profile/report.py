"""All that a profile and the findings of a project say together: one value, from which every output is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torchlint.engine.survey import Predicted
from torchlint.profile.agree import Agreement, agreement
from torchlint.profile.join import Group, Join
from torchlint.profile.model import Attribution, FunctionCost, Profile
from torchlint.profile.names import called_name
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
        us, share: of its own code and of code outside the project that it called.
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
    return group.measured.basis in (Basis.NEVER, Basis.UNSEEN)


def _spots(profile: Profile, attribution: Attribution, groups: Sequence[Group]) -> Iterator[Spot]:
    """Lines without a finding, and where lines are not known functions without one."""
    found: dict[str, set[int]] = {}
    for group in groups:
        for finding in group.findings:
            found.setdefault(group.path, set()).update(range(finding.start.row, finding.end.row + 1))
    least = _LEAST * profile.total_us
    for cost in attribution.functions:
        rows = found.get(cost.path, set())
        if cost.lines:
            times = [(line.line, True, line.own_us) for line in cost.lines if line.line not in rows]
        else:
            free = rows.isdisjoint(range(cost.line, cost.end + 1))
            times = [(cost.line, False, cost.own_us)] if free else []
        yield from (_spot(cost, row, exact, us, profile.total_us) for row, exact, us in times if us > 0 and us >= least)


def _spot(cost: FunctionCost, row: int, exact: bool, us: float, total_us: float) -> Spot:
    named = [each.name for each in cost.operators if not each.within] or [
        called_name(each.name) for each in cost.callees
    ]
    mostly = tuple(dict.fromkeys(named))[:_MOSTLY] if not exact else ()
    counts = cost.copies, cost.syncs, cost.launches
    return Spot(cost.path, cost.name, row, exact, us, us / total_us, cost.calls, *counts, mostly)
