"""A whole run: from paths to findings, and to fixed files."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from torchlint.engine.analysis import Analysis, Unparsed, parse
from torchlint.engine.gate import passing
from torchlint.engine.known import Known
from torchlint.engine.limits import too_large
from torchlint.engine.linking import linked
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.notebooks import by_cells, inner_name, notebook_codes, outer_name, outside, row_of_cell
from torchlint.engine.result import FixedFile, NoCodeError, Problem, Result, Skipped
from torchlint.engine.rules import costs_of, load_rules
from torchlint.engine.scope import Scope, Scopes, SettingsOf
from torchlint.engine.unused import unused
from torchlint.facts.code.model import FileFacts
from torchlint.facts.hotness.roots import is_test
from torchlint.facts.hotness.why import explain, shortened
from torchlint.rule import Finding, Level, PlainFix, Position
from torchlint.rule.frequency import Why
from torchlint.rule.versions import Target
from torchlint.settings.model import Settings
from torchlint.settings.root import is_root
from torchlint.sources.decode import UndecodableError, read_any
from torchlint.sources.suppress import Suppressions, suppressions
from torchlint.sources.text import Source
from torchlint.sources.walk import python_files, walk
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, remove_strays, replace_file

SYNTAX_ERROR = "TL000"


def check(
    paths: Sequence[Path], settings: Settings, stdin: Source | None = None, own: SettingsOf | None = None
) -> Result:
    """Lint files and folders; with ``settings.fix`` also write what the fixes make of them.

    ``stdin`` is linted in place of the file of its name, and its fixed text is only returned. Facts come from the whole
    project, findings only for what was asked. ``own`` gives the settings of each file: which rules look at it, and
    which fixes are taken.

    Raises:
        SettingsError: a selector fits no rule, or the settings of a file are wrong.
        UnusableError: the baseline cannot be read, or git does not know the revision.
    """
    run = _Run.prepare(paths, settings, stdin, own)
    if settings.fix or settings.diff:
        return run.fixed()
    findings = run.lint(run.sources)
    return run.result(findings)


def linted_files(paths: Sequence[Path], settings: Settings, own: SettingsOf | None = None) -> Result:
    """The files that would be linted, by name in ``Result.names``; nothing is read."""
    scopes = Scopes(Scope.of(settings, load_rules(settings.plugins), {}, []), own)
    found = walk(paths, settings)
    names = _wanted(found.files, paths, settings, scopes)
    problems = [Problem(path, message) for path, message in found.problems]
    return Result(problems=problems, files=len(names), names=tuple(names))


def explain_hot(path: Path, row: int, settings: Settings, *, cell: int | None = None, most: int = 10) -> Why:
    """Why the innermost statement on a row of a file runs as often as it does, with ``most`` ways at most.

    In a notebook it is a row of the cell with this number, and so are all rows in the answer.

    Raises:
        NoCodeError: no statement stands on that row, or the file cannot be read.
    """
    run = _Run.prepare([path], replace(settings, baseline=None, since=None), None, None)
    name = _name(path.absolute(), settings.root)
    _readable(run, path, name)
    analysis, broken = run.analysed({**run.context, **run.sources})
    if name in broken:
        raise NoCodeError(f"{name}:{broken[name].row}: {broken[name].message}")
    facts = analysis.project.files.get(inner_name(name))
    if facts is None:
        return Why(reasons=(_unread(name),))
    if cell is not None:
        row = row_of_cell(facts.source, name, cell, row)
    rows = facts.source.utf8.count(b"\n") + 1
    if row > rows:
        raise NoCodeError(f"{name} ends on line {rows}, before line {row}")
    nodes = [stmt for stmt in facts.places if stmt.lineno <= row <= (stmt.end_lineno or stmt.lineno)]
    own = [stmt for stmt in nodes if row in _rows(stmt)]
    if not own:
        raise NoCodeError(
            f"there is no statement on {f'that line of cell {cell}' if cell else f'line {row}'} of {name}"
        )
    innermost = max(own, key=lambda stmt: (stmt.lineno, -(stmt.end_lineno or 0)))
    why = shortened(explain(analysis.heat, facts, innermost), most)
    return by_cells(why, {name: facts.source for name, facts in analysis.project.files.items()})


def _readable(run: _Run, path: Path, name: str) -> None:
    """Raise if a file that is to be explained could not be read."""
    for problem in run.result_.problems:
        if problem.path in (name, str(path)):
            raise NoCodeError(f"{name}: {problem.message}")
    for finding in run.result_.findings:
        if finding.path == name:
            raise NoCodeError(f"{name}:{finding.start.row}: {finding.message}")


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
class _Run:
    """The files of one run: those to report on, and those that are only read for their facts."""

    settings: Settings
    scopes: Scopes
    known: Known
    sources: dict[str, Source]
    context: dict[str, Source]
    stdin: str
    result_: Result
    parsed: dict[tuple[str, bytes], FileFacts | Unparsed | None] = field(default_factory=dict)

    @classmethod
    def prepare(cls, paths: Sequence[Path], settings: Settings, stdin: Source | None, own: SettingsOf | None) -> _Run:
        """Select the rules and read the files."""
        scopes = Scopes(Scope.of(settings, load_rules(settings.plugins), costs_of(settings.plugins), []), own)
        run = cls(settings, scopes, Known.of(settings), {}, {}, stdin.name if stdin else "", Result())
        run._read(paths, stdin)
        return run

    def _read(self, paths: Sequence[Path], stdin: Source | None) -> None:
        found = walk(paths, self.settings)
        self.result_.problems.extend(Problem(path, message) for path, message in found.problems)
        wanted = _wanted(found.files, paths, self.settings, self.scopes)
        texts: dict[str, bytes] = {}
        broken: dict[str, Path] = {}
        given = {**wanted, **({stdin.name: stdin.path} if stdin is not None else {})}
        for name, path in {**self._project(given), **wanted}.items():
            try:
                reason = too_large(path)
                if not reason:
                    texts[name] = path.read_bytes()
            except OSError as error:
                if name in wanted:
                    reason = error.strerror or type(error).__name__
                    self.result_.problems.append(Problem(name, f"cannot be read: {reason}"))
                continue
            if reason and name in wanted:
                self.result_.skipped.append(Skipped(name, reason))
            broken[name] = path
        if stdin is not None:
            texts[stdin.name] = stdin.utf8
        self.result_.files = len(wanted) + (stdin is not None)
        gate = {word.encode() for rule in self.scopes.available for word in rule.gate}
        for name in sorted(passing({**texts, **notebook_codes(texts, broken)}, gate)):
            target = self.sources if name in wanted or name == self.stdin else self.context
            if stdin is not None and name == stdin.name:
                target[name] = stdin
                continue
            try:
                target[name] = read_any(texts[name], broken[name], name)
            except UndecodableError as error:
                if name in wanted:
                    unparsed = Unparsed(str(error), error.row, error.column)
                    self.result_.findings.append(_syntax_error(name, unparsed, self.scopes.run.linter.target))

    def _project(self, wanted: Mapping[str, Path]) -> dict[str, Path]:
        """All files of the project, for their facts."""
        root = self.settings.root
        if self.settings.no_context:
            return {}
        if not is_root(root):  # no project in sight: the folders of the files, not everything below the root
            folders = {path.parent for path in wanted.values()}
            return {_name(p, root): p for folder in sorted(folders) for p in sorted(folder.glob("*.py")) if p.is_file()}
        return {_name(path, root): path for path in python_files(root, self.settings)}

    # linting --------------------------------------------------------------------------------------------------------

    def analysed(self, sources: Mapping[str, Source]) -> tuple[Analysis, dict[str, Unparsed]]:
        """Facts of the given texts and of the rest of the project; unchanged files are parsed once per run."""
        files: list[FileFacts] = []
        broken: dict[str, Unparsed] = {}
        everything = {**self.context, **sources}
        for name in sorted(everything):
            source = everything[name]
            key = name, source.utf8
            if key not in self.parsed:
                inner = inner_name(name)
                good, bad = parse({inner: replace(source, name=inner)})
                self.parsed[key] = good[0] if good else bad.get(inner)
            facts = self.parsed[key]
            if isinstance(facts, FileFacts):
                files.append(facts)
            elif facts is not None:
                broken[name] = facts
        analysis, problems = linked(files, self.settings)
        self._tell(*(replace(problem, path=outer_name(problem.path)) for problem in problems))
        return analysis, broken

    def lint(self, sources: Mapping[str, Source]) -> dict[str, list[Finding]]:
        """Findings of all files to report on, by name, without the suppressed ones."""
        analysis, broken = self.analysed(sources)
        found: dict[str, list[Finding]] = {}
        for name, source in sources.items():
            scope = self.scopes.of(source.path)
            if name in broken:
                broke = broken[name]
                found[name] = [] if broke.too_much else [_syntax_error(name, broke, scope.linter.target)]
                continue
            facts = analysis.project.files.get(inner_name(name))
            drafts: list[Finding] = []
            with kept_going(lambda error, name=name: self._tell(mishap(name, "linting", error))):  # type: ignore[misc]
                drafts += self._drafts(analysis, facts, source, scope)
            found[name] = [scope.offered(finding) for finding in self.known.unknown(drafts, source)]
        self.result_.skipped += [
            skipped
            for name in sources
            if name in broken and broken[name].too_much
            if (skipped := Skipped(name, broken[name].message)) not in self.result_.skipped
        ]
        return found

    def _drafts(self, analysis: Analysis, facts: FileFacts | None, source: Source, scope: Scope) -> Iterator[Finding]:
        """What the rules say of a file, and which of its comments silence nothing."""
        if facts is not None:
            yield from map(outside, scope.linter.lint(analysis, facts, self._shown(source, scope)))
        heed = not self.settings.ignore_noqa
        idle = unused(source, scope.linter, scope.every, analysis, facts, heed=heed)
        yield from (finding for finding in idle if finding.code not in scope.ignored(source.path))

    def _tell(self, *problems: Problem) -> None:
        """Note problems, of those that say the same the first."""
        told = {(problem.path, problem.message) for problem in self.result_.problems}
        self.result_.problems += [problem for problem in problems if (problem.path, problem.message) not in told]

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
        result.findings.sort(key=lambda finding: finding.order)
        result.sources = {**result.sources, **self.sources}
        result.problems.extend(self.scopes.problems)
        result.unpaired = self.scopes.unpaired
        result.context = len(self.context)
        result.plugins = self.scopes.plugins
        result.stale = self.known.stale({name: self.scopes.of(source.path) for name, source in self.sources.items()})
        result.accepts = {name: self.scopes.of(source.path).accepts for name, source in self.sources.items()}
        result.problems.sort(key=lambda problem: (problem.path, problem.message))
        return result

    # fixing ---------------------------------------------------------------------------------------------------------

    def fixed(self) -> Result:
        """Apply the accepted fixes until nothing changes, and write the files unless only a diff is wanted."""
        from torchlint.engine.fixing import fix

        outcome = fix(self.sources, self.lint, self._accepts, others=tuple(self.context.values()))
        self.result_.problems.extend(outcome.problems)
        remaining = dict(outcome.remaining)
        unwritten = []
        if self.settings.fix and not self.settings.diff:
            named = [source.path for name, source in self.sources.items() if name != self.stdin]
            for folder in sorted({Path(os.path.realpath(path)).parent for path in named}):
                remove_strays(folder)
        for name, applied in outcome.applied.items():
            before, after = self.sources[name], outcome.sources[name]
            if self.settings.fix and not self.settings.diff and name != self.stdin:
                try:
                    replace_file(before, after)
                except (ChangedMeanwhileError, UnencodableError, OSError) as error:
                    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                    self.result_.problems.append(Problem(name, f"not fixed: {reason}"))
                    unwritten.append(name)
                    continue
            self.result_.fixed[name] = FixedFile(before, after, applied)
            self.sources[name] = after
        findings = self.lint(self.sources) if unwritten else {}
        remaining.update({name: findings[name] for name in unwritten})
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


def _name(path: Path, root: Path) -> str:
    """Path relative to the project root, with ``/``."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return Path(os.path.relpath(path, root)).as_posix()


def _syntax_error(name: str, unparsed: Unparsed, target: Target) -> Finding:
    """The finding for a file that Python cannot read; one that is for a newer Python may well be in order."""
    python = sys.version_info[:2]
    newer = target.python is not None and target.python > python
    doubt = f"; torchlint runs on Python {python[0]}.{python[1]}, and the project is for a newer one" if newer else ""
    start = Position(unparsed.row, max(1, unparsed.column))
    finding = Finding(
        code=SYNTAX_ERROR,
        name="syntax-error",
        message=f"{unparsed.message}{doubt}",
        level=Level.ERROR,
        path=name,
        start=start,
        end=replace(start, column=start.column + 1),
        rows=(unparsed.row, unparsed.row),
    )
    return replace(finding, fingerprint=f"{SYNTAX_ERROR}:{name}")
