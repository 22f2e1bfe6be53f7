"""Files that hang together by imports: what is analysed together, and what a finding in them can depend on.

No fact reaches further than imports do, with two exceptions: a default of torch holds for all files, and that nobody
imports a file says something only beside files that are imported. So units are analysed one by one, each forgotten
before the next, and findings of a unit hold as long as none of its files changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from torchlint.engine.analysis import Analysis, Unparsed
from torchlint.engine.broken import syntax_error
from torchlint.engine.linking import linked
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.notebooks import inner_name, outer_name, outside
from torchlint.engine.result import Problem
from torchlint.engine.scope import Scope
from torchlint.engine.unused import unused
from torchlint.facts.code.linking import connected
from torchlint.facts.code.model import EVERYWHERE, FileFacts
from torchlint.late import dataclass
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.text import Source


def together(links: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups of files that hang together, from what each imports, by name."""
    names = {inner_name(name): name for name in links}
    groups = connected({path: links[names[path]] for path in sorted(names)})
    if any(EVERYWHERE in imported for imported in links.values()):
        groups = [frozenset(names)]
    alone = [group for group in groups if len(group) == 1]
    several = [group for group in groups if len(group) > 1]
    if several:  # a file that hangs together with nothing is told to be unused by those that do
        groups = [several[0].union(*alone), *several[1:]]
    return [sorted(names[path] for path in group) for group in groups]


@dataclass(frozen=True, slots=True)
class Target:
    """A file to report on: its text, its rules, which findings are to be shown, and whether comments count."""

    source: Source
    scope: Scope
    shown: Callable[[Finding], bool]
    heed: bool


@dataclass(eq=False, slots=True)
class Unit:
    """The facts of files that hang together, the files among them to report on, by name, and what went wrong."""

    files: Sequence[FileFacts]
    targets: dict[str, Target]
    settings: Settings
    problems: list[Problem] = field(default_factory=list)
    _analysis: Analysis | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """The bytes of all files: how much work the unit is."""
        return sum(len(facts.source.utf8) for facts in self.files)

    def analysis(self) -> Analysis:
        """The files linked; made once."""
        if self._analysis is None:
            self._analysis, problems = linked(self.files, self.settings)
            self.problems += (replace(problem, path=outer_name(problem.path)) for problem in problems)
        return self._analysis

    def lint(self, name: str) -> list[Finding]:
        """The findings of one file to report on, without the suppressed ones; a crash is one of the problems."""
        found: list[Finding] = []
        with kept_going(lambda error: self.problems.append(mishap(name, "linting", error))):
            found += self._findings(name)
        return found

    def _findings(self, name: str) -> Iterator[Finding]:
        """What the rules say of a file, and which of its comments silence nothing."""
        target = self.targets[name]
        analysis = self.analysis()
        facts = analysis.project.files.get(inner_name(name))
        if facts is not None:
            yield from map(outside, target.scope.linter.lint(analysis, facts, target.shown))
        source, scope = target.source, target.scope
        idle = unused(source, scope.linter, scope.every, analysis, facts, heed=target.heed)
        yield from (finding for finding in idle if finding.code not in scope.ignored(source.path))
        for cell, fault in source.notebook.faults() if source.notebook else ():
            found = syntax_error(name, Unparsed(fault.message, fault.row, fault.column), scope.linter.target)
            yield replace(found, fingerprint=f"{found.fingerprint}:cell {cell}")

    def forget(self) -> None:
        """Let the facts go."""
        self._analysis = None
        self.files = ()
