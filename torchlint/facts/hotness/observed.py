"""How often functions were seen to run, which corrects how often they seem to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from torchlint.facts.code.model import Scope
from torchlint.rule import Frequency
from torchlint.rule.frequency import Observed

LABEL = "so often in the profile"


@dataclass(frozen=True, slots=True)
class Observations:
    """What was observed of functions, by file and qualified name."""

    of: Mapping[tuple[str, str], Observed] = field(default_factory=dict)

    @classmethod
    def from_list(cls, observed: Iterable[Observed]) -> Observations:
        """Of functions of one name in one file (in two branches, say) the one that runs more often counts."""
        found: dict[tuple[str, str], Observed] = {}
        for each in sorted(observed, key=lambda each: each.calls):
            found[each.path, each.name] = each
        return cls(found)

    def never(self, scope: Scope) -> bool:
        """Whether a function was seen not to run."""
        seen = self._seen(scope)
        return seen is not None and seen.calls == 0

    def often(self, scope: Scope) -> Frequency | None:
        """How often a function runs that was seen to run once per update or more often; else ``None``."""
        seen = self._seen(scope)
        return seen.frequency if seen is not None and seen.frequency >= Frequency.UPDATE else None

    def held(self, scope: Scope, frequency: Frequency) -> Frequency:
        """How often a function is entered that seems to be entered so often."""
        seen = self._seen(scope)
        return frequency if seen is None or seen.frequency >= Frequency.UPDATE else min(frequency, seen.frequency)

    def _seen(self, scope: Scope) -> Observed | None:
        return self.of.get((scope.file.path, scope.qualname)) if scope.kind == "function" else None
