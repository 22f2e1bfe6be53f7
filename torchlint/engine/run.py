"""A whole run: from paths to findings, and to fixed files."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from torchlint.cache.world import look
from torchlint.engine.analysis import Unparsed, parse
from torchlint.engine.broken import SYNTAX_ERROR, syntax_error
from torchlint.engine.known import Known
from torchlint.engine.memory import Memory
from torchlint.engine.notebooks import inner_name
from torchlint.engine.processes import Done, lint_all
from torchlint.engine.reading import ChangedWhileReadError, File, Reader, passing
from torchlint.engine.recall import Recall
from torchlint.engine.result import FixedFile, NoCodeError, Problem, Result
from torchlint.engine.rules import figures_by_example, listed_rules
from torchlint.engine.scope import Scope, Scopes, SettingsOf
from torchlint.engine.units import Target, Unit
from torchlint.facts.code.linking import connected
from torchlint.facts.code.model import FileFacts
from torchlint.facts.hotness.roots import is_test
from torchlint.facts.hotness.why import explain, shortened
from torchlint.rule import Cost, Finding, PlainFix
from torchlint.rule.frequency import Why
from torchlint.settings.model import Settings
from torchlint.settings.root import is_root
from torchlint.sources.decode import UndecodableError
from torchlint.sources.suppress import Suppressions, suppressions
from torchlint.sources.text import Source
from torchlint.sources.walk import Walk, walk
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, replace_file


def check(
    paths: Sequence[Path],
    settings: Settings,
    stdin: Source | None = None,
    own: SettingsOf | None = None,
    memory: Memory | None = None,
) -> Result:
    """Lint files and folders; with ``settings.fix`` also write what the fixes make of them.

    ``stdin`` is linted in place of the file of its name, and its fixed text is only returned. Facts come from the whole
    project, findings only for what was asked. ``own`` gives the settings of each file: which rules look at it, and
    which fixes are taken. ``memory`` is what earlier runs know, and takes up what this one finds out; runs that fix
    make no use of it.

    Raises:
        SettingsError: a selector fits no rule, or the settings of a file are wrong.
        UnusableError: the baseline cannot be read, or git does not know the revision.
    """
    if settings.fix or settings.diff:
        return Run.prepare(paths, settings, stdin, own).fixed()
    if memory is not None and stdin is None:
        try:
            run = Run.prepare(paths, settings, stdin, own, memory)
            return run.result(Recall(run, memory).findings())
        except ChangedWhileReadError:
            memory.seen.clear()  # what this run saw is no world that ever was
    run = Run.prepare(paths, settings, stdin, own)
    return run.result(run.lint(run.sources))


def linted_files(paths: Sequence[Path], settings: Settings, own: SettingsOf | None = None) -> Result:
    """The files that would be linted, by name in ``Result.names``; nothing is read."""
    scopes = Scopes(Scope.of(settings, listed_rules(), _costs(), []), own)
    found = walk(paths, settings)
    names = _wanted(found.files, paths, settings, scopes)
    problems = [Problem(path, message) for path, message in found.problems]
    return Result(problems=problems, files=len(names), names=tuple(names))


def explain_hot(path: Path, row: int, settings: Settings, most: int = 10) -> Why:
    """Why the innermost statement on a row of a file runs as often as it does, with ``most`` ways at most.

    Raises:
        NoCodeError: no statement stands on that row, or the file cannot be read.
    """
    run = Run.prepare([path], replace(settings, baseline=None, since=None), None, None)
    name = _name(path.absolute(), settings.root)
    _readable(run, path, name)
    units, broken = run.units({each: source for each, source in run.sources.items() if each == name})
    if name in broken:
        raise NoCodeError(f"{name}:{broken[name].row}: {broken[name].message}")
    if not units:
        return Why(reasons=(_unread(name),))
    analysis = units[0].analysis()
    facts = analysis.project.files[name]
    rows = facts.source.utf8.count(b"\n") + 1
    if row > rows:
        raise NoCodeError(f"{name} ends on line {rows}, before line {row}")
    nodes = [stmt for stmt in facts.places if stmt.lineno <= row <= (stmt.end_lineno or stmt.lineno)]
    own = [stmt for stmt in nodes if row in _rows(stmt)]
    if not own:
        raise NoCodeError(f"there is no statement on line {row} of {name}")
    innermost = max(own, key=lambda stmt: (stmt.lineno, -(stmt.end_lineno or 0)))
    return shortened(explain(analysis.heat, facts, innermost), most)


def _readable(run: Run, path: Path, name: str) -> None:
    """Raise if a file that is to be explained could not be read."""
    for problem in run.result_.problems:
        if problem.path in (name, str(path)):
            raise NoCodeError(f"{name}: {problem.message}")
    if name in run.unreadable:
        raise NoCodeError(f"{name}:{run.unreadable[name].row}: {run.unreadable[name].message}")


def _unread(name: str) -> str:
    """Why there are no facts of a file that can be read."""
    if is_test(name):
        return f"{name} belongs to a test suite, and nothing in tests is hot"
    return f"{name} neither uses torch nor imports a file of the project that does"


def _rows(stmt: ast.stmt) -> range:
    """The rows of a statement; of a compound one, those of its header alone."""
    body = getattr(stmt, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    last = first.lineno - 1 if isinstance(first, ast.stmt) and first.lineno > stmt.lineno else stmt.end_lineno
    return range(stmt.lineno, (last or stmt.lineno) + 1)


@dataclass(eq=False, slots=True)
class Run:
    """The files of one run: those to report on, and those that are only read for their facts."""

    settings: Settings
    scopes: Scopes
    known: Known
    memory: Memory | None = None
    stdin: Source | None = None
    files: dict[str, File] = field(default_factory=dict)
    wanted: frozenset[str] = frozenset()
    sources: dict[str, Source] = field(default_factory=dict)
    context: dict[str, Source] = field(default_factory=dict)
    unreadable: dict[str, Unparsed] = field(default_factory=dict)
    result_: Result = field(default_factory=Result)
    parsed: dict[tuple[str, bytes], FileFacts | Unparsed | None] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls,
        paths: Sequence[Path],
        settings: Settings,
        stdin: Source | None = None,
        own: SettingsOf | None = None,
        memory: Memory | None = None,
    ) -> Run:
        """Select the rules and find the files; without memory they are all read."""
        scopes = Scopes(Scope.of(settings, listed_rules(), _costs(), []), own)
        run = cls(settings, scopes, Known.of(settings), memory, stdin)
        run._find(paths)
        if memory is None:
            run.load(sorted(run.files))
        return run

    def _find(self, paths: Sequence[Path]) -> None:
        """Find the files that pass the gate."""
        found = walk(paths, self.settings)
        self.result_.problems.extend(Problem(path, message) for path, message in found.problems)
        wanted = _wanted(found.files, paths, self.settings, self.scopes)
        stdin = self.stdin
        given = {**wanted, **({stdin.name: stdin.path} if stdin is not None else {})}
        reader = Reader([word.encode() for word in _gate()], self.memory)
        files, problems = reader.read_all({**self._project(given, found), **wanted})
        self.result_.problems.extend(Problem(name, told) for name, told in problems.items() if name in wanted)
        if stdin is not None:
            files[stdin.name] = reader.given(stdin)
        self.result_.files = len(given)
        self.files = {name: files[name] for name in sorted(passing(files.values()))}
        self.wanted = frozenset(given)
        self.result_.context = len(self.files.keys() - given.keys())

    def _project(self, wanted: Mapping[str, Path], found: Walk) -> dict[str, Path]:
        """All files of the project, for their facts."""
        root = self.settings.root
        seen = dict(found.folders)
        files: dict[str, Path] = {}
        if not self.settings.no_context and is_root(root):
            walked = walk([root], self.settings)
            seen.update(walked.folders)
            files = {_name(path, root): path for path in walked.files}
        elif not self.settings.no_context:
            # No project in sight: the folders of the files, not everything below the root.
            folders = sorted({path.parent for path in wanted.values()})
            seen.update({str(folder): look(str(folder)) for folder in folders if str(folder) not in seen})
            files = {
                _name(path, root): path for each in folders for path in sorted(each.glob("*.py")) if path.is_file()
            }
        if self.memory is not None:
            self.memory.seen.update({f"d{folder}": told for folder, told in seen.items()})
            self.memory.whole = not self.settings.no_context and is_root(root)
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
            if self.stdin is not None and name == self.stdin.name:
                target[name] = self.stdin
                continue
            try:
                target[name] = self.files[name].source()
            except UndecodableError as error:
                self.unreadable[name] = Unparsed(str(error), error.row, error.column)

    # linting --------------------------------------------------------------------------------------------------------

    def facts(self, source: Source) -> FileFacts | Unparsed | None:
        """The facts of a text, or why there are none; ``None`` for a test. The same text is parsed once per run."""
        key = source.name, source.utf8
        if key not in self.parsed:
            inner = inner_name(source.name)
            good, bad = parse({inner: replace(source, name=inner)})
            self.parsed[key] = good[0] if good else bad.get(inner)
        return self.parsed[key]

    def units(self, sources: Mapping[str, Source]) -> tuple[list[Unit], dict[str, Unparsed]]:
        """What hangs together of the given texts and the rest of the project, and what cannot be parsed, by name.

        Where none of the given texts is among the files of a unit, it is left out.
        """
        everything = {**self.context, **sources}
        known = {name: self.facts(everything[name]) for name in sorted(everything)}
        files = {name: facts for name, facts in known.items() if isinstance(facts, FileFacts)}
        names = {facts.path: name for name, facts in files.items()}
        groups = connected({facts.path: facts.links for facts in files.values()})
        units = [self.unit([files[names[path]] for path in sorted(group)], names, sources) for group in groups]
        broken = {name: facts for name, facts in known.items() if isinstance(facts, Unparsed)}
        return [unit for unit in units if unit.targets], broken

    def unit(self, files: Sequence[FileFacts], names: Mapping[str, str], sources: Mapping[str, Source]) -> Unit:
        """A unit of files, of which those among ``sources`` are reported on; ``names`` by the path of their facts."""
        targets = {}
        for name in (names[facts.path] for facts in files):
            if name in sources:
                scope = self.scopes.of(sources[name].path)
                targets[name] = Target(sources[name], scope, self._shown(sources[name], scope))
        return Unit(files, targets, self.settings)

    def lint(self, sources: Mapping[str, Source]) -> dict[str, list[Finding]]:
        """Findings of all files to report on, by name, without the suppressed ones."""
        units, broken = self.units(sources)
        drafts = {done.name: done.findings for done in self.done(units)}
        return {
            name: [syntax_error(name, broken[name])] if name in broken else self.offered(source, drafts.get(name, ()))
            for name, source in sources.items()
        }

    def done(self, units: Sequence[Unit]) -> Iterator[Done]:
        """Lint units; what goes wrong is noted."""
        for done in lint_all(units, self.settings.jobs):
            self.result_.unpaired += done.unpaired
            self.result_.problems.extend(each for each in done.problems if each not in self.result_.problems)
            yield done

    def offered(self, source: Source, drafts: Iterable[Finding]) -> list[Finding]:
        """What is to be shown of the findings of a file: nothing known, and fixes only where they are wanted."""
        scope = self.scopes.of(source.path)
        return [scope.offered(finding) for finding in self.known.unknown(drafts, source)]

    def _shown(self, source: Source, scope: Scope) -> Callable[[Finding], bool]:
        """Whether a finding of a file is to be shown: no comment and no setting for the file silences it."""

        @cache
        def silenced() -> tuple[Suppressions, frozenset[str]]:
            comments = Suppressions() if self.settings.ignore_noqa else suppressions(source)
            return comments, scope.ignored(source.path)

        def shown(finding: Finding) -> bool:
            comments, codes = silenced()
            return finding.code not in codes and not comments.covers(finding)

        return shown

    def result(self, findings: Mapping[str, Sequence[Finding]]) -> Result:
        """The findings of all files in order, with the texts they point into."""
        result = self.result_
        result.findings.extend(finding for name in findings for finding in findings[name])
        unreadable = ((name, why) for name, why in self.unreadable.items() if name in self.wanted - findings.keys())
        result.findings.extend(syntax_error(name, why) for name, why in unreadable)
        result.findings.sort(key=lambda finding: finding.order)
        result.sources = {**result.sources, **self.sources}
        broken = {finding.path for finding in result.findings if finding.code == SYNTAX_ERROR}
        scopes = {name: self.scopes.of(self.files[name].path) for name in self.files.keys() & self.wanted}
        result.stale = self.known.stale({name: scope for name, scope in scopes.items() if name not in broken})
        result.accepts = {name: scope.accepts for name, scope in scopes.items()}
        result.problems.sort(key=lambda problem: (problem.path, problem.message))
        return result

    # fixing ---------------------------------------------------------------------------------------------------------

    def fixed(self) -> Result:
        """Apply the accepted fixes until nothing changes, and write the files unless only a diff is wanted."""
        from torchlint.engine.fixing import fix

        outcome = fix(self.sources, self.lint, self._accepts, others=tuple(self.context.values()))
        self.result_.problems.extend(outcome.problems)
        remaining = dict(outcome.remaining)
        for name, applied in outcome.applied.items():
            before, after = self.sources[name], outcome.sources[name]
            if self.settings.fix and not self.settings.diff and (self.stdin is None or name != self.stdin.name):
                try:
                    replace_file(before, after)
                except (ChangedMeanwhileError, UnencodableError, OSError) as error:
                    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                    self.result_.problems.append(Problem(name, f"not fixed: {reason}"))
                    remaining[name] = self.lint(self.sources).get(name, [])
                    continue
            self.result_.fixed[name] = FixedFile(before, after, applied)
            self.sources[name] = after
        return self.result(remaining)

    def _accepts(self, name: str, fix: PlainFix) -> bool:
        return self.scopes.of(self.sources[name].path).accepts(fix)


def _wanted(files: Iterable[Path], given: Sequence[Path], settings: Settings, scopes: Scopes) -> dict[str, Path]:
    """The files to report on by name: without those that their own settings exclude, unless they were given."""
    named = frozenset() if settings.force_exclude else {path.absolute() for path in given}
    return {
        _name(path, settings.root): path
        for path in files
        if path in named or (scope := scopes.of(path)) is scopes.run or not scope.excludes(path)
    }


def _gate() -> frozenset[str]:
    """The words of which a file must hold one to be of interest to any rule."""
    return frozenset(word for rule in listed_rules() for word in rule.gate)


def _costs() -> dict[tuple[str, str], Cost]:
    """Figures by code and name of the example; the empty name stands for the rule's first example."""
    found = dict(figures_by_example())
    for (code, _), cost in figures_by_example().items():
        found.setdefault((code, ""), cost)
    return found


def _name(path: Path, root: Path) -> str:
    """Path relative to the project root, with ``/``."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return Path(os.path.relpath(path, root)).as_posix()
