"""A number that the command prints, with fixes and without: how much better it is, and how sure that is."""

from __future__ import annotations

import enum
import math
import re
import statistics
from collections.abc import Sequence

from torchlint.late import dataclass
from torchlint.verify.command import Ended
from torchlint.verify.failure import CannotVerifyError

TIME = "time"
CONFIDENCE = 0.95


COUNT = "count:"
COUNTED = ("waits", "launches", "copies", "bytes")


class Verdict(enum.Enum):
    """What the numbers say."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference beyond noise"
    TOO_FEW = "too few repeats to tell"


@dataclass(frozen=True, slots=True)
class Gain:
    """Two samples of a number, compared.

    Attributes:
        before, after: the numbers without the fixes and with them, in the order they were measured.
        ratio: how many times better it is with them: the median of the ratios of all pairs (Hodges-Lehmann).
        low, high: the interval around it that belongs to the test of Mann and Whitney.
        confidence: how often such an interval holds the true ratio: 0.95 or a little more, less with few repeats.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    ratio: float
    low: float
    high: float
    confidence: float

    @property
    def verdict(self) -> Verdict:
        """Better or worse only where the whole interval is, and holds often enough."""
        if self.confidence < CONFIDENCE:
            return Verdict.TOO_FEW
        if self.low > 1:
            return Verdict.BETTER
        return Verdict.WORSE if self.high < 1 else Verdict.SAME


def compare(before: Sequence[float], after: Sequence[float], *, lower: bool) -> Gain:
    """Compare numbers above zero; ``lower``: less is better. Each sample needs one at least (``ValueError``)."""
    ratios = sorted(one / two if lower else two / one for one in before for two in after)
    rank, confidence = _rank(len(before), len(after))
    return Gain(tuple(before), tuple(after), statistics.median(ratios), ratios[rank - 1], ratios[-rank], confidence)


def _rank(first: int, second: int) -> tuple[int, float]:
    """Which of the ratios, counted from both ends, bound the narrowest interval that is sure enough; how sure it is."""
    ways = _ways(first, second)
    total = math.comb(first + second, first)
    rank = 1
    outside = ways[0]
    while 1 - 2 * (outside + ways[rank]) / total >= CONFIDENCE:
        outside += ways[rank]
        rank += 1
    return rank, 1 - 2 * outside / total


def _ways(first: int, second: int) -> list[int]:
    """In how many orders of two samples so many pairs are in the wrong order, for each number of pairs."""
    ways = [1]
    for size in range(1, first + 1):
        # The Gaussian binomial grows by the factor (1 - q^(second + size)) / (1 - q^size).
        longer = ways + [0] * second
        for power in range(len(longer) - 1, second + size - 1, -1):
            longer[power] -= longer[power - second - size]
        for power in range(size, len(longer)):
            longer[power] += longer[power - size]
        ways = longer
    return ways


@dataclass(frozen=True, slots=True)
class Fall:
    """A count of events without the fixes and with those that are kept. Counts have no noise."""

    what: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured: the first group of the last match of a pattern in the output; no pattern: the seconds.

    ``text`` is as the user gave it; ``lower``: less is better. ``counted`` is the kind of event that is counted on the
    counted device in place of that; empty: nothing is.
    """

    text: str
    pattern: re.Pattern[str] | None
    lower: bool
    counted: str = ""

    @classmethod
    def of(cls, text: str, *, lower: bool) -> Metric:
        """Read what the user wants to measure.

        Raises:
            CannotVerifyError: it is not a regular expression with a group, or such events are not counted.
        """
        if text == TIME:
            return cls(text, None, lower=True)
        if text.startswith(COUNT):
            what = text.removeprefix(COUNT)
            if what not in COUNTED:
                ways = ", ".join(f"{COUNT}{each}" for each in COUNTED)
                raise CannotVerifyError(f"--metric {text!r} is not one of {ways}")
            return cls(text, None, lower=True, counted=what)
        try:
            pattern = re.compile(text)
        except re.error as error:
            raise CannotVerifyError(f"--metric {text!r} is not a regular expression: {error}") from error
        if not pattern.groups:
            raise CannotVerifyError(f"--metric {text!r} has no group around the number, as in 'fps: ([0-9.]+)'")
        return cls(text, pattern, lower)

    def read(self, ended: Ended) -> float:
        """Return the number of a run.

        Raises:
            CannotVerifyError: the output holds none, or it is not above zero.
        """
        if self.pattern is None:
            return ended.seconds
        output = ended.output.read_bytes().decode("utf-8", "replace")
        found = None
        for found in self.pattern.finditer(output):  # noqa: B007  the last one counts
            pass
        if found is None or found[1] is None:
            raise CannotVerifyError(f"the output has no match of --metric {self.text!r}", ended.tail())
        try:
            number = float(found[1])
        except ValueError as error:
            raise CannotVerifyError(f"--metric {self.text!r} found {found[1]!r}, which is not a number") from error
        if not 0 < number < math.inf:
            raise CannotVerifyError(f"--metric {self.text!r} found {found[1]}, but the number must be above zero")
        return number
