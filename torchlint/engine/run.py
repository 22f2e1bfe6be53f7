"""A whole run: from paths to findings, and to fixed files."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cache.world import look
from torchlint.engine.known import KnownFindings
from torchlint.engine.reading import ChangedWhileReadError, File, FileReader, passing
from torchlint.engine.result import FixedFile, Problem, Result, Skipped
from torchlint.engine.rules import listed_rules
from torchlint.engine.scope import RuleScope, Scopes, SettingsOf
from torchlint.engine.syntax import SYNTAX_ERROR, Unparsed
from torchlint.late import dataclass
from torchlint.settings.root import is_whole, located
from torchlint.sources.decode import UndecodableError
from torchlint.sources.walk import Walk, beside, packages, walk

if TYPE_CHECKING:
    from torchlint.engine.fixing import Allowed, FixOutcome
    from torchlint.engine.linting import Linting, Parsed
    from torchlint.engine.memory import Memory
    from torchlint.engine.session_state import SessionState
    from torchlint.rule import Finding, PlainFix
    from torchlint.rule.sight import ExpressionKey, Sight
    from torchlint.settings.model import Settings
    from torchlint.sources.text import Source


class Reach(enum.Enum):
    """Which files a fix may change besides that of its finding."""

    OWN = "none"
    ASKED = "those that were asked for"
    PROJECT = "all of the project"


def check(
    paths: Sequence[Path],
    settings: Settings,
    stdin: Source | None = None,
    own: SettingsOf | None = None,
    opened: Sequence[Source] = (),
    parsed: Parsed | None = None,
    memory: Memory | None = None,
    reach: Reach = Reach.ASKED,
    session: SessionState | None = None,
) -> Result:
    """Lint files and folders; with ``settings.fix`` also write what the fixes make of them.

    ``stdin`` and the texts that are ``opened`` in an editor are linted in place of the files of their names, and their
    fixed texts are only returned. Facts come from the whole project, findings only for what was asked. ``parsed`` is
    what earlier runs parsed, and is kept up to date. ``own`` gives the settings of each file: which rules look at it,
    and which fixes are taken. ``memory`` is what earlier runs know of files, and takes up what this one finds out; runs
    that fix, or that are given texts, make no use of it. ``reach`` says which other files fixes may change: an
    editor changes files that are not open, too. ``session`` is what is kept between runs: one that does not fix takes
    units of it as they are, and leaves those that it linked there.

    Raises:
        SettingsError: a selector fits no rule, or the settings of a file are wrong.
        UnusableError: the baseline cannot be read, or git does not know the revision.
    """
    given = {source.name: source for source in (stdin, *opened) if source is not None}
    fixing = settings.fix or settings.diff
    if memory is not None and not fixing and not given:
        try:
            run = EngineRun.prepare(paths, settings, given, own, memory)
            return run.result(run.recalled(memory))
        except ChangedWhileReadError:
            memory.seen.clear()  # what this run saw is not a world that ever was
    run = EngineRun.prepare(paths, settings, given, own)
    run.parsed = parsed if parsed is not None else {}
    run.reach = reach
    if fixing:
        return run.fixed()
    run.session = session
    result = run.checked()
    if session is not None:
        session.run = run
    if parsed is not None:
        _forget(parsed, {**run.context, **run.sources})
    return result


def _forget(parsed: Parsed, sources: Mapping[str, Source]) -> None:
    """Keep what was parsed of these texts alone, so that a long session does not grow with every change."""
    current = {(name, source.utf8) for name, source in sources.items()}
    for key in parsed.keys() - current:
        del parsed[key]


def linted_files(paths: Sequence[Path], settings: Settings, own: SettingsOf | None = None) -> Result:
    """Return the files that would be linted, by name in ``Result.names``, without reading any."""
    scopes = Scopes(RuleScope.of(settings, listed_rules(settings.plugins), []), own)
    found = walk(paths, settings)
    names = _wanted(found.files, paths, settings, scopes)
    problems = [Problem(path, message) for path, message in found.problems]
    return Result(problems=problems, files=len(names), names=tuple(names))


@dataclass(eq=False, slots=True)
class EngineRun:
    """The files of one run: those to report on, and those that are only read for their facts.

    ``parsed`` is what was parsed so far, ``session`` what is kept between the runs of a session. ``sights`` is what a
    run of the user's program showed, ``outdated`` names what
    of it fits no code here.
    """

    settings: Settings
    scopes: Scopes
    known: KnownFindings
    given: Mapping[str, Source]
    memory: Memory | None = None
    files: dict[str, File] = field(default_factory=dict)
    wanted: frozenset[str] = frozenset()
    sources: dict[str, Source] = field(default_factory=dict)
    context: dict[str, Source] = field(default_factory=dict)
    unreadable: dict[str, Unparsed] = field(default_factory=dict)
    result_: Result = field(default_factory=Result)
    parsed: Parsed = field(default_factory=dict)
    sights: tuple[Sight, ...] = ()
    outdated: frozenset[ExpressionKey] = frozenset()
    reach: Reach = Reach.ASKED
    session: SessionState | None = None
    _linting: Linting | None = None

    @classmethod
    def prepare(
        cls,
        paths: Sequence[Path],
        settings: Settings,
        given: Mapping[str, Source],
        own: SettingsOf | None = None,
        memory: Memory | None = None,
    ) -> EngineRun:
        """Select the rules and find the files; without memory they are all read."""
        plugins = settings.plugins
        if plugins:
            from torchlint.engine.models import models_of

            models_of(settings)  # what is wrong with a package is said before any file is read
        scopes = Scopes(RuleScope.of(settings, listed_rules(plugins), []), own)
        run = cls(settings, scopes, KnownFindings.of(settings), given, memory)
        if settings.observations is not None:
            from torchlint.engine.sights import sights_in

            run.sights = sights_in(settings.observations)
        run._find(paths)
        if memory is None:
            run.load(sorted(run.files))
        if run.sights:
            run.outdated = run._outdated()
            run.result_.outdated = len(run.outdated), len(run.sights)
        return run

    @property
    def decisive(self) -> Settings:
        """The settings with all that decides what is found."""
        return replace(self.settings, sights=self.sights)

    def _outdated(self) -> frozenset[ExpressionKey]:
        from torchlint.engine.sights import outdated

        paths = {sight.key.path for sight in self.sights}
        self.load(paths & self.files.keys())
        texts = [text for name in paths if (text := self.sources.get(name) or self.context.get(name)) is not None]
        gone = {path for path in paths - self.files.keys() if not os.path.exists(self.settings.root / path)}
        return outdated(self.sights, self.linting.known(texts), gone)

    def _find(self, paths: Sequence[Path]) -> None:
        """Find the files that pass the gate."""
        found = walk(paths, self.settings)
        self.result_.problems.extend(Problem(path, message) for path, message in found.problems)
        wanted = _wanted(found.files, paths, self.settings, self.scopes)
        asked = {**wanted, **{name: source.path for name, source in self.given.items()}}
        project = {**self._project(asked, found), **wanted}
        if self.memory is not None:
            self.memory.look_for(self.scopes.words)
        reader = FileReader(self.scopes.words, self.memory)
        files, problems, skipped, self.unreadable = reader.read_all(project)
        self.result_.problems.extend(Problem(name, told) for name, told in problems.items() if name in wanted)
        self.result_.skipped.extend(Skipped(name, told) for name, told in skipped.items() if name in wanted)
        files.update((name, reader.given(source)) for name, source in self.given.items())
        self.result_.files = len(asked)
        inside = passing(files.values(), self.scopes.selected_words)
        broken = {name for name in asked.keys() & files.keys() - inside if not reader.is_sound(files[name])}
        self.files = {name: files[name] for name in sorted(inside | broken)}
        self.wanted = frozenset(asked)
        self.result_.context = len(self.files.keys() - asked.keys())

    def _project(self, wanted: Mapping[str, Path], found: Walk) -> dict[str, Path]:
        """All files of the project, for their facts."""
        root = self.settings.root
        seen = dict(found.folders)
        files: dict[str, Path] = {}
        whole = not self.settings.no_context and is_whole(root)
        if not self.settings.no_context:
            walked = walk([root] if whole else packages(wanted.values()), self.settings)
            seen.update(walked.folders)
            files = {name_in(path, root): path for path in walked.files}
        if not (whole or self.settings.no_context):
            # A place for many projects: what lies right beside the files, not everything below the root.
            folders = sorted({root, *(path.parent for path in wanted.values())})
            seen.update({str(folder): look(str(folder)) for folder in folders if str(folder) not in seen})
            files.update({name_in(path, root): path for each in folders for path in beside(each)})
        if self.memory is not None:
            self.memory.seen.update({f"d{folder}": told for folder, told in seen.items()})
            self.memory.whole = whole
        return files

    def load(self, names: Iterable[str]) -> None:
        """Read the texts of files, as far as they are texts.

        Raises:
            ChangedWhileReadError: a file that memory knows is no longer what it was.
        """
        for name in names:
            if name in self.sources or name in self.context:
                continue
            target = self.sources if name in self.wanted else self.context
            if name in self.given:
                target[name] = self.given[name]
                continue
            try:
                target[name] = self.files[name].source()
            except UndecodableError as error:
                self.unreadable[name] = Unparsed(str(error), error.row, error.column)

    # linting --------------------------------------------------------------------------------------------------------

    @property
    def linting(self) -> Linting:
        """What parses and lints; asked for where a file passed the gate."""
        if self._linting is None:
            from torchlint.engine.linting import Linting

            self._linting = Linting.of(self)
        return self._linting

    def lint(self, sources: Mapping[str, Source]) -> dict[str, list[Finding]]:
        """Return findings of all files to report on, by name, without the suppressed ones."""
        return self.linting.lint(sources) if sources else {}

    def recalled(self, memory: Memory) -> dict[str, list[Finding]]:
        """Return the same for all files, from memory where it holds them."""
        if not self.files:
            return {}
        from torchlint.engine.recall import Recall

        return Recall(self, memory).findings()

    def checked(self) -> Result:
        """Lint all files to report on; nothing is fixed."""
        return self.result(self.lint(self.sources))

    def broken(self, name: str, why: Unparsed) -> list[Finding]:
        """Return the finding for a file without facts; a file that is too large is only noted."""
        if not why.too_much:
            from torchlint.engine.broken import syntax_error

            return [syntax_error(name, why, self.scopes.of(self.settings.root / name).target)]
        skipped = Skipped(name, why.message)
        self.result_.skipped += [skipped] if skipped not in self.result_.skipped else []
        return []

    def note(self, *problems: Problem) -> None:
        """Record problems, of equal ones the first."""
        if not problems:
            return
        told = {(problem.path, problem.message) for problem in self.result_.problems}
        self.result_.problems += [problem for problem in problems if (problem.path, problem.message) not in told]

    def offered(self, source: Source, drafts: Iterable[Finding]) -> list[Finding]:
        """Return the findings of a file to show: no known ones, and fixes only where they are wanted."""
        scope = self.scopes.of(source.path)
        offered = (scope.offered(finding) for finding in self.known.unknown(drafts, source))
        files = {Reach.OWN: frozenset[str](), Reach.ASKED: self.wanted}.get(self.reach, self.files.keys())
        return [replace(each, fix=each.fix.within(files)) if each.fix else each for each in offered]

    def result(self, findings: Mapping[str, Sequence[Finding]]) -> Result:
        """Return the findings of all files in order, with the texts they point into."""
        result = self.result_
        result.findings.extend(finding for name in findings for finding in findings[name])
        unreadable = ((name, why) for name, why in self.unreadable.items() if name in self.wanted - findings.keys())
        result.findings.extend(finding for name, why in unreadable for finding in self.broken(name, why))
        result.findings.sort(key=lambda finding: finding.order)
        changed = {name for finding in result.findings if finding.fix for name, _ in finding.fix.in_files}
        self.load(sorted(changed))
        texts = {name: self.context[name] for name in changed & self.context.keys()}
        result.sources = {**result.sources, **texts, **self.sources}
        result.plugins = self.scopes.plugins
        broken = {finding.path for finding in result.findings if finding.code == SYNTAX_ERROR}
        scopes = {name: self.scopes.of(self.files[name].path) for name in self.files.keys() & self.wanted}
        result.stale = self.known.stale({name: scope for name, scope in scopes.items() if name not in broken})
        result.accepts = {name: scope.accepts for name, scope in scopes.items()}
        result.problems.sort(key=lambda problem: (problem.path, problem.message))
        return result

    # fixing ---------------------------------------------------------------------------------------------------------

    def fixed(self) -> Result:
        """Apply the accepted fixes until nothing changes, and write the files unless only a diff is wanted."""
        return self.written(self.fixes())

    def fixes(self, allowed: Allowed | None = None) -> FixOutcome:
        """Apply the accepted fixes, or those of them that are allowed, and return the results; nothing is written."""
        from torchlint.engine.fixing import fix

        return fix(self.sources, self.lint, self._accepts, tuple(self.context.values()), allowed)

    def written(self, outcome: FixOutcome) -> Result:
        """Write what fixes made of the files, unless only a diff is wanted."""
        from torchlint.engine.writing import write

        self.result_.problems.extend(outcome.problems)
        remaining = dict(outcome.remaining)
        wanted = [name for name in outcome.applied if name not in self.given]
        unwritten: set[str] = set()
        if self.settings.fix and not self.settings.diff:
            texts = {name: (self.sources[name], outcome.sources[name]) for name in wanted}
            unwritten = write(self, texts, outcome.tied)
        for name, applied in outcome.applied.items():
            if name not in unwritten:
                self.result_.fixed[name] = FixedFile(self.sources[name], outcome.sources[name], applied)
                self.sources[name] = outcome.sources[name]
        findings = self.lint(self.sources) if unwritten else {}
        remaining.update({name: findings[name] for name in unwritten})
        return self.result(remaining)

    def _accepts(self, name: str, fix: PlainFix) -> bool:
        return self.scopes.of(self.sources[name].path).accepts(fix)


def _wanted(files: Iterable[Path], given: Sequence[Path], settings: Settings, scopes: Scopes) -> dict[str, Path]:
    """The files to report on by name: without those that their own settings exclude, unless they were given."""
    named = frozenset() if settings.force_exclude else {located(path) for path in given}
    return {
        name_in(path, settings.root): path
        for path in files
        if path in named or (scope := scopes.of(path)) is scopes.run or not scope.excludes(path)
    }


def name_in(path: Path, root: Path) -> str:
    """Return a path relative to the project root, with ``/``."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return Path(os.path.relpath(path, root)).as_posix()
