"""A whole run: from paths to findings, and to fixed files."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cache.world import look
from torchlint.engine.analysis import Unparsed, parse
from torchlint.engine.broken import SYNTAX_ERROR, syntax_error
from torchlint.engine.figures import Figures
from torchlint.engine.known import KnownFindings
from torchlint.engine.memory import Memory
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.models import models_of
from torchlint.engine.notebooks import inner_name
from torchlint.engine.processes import Done, lint_all
from torchlint.engine.reading import ChangedWhileReadError, File, FileReader, passing
from torchlint.engine.recall import Recall
from torchlint.engine.result import FixedFile, Problem, Result, Skipped
from torchlint.engine.rules import listed_rules
from torchlint.engine.scope import RuleScope, Scopes, SettingsOf
from torchlint.engine.sights import outdated, sights_in
from torchlint.engine.units import MOST_BYTES, Leftovers, LintTarget, Unit, in_parts, together
from torchlint.facts.code.model import FileFacts
from torchlint.facts.hotness.coldness import is_test
from torchlint.late import dataclass
from torchlint.rule import Finding, PlainFix
from torchlint.rule.sight import ExpressionKey, Sight
from torchlint.settings.model import Settings
from torchlint.settings.root import is_whole, located
from torchlint.sources.decode import UndecodableError
from torchlint.sources.suppress import silencing
from torchlint.sources.text import Source
from torchlint.sources.walk import Walk, beside, packages, walk
from torchlint.sources.write import ChangedMeanwhileError, Staged, UnencodableError, remove_strays, replace_together

if TYPE_CHECKING:
    from torchlint.engine.fixing import Allowed, FixOutcome


class Reach(enum.Enum):
    """Which files a fix may change besides that of its finding."""

    OWN = "none"
    ASKED = "those that were asked for"
    PROJECT = "all of the project"


Parsed = dict[tuple[str, bytes], FileFacts | Unparsed | None]
"""Facts of texts, by the name and the bytes of each."""


def check(
    paths: Sequence[Path],
    settings: Settings,
    stdin: Source | None = None,
    own: SettingsOf | None = None,
    opened: Sequence[Source] = (),
    parsed: Parsed | None = None,
    memory: Memory | None = None,
    reach: Reach = Reach.ASKED,
) -> Result:
    """Lint files and folders; with ``settings.fix`` also write what the fixes make of them.

    ``stdin`` and the texts that are ``opened`` in an editor are linted in place of the files of their names, and their
    fixed texts are only returned. Facts come from the whole project, findings only for what was asked. ``parsed`` is
    what earlier runs parsed, and is kept up to date. ``own`` gives the settings of each file: which rules look at it,
    and which fixes are taken. ``memory`` is what earlier runs know of files, and takes up what this one finds out; runs
    that fix, or that are given texts, make no use of it. ``reach`` says which other files fixes may change: an
    editor changes files that are not open, too.

    Raises:
        SettingsError: a selector fits no rule, or the settings of a file are wrong.
        UnusableError: the baseline cannot be read, or git does not know the revision.
    """
    given = {source.name: source for source in (stdin, *opened) if source is not None}
    fixing = settings.fix or settings.diff
    if memory is not None and not fixing and not given:
        try:
            run = EngineRun.prepare(paths, settings, given, own, memory)
            return run.result(Recall(run, memory).findings())
        except ChangedWhileReadError:
            memory.seen.clear()  # what this run saw is no world that ever was
    run = EngineRun.prepare(paths, settings, given, own)
    run.parsed = parsed if parsed is not None else {}
    run.reach = reach
    if fixing:
        return run.fixed()
    result = run.checked()
    if parsed is not None:
        _forget(parsed, {**run.context, **run.sources})
    return result


def _forget(parsed: Parsed, sources: Mapping[str, Source]) -> None:
    """Keep what was parsed of these texts alone, so that a long session does not grow with every change."""
    current = {(name, source.utf8) for name, source in sources.items()}
    for key in parsed.keys() - current:
        del parsed[key]


def linted_files(paths: Sequence[Path], settings: Settings, own: SettingsOf | None = None) -> Result:
    """The files that would be linted, by name in ``Result.names``; nothing is read."""
    scopes = Scopes(RuleScope.of(settings, listed_rules(settings.plugins), Figures(), []), own)
    found = walk(paths, settings)
    names = _wanted(found.files, paths, settings, scopes)
    problems = [Problem(path, message) for path, message in found.problems]
    return Result(problems=problems, files=len(names), names=tuple(names))


@dataclass(eq=False, slots=True)
class EngineRun:
    """The files of one run: those to report on, and those that are only read for their facts.

    ``leftovers`` is there where the facts of all files do not fit into memory: they are found again for each unit, and
    not kept. ``sights`` is what a run of the user's program showed, ``outdated`` names what of it fits no code here.
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
    leftovers: Leftovers | None = None
    sights: tuple[Sight, ...] = ()
    outdated: frozenset[ExpressionKey] = frozenset()
    reach: Reach = Reach.ASKED

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
        models_of(settings)  # what is wrong with a package is said before any file is read
        scopes = Scopes(RuleScope.of(settings, listed_rules(plugins), Figures.of(plugins), []), own)
        run = cls(settings, scopes, KnownFindings.of(settings), given, memory)
        run.sights = sights_in(settings.observations) if settings.observations is not None else ()
        run._find(paths)
        if memory is None:
            run.load(sorted(run.files))
        run.outdated = run._outdated()
        run.result_.outdated = len(run.outdated), len(run.sights)
        return run

    @property
    def decisive(self) -> Settings:
        """The settings with all that decides what is found."""
        return replace(self.settings, sights=self.sights)

    def _outdated(self) -> frozenset[ExpressionKey]:
        paths = {sight.key.path for sight in self.sights}
        self.load(paths & self.files.keys())
        texts = [text for name in paths if (text := self.sources.get(name) or self.context.get(name)) is not None]
        gone = {path for path in paths - self.files.keys() if not os.path.exists(self.settings.root / path)}
        return outdated(
            self.sights, [facts for text in texts if isinstance(facts := self.facts(text), FileFacts)], gone
        )

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
        if sum(file.size for file in self.files.values()) > MOST_BYTES:
            self.leftovers = Leftovers()
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

    def facts(self, source: Source) -> FileFacts | Unparsed | None:
        """The facts of a text, or why there are none; ``None`` for a test. The same text is parsed once per run.

        Of a large project nothing is kept.
        """
        if self.leftovers is not None:
            return self._read(source)
        key = source.name, source.utf8
        if key not in self.parsed:
            self.parsed[key] = self._read(source)
        return self.parsed[key]

    def glance(self, source: Source) -> FileFacts | Unparsed | None:
        """The same, to look at what a file imports and let it go again."""
        if self.leftovers is not None:
            self.leftovers.make_room(len(source.utf8))
            self.leftovers.add(len(source.utf8))
        return self.facts(source)

    def _read(self, source: Source) -> FileFacts | Unparsed | None:
        inner = inner_name(source.name)
        with kept_going(lambda error: self._tell(mishap(source.name, "reading", error))):
            good, bad = parse({inner: replace(source, name=inner)})
            return good[0] if good else bad.get(inner)
        return None

    def units(self, sources: Mapping[str, Source]) -> tuple[list[Unit], dict[str, Unparsed]]:
        """What hangs together of the given texts and the rest of the project, and what cannot be parsed, by name.

        Where none of the given texts is among the files of a unit, it is left out.
        """
        everything = {**self.context, **sources}
        links: dict[str, Sequence[str]] = {}
        broken: dict[str, Unparsed] = {}
        for name in sorted(everything):
            facts = self.glance(everything[name])
            if isinstance(facts, Unparsed):
                broken[name] = facts
            elif facts is not None:
                links[name] = facts.links
        groups = self.groups(links)
        # What has no facts, as tests have none, may still hold comments that a rule looks at.
        groups += self.parts([name for name in sources if name not in links and name not in broken])
        units = (self.unit(group, everything, sources) for group in groups if not sources.keys().isdisjoint(group))
        return list(units), broken

    def groups(self, links: Mapping[str, Sequence[str]]) -> list[list[str]]:
        """The files that are analysed together, from what each imports, by name."""
        return [part for group in together(links) for part in self.parts(group)]

    def parts(self, group: Sequence[str]) -> list[list[str]]:
        """A group of files, or what is analysed at once of one that is too large."""
        return list(in_parts(group, lambda name: self.files[name].size)) if group else []

    def unit(self, names: Sequence[str], texts: Mapping[str, Source], wanted: Container[str]) -> Unit:
        """A unit of files, of which those that are ``wanted`` are reported on."""
        targets: dict[str, LintTarget] = {}
        for name in names:
            if name in wanted:
                source, scope = texts[name], self.scopes.of(texts[name].path)
                heed = not self.settings.ignore_noqa
                targets[name] = LintTarget(source, scope, self._shown(source, scope), heed)

        def read() -> list[FileFacts]:
            # A test has no facts; that it parses was seen when its imports were looked for.
            known = (self.facts(texts[name]) for name in names if not is_test(name))
            return [facts for facts in known if isinstance(facts, FileFacts)]

        size = sum(len(texts[name].utf8) for name in names)
        return Unit(read, size, targets, self.decisive, self.leftovers)

    def lint(self, sources: Mapping[str, Source]) -> dict[str, list[Finding]]:
        """Findings of all files to report on, by name, without the suppressed ones."""
        units, broken = self.units(sources)
        drafts = {done.name: done.findings for done in self.done(units)}
        return {
            name: self.broken(name, broken[name]) if name in broken else self.offered(source, drafts.get(name, ()))
            for name, source in sources.items()
        }

    def checked(self) -> Result:
        """Lint all files to report on; nothing is fixed."""
        return self.result(self.lint(self.sources))

    def broken(self, name: str, why: Unparsed) -> list[Finding]:
        """The finding for a file that has no facts; of one that is too large it is only noted."""
        if not why.too_much:
            return [syntax_error(name, why, self.scopes.of(self.settings.root / name).linter.target)]
        skipped = Skipped(name, why.message)
        self.result_.skipped += [skipped] if skipped not in self.result_.skipped else []
        return []

    def done(self, units: Sequence[Unit]) -> Iterator[Done]:
        """Lint units; what goes wrong is noted."""
        for done in lint_all(units, self.settings.jobs):
            self.result_.unpaired += done.unpaired
            self._tell(*done.problems)
            yield done

    def _tell(self, *problems: Problem) -> None:
        """Note problems, of those that say the same the first."""
        if not problems:
            return
        told = {(problem.path, problem.message) for problem in self.result_.problems}
        self.result_.problems += [problem for problem in problems if (problem.path, problem.message) not in told]

    def offered(self, source: Source, drafts: Iterable[Finding]) -> list[Finding]:
        """What is to be shown of the findings of a file: nothing known, and fixes only where they are wanted."""
        scope = self.scopes.of(source.path)
        offered = (scope.offered(finding) for finding in self.known.unknown(drafts, source))
        files = {Reach.OWN: frozenset[str](), Reach.ASKED: self.wanted}.get(self.reach, self.files.keys())
        return [replace(each, fix=each.fix.within(files)) if each.fix else each for each in offered]

    def _shown(self, source: Source, scope: RuleScope) -> Callable[[Finding], bool]:
        """Whether a finding of a file is to be shown: no comment and no setting for the file silences it."""

        @cache
        def silenced() -> tuple[Callable[[Finding], bool], frozenset[str]]:
            return silencing(source), scope.ignored(source.path)

        def shown(finding: Finding) -> bool:
            by_comment, codes = silenced()
            return finding.code not in codes and (self.settings.ignore_noqa or not by_comment(finding))

        return shown

    def result(self, findings: Mapping[str, Sequence[Finding]]) -> Result:
        """The findings of all files in order, with the texts they point into."""
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
        """What the accepted fixes make of the files, or those among them that are allowed; nothing is written."""
        from torchlint.engine.fixing import fix

        return fix(self.sources, self.lint, self._accepts, tuple(self.context.values()), allowed)

    def written(self, outcome: FixOutcome) -> Result:
        """Write what fixes made of the files, unless only a diff is wanted."""
        self.result_.problems.extend(outcome.problems)
        remaining = dict(outcome.remaining)
        wanted = [name for name in outcome.applied if name not in self.given]
        unwritten: set[str] = set()
        if self.settings.fix and not self.settings.diff:
            texts = {name: (self.sources[name], outcome.sources[name]) for name in wanted}
            unwritten = self._write(texts, outcome.tied)
        for name, applied in outcome.applied.items():
            if name not in unwritten:
                self.result_.fixed[name] = FixedFile(self.sources[name], outcome.sources[name], applied)
                self.sources[name] = outcome.sources[name]
        findings = self.lint(self.sources) if unwritten else {}
        remaining.update({name: findings[name] for name in unwritten})
        return self.result(remaining)

    def _write(self, texts: Mapping[str, tuple[Source, Source]], tied: Sequence[frozenset[str]]) -> set[str]:
        """Write files by name, of which all new texts lie on disk before the first takes its place; those that failed.

        Of those that are ``tied`` all are written or none.
        What was left by runs that were killed is removed from the folders of all files that could be written.
        """
        failed: set[str] = set()
        named = [source.path for name, source in self.sources.items() if name not in self.given]
        for folder in sorted({Path(os.path.realpath(path)).parent for path in named}):
            remove_strays(folder)
        together = frozenset[str]().union(*tied)
        with ExitStack() as stack:
            staged: dict[str, Staged] = {}
            for name in texts.keys() - together:
                with self._not_fixed([name], failed):
                    staged[name] = stack.enter_context(Staged.of(*texts[name]))
            for name, ready in staged.items():
                with self._not_fixed([name], failed):
                    ready.replace()
        for group in tied:
            names = sorted(group & texts.keys())
            with self._not_fixed(names, failed):
                replace_together(texts[name] for name in names)
        return failed

    @contextmanager
    def _not_fixed(self, names: Collection[str], failed: set[str]) -> Iterator[None]:
        """Note why files cannot be written."""
        try:
            yield
        except (ChangedMeanwhileError, UnencodableError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.result_.problems.extend(Problem(name, f"not fixed: {reason}") for name in names)
            failed.update(names)

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
    """Path relative to the project root, with ``/``."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return Path(os.path.relpath(path, root)).as_posix()
