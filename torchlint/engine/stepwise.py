"""Fixes applied group by group, as the user decides: what is open, what a group would change, and what was declined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from torchlint.engine.fixing import Candidate, Round, Traced, candidates, fix_once
from torchlint.engine.result import FixedFile, Problem, Result
from torchlint.engine.run import EngineRun
from torchlint.engine.scope import SettingsOf
from torchlint.late import dataclass
from torchlint.rule import Edit, Finding, PlainFix
from torchlint.settings.model import Settings
from torchlint.sources.between import between
from torchlint.sources.decode import UndecodableError, read_any
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, replace_together

Wanted = Callable[[PlainFix], bool]


class NotWrittenError(Exception):
    """Nothing was written; the text says why."""


@dataclass(eq=False, slots=True)
class Stepwise:
    """The files of a run on the way from their first texts to those that the user wants.

    A finding is known by where its code comes from (its ``Origin``), so that what was declined stays declined whatever
    is fixed around it. A line that someone edits is new code, and is asked about again.

    Attributes:
        run: the files, and what lints them. files: as they are now, by name. findings: in these texts, by name.
        declined: keys of the origins that the user does not want fixed.
        fixed: by name, the first text and the findings whose fixes were applied.
    """

    run: EngineRun
    files: dict[str, Traced]
    findings: Mapping[str, Sequence[Finding]]
    declined: set[str] = field(default_factory=set)
    fixed: dict[str, FixedFile] = field(default_factory=dict)

    @classmethod
    def start(cls, paths: Sequence[Path], settings: Settings, own: SettingsOf | None) -> Stepwise:
        """Lint files and folders.

        Raises: as ``torchlint.engine.run.check``.
        """
        run = EngineRun.prepare(paths, settings, {}, own)
        return cls(run, {name: Traced.of(source) for name, source in run.sources.items()}, run.lint(run.sources))

    @property
    def sources(self) -> dict[str, Source]:
        """Return the texts as they are now, by name."""
        return {name: file.source for name, file in self.files.items()}

    def open(self) -> list[Finding]:
        """Return the findings whose fixes may be applied and were not declined."""
        return [each.finding for each in self._candidates() if each.origin.key not in self.declined]

    def decline(self, findings: Iterable[Finding]) -> None:
        """Decline these findings, so that they are not offered again."""
        self.declined |= self._keys(findings)

    def preview(self, findings: Iterable[Finding]) -> dict[str, Round]:
        """Return what the fixes of these findings make of their files, by name; nothing is changed."""
        wanted = list(findings)
        keys, names = self._keys(wanted), {finding.path for finding in wanted}
        here = {name: self.findings[name] for name in names}
        context = tuple(self.run.context.values())
        return fix_once(self.files, here, self._accepts, context, lambda origin: origin.key in keys)

    def apply(self, rounds: Mapping[str, Round]) -> int:
        """Write what was previewed, all files or none, lint again, and return how many fixes were applied.

        Raises:
            NotWrittenError: a file cannot be written.
        """
        made = {name: each for name, each in rounds.items() if each.changed}
        try:
            replace_together((self.files[name].source, each.file.source) for name, each in made.items())
        except (ChangedMeanwhileError, UnencodableError) as error:
            raise NotWrittenError(str(error)) from error
        except OSError as error:
            raise NotWrittenError(f"{error.filename or ', '.join(made)}: {error.strerror or error}") from error
        for name, each in made.items():
            first = self.fixed[name].before if name in self.fixed else self.files[name].source
            applied = (*self._applied(name), *(candidate.finding for candidate in each.applied))
            self.files[name] = Traced(_read(each.file.source), each.file.lineage)
            self.fixed[name] = FixedFile(first, self.files[name].source, applied)
        self._lint()
        return sum(len(each.applied) for each in made.values())

    def reread(self, names: Iterable[str]) -> None:
        """Read the texts of files that were changed from outside, and lint again.

        Raises:
            NotWrittenError: a file cannot be read any more.
        """
        for name in names:
            file = self.files[name]
            try:
                source = _read(file.source)
            except (OSError, UndecodableError) as error:
                raise NotWrittenError(f"{name}: {error}") from error
            edits = [(_trimmed(edit, file.source.utf8), "") for edit in between(file.source, source)]
            self.files[name] = Traced(source, file.lineage.after(file.source, edits))
        self._lint()

    def problems(self) -> Sequence[Problem]:
        """Return what went wrong so far."""
        return self.run.result_.problems

    def result(self) -> Result:
        """Return what is left, and what was fixed."""
        self.run.result_.fixed.update(self.fixed)
        self.run.sources.update(self.sources)
        return self.run.result(self.findings)

    def _lint(self) -> None:
        self.findings = self.run.lint(self.sources)

    def _applied(self, name: str) -> tuple[Finding, ...]:
        return self.fixed[name].applied if name in self.fixed else ()

    def _accepts(self, name: str, fix: PlainFix) -> bool:
        return self.run.scopes.of(self.files[name].source.path).accepts(fix)

    def _candidates(self) -> Iterable[Candidate]:
        for name in sorted(self.findings):
            yield from candidates(self.files, name, self.findings[name], self._accepts)

    def _keys(self, findings: Iterable[Finding]) -> set[str]:
        tables: dict[str, LineTable] = {}
        keys: set[str] = set()
        for finding in findings:
            file = self.files[finding.path]
            table = tables.setdefault(finding.path, LineTable(file.source.utf8))
            keys.add(file.lineage.origin(finding, table).key)
        return keys


def _read(source: Source) -> Source:
    """The text that is on disk now."""
    return read_any(source.path.read_bytes(), source.path, source.name)


def _trimmed(edit: Edit, utf8: bytes) -> Edit:
    """An edit of whole lines without what both texts share at its ends: what stays is still the same code."""
    old, new = utf8[edit.start : edit.end].decode(), edit.text
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    rest = shortest - head
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    start = edit.start + len(old[:head].encode())
    return Edit(start, start + len(old[head : len(old) - tail].encode()), new[head : len(new) - tail])
