"""What is known of a loop around an expression, and of the expression's part in it."""

from __future__ import annotations

from typing import Protocol

from torchlint.late import dataclass
from torchlint.rule.value import UNKNOWN, Value


class Loop(Protocol):
    """One loop or comprehension that runs an expression over and over, and the expression's part in it.

    Each attribute is found out when it is first read, so those that are soon told come first in a condition: what the
    loop is and goes over, then ``item``, ``carried`` and ``draws``, then where results go.

    An expression that is neither ``item`` nor ``carried`` is the same in every round, unless it ``draws``. A call can
    be made once for all rounds where ``carried`` and ``feeds`` are proven false; a recurrence has both.
    """

    @property
    def row(self) -> int:
        """The row of the loop, 1-based."""
        ...

    @property
    def comprehension(self) -> bool:
        """Whether it is one."""
        ...

    @property
    def over(self) -> Value:
        """What it goes over; unknown for ``while``."""
        ...

    @property
    def few(self) -> bool:
        """Whether it goes over a handful of things, and not over rows, steps or objects that may be many.

        Such are keys and items of a dict, a literal, the parts of a module, a short range.
        """
        ...

    @property
    def counted(self) -> bool:
        """Whether it goes over a range."""
        ...

    @property
    def strided(self) -> bool:
        """Whether it goes over a range in strides, so that a round takes a stretch of many: ``range(0, n, size)``."""
        ...

    @property
    def learns(self) -> bool:
        """Whether an optimizer runs in it, so that networks change from round to round."""
        ...

    @property
    def item(self) -> bool:
        """Whether the expression depends on the element that the loop is at."""
        ...

    @property
    def carried(self) -> bool | None:
        """Whether the expression depends on what an earlier round left behind; ``None``: not known."""
        ...

    @property
    def feeds(self) -> bool | None:
        """Whether what the expression gives reaches the next round; ``None``: not known."""
        ...

    @property
    def collected(self) -> bool:
        """Whether what the expression gives is appended to or summed in something that only code after the loop reads.

        An element of a comprehension is.
        """
        ...

    @property
    def joined(self) -> bool:
        """Whether the collection that the expression is put into becomes one tensor or array."""
        ...

    @property
    def leaves(self) -> bool:
        """Whether what the expression gives is read after the loop, collected or not."""
        ...

    @property
    def draws(self) -> bool:
        """Whether the expression draws random numbers."""
        ...

    @property
    def independent(self) -> bool:
        """Whether every round could be computed apart from the others: proven, not merely likely."""
        ...


@dataclass(frozen=True, slots=True)
class Picked:
    """What a loop computes with the elements of tensors, one by one, where it does nothing else.

    Attributes:
        carried: each round computes with the result of the one before: a recurrence, such as a discounted sum.
        single: the elements are single numbers as far as is known, not rows of several environments.
        prepared: something that it reads was computed from several tensors at once, before the loop.
        ahead: how many sums, products and the like need nothing of an earlier round: before the loop they are one each.
        paired: one of these takes elements of two tensors.
        summed: all that goes from round to round is a sum of single numbers; ``rest``: each round sums up what is left.
        series: each round multiplies the same tensor once more and keeps it, and reads no element: powers.
    """

    carried: bool = False
    single: bool = False
    prepared: bool = False
    ahead: int = 0
    paired: bool = False
    summed: bool = False
    rest: bool = False
    series: bool = False


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
