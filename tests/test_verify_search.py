"""Which fixes are kept, and what is measured: against commands that are functions."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from torchlint.verify.failure import CannotVerifyError
from torchlint.verify.metric import Metric, Verdict, compare
from torchlint.verify.search import keepable, opponents

FIXES = "abcdefgh"


class Command:
    """Fails with any of some sets of fixes; counts how often it is run, once for each set."""

    def __init__(self, *bad, needs=()):
        self.bad = [frozenset(each) for each in bad]
        self.needs = needs
        self.asked = set()

    def __call__(self, fixes):
        self.asked.add(fixes)
        broken = any(each <= fixes for each in self.bad)
        return not broken and all(other in fixes for fix, other in self.needs if fix in fixes)


def test_all_that_pass_are_kept_after_one_run():
    passes = Command()
    assert keepable(FIXES, passes) == list(FIXES)
    assert len(passes.asked) == 1


def test_one_bad_fix_is_found_with_few_runs():
    passes = Command("f")
    assert keepable(FIXES, passes) == list("abcdegh")
    assert len(passes.asked) <= 9


def test_nothing_can_be_kept():
    assert keepable("abc", Command("a", "b", "c")) == []
    assert keepable("", Command()) == []


def test_of_two_that_only_fail_together_the_first_is_kept():
    passes = Command("bg")
    assert keepable(FIXES, passes) == list("abcdefh")
    assert opponents("g", frozenset(), list("abcdefh"), passes) == ("b",)


def test_three_that_only_fail_together():
    passes = Command("bdg")
    assert keepable(FIXES, passes) == list("abcdefh")
    assert opponents("g", frozenset(), list("abcdefh"), passes) == ("b", "d")


def test_one_that_fails_alone_has_no_opponents():
    assert opponents("g", frozenset(), list("abc"), Command("g", "ag")) == ()


def test_one_that_needs_another_which_comes_later():
    assert keepable(FIXES, Command("h", needs=[("a", "g")])) == list("abcdefg")


@pytest.mark.parametrize("seed", range(40))
def test_what_is_kept_passes_and_nothing_can_be_added(seed):
    choice = random.Random(seed)
    passes = Command(*(choice.sample(FIXES, choice.randint(1, 3)) for _ in range(choice.randint(1, 4))))
    kept = keepable(FIXES, passes)
    assert passes(frozenset(kept))
    for fix in set(FIXES) - set(kept):
        assert not passes(frozenset((*kept, fix)))
        others = opponents(fix, frozenset(), kept, passes)
        assert not passes(frozenset((*others, fix)))
        for count in range(len(others)):
            assert all(passes(frozenset((*some, fix))) for some in itertools.combinations(others, count))


def coverage(first, second, rank):
    """How often the interval of a rank holds a shift of nothing, over all orders of two samples."""
    inside = Counter()
    for places in itertools.combinations(range(first + second), first):
        others = [place for place in range(first + second) if place not in places]
        below = sum(one < other for one in places for other in others)
        inside[rank <= below <= first * second - rank] += 1
    return inside[True] / inside.total()


@pytest.mark.parametrize(("size", "rank"), [(4, 1), (5, 3), (6, 6)])
def test_the_interval_holds_as_often_as_it_says(size, rank):
    gain = compare([1.0 + index for index in range(size)], [100.0 * 1.1**index for index in range(size)], lower=False)
    ratios = sorted(two / one for one in gain.before for two in gain.after)
    assert (gain.low, gain.high) == (ratios[rank - 1], ratios[-rank])
    assert gain.confidence == pytest.approx(coverage(size, size, rank))
    assert gain.confidence >= 0.95 > coverage(size, size, rank + 1)


def test_verdicts():
    slow, fast = [100.0, 101.0, 102.0, 103.0, 104.0], [200.0, 201.0, 202.0, 203.0, 204.0]
    assert compare(slow, fast, lower=False).verdict is Verdict.BETTER
    assert compare(slow, fast, lower=True).verdict is Verdict.WORSE
    assert compare(fast, slow, lower=True).verdict is Verdict.BETTER
    assert compare(slow, slow, lower=True).verdict is Verdict.SAME
    assert compare([100.0, 200.0, 300.0, 90.0], [150.0, 250.0, 80.0, 110.0], lower=False).verdict is Verdict.SAME
    assert compare(slow[:3], fast[:3], lower=False).verdict is Verdict.TOO_FEW
    assert compare(slow, fast, lower=True).ratio == pytest.approx(102 / 202)


@pytest.mark.parametrize("text", ["fps: (", "fps: [0-9]+"])
def test_a_metric_that_cannot_be_read(text):
    with pytest.raises(CannotVerifyError, match=r"not a regular expression|no group"):
        Metric.of(text, lower=False)
