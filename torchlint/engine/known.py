"""What is known already and so not shown: findings of the baseline, and lines that did not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from torchlint.engine.result import UnusableError
from torchlint.engine.scope import Scope
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.baseline import BaselineError, Entry, read_baseline
from torchlint.sources.since import GitError, Since
from torchlint.sources.text import Source


@dataclass(eq=False, slots=True)
class Known:
    """The baseline and the revision of a run, where it has them."""

    settings: Settings
    entries: frozenset[Entry] = frozenset()
    since: Since | None = None
    met: set[Entry] = field(default_factory=set)

    @classmethod
    def of(cls, settings: Settings) -> Known:
        """Read the baseline, and ask git for the revision.

        Raises:
            UnusableError: one of them is not there.
        """
        try:
            entries = read_baseline(settings.baseline) if settings.baseline else frozenset()
            since = Since(settings.since, settings.root) if settings.since is not None else None
        except (BaselineError, GitError) as error:
            key = "--since: " if isinstance(error, GitError) else ""
            raise UnusableError(f"{key}{error}") from error
        return cls(settings, entries, since)

    def unknown(self, findings: Iterable[Finding], source: Source) -> list[Finding]:
        """The findings of a file that the baseline does not hold, on lines that changed."""
        found = list(findings)
        if self.entries:
            self.met.update(map(Entry.of, found))
            found = [finding for finding in found if Entry.of(finding) not in self.entries]
        if not found or self.since is None:
            return found
        try:
            changed = self.since.changed(source)
        except GitError as error:
            raise UnusableError(f"--since: {error}") from error
        return [finding for finding in found if not changed.isdisjoint(_rows(finding))]

    def stale(self, looked_at: Mapping[str, Scope]) -> tuple[Entry, ...]:
        """The entries that fit no finding of the files looked at, or whose file is gone; sorted."""
        return tuple(entry for entry in sorted(self.entries - self.met) if self._is_stale(entry, looked_at))

    def _is_stale(self, entry: Entry, looked_at: Mapping[str, Scope]) -> bool:
        scope = looked_at.get(entry.path)
        if scope is None:
            return not (self.settings.root / entry.path).exists()
        # What a rule that did not run would say is not known.
        return any(rule.code == entry.code for rule in scope.linter.rules)


def _rows(finding: Finding) -> range:
    """The rows of what a finding is about and of its statement."""
    return range(min(finding.start.row, finding.rows[0]), max(finding.end.row, finding.rows[1]) + 1)
