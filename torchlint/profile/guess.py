"""Operators that nobody knows the line of, shared out among the findings that they may come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from torchlint.late import dataclass, regex
from torchlint.profile.model import Profile
from torchlint.profile.smells import shown, smell_of
from torchlint.rule import Finding, Frequency

_WORD = regex(r"\w+")
_ATEN = "aten::"
# How many operators before and after one say where it stands.
_NEAR = 6
# How often code of a frequency runs beside code that runs once per step, for want of anything better.
_WEIGHT = {
    Frequency.ONCE: 0.0,
    Frequency.EPISODE: 0.01,
    Frequency.UPDATE: 0.5,
    Frequency.STEP: 1.0,
    Frequency.INNER: 4.0,
}

Candidate = tuple[Finding, Sequence[str], Sequence[str]]
"""A finding, the lines of its code, and these with some lines around them."""


@dataclass(eq=False, slots=True)
class Guesses:
    """Shares out operators: by those that ran before and after, else by how often the findings seem to run."""

    profile: Profile
    candidates: Sequence[Candidate]
    _totals: dict[str, tuple[float, int]] = field(default_factory=dict)
    _words: list[frozenset[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for each in self.profile.operators:
            if each.within not in shown():
                us, calls = self._totals.get(each.name, (0.0, 0))
                self._totals[each.name] = us + each.total_us, calls + each.calls
        for _, _, around in self.candidates:
            self._words.append(frozenset(_ATEN + word for line in around for word in _WORD.findall(line)))

    def costs(self) -> list[tuple[float, float]]:
        """Microseconds and calls of each candidate: its part of the operators that its smell shows as."""
        takers: dict[str, list[int]] = {}
        for number, (finding, lines, _) in enumerate(self.candidates):
            for name in smell_of(finding.code).within(lines).operators:
                if name in self._totals:
                    takers.setdefault(name, []).append(number)
        time = [0.0] * len(self.candidates)
        calls: list[dict[str, float]] = [{} for _ in self.candidates]
        for name, numbers in takers.items():
            us, count = self._totals[name]
            for number, part in zip(numbers, self._parts(name, numbers), strict=True):
                time[number] += us * part
                calls[number][name] = count * part
        return [(us, max(each.values(), default=0.0)) for us, each in zip(time, calls, strict=True)]

    def _parts(self, name: str, numbers: Sequence[int]) -> list[float]:
        """The part of an operator that each of some candidates gets; the parts sum up to one."""
        weights = [_WEIGHT[self.candidates[number][0].hot.frequency] for number in numbers]
        if not any(weights):
            weights = [1.0] * len(numbers)
        parts = [0.0] * len(numbers)
        places = [place for place, each in enumerate(self.profile.order) if each == name]
        for place in places:
            near = frozenset(self.profile.order[max(0, place - _NEAR) : place + _NEAR + 1])
            fits = [len(near & self._words[number]) for number in numbers]
            chosen = [weight if fit == max(fits) else 0.0 for fit, weight in zip(fits, weights, strict=True)]
            _add(parts, chosen)
        if not any(parts):
            _add(parts, weights)
        return [part / sum(parts) for part in parts]


def _add(parts: list[float], weights: Sequence[float]) -> None:
    """Give one call to those with a weight, by their weights."""
    whole = sum(weights)
    for number, weight in enumerate(weights):
        parts[number] += weight / whole if whole else 0.0
