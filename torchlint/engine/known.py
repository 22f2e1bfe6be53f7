"""What is known already and so not shown: findings of the baseline, and lines that did not change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.engine.result import UnusableError
from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.engine.scope import RuleScope
    from torchlint.rule import Finding
    from torchlint.settings.model import Settings
    from torchlint.sources.baseline import BaselineEntry
    from torchlint.sources.since import Since
    from torchlint.sources.text import Source


@dataclass(eq=False, slots=True)
class KnownFindings:
    """The baseline and the revision of a run, where it has them."""

    settings: Settings
    entries: frozenset[BaselineEntry] = frozenset()
    since: Since | None = None
    met: set[BaselineEntry] = field(default_factory=set)

    @classmethod
    def of(cls, settings: Settings) -> KnownFindings:
        """Read the baseline, and ask git for the revision.

        Raises:
            UnusableError: one of them is not there.
        """
        entries = _entries(settings.baseline) if settings.baseline else frozenset()
        since = _since(settings.since, settings.root) if settings.since is not None else None
        return cls(settings, entries, since)

    def unknown(self, findings: Iterable[Finding], source: Source) -> list[Finding]:
        """Return the findings of a file that the baseline does not hold, on lines that changed."""
        found = list(findings)
        if self.entries:
            from torchlint.sources.baseline import BaselineEntry

            self.met.update(map(BaselineEntry.of, found))
            found = [finding for finding in found if BaselineEntry.of(finding) not in self.entries]
        if not found or self.since is None:
            return found
        from torchlint.sources.git import GitError

        try:
            changed = self.since.changed(source)
        except GitError as error:
            raise UnusableError(f"--since: {error}") from error
        return [finding for finding in found if not changed.isdisjoint(rows_of(finding))]

    def stale(self, looked_at: Mapping[str, RuleScope]) -> tuple[BaselineEntry, ...]:
        """Return the entries that match no finding of the files looked at, or whose file is gone, sorted."""
        return tuple(entry for entry in sorted(self.entries - self.met) if self._is_stale(entry, looked_at))

    def _is_stale(self, entry: BaselineEntry, looked_at: Mapping[str, RuleScope]) -> bool:
        scope = looked_at.get(entry.path)
        if scope is None:
            return not os.path.exists(self.settings.root / entry.path)
        # What a rule that did not run would say is not known.
        return any(rule.code == entry.code for rule in scope.rules)


# What few runs need is imported when it is: a run of git brings modules that take longer to load than a small lint.


def _entries(file: Path) -> frozenset[BaselineEntry]:
    from torchlint.sources.baseline import BaselineError, read_baseline

    try:
        return read_baseline(file)
    except BaselineError as error:
        raise UnusableError(str(error)) from error


def _since(revision: str, folder: Path) -> Since:
    from torchlint.sources.git import GitError
    from torchlint.sources.since import Since

    try:
        return Since(revision, folder)
    except GitError as error:
        raise UnusableError(f"--since: {error}") from error


def rows_of(finding: Finding) -> range:
    """Return the rows of a finding and of its statement; of a compound one, those of its header."""
    return range(min(finding.start.row, finding.rows[0]), max(finding.end.row, finding.rows[1]) + 1)
