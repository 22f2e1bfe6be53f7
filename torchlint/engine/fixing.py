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
from torchlint.sources.edits import apply_edits, choose_edits
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
            are those of the text of their round.
        origins: what each of ``applied`` is about, in the same order.
        remaining: what ``lint`` finds in ``sources``.
        problems: fixes that would have broken a file and were not applied, and files whose fixes came to no end.
    """

    sources: Mapping[str, Source]
    applied: Mapping[str, tuple[Finding, ...]]
    origins: Mapping[str, tuple[Origin, ...]]
    remaining: Mapping[str, Sequence[Finding]]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Traced:
    """A file at the start of a round: its text, and where that comes from."""

    source: Source
    lineage: Lineage

    @classmethod
    def of(cls, source: Source) -> Traced:
        """A file before all fixes."""
        return cls(source, Lineage.of(source))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finding with a fix that may be applied, and what it is about."""

    finding: Finding
    fix: PlainFix
    origin: Origin


@dataclass(frozen=True, slots=True)
class Round:
    """What one round made of one file."""

    file: Traced
    applied: tuple[Candidate, ...] = ()
    problems: tuple[Problem, ...] = ()


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
    unsettled: list[str] = []
    for _ in range(MAX_ROUNDS):
        texts = _texts(current)
        findings = lint(texts)
        rounds = fix_once(current, findings, accepts, others, allowed)
        unsettled = [name for name, made in rounds.items() if made.applied]
        if not unsettled:
            # A fix that was dropped earlier and went through later is no problem: only the last round's are.
            problems = tuple(problem for made in rounds.values() for problem in made.problems)
            return _outcome(texts, applied, findings, problems)
        for name in unsettled:
            current[name] = rounds[name].file
            applied[name] = (*applied.get(name, ()), *rounds[name].applied)
    for name in unsettled:
        current[name] = Traced.of(sources[name])
        del applied[name]
    endless = f"its fixes come to no end within {MAX_ROUNDS} rounds, so the file is left as it was"
    problems = tuple(Problem(name, endless, internal=True, fixing=True) for name in unsettled)
    texts = _texts(current)
    return _outcome(texts, applied, lint(texts), problems)


def fix_once(
    files: Mapping[str, Traced],
    findings: Mapping[str, Sequence[Finding]],
    accepts: Accepts,
    others: Iterable[Source] = (),
    allowed: Allowed | None = None,
) -> dict[str, Round]:
    """What one round of fixes makes of each file that has findings, by name; nothing is linted again.

    The arguments are as for ``fix``, ``findings`` those in the texts of the files.
    """
    fixer = _Fixer(accepts, allowed, (*_texts(files).values(), *others))
    return {name: fixer.guarded(files[name], findings[name]) for name in sorted(findings)}


def candidates(file: Traced, findings: Sequence[Finding], accepts: Accepts) -> list[Candidate]:
    """The fixes of a file that may be applied, in the order of their findings."""
    name = file.source.name
    accepted = [
        (finding, finding.fix)
        for finding in sorted(findings, key=lambda finding: finding.order)
        if finding.fix is not None and not finding.fix.loses_comment and accepts(name, finding.fix)
    ]
    table = LineTable(file.source.utf8 if accepted else b"")
    return [Candidate(finding, fix, file.lineage.origin(finding, table)) for finding, fix in accepted]


def _texts(files: Mapping[str, Traced]) -> dict[str, Source]:
    return {name: file.source for name, file in files.items()}


def _outcome(
    sources: Mapping[str, Source],
    applied: Mapping[str, tuple[Candidate, ...]],
    remaining: Mapping[str, Sequence[Finding]],
    problems: tuple[Problem, ...],
) -> FixOutcome:
    findings = {name: tuple(each.finding for each in candidates) for name, candidates in applied.items()}
    origins = {name: tuple(each.origin for each in candidates) for name, candidates in applied.items()}
    return FixOutcome(sources, findings, origins, remaining, problems)


@dataclass(frozen=True, slots=True)
class _Fixer:
    """Fixes files in one round; ``importers`` are all files as they are at its start."""

    accepts: Accepts
    allowed: Allowed | None
    importers: Sequence[Source]

    def guarded(self, file: Traced, findings: Sequence[Finding]) -> Round:
        """Fix one file, which stays as it is where that fails."""
        problems: list[Problem] = []
        with kept_going(lambda error: problems.append(mishap(file.source.name, "fixing", error, fixing=True))):
            return self._fix(file, findings)
        return Round(file, problems=tuple(problems))

    def _fix(self, file: Traced, findings: Sequence[Finding]) -> Round:
        """Apply the fixes of one file that go together, all of them or, where that breaks it, all but the bad ones."""
        found = self._candidates(file, findings)
        chosen = [found[index] for index in choose_edits([each.fix.edits for each in found])]
        before = read(file.source) if chosen else None
        if before is None:
            return Round(file)
        attempt = _Attempt(file, before, self.importers)
        try:
            return Round(attempt.apply(chosen), tuple(chosen))
        except BrokenFixError:
            return _one_by_one(attempt, chosen)

    def _candidates(self, file: Traced, findings: Sequence[Finding]) -> list[Candidate]:
        found = candidates(file, findings, self.accepts)
        return [candidate for candidate in found if self.allowed is None or self.allowed(candidate.origin)]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A file at the start of a round, for trying fixes on it; ``importers`` may import from it."""

    file: Traced
    before: Reading
    importers: Sequence[Source]

    def apply(self, chosen: Sequence[Candidate]) -> Traced:
        """The file with these fixes, checked.

        Raises:
            BrokenFixError: they break it, or one of them changes nothing.
        """
        source = self.file.source
        if any(_is_empty(each.fix, source) for each in chosen):
            raise BrokenFixError("it changes nothing")
        edits = [(edit, each.origin.key) for each in chosen for edit in each.fix.edits]
        try:
            after = apply_edits(source, [edit for edit, _ in edits])
        except ValueError as error:
            raise BrokenFixError(f"its edits do not fit the text: {error}") from error
        removed = [each.fix.removes for each in chosen if each.fix.removes]
        reading = check(self.before, after, removed)
        together, joins = joined(self.before, after, reading, removed)
        reading = check(self.before, together, removed) if joins else reading
        final, removals = without_unused_imports(self.before, together, reading, self.importers, removed)
        return Traced(final, _lineage(self.file, edits, after, [*joins, *removals]))


def _lineage(file: Traced, edits: Sequence[tuple[Edit, str]], after: Source, removals: Sequence[Edit]) -> Lineage:
    """Where the text comes from that edits made ``after``, and then more of them, one after the other."""
    lineage = file.lineage.after(file.source, edits)
    for removal in removals:
        lineage = lineage.after(after, [(removal, "")])
        after = apply_edits(after, [removal])
    return lineage


def _is_empty(fix: PlainFix, source: Source) -> bool:
    """Whether a fix puts in place what is there already; applying it would never come to an end."""
    return all(source.utf8[edit.start : edit.end] == edit.text.encode() for edit in fix.edits)


def _one_by_one(attempt: _Attempt, chosen: Sequence[Candidate]) -> Round:
    """Add one fix after the other and leave out those that break the file."""
    file = attempt.file
    applied: list[Candidate] = []
    problems: list[Problem] = []
    for candidate in chosen:
        try:
            file = attempt.apply([*applied, candidate])
        except BrokenFixError as error:
            finding = candidate.finding
            place = f"{finding.start.row}:{finding.start.column}"
            message = f"the fix of {finding.code} at {place} is not applied: {error}"
            path = attempt.file.source.name
            problems.append(Problem(path, message, internal=True, code=finding.code, fixing=True))
            continue
        applied.append(candidate)
    return Round(file, tuple(applied), tuple(problems))
