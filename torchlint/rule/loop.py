"""What is known of a loop around an expression, and of the expression's part in it."""

from __future__ import annotations

from torchlint.late import dataclass
from torchlint.rule.value import UNKNOWN, Value


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop or comprehension that runs an expression over and over, and the expression's part in it.

    An expression that is neither ``item`` nor ``carried`` is the same in every round, unless it ``draws``. A call can
    be made once for all rounds where ``carried`` and ``feeds`` are proven false; a recurrence has both.

    Attributes:
        row: of the loop, 1-based.
        comprehension: whether it is one.
        over: what it goes over; unknown for ``while``.
        few: it goes over a handful of things (keys and items of a dict, a literal, the parts of a module, a short
            range) and not over rows, steps or objects that may be many.
        counted: it goes over a range.
        learns: an optimizer runs in it, so that networks change from round to round.
        item: the expression depends on the element that the loop is at.
        carried: it depends on what an earlier round left behind; ``None``: not known.
        feeds: what it gives reaches the next round; ``None``: not known.
        collected: what it gives is appended to or summed in something that only code after the loop reads; an element
            of a comprehension is.
        joined: the collection that the expression is put into becomes one tensor or array.
        leaves: what it gives is read after the loop, collected or not.
        draws: it draws random numbers.
    """

    row: int
    comprehension: bool = False
    over: Value = UNKNOWN
    few: bool = False
    counted: bool = False
    learns: bool = False
    item: bool = False
    carried: bool | None = None
    feeds: bool | None = None
    collected: bool = False
    joined: bool = False
    leaves: bool = False
    draws: bool = False

    @property
    def independent(self) -> bool:
        """Whether every round could be computed apart from the others: proven, not merely likely."""
        return self.carried is False and self.feeds is False and not self.learns


@dataclass(frozen=True, slots=True)
class Picked:
    """What a loop computes with the elements of tensors, one by one, where it does nothing else.

    Attributes:
        carried: each round computes with the result of the one before: a recurrence, such as a discounted sum.
        single: the elements are single numbers as far as is known, not rows of several environments.
        prepared: something that it reads was computed from several tensors at once, before the loop.
    """

    carried: bool = False
    single: bool = False
    prepared: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One element of a collection, another one in each round of a loop.

    Attributes:
        over: the collection.
        single: the element is made a batch of one (``o.unsqueeze(0)``, ``xs[i : i + 1]``).
        counted: of ``xs[i]`` what the loop counts, as source (``range(len(xs))``), else empty.
    """

    over: Value = UNKNOWN
    single: bool = False
    counted: str = ""
