"""How often a line runs, and the path of calls that makes it run that often."""

from __future__ import annotations

import enum
from dataclasses import field

from torchlint.late import dataclass


class Frequency(enum.IntEnum):
    """How often a line runs, from seldom to often.

    ``ONCE`` also stands for guarded code (debug branches, log intervals, branches that raise) and for code that
    no known path makes hot.
    """

    ONCE = 0
    EPISODE = 1
    UPDATE = 2
    STEP = 3
    INNER = 4

    @property
    def phrase(self) -> str:
        """The frequency in words, e.g. ``once per environment step``."""
        return _PHRASES[self]


_PHRASES = {
    Frequency.ONCE: "seldom",
    Frequency.EPISODE: "once per episode or rollout",
    Frequency.UPDATE: "once per gradient update",
    Frequency.STEP: "once per environment step",
    Frequency.INNER: "many times per step or update",
}


NOT_PROVEN = "not proven which code calls it"
"""What a report says of a hot line without a path."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One link of a hot path: a loop, an entry point of a framework, or a function that is called.

    ``path`` is relative to the project root, with ``/``; ``row`` is 1-based; ``name`` is ``loop`` or a qualified
    function name such as ``Agent.act``. ``at`` is the place of its call in the link before, row and column, both 0
    where that is not known: two links with one place are alternatives, such as the same method of two classes.
    """

    path: str
    row: int
    name: str
    at: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Hotness:
    """The frequency of a line and the path that proves it, outermost hop first.

    The path is empty when the line is not hot, and where each path needs a call that may as well be one of another
    class: then the line is taken to be hot, and it is not proven which code calls it. ``when`` are the words of whoever
    calls the first hop, where they say more than the frequency does.
    """

    frequency: Frequency = Frequency.ONCE
    path: tuple[Hop, ...] = ()
    when: str = ""

    @property
    def phrase(self) -> str:
        """The frequency in words, e.g. ``once per environment step`` or ``once per micro-batch``."""
        return self.when or self.frequency.phrase

    @property
    def told(self) -> bool:
        """Whether a report says how often the line runs: it is hot."""
        return self.frequency is not Frequency.ONCE

    @property
    def proven(self) -> bool:
        """Whether a path proves that the line is hot; of a line that is not hot nothing needs a proof."""
        return bool(self.path) or not self.told

    def describe(self) -> str:
        """Return one line for a message: ``once per environment step (train.py:88 loop → Agent.act)``."""
        if not self.path:
            return f"{self.phrase} ({NOT_PROVEN})" if not self.proven else self.phrase
        first, *rest = self.path
        links = [f"{first.path}:{first.row} {first.name}", *(hop.name for hop in rest)]
        return f"{self.phrase} ({' → '.join(links)})"


@dataclass(frozen=True, slots=True)
class Limit:
    """A guard that keeps code from running more often: a line of the source, and the most often it allows.

    The name of ``place`` is the text of that line; ``guard`` is the name of the guard.
    """

    place: Hop
    frequency: Frequency
    guard: str


@dataclass(frozen=True, slots=True)
class Way:
    """One path that makes a line hot, what its first hop does or who calls it, and the limits on the way.

    ``proven``: no call on the way may as well be one of another class that has a method of its name.
    """

    hot: Hotness
    origin: str
    limits: tuple[Limit, ...] = ()
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Why:
    """Why a line runs as often as it does: the ways that make it so, or the reasons why it is not hot.

    ``more`` counts further ways that are left out; ``when`` are words that say more than the frequency does.
    """

    frequency: Frequency = Frequency.ONCE
    ways: tuple[Way, ...] = ()
    reasons: tuple[str, ...] = ()
    more: int = 0
    when: str = ""

    @property
    def phrase(self) -> str:
        """The frequency in words, e.g. ``once per environment step`` or ``once per generated batch``."""
        return self.when or self.frequency.phrase


@dataclass(frozen=True, slots=True)
class CallSite:
    """A place that calls something: where, how often it runs, and what is known of the batch it passes.

    ``root`` is what makes it hot: ``step`` for a loop that steps an environment, ``update`` for one that runs gradient
    updates, empty when unknown. ``batch`` is a short text for the leading dimension of the first argument where it is
    known (``1``), else empty.
    """

    hop: Hop
    frequency: Frequency
    root: str
    batch: str
