"""The rows of each file of a project, found when they are first asked for."""

from __future__ import annotations

from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.late import dataclass
from torchlint.sources.lines import LineTable


@dataclass(eq=False, slots=True)
class Tables(Fact):
    """Tells offsets from rows, file by file."""

    _known: dict[str, LineTable] = field(default_factory=dict)

    def of(self, facts: FileFacts) -> LineTable:
        """The rows of a file."""
        found = self._known.get(facts.path)
        if found is None:
            found = self._known[facts.path] = LineTable(facts.source.utf8)
        return found
