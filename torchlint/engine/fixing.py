"""Applying fixes in rounds until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from torchlint.engine.fix_checks import BrokenFixError, Reading, check, read, without_unused_imports
from torchlint.engine.lineage import Lineage, Origin
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.neighbours import joined
from torchlint.engine.result import Problem
from torchlint.late import dataclass
from torchlint.rule import Edit, Finding, PlainFix
from torchlint.sources.edits import apply_edits, choose_in_files
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

MAX_ROUNDS = 100

Lint = Callable[[Mapping[str, Source]], Mapping[str, Sequence[Finding]]]
Accepts = Callable[[str, PlainFix], bool]
Allowed = Callable[[Origin], bool]
"""Whether one fix among those that are accepted may be applied."""


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What the fixes made of the files.

    Attributes:
        sources: all files as they are now, by name.
        applied: of the files that were changed, the findings whose fixes were applied, round by round. Their positions
            are those of the text of their round. A fix that changes other files alone counts for the first of them.
        origins: what each of ``applied`` is about, in the same order.
        tied: the groups of files that fixes changed together: all of them are written, or none.
        remaining: what ``lint`` finds in ``sources``.
        problems: fixes that would have broken a file and were not applied, and files whose fixes came to no end.
    """

    sources: Mapping[str, Source]
    applied: Mapping[str, tuple[Finding, ...]]
    origins: Mapping[str, tuple[Origin, ...]]
    remaining: Mapping[str, Sequence[Finding]]
    problems: tuple[Problem, ...]
    tied: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """A file at the start of a round: its text, and where that comes from."""

    source: Source
    lineage: Lineage

    @classmethod
    def of(cls, source: Source) -> Traced:
        """Return a file before all fixes."""
        return cls(source, Lineage.of(source))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finding with a fix that may be applied, what it is about, and its edits by the names of files."""

    finding: Finding
    fix: PlainFix
    origin: Origin
    edits: Mapping[str, tuple[Edit, ...]]

    @property
    def home(self) -> str:
        """The file that it counts for: its own, or the first that it changes."""
        name = self.finding.path
        return name if name in self.edits else min(self.edits)


@dataclass(frozen=True, slots=True)
class Round:
    """What one round made of one file; ``applied`` are the fixes that count for it, ``tied`` the files changed with it.

    A file may be changed by fixes that count for others.
    """

    file: Traced
    applied: tuple[Candidate, ...] = ()
    problems: tuple[Problem, ...] = ()
    changed: bool = False
    tied: frozenset[str] = frozenset()


def fix(
    sources: Mapping[str, Source],
    lint: Lint,
    accepts: Accepts,
    others: Iterable[Source] = (),
    allowed: Allowed | None = None,
) -> FixOutcome:
    """Lint and apply the accepted fixes again and again, until no round changes a file.

    Args:
        sources: the files by name; nothing on disk is touched.
        lint: gives the findings of all files, by name, in the texts it is called with.
        accepts: whether a fix may be applied to the file of a name. Fixes that would lose a comment never are.
        others: files of the project that are not fixed; a name that one of them imports from a fixed file stays there.
        allowed: which of these fixes may be applied, by what they are about; ``None``: all.
    """
    current = {name: Traced.of(source) for name, source in sources.items()}
    others = tuple(others)
    applied: dict[str, tuple[Candidate, ...]] = {}
    tied: list[frozenset[str]] = []
    unsettled: list[str] = []
    for _ in range(MAX_ROUNDS):
        texts = _texts(current)
        findings = lint(texts)
        rounds = fix_once(current, findings, accepts, others, allowed)
        unsettled = [name for name, made in rounds.items() if made.changed]
        if not unsettled:
            # A fix that was dropped earlier and went through later is not a problem: only the last round's are.
            problems = tuple(problem for made in rounds.values() for problem in made.problems)
            return _outcome(texts, applied, findings, problems, tied)
        for name in unsettled:
            current[name] = rounds[name].file
            applied[name] = (*applied.get(name, ()), *rounds[name].applied)
            tied = merged([*tied, rounds[name].tied])
    endless = f"its fixes come to no end within {MAX_ROUNDS} rounds, so the file is left as it was"
    problems = tuple(Problem(name, endless, internal=True, fixing=True) for name in unsettled)
    for name in frozenset(unsettled).union(*(group for group in tied if not group.isdisjoint(unsettled))):
        current[name] = Traced.of(sources[name])
        del applied[name]
    texts = _texts(current)
    tied = [group for group in tied if group <= applied.keys()]
    return _outcome(texts, applied, lint(texts), problems, tied)


def fix_once(
    files: Mapping[str, Traced],
    findings: Mapping[str, Sequence[Finding]],
    accepts: Accepts,
    others: Iterable[Source] = (),
    allowed: Allowed | None = None,
) -> dict[str, Round]:
    """Apply one round of fixes, and return each file with findings or changes by name; nothing is linted again.

    The arguments are as for ``fix``, ``findings`` those in the texts of the files.
    """
    fixer = _Fixer(accepts, allowed, (*_texts(files).values(), *others))
    return fixer.round(files, findings)


def candidates(
    files: Mapping[str, Traced], name: str, findings: Sequence[Finding], accepts: Accepts
) -> list[Candidate]:
    """Return the fixes of the findings in a file that may be applied, in the order of their findings."""
    accepted = [
        (finding, finding.fix, finding.fix.by_file(name))
        for finding in sorted(findings, key=lambda finding: finding.order)
        if finding.fix is not None and not finding.fix.loses_comment
    ]
    accepted = [
        (finding, fix, edits)
        for finding, fix, edits in accepted
        if accepts(name, fix) and all(other in files and accepts(other, fix) for other in edits)
    ]
    file = files[name]
    table = LineTable(file.source.utf8 if accepted else b"")
    return [Candidate(finding, fix, file.lineage.origin(finding, table), edits) for finding, fix, edits in accepted]


def merged(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Merge groups that share a name, so that the groups returned are disjoint; groups of one name are left out."""
    found: list[frozenset[str]] = []
    for group in groups:
        if len(group) > 1:
            sharing = [other for other in found if other & group]
            found = [other for other in found if not other & group] + [group.union(*sharing)]
    return found


def _texts(files: Mapping[str, Traced]) -> dict[str, Source]:
    return {name: file.source for name, file in files.items()}


def _outcome(
    sources: Mapping[str, Source],
    applied: Mapping[str, tuple[Candidate, ...]],
    remaining: Mapping[str, Sequence[Finding]],
    problems: tuple[Problem, ...],
    tied: Sequence[frozenset[str]],
) -> FixOutcome:
    findings = {name: tuple(each.finding for each in candidates) for name, candidates in applied.items()}
    origins = {name: tuple(each.origin for each in candidates) for name, candidates in applied.items()}
    return FixOutcome(sources, findings, origins, remaining, problems, tuple(tied))


@dataclass(frozen=True, slots=True)
class _Fixer:
    """Fixes files in one round; ``importers`` are all files as they are at its start."""

    accepts: Accepts
    allowed: Allowed | None
    importers: Sequence[Source]

    def round(self, files: Mapping[str, Traced], findings: Mapping[str, Sequence[Finding]]) -> dict[str, Round]:
        """Fix files; those that fixes change together are fixed together."""
        found = [each for name in sorted(findings) for each in self._candidates(files, name, findings[name])]
        chosen = [found[index] for index in choose_in_files([each.edits for each in found])]
        rounds = {name: Round(files[name]) for name in findings}
        for names in _together(chosen):
            here = [each for each in chosen if not names.isdisjoint(each.edits)]
            rounds.update(self._guarded({name: files[name] for name in sorted(names)}, here))
        return {name: rounds[name] for name in sorted(rounds)}

    def _guarded(self, files: Mapping[str, Traced], chosen: Sequence[Candidate]) -> dict[str, Round]:
        """Fix files together, which stay as they are where that fails."""
        first = min(files)
        problems: list[Problem] = []
        with kept_going(lambda error: problems.append(mishap(first, "fixing", error, fixing=True))):
            return self._fix(files, chosen)
        return {first: Round(files[first], problems=tuple(problems))}

    def _fix(self, files: Mapping[str, Traced], chosen: Sequence[Candidate]) -> dict[str, Round]:
        """Apply fixes that go together, all of them or, where that breaks a file, all but the bad ones."""
        before = {name: reading for name, file in files.items() if (reading := read(file.source)) is not None}
        chosen = [each for each in chosen if before.keys() >= each.edits.keys()]
        attempt = _Attempt(files, before, self.importers)
        try:
            return _rounds(files, attempt.apply(chosen), chosen)
        except BrokenFixError:
            return _one_by_one(attempt, chosen)

    def _candidates(self, files: Mapping[str, Traced], name: str, findings: Sequence[Finding]) -> Iterable[Candidate]:
        for candidate in candidates(files, name, findings, self.accepts):
            if self.allowed is None or self.allowed(candidate.origin):
                yield candidate


def _together(chosen: Sequence[Candidate]) -> list[frozenset[str]]:
    """The groups of files that fixes change, by name; most are of one file."""
    groups = merged(frozenset(each.edits) for each in chosen)
    grouped = frozenset[str]().union(*groups)
    alone = {name for each in chosen for name in each.edits} - grouped
    return [*groups, *(frozenset((name,)) for name in sorted(alone))]


def _rounds(
    files: Mapping[str, Traced],
    after: Mapping[str, Traced],
    applied: Sequence[Candidate],
    problems: Sequence[tuple[str, Problem]] = (),
) -> dict[str, Round]:
    """What became of files that were fixed together."""
    tied = merged(frozenset(each.edits) for each in applied)
    return {
        name: Round(
            after.get(name, file),
            tuple(each for each in applied if each.home == name),
            tuple(problem for home, problem in problems if home == name),
            name in after,
            next((group for group in tied if name in group), frozenset()),
        )
        for name, file in files.items()
    }


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Files at the start of a round, for trying fixes on them; ``importers`` may import from them."""

    files: Mapping[str, Traced]
    before: Mapping[str, Reading]
    importers: Sequence[Source]

    def apply(self, chosen: Sequence[Candidate]) -> dict[str, Traced]:
        """Apply these fixes, and return the changed files by name, checked.

        Raises:
            BrokenFixError: they break a file, or one of them changes nothing.
        """
        if any(self._is_empty(each) for each in chosen):
            raise BrokenFixError("it changes nothing")
        names = {name for each in chosen for name in each.edits}
        return {name: self._applied(name, [each for each in chosen if name in each.edits]) for name in sorted(names)}

    def _applied(self, name: str, chosen: Sequence[Candidate]) -> Traced:
        file, before = self.files[name], self.before[name]
        source = file.source
        edits = [(edit, each.origin.key) for each in chosen for edit in each.edits[name]]
        try:
            after = apply_edits(source, [edit for edit, _ in edits])
        except ValueError as error:
            raise BrokenFixError(f"its edits do not fit the text: {error}") from error
        removed = [each.fix.removes for each in chosen if each.fix.removes]
        reading = check(before, after, removed)
        together, joins = joined(before, after, reading, removed)
        reading = check(before, together, removed) if joins else reading
        final, removals = without_unused_imports(before, together, reading, self.importers, removed)
        return Traced(final, _lineage(file, edits, after, [*joins, *removals]))

    def _is_empty(self, candidate: Candidate) -> bool:
        """Whether a fix puts in place what is there already; applying it would never come to an end."""
        return all(
            self.files[name].source.utf8[edit.start : edit.end] == edit.text.encode()
            for name, edits in candidate.edits.items()
            for edit in edits
        )


def _lineage(file: Traced, edits: Sequence[tuple[Edit, str]], after: Source, removals: Sequence[Edit]) -> Lineage:
    """Where the text comes from that edits made ``after``, and then more of them, one after the other."""
    lineage = file.lineage.after(file.source, edits)
    for removal in removals:
        lineage = lineage.after(after, [(removal, "")])
        after = apply_edits(after, [removal])
    return lineage


def _one_by_one(attempt: _Attempt, chosen: Sequence[Candidate]) -> dict[str, Round]:
    """Add one fix after the other and leave out those that break a file."""
    after: dict[str, Traced] = {}
    applied: list[Candidate] = []
    problems: list[tuple[str, Problem]] = []
    for candidate in chosen:
        try:
            after = attempt.apply([*applied, candidate])
        except BrokenFixError as error:
            finding = candidate.finding
            place = f"{finding.start.row}:{finding.start.column}"
            message = f"the fix of {finding.code} at {place} is not applied: {error}"
            path = finding.path
            problem = Problem(path, message, internal=True, code=finding.code, fixing=True)
            problems.append((candidate.home, problem))
            continue
        applied.append(candidate)
    return _rounds(attempt.files, after, applied, problems)
