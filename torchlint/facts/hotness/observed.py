"""How often functions were seen to run, which corrects how often they seem to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from torchlint.facts.code.model import FUNCTIONS, Scope
from torchlint.late import dataclass
from torchlint.rule import Frequency
from torchlint.rule.observed import Observed, Ran

LABEL = "so often in the profile"


@dataclass(frozen=True, slots=True)
class Observations:
    """What was observed of functions, by file and qualified name.

    ``company`` are the files and classes of which nothing else ran.
    """

    functions: Mapping[tuple[str, str], Ran] = field(default_factory=dict)
    company: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, observed: Observed) -> Observations:
        """Return the observations by function.

        If a file has several functions of one name, the one that ran most often counts.
        """
        found = {(each.path, each.name): each for each in sorted(observed.functions, key=lambda each: each.calls)}
        company = {(path, _owner(name)) for path, name in found if name != "<module>"} if observed.complete else ()
        return cls(found, frozenset(company))

    def never(self, scope: Scope) -> bool:
        """Return whether a function did not run although others of its class, or of its file, did."""
        if not isinstance(scope.node, FUNCTIONS) or self._seen(scope) is not None:
            return False
        return (scope.file.path, _owner(scope.qualname)) in self.company

    def often(self, scope: Scope) -> Frequency | None:
        """Return how often a function runs that was seen to run once per update or more often; else ``None``."""
        seen = self._seen(scope)
        return seen.frequency if seen is not None and seen.frequency >= Frequency.UPDATE else None

    def held(self, scope: Scope, frequency: Frequency) -> Frequency:
        """Return how often a function is entered: as predicted, or as observed if that is less."""
        seen = self._seen(scope)
        return frequency if seen is None or seen.frequency >= Frequency.UPDATE else min(frequency, seen.frequency)

    def _seen(self, scope: Scope) -> Ran | None:
        return self.functions.get((scope.file.path, scope.qualname)) if scope.kind == "function" else None


def _owner(name: str) -> str:
    """What a qualified name is in: ``Agent`` for ``Agent.act``, nothing for ``train``."""
    return name.rpartition(".")[0]
