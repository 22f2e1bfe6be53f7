"""Files that are connected by imports: what is analysed together, and what a finding in them can depend on.

No fact reaches further than imports do, with two exceptions: a default of torch holds for all files, and that no one
imports a file says something only beside files that are imported. So units are analysed one by one, each forgotten
before the next, and findings of a unit hold as long as none of its files changes. What would not fit into memory is
cut into parts, which know nothing of each other.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache

from torchlint.engine.broken import syntax_error
from torchlint.engine.decisive import decisive
from torchlint.engine.linking import linked
from torchlint.engine.lint import Linter
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.notebooks import inner_name, outer_name, outside
from torchlint.engine.result import Problem
from torchlint.engine.scope import RuleScope
from torchlint.engine.session_state import SessionState
from torchlint.engine.syntax import Unparsed
from torchlint.engine.unused import unused
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.linking import connected
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.late import dataclass
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.suppress import silencing
from torchlint.sources.text import Source

# Bytes of source that are analysed at once at most: 200,000 lines, for which about 500 MB are needed.
MOST_BYTES = 8_000_000


def together(links: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the groups of files that are connected, from what each imports, by name."""
    names = {inner_name(name): name for name in links}
    groups = connected({path: links[names[path]] for path in sorted(names)})
    alone = [group for group in groups if len(group) == 1]
    several = [group for group in groups if len(group) > 1]
    if several:  # a file that is connected with nothing is told to be unused by those that do
        groups = [several[0].union(*alone), *several[1:]]
    return [sorted(names[path] for path in group) for group in groups]


def in_parts(group: Sequence[str], size: Callable[[str], int]) -> Iterator[list[str]]:
    """Yield a group of files, or its parts of neighbouring files if it is too large."""
    part: list[str] = []
    total = 0
    for name in group:
        if part and total + size(name) > MOST_BYTES:
            yield part
            part, total = [], 0
        part.append(name)
        total += size(name)
    yield part


@dataclass(eq=False, slots=True)
class Leftovers:
    """The facts that are needed no more and refer to each other in circles, counted by the bytes of their texts.

    A search for such circles goes through all objects there are, so it waits until there is enough to free.
    """

    size: int = 0

    def add(self, size: int) -> None:
        """Count facts that were let go."""
        self.size += size

    def make_room(self, size: int) -> None:
        """Free the facts in memory, if they and the facts to come are more than is analysed at once."""
        if self.size and self.size + size > MOST_BYTES:
            gc.collect()
            self.size = 0


@dataclass(frozen=True, slots=True)
class LintTarget:
    """A file to report on: its text, its rules, which findings are to be shown, and whether comments count.

    ``fixes``: whether findings are to come with fixes.
    """

    source: Source
    scope: RuleScope
    shown: Callable[[Finding], bool]
    heed: bool
    fixes: bool = True

    @classmethod
    def of(cls, source: Source, scope: RuleScope, *, heed: bool, fixes: bool = True) -> LintTarget:
        """Return the target for a file, with its settings."""
        return cls(source, scope, _shown(source, scope, heed), heed, fixes)

    @property
    def linter(self) -> Linter:
        """What looks at the file."""
        return self.scope.linter if self.fixes else self.scope.without_fixes


def _shown(source: Source, scope: RuleScope, heed: bool) -> Callable[[Finding], bool]:
    """Whether a finding of a file is to be shown: no setting for the file, and no comment to heed, silences it."""

    @cache
    def silenced() -> tuple[Callable[[Finding], bool], frozenset[str]]:
        return silencing(source), scope.ignored(source.path)

    def shown(finding: Finding) -> bool:
        by_comment, codes = silenced()
        return finding.code not in codes and not (heed and by_comment(finding))

    return shown


@dataclass(eq=False, slots=True)
class Unit:
    """Files that are connected, those among them to report on, by name, and what went wrong.

    ``read`` gives the facts of all files, ``size`` is how many bytes they have: how much work the unit is.
    ``leftovers`` counts what the unit forgets, where nothing else holds the facts. ``session``: what is kept between
    the runs of a session; the unit then forgets nothing. ``texts`` are those of all its files, in a session.
    """

    read: Callable[[], Sequence[FileFacts]]
    size: int
    targets: dict[str, LintTarget]
    settings: Settings
    leftovers: Leftovers | None = None
    session: SessionState | None = None
    texts: Sequence[tuple[str, bytes]] = ()
    problems: list[Problem] = field(default_factory=list)
    _analyses: Analyses | None = field(default=None, repr=False)
    _found: dict[str, tuple[Settings, list[Finding]]] = field(default_factory=dict, repr=False)

    def take(self, analyses: Analyses) -> None:
        """Keep files that are linked."""
        self._analyses = analyses

    def reuse(self, before: Unit) -> None:
        """Reuse what an earlier run linked and found, if its texts and settings were the same."""
        if before.texts == self.texts and decisive(before.settings) == decisive(self.settings):
            self._analyses = before._analyses
            self._found.update(before._found)

    def analyses(self) -> Analyses:
        """Return the analyses of the linked files, made once."""
        if self._analyses is None:
            if self.leftovers is not None:
                self.leftovers.make_room(self.size)
            checkpoint = self.session.checkpoint if self.session is not None else lambda: None
            self._analyses, problems = linked(self.read(), self.settings, checkpoint)
            self.problems += (replace(problem, path=outer_name(problem.path)) for problem in problems)
        return self._analyses

    def lint(self, name: str) -> list[Finding]:
        """Return the findings of one file to report on, without the suppressed ones; a crash becomes a problem."""
        settings, linter = self.targets[name].scope.settings, self.targets[name].linter
        known = self._found.get(name)
        if known is not None and known[0] == settings:
            return known[1]
        found: list[Finding] = []
        with kept_going(lambda error: self.problems.append(mishap(name, "linting", error))):
            found += self._findings(name)
        if self.session is not None and not (self.problems or linter.problems or linter.unpaired):
            self._found[name] = settings, found
        return found

    def _findings(self, name: str) -> Iterator[Finding]:
        """What the rules say of a file, and which of its comments silence nothing."""
        target = self.targets[name]
        analyses = self.analyses()
        facts = analyses[Project].files.get(inner_name(name))
        if facts is not None:
            yield from map(outside, target.linter.lint(analyses, facts, target.shown))
        source, scope = target.source, target.scope
        idle = unused(source, scope.linter, lambda: scope.every, analyses, facts, heed=target.heed)
        yield from (finding for finding in idle if finding.code not in scope.ignored(source.path))
        for cell, fault in source.notebook.faults() if source.notebook else ():
            found = syntax_error(name, Unparsed(fault.message, fault.row, fault.column), scope.target)
            yield replace(found, fingerprint=f"{found.fingerprint}:cell {cell}")

    def forget(self) -> None:
        """Drop the facts; the next request builds them again."""
        if self.session is not None:
            return
        if self._analyses is not None and self.leftovers is not None:
            self.leftovers.add(self.size)
        self._analyses = None
