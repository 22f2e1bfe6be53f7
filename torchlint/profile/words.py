"""What a profile says, in words and round numbers."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from torchlint.profile.definitions import MODULE
from torchlint.profile.join import Group
from torchlint.profile.model import LibraryEvents, Profile
from torchlint.profile.pace import ProfilePace
from torchlint.report.cost import duration, percent
from torchlint.report.summary import count
from torchlint.rule import Basis, Finding, Frequency
from torchlint.rule.terms import Applicability

_MOST_ROWS = 6
_MOST_INSIDE = 2
# A share of the time that is worth a word.
_LEAST = 0.01
NO_STACKS = (
    "The trace has no stacks, so it does not show which code ran an operator. Record it again with "
    "torch.profiler.profile(..., with_stack=True)."
)
_ABSENT = MappingProxyType(
    {
        Basis.NEVER: "never ran",
        Basis.UNSEEN: "not seen in the profile",
        Basis.ELSEWHERE: "costs time elsewhere",
    }
)


def time(microseconds: float) -> str:
    """Format a time: ``310 us``, ``12 ms``, ``4.2 s``."""
    seconds = microseconds / 1e6
    if seconds < 1:
        return duration(microseconds)
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def headline(profile: Profile, pace: ProfilePace, files: int, imports_us: float = 0.0) -> str:
    """Summarise a profile in one line.

    ``cProfile, 12.3 s (4.1 s of it imports), 2,000 environment steps and 250 updates; 6 files``.
    """
    parts = [profile.source.value, "shares only" if profile.assumed_rate else time(profile.total_us)]
    if imports_us >= _LEAST * profile.total_us > 0:
        much = percent(imports_us / profile.total_us) if profile.assumed_rate else time(imports_us)
        parts[-1] += f" ({much} of it imports)"
    rounds = []
    if pace.steps:
        rounds.append(f"{pace.steps:,} {'announced' if pace.announced else 'environment'} steps")
    if pace.updates:
        rounds.append(f"{pace.updates:,} updates")
    if rounds:
        parts.append(" and ".join(rounds))
    if not profile.stacks:
        parts.append("no stacks recorded")
    return f"{', '.join(parts)}; {count(files, 'file')}"


def what(group: Group) -> str:
    """Describe a group of findings: ``63 checks in Extractor.forward``."""
    size = len(group.findings)
    where = "at module level" if group.function == MODULE else f"in {group.function}"
    return f"{size} {group.nouns[size > 1]} {where}"


def sentence(group: Group) -> str:
    """Describe a group and its cure in one sentence.

    ``18% of the time: 63 checks in Extractor.forward, extractor.py:41 …: check only when ...``.
    """
    first, *more = group.rows
    kind = group.measured.basis
    bound = "up to " if kind is Basis.FUNCTION else ""
    share = _ABSENT.get(kind) or f"{bound}{percent(group.measured.share)} of the time"
    fix = next((f": {finding.fix.message}" for finding in group.findings if finding.fix is not None), "")
    return f"{share}: {what(group)}, {group.path}:{first}{' ...' if more else ''}{fix}"


def places(group: Group) -> str:
    """List places, shortened: ``extractor.py:41, 44, 47 and 60 more``."""
    rows = group.rows
    shown = ", ".join(map(str, rows[:_MOST_ROWS]))
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return f"{group.path}:{shown}{more}"


def basis(group: Group) -> str:
    """Return what the time of a group is the time of, where that is not just its lines or operators."""
    kind = group.measured.basis
    if kind is Basis.FUNCTION:
        return "an upper bound: all the function's own time"
    if not group.named:
        return ""
    return f"at least: of the project, only {'these lines name' if len(group.rows) > 1 else 'this line names'} " + (
        " and ".join(filter(None, [", ".join(group.named[:-1]), group.named[-1]]))
    )


def effects(copies: int, syncs: int, launches: int) -> str:
    """List counted effects: ``126 GPU syncs, 200 copies``; empty where there are none."""
    found = ((syncs, "GPU syncs"), (copies, "copies"), (launches, "launches"))
    return ", ".join(f"{size:,} {noun}" for size, noun in found if size)


def asked(copies: int, syncs: int, launches: int, inside: Sequence[LibraryEvents]) -> list[str]:
    """Describe what the project's own code asks for, and what installed code does by itself, a line for each."""
    apart = sum(each.copies for each in inside), sum(each.syncs for each in inside)
    own = effects(max(0, copies - apart[0]), max(0, syncs - apart[1]), launches)
    found = [own] if own else []
    found += [f"{effects(each.copies, each.syncs, 0)} inside {each.where}" for each in inside[:_MOST_INSIDE]]
    rest = inside[_MOST_INSIDE:]
    if rest:
        more = effects(sum(each.copies for each in rest), sum(each.syncs for each in rest), 0)
        found.append(f"{more} inside other installed code")
    return found


def remedy(findings: Sequence[Finding]) -> str:
    """Describe how the findings are cured: what the fix does, and what it needs."""
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    if not fixes:
        return ""
    safe = sum(fix.applicability is Applicability.SAFE for fix in fixes)
    accepted = sorted({change.value for fix in fixes for change in fix.may_change})
    taken = "--fix" if safe == len(fixes) else f"--fix --accept {','.join(accepted)}" if accepted else "--unsafe-fixes"
    if any(fix.assumes for fix in fixes):
        taken = "--fix --unsafe-fixes"
    return f"{fixes[0].message} ({taken})"


def frequency(found: Frequency) -> str:
    """Return a frequency in words, ``seldom or once`` for the least."""
    return "seldom or once" if found is Frequency.ONCE else found.phrase
