"""How far the frequencies that the code suggests agree with measured numbers of calls."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torchlint.engine.survey import Predicted
from torchlint.late import dataclass
from torchlint.profile.model import Attribution
from torchlint.profile.pace import ProfilePace
from torchlint.rule import Frequency

# Frequencies this far apart disagree grossly; ``update`` beside ``step`` is a matter of the algorithm's settings.
_GROSS = 2
_LEVELS = {
    Frequency.ONCE: 0,
    Frequency.EPISODE: 1,
    Frequency.UPDATE: 2,
    Frequency.STEP: 3,
    Frequency.INNER: 3,
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A function that ran much more or less often than it seems to; ``seen`` is what its calls come to."""

    path: str
    name: str
    row: int
    predicted: Frequency
    seen: Frequency
    calls: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Predicted frequencies and measured calls.

    Attributes:
        compared: how many functions ran and have a prediction.
        near: of these, how many are no more than one level apart.
        correlation: Spearman's, of frequency and calls; ``None`` where all are alike, or there are too few.
        gross: the others, those with the most calls first.
    """

    compared: int
    near: int
    correlation: float | None
    gross: tuple[Disagreement, ...]


def agreement(attribution: Attribution, functions: Sequence[Predicted], pace: ProfilePace) -> Agreement | None:
    """Compare all functions that ran; ``None`` where the profile is too short, or counts no calls."""
    if not pace.tells:
        return None
    costs = {(each.path, each.name): each for each in attribution.functions if each.calls}
    pairs = [(each, cost) for each in functions if (cost := costs.get((each.path, each.name))) is not None]
    gross = [
        Disagreement(each.path, each.name, each.row, each.frequency, seen, cost.calls)
        for each, cost in pairs
        if abs(_LEVELS[each.frequency] - _LEVELS[seen := pace.frequency(cost.calls)]) >= _GROSS
    ]
    correlation = spearman(
        [float(_LEVELS[each.frequency]) for each, _ in pairs], [float(cost.calls) for _, cost in pairs]
    )
    gross.sort(key=lambda each: (-each.calls, each.path, each.row))
    return Agreement(len(pairs), len(pairs) - len(gross), correlation, tuple(gross))


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the rank correlation of pairs, ties at their mean rank.

    The result is ``None`` for fewer than three, or if one is constant.
    """
    if len(one) < 3:
        return None
    first, second = _ranks(one), _ranks(other)
    mean = (len(one) + 1) / 2
    spread = sum((rank - mean) ** 2 for rank in first) * sum((rank - mean) ** 2 for rank in second)
    if not spread:
        return None
    return sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True)) / math.sqrt(spread)


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda place: values[place])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks
