"""Applying fixes in rounds until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from torchlint.engine.fix_checks import BrokenFixError, Reading, check, read, without_unused_imports
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.result import Problem
from torchlint.late import dataclass
from torchlint.rule import Finding, PlainFix
from torchlint.sources.edits import apply_edits, choose_edits
from torchlint.sources.text import Source

MAX_ROUNDS = 100

Lint = Callable[[Mapping[str, Source]], Mapping[str, Sequence[Finding]]]


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What the fixes made of the files.

    Attributes:
        sources: all files as they are now, by name.
        applied: of the files that were changed, the findings whose fixes were applied, round by round. Their positions
            are those of the text of their round.
        remaining: what ``lint`` finds in ``sources``.
        problems: fixes that would have broken a file and were not applied, and files whose fixes came to no end.
    """

    sources: Mapping[str, Source]
    applied: Mapping[str, tuple[Finding, ...]]
    remaining: Mapping[str, Sequence[Finding]]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Round:
    """What one round made of one file."""

    source: Source
    applied: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def fix(
    sources: Mapping[str, Source], lint: Lint, accepts: Callable[[str, PlainFix], bool], others: Iterable[Source] = ()
) -> FixOutcome:
    """Lint and apply the accepted fixes again and again, until no round changes a file.

    Args:
        sources: the files by name; nothing on disk is touched.
        lint: gives the findings of all files, by name, in the texts it is called with.
        accepts: whether a fix may be applied to the file of a name. Fixes that would lose a comment never are.
        others: files of the project that are not fixed; a name that one of them imports from a fixed file stays there.
    """
    current = dict(sources)
    others = tuple(others)
    applied: dict[str, tuple[Finding, ...]] = {}
    unsettled: list[str] = []
    for _ in range(MAX_ROUNDS):
        findings = lint(current)
        importers = (*current.values(), *others)
        rounds = {name: _guarded(current[name], findings[name], accepts, importers) for name in sorted(findings)}
        unsettled = [name for name, made in rounds.items() if made.applied]
        if not unsettled:
            # A fix that was dropped earlier and went through later is no problem: only the last round's are.
            problems = tuple(problem for made in rounds.values() for problem in made.problems)
            return FixOutcome(current, applied, findings, problems)
        for name in unsettled:
            current[name] = rounds[name].source
            applied[name] = (*applied.get(name, ()), *rounds[name].applied)
    for name in unsettled:
        current[name] = sources[name]
        del applied[name]
    endless = f"its fixes come to no end within {MAX_ROUNDS} rounds, so the file is left as it was"
    problems = tuple(Problem(name, endless, internal=True, fixing=True) for name in unsettled)
    return FixOutcome(current, applied, lint(current), problems)


def _guarded(
    source: Source,
    findings: Sequence[Finding],
    accepts: Callable[[str, PlainFix], bool],
    importers: Sequence[Source],
) -> _Round:
    """Fix one file, which stays as it is where that fails."""
    problems: list[Problem] = []
    with kept_going(lambda error: problems.append(mishap(source.name, "fixing", error, fixing=True))):
        return _fix_file(source, findings, accepts, importers)
    return _Round(source, problems=tuple(problems))


def _fix_file(
    source: Source,
    findings: Sequence[Finding],
    accepts: Callable[[str, PlainFix], bool],
    importers: Sequence[Source],
) -> _Round:
    """Apply the fixes of one file that go together, all of them or, where that breaks it, all but the bad ones."""
    candidates = [
        (finding, finding.fix)
        for finding in sorted(findings, key=lambda finding: finding.order)
        if finding.fix is not None and not finding.fix.loses_comment and accepts(source.name, finding.fix)
    ]
    chosen = [candidates[index] for index in choose_edits([fix.edits for _, fix in candidates])]
    before = read(source) if chosen else None
    if before is None:
        return _Round(source)
    attempt = _Attempt(source, before, importers)
    try:
        return _Round(attempt.apply([fix for _, fix in chosen]), tuple(finding for finding, _ in chosen))
    except BrokenFixError:
        return _one_by_one(attempt, chosen)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A file at the start of a round, for trying fixes on it; ``importers`` may import from it."""

    source: Source
    before: Reading
    importers: Sequence[Source]

    def apply(self, fixes: Sequence[PlainFix]) -> Source:
        """The file with these fixes, checked.

        Raises:
            BrokenFixError: they break it, or one of them changes nothing.
        """
        if any(_is_empty(fix, self.source) for fix in fixes):
            raise BrokenFixError("it changes nothing")
        try:
            after = apply_edits(self.source, [edit for fix in fixes for edit in fix.edits])
        except ValueError as error:
            raise BrokenFixError(f"its edits do not fit the text: {error}") from error
        removed = [fix.removes for fix in fixes if fix.removes]
        reading = check(self.before, after, removed)
        return without_unused_imports(self.before, after, reading, self.importers, removed)


def _is_empty(fix: PlainFix, source: Source) -> bool:
    """Whether a fix puts in place what is there already; applying it would never come to an end."""
    return all(source.utf8[edit.start : edit.end] == edit.text.encode() for edit in fix.edits)


def _one_by_one(attempt: _Attempt, chosen: Sequence[tuple[Finding, PlainFix]]) -> _Round:
    """Add one fix after the other and leave out those that break the file."""
    source = attempt.source
    kept: list[PlainFix] = []
    applied: list[Finding] = []
    problems: list[Problem] = []
    for finding, fix in chosen:
        try:
            source = attempt.apply([*kept, fix])
        except BrokenFixError as error:
            place = f"{finding.start.row}:{finding.start.column}"
            message = f"the fix of {finding.code} at {place} is not applied: {error}"
            problems.append(Problem(source.name, message, internal=True, code=finding.code, fixing=True))
            continue
        kept.append(fix)
        applied.append(finding)
    return _Round(source, tuple(applied), tuple(problems))
