"""How often functions are entered: the values that spread through the call graph, and the join of two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.late import dataclass
from torchlint.rule import Frequency

MOST = 16
"""With more classes of objects than this, a method counts as one that runs on any."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What enters a function though no known call does: a framework, the settings, a guess, a profile.

    ``when`` are words of the framework; ``guessed``: no call is known.
    """

    frequency: Frequency
    label: str
    when: str = ""
    guessed: bool = False

    def joined(self, other: Seed | None) -> Seed:
        """Return the one of two entries that is more frequent, else the one that is not guessed."""
        return self if other is None else max(self, other, key=_rank)


def _rank(seed: Seed) -> tuple[Frequency, bool, str, str]:
    return seed.frequency, not seed.guessed, seed.label, seed.when


@dataclass(frozen=True, slots=True)
class Entry:
    """How often a function is entered at most, in which phases, and the seed that it is entered by, if there is one.

    ``weak`` when each path that enters it so often has an edge that only the name of a method gives.
    """

    frequency: Frequency
    kinds: frozenset[str] = frozenset()
    seed: Seed | None = None
    weak: bool = False

    @property
    def first(self) -> Seed | None:
        """The seed, if no call enters the function more often."""
        return self.seed if self.seed is not None and self.seed.frequency >= self.frequency else None

    def joined(self, other: Entry) -> Entry:
        """Return the join of two entries: how often a function is entered by both."""
        if self == other:
            return self
        weak = max(self, other, key=_strength).weak
        seed = self.seed.joined(other.seed) if self.seed is not None else other.seed
        return Entry(max(self.frequency, other.frequency), self.kinds | other.kinds, seed, weak)


def _strength(entry: Entry) -> tuple[Frequency, bool]:
    return entry.frequency, not entry.weak


@dataclass(frozen=True, slots=True)
class Entered:
    """All that is known of how often a function is entered.

    ``entry`` is by calls, ``items`` by what draws the items of a generator. ``rates`` says how often it is entered on
    objects of each class; ``many``: of more classes than are told apart.
    """

    entry: Entry | None = None
    items: Entry | None = None
    rates: Mapping[Receiver, Frequency] = field(default_factory=dict)
    many: bool = False

    def joined(self, other: Entered) -> Entered:
        """Return what both know."""
        rates, many = self.rates, self.many or other.many
        if rates != other.rates and other.rates:
            rates = dict(rates)
            for receiver, rate in other.rates.items():
                rates[receiver] = max(rate, rates.get(receiver, Frequency.ONCE))
            many = many or len(rates) > MOST
        if many:
            rates = {ANY: max(rates.values(), default=Frequency.ONCE)}
        return Entered(_both(self.entry, other.entry), _both(self.items, other.items), rates, many)


def _both(one: Entry | None, other: Entry | None) -> Entry | None:
    if one is None or other is None:
        return one if other is None else other
    return one.joined(other)
