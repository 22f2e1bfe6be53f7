"""Which branches run seldom because no call of a program gives an option that leads into them."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.rule import Frequency

CHAIN = """
from diffusers import SchedulerMixin, ConfigMixin
from somewhere import Unknown

class Scheduler({base}):
    def __init__(self):
        self.custom = False

    def set_up(self, count=None, steps=None):
        if steps is not None:
            self.custom = True
        else:
            self.custom = {other}

    def step(self, x):
        if self.custom:
            print(x)  # A
        return x

def fit(net, optimizer, scheduler, data):
    scheduler.set_up({given})
    for x in data:
        net(scheduler.step(x)).sum().backward()
        optimizer.step()

fit(make(), make(), Scheduler(), make())
"""
ONCE, UPDATE = Frequency.ONCE, Frequency.UPDATE


@pytest.mark.parametrize(
    ("base", "other", "given", "expected"),
    [
        ("", "False", "30", ONCE),
        ("SchedulerMixin, ConfigMixin", "False", "30", ONCE),
        ("", "False", "30, [5, 3, 1]", UPDATE),
        ("", "False", "steps=make()", UPDATE),
        ("", "False", "**make()", UPDATE),
        ("", "count > 5", "30", UPDATE),
        ("Unknown", "False", "30", UPDATE),
    ],
)
def test_what_a_branch_sets_that_no_call_leads_into_is_not_set(base, other, given, expected) -> None:
    assert Code(CHAIN.format(base=base, other=other, given=given)).frequency("# A") is expected


BOUND = """
def fit(net, optimizer, data, names=None):
    chosen = False
    {how}
    for x in data:
        if chosen:
            print(x)  # A
        net(x).sum().backward()
        optimizer.step()

fit({given})
"""


@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ("if names: chosen = True", "make(), make(), make()", ONCE),
        ("if names: chosen = True", "make(), make(), make(), ['a']", UPDATE),
        ("if not names: chosen = True", "make(), make(), make()", UPDATE),
        ("while chosen or names:\n        if chosen: chosen = 3\n        if names: chosen = 2", "1, 2, make()", UPDATE),
    ],
)
def test_what_a_branch_binds_that_no_call_leads_into_is_not_bound(how, given, expected) -> None:
    assert Code(BOUND.format(how=how, given=given)).frequency("# A") is expected
