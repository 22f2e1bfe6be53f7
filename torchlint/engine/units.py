"""Files that hang together by imports: what is analysed together, and what a finding in them can depend on.

No fact reaches further than imports do. So units are analysed one by one, each forgotten before the next, and findings
of a unit hold as long as none of its files changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torchlint.engine.analysis import Analysis, analyse
from torchlint.engine.notebooks import inner_name, outside
from torchlint.engine.scope import Scope
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.text import Source


@dataclass(frozen=True, slots=True)
class Target:
    """A file to report on: its text, its rules, and which findings are to be shown."""

    source: Source
    scope: Scope
    shown: Callable[[Finding], bool]


@dataclass(eq=False, slots=True)
class Unit:
    """The facts of files that hang together, and the files among them to report on, by name."""

    files: Sequence[FileFacts]
    targets: dict[str, Target]
    settings: Settings
    _analysis: Analysis | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """The bytes of all files: how much work the unit is."""
        return sum(len(facts.source.utf8) for facts in self.files)

    def analysis(self) -> Analysis:
        """The files linked; made once."""
        if self._analysis is None:
            self._analysis = analyse(self.files, self.settings)
        return self._analysis

    def lint(self, name: str) -> list[Finding]:
        """The findings of one file to report on, without the suppressed ones."""
        target = self.targets[name]
        analysis = self.analysis()
        facts = analysis.project.files.get(inner_name(name))
        if facts is None:
            return []
        return list(map(outside, target.scope.linter.lint(analysis, facts, target.shown)))

    def forget(self) -> None:
        """Let the facts go."""
        self._analysis = None
        self.files = ()
