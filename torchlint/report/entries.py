"""Findings that people read as one: the same smell with the same cure, in several places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchlint.late import dataclass, regex
from torchlint.report.rank import loss, severity
from torchlint.rule import Finding, Hop, Level
from torchlint.rule.finding import Position

# What differs between messages that say the same of other code: code in quotes, names of torch, numbers.
_CODE = regex(r"`[^`]*`|\btorch(?:\.\w+)+(?:\([^()]*\))?|\d[\d,.]*")


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """Findings of one rule with one cure that run equally often; the costliest first, the others by place."""

    findings: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        """Return the finding that stands for all of them."""
        return self.findings[0]

    @property
    def roots(self) -> tuple[Hop, ...]:
        """Return the loops and entry points that make the places hot, that of the lead first."""
        return tuple(dict.fromkeys(finding.hot.path[0] for finding in self.findings if finding.hot.path))


def entries(findings: Iterable[Finding]) -> list[ReportEntry]:
    """Group findings, errors first, then the costliest in one training loop, then the most frequent.

    What a profile was joined to comes with the costliest first, and keeps that order.
    """
    found = list(findings)
    groups = _grouped(found)
    if any(finding.measured is not None for finding in found):
        return sorted((ReportEntry(tuple(group)) for group in groups), key=_is_no_error)
    return sorted((_entry(group) for group in groups), key=_badness)


def _grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings with the same cure, or of the same rule in the same statement, in the order of the first of each."""
    groups: dict[object, list[Finding]] = {}
    homes: dict[object, object] = {}
    for finding in findings:
        # What is wrong with one file says nothing about another.
        cure: object = _cure(finding) if finding.level is not Level.ERROR else finding.order
        statement = finding.code, finding.path, finding.rows, _fix_kind(finding)
        home = homes.get(cure) or homes.get(statement) or cure
        homes.setdefault(cure, home)
        homes.setdefault(statement, home)
        groups.setdefault(home, []).append(finding)
    return list(groups.values())


def group_of(finding: Finding) -> str:
    """Return an id shared by the findings that one cure mends; it stays the same when lines move."""
    from hashlib import blake2b  # for programs alone

    return blake2b(repr(_cure(finding)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _cure(finding: Finding) -> tuple[object, ...]:
    """What findings have in common that are read as one."""
    words = _masked(finding.message), _masked(finding.fix.message) if finding.fix is not None else ""
    return finding.code, words, finding.hot.phrase, finding.hot.proven, _fix_kind(finding)


def _fix_kind(finding: Finding) -> tuple[object, ...]:
    """Which command applies the fix, and what is to be believed for that."""
    fix = finding.fix
    if fix is None:
        return ()
    return fix.applicability.value, tuple(change.value for change in fix.may_change), _masked(fix.assumes)


def _masked(text: str) -> str:
    return _CODE.sub("*", text)


def _entry(group: Sequence[Finding]) -> ReportEntry:
    lead = min(group, key=lambda finding: (-loss(finding), finding.order))
    others = sorted((finding for finding in group if finding is not lead), key=lambda finding: finding.order)
    return ReportEntry((lead, *others))


def _is_no_error(entry: ReportEntry) -> bool:
    return entry.lead.level is not Level.ERROR


def _badness(entry: ReportEntry) -> tuple[bool, float, int, int, tuple[str, Position, str]]:
    lead = entry.lead
    return _is_no_error(entry), -_loss(entry), -lead.hot.frequency, severity(lead), lead.order


def _loss(entry: ReportEntry) -> float:
    """What an entry costs in the training loop in which it costs most: no one runs several together."""
    by_root: dict[object, float] = {}
    for finding in entry.findings:
        root = finding.hot.path[0] if finding.hot.path else finding.path
        by_root[root] = by_root.get(root, 0.0) + loss(finding)
    return max(by_root.values())
