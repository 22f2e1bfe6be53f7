"""All that an output format may know: one value, from which every format makes its text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.late import dataclass
from torchlint.rule import Level

if TYPE_CHECKING:
    from torchlint.engine.result import Accepts, FixedFile, Problem, Result
    from torchlint.report.state import Compared
    from torchlint.rule import Change, Cost, Finding, Rule
    from torchlint.sources.lines import LineTable
    from torchlint.sources.text import Source

# What the codes of built-in rules begin with, and no others.
_OURS = "TL"


@dataclass(frozen=True)
class Context:
    """What happened in a run, and how to show it.

    Attributes:
        root: the project root that the findings' paths are relative to.
        findings: those that remain, by path and place.
        sources: by name, the texts that the findings point into.
        problems: what kept files from being linted.
        fixed: by name, the files that were changed (or would be, with ``diff``).
        files: how many files were looked at.
        unsafe_fixes, accept: what the user takes besides the safe fixes; ``accepts``: by name, where files differ.
        own: what the user measured, by code of the rule; for people, never for programs.
        partial: what a baseline knows, or what stands on unchanged lines, is left out.
        compared: what became of the findings of an earlier run; ``findings`` are those that it did not have.
        narrowed: not all rules of the default set ran.
        diff: fixes are only shown, not written.
        color: write ANSI colours. terminal: the text goes to one, so control characters must not get there.
        unicode: box drawing and arrows can be written. width: of the lines, in terminal cells.
        cuts: whether lines of code, names of files and reasons that are wider are cut.
        top: the most entries of the formats for terminals, ``None``: any number.
        room: the most lines of these entries, 0: any number.
        whole: every entry and every place is wanted.
        links: what addresses of files begin with; empty: the terminal knows no links.
        quiet: nothing but findings.
        docs: the address of the documentation of rules; empty: there is none.
        fail_level: ``note``, ``warning`` or ``never``: the least level that fails a run.
        rules: by code, the rules that a finding may be of.
        cells: by name of a cell that stands for a file, its notebook and its number.
        version: of torchlint.
        here: the working folder; ``None``: people see names as they are.
        repository: the folder that a service which shows the findings knows paths of; ``None``: the root.
    """

    root: Path
    findings: tuple[Finding, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    fixed: Mapping[str, FixedFile] = field(default_factory=dict)
    files: int = 0
    unsafe_fixes: bool = False
    accept: frozenset[Change] = frozenset()
    accepts: Mapping[str, Accepts] = field(default_factory=dict)
    own: Mapping[str, tuple[Cost, ...]] = field(default_factory=dict)
    partial: bool = False
    compared: Compared | None = None
    narrowed: bool = False
    diff: bool = False
    color: bool = False
    terminal: bool = False
    unicode: bool = True
    width: int = 80
    cuts: bool = True
    top: int | None = None
    room: int = 0
    whole: bool = False
    links: str = ""
    quiet: bool = False
    docs: str = ""
    fail_level: str = "warning"
    rules: Mapping[str, type[Rule]] = field(default_factory=dict)
    cells: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    version: str = "0"
    here: Path | None = None
    repository: Path | None = None

    @classmethod
    def of(cls, result: Result, root: Path) -> Context:
        """Return the context of a run's result, to be refined with ``dataclasses.replace``."""
        return cls(
            root,
            findings=tuple(result.findings),
            sources=result.sources,
            problems=tuple(result.problems),
            fixed=result.fixed,
            files=result.files,
            accepts=result.accepts,
        )

    @cached_property
    def tables(self) -> Mapping[str, LineTable]:
        """By name, the rows of every file that has a finding, or that a fix changes, and a known text."""
        from torchlint.sources.lines import LineTable

        names = {finding.path for finding in self.findings}
        names |= {name for finding in self.findings if finding.fix for name, _ in finding.fix.in_files}
        return {name: LineTable(self.sources[name].utf8) for name in names if name in self.sources}

    def takes(self, finding: Finding) -> bool:
        """Return whether a finding has a fix that ``--fix`` applies with the user's settings for its file."""
        if finding.fix is None:
            return False
        accepts = self.accepts.get(finding.path)
        return accepts(finding.fix) if accepts else finding.fix.accepted(self.unsafe_fixes, self.accept)

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding makes the exit code 1."""
        return self.fail_level != "never" and finding.level.at_least(Level(self.fail_level))

    def page_of(self, finding: Finding) -> str:
        """Return the address of the page of a finding's rule.

        The result is empty where there is none, as for rules of other packages.
        """
        return page_of(self.docs, finding)

    def in_repository(self, name: str) -> str:
        """Return a file's name for a service that knows the whole repository, of which the project may be a part."""
        if self.repository is None or name == "-":
            return name
        return Path(os.path.relpath(self.root / name, self.repository)).as_posix()

    def shown(self, name: str) -> str:
        """Return a file's name for people: relative to the working folder, absolute where it is outside of that."""
        if self.here is None or name == "-":
            return name
        return seen(self.root / name, self.here)

    def name_beside(self, name: str, other: str) -> str:
        """Return the name of another file in text about a file: ``cell 3`` where both are cells of one notebook."""
        notebook, number = self.cells.get(other, ("", 0))
        return f"cell {number}" if notebook and self.cells.get(name, ("", 0))[0] == notebook else other

    def absolute(self, name: str) -> str:
        """Return the path of a file on disk, with ``/``; a name that stands for no file (``-``) as it is."""
        source = self.sources.get(name)
        if source is not None and name != "-":
            return source.path.as_posix()
        return name if name == "-" else (self.root / name).as_posix()


def page_of(docs: str, finding: Finding) -> str:
    """Return the address of the page of a finding's rule in a documentation; empty where there is none."""
    own = finding.code.startswith(_OURS) and finding.level is not Level.ERROR
    return f"{docs}/rules/{finding.code}/" if docs and own else ""


def seen(path: Path, here: Path) -> str:
    """Return the name of a file relative to a folder, absolute where the file is outside of it."""
    path = Path(os.path.normpath(path))
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
