import pytest
from rich.cells import cell_len

from torchlint.report.hotness import render
from torchlint.rule import Frequency, Hop, Hotness
from torchlint.rule.frequency import Limit, Way, Why

LONG = "some/rather/deep/folder/of/a/project"
STEP = Hotness(Frequency.STEP, (Hop(f"{LONG}/train.py", 88, "loop"), Hop(f"{LONG}/agent.py", 9, "Agent.act")))
UPDATE = Hotness(Frequency.UPDATE, (Hop("train.py", 120, "loop"), Hop("agent.py", 9, "Agent.act")))
LIMIT = Limit(
    Hop("agent.py", 11, "if self.steps % self.frequency_of_gradient_updates == 0:"), Frequency.UPDATE, "interval"
)
GUESS = Hotness(Frequency.STEP, (Hop("train.py", 120, "loop"), Hop("agent.py", 9, "Agent.act")))
GUESSED = """agent.py:12 runs once per environment step; it is not proven which code calls it.

once per environment step, where several classes have the method that is called:
    train.py:120 loop, steps an environment
  → agent.py:9 Agent.act
"""
WHY = Why(
    Frequency.STEP,
    (
        Way(STEP, "steps an environment and runs gradient updates"),
        Way(UPDATE, "runs gradient updates", (LIMIT,)),
        Way(UPDATE, "called by a framework"),
    ),
    more=7,
)
PAGE = """agent.py:12 runs once per environment step.

once per environment step:
    some/rather/deep/folder/of/a/project/train.py:88 loop, steps an environment
      and runs gradient updates
  → some/rather/deep/folder/of/a/project/agent.py:9 Agent.act

once per gradient update:
    train.py:120 loop, runs gradient updates
  → agent.py:9 Agent.act
      held to once per gradient update by guard "interval" at agent.py:11: if
        self.steps % self.frequency_of_gradient_updates == 0:

    train.py:120 loop, called by a framework
  → agent.py:9 Agent.act

and 7 more
"""


def shown(why: Why, *, color: bool = False, unicode: bool = True, width: int = 80) -> str:
    return render("agent.py:12", why, color=color, unicode=unicode, width=width)


def test_a_hot_line() -> None:
    assert shown(WHY) == PAGE


def test_ascii() -> None:
    page = shown(WHY, unicode=False)
    assert page.isascii()
    assert "  -> agent.py:9 Agent.act\n" in page


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_width(width: int, color: bool) -> None:
    plain = shown(WHY, width=width)
    assert max(cell_len(line) for line in plain.splitlines()) <= width
    assert ("\x1b[" in shown(WHY, width=width, color=color)) is color


def test_colour_changes_no_word() -> None:
    import re

    coloured = re.sub(r"\x1b\[[0-9;]*m", "", shown(WHY, color=True))
    assert [line.strip() for line in coloured.splitlines()] == [line.strip() for line in PAGE.splitlines()]


def test_a_cold_line() -> None:
    reason = "it runs when the module is run, in no loop that steps an environment or runs gradient updates"
    assert shown(Why(reasons=(reason,))) == (
        "agent.py:12 is not hot.\n"
        "- it runs when the module is run, in no loop that steps an environment or runs\n"
        "    gradient updates\n"
    )


def test_what_terminals_understand_is_not_passed_on() -> None:
    hot = Hotness(Frequency.STEP, (Hop("a\x1b[31m.py", 1, "f\x07"),))
    assert "\x1b" not in shown(Why(Frequency.STEP, (Way(hot, ""),), reasons=("\x1b",)))


def test_a_way_that_rests_on_a_name_is_told_apart():
    guessed = Way(GUESS, "steps an environment", proven=False)
    text = render("agent.py:12", Why(Frequency.STEP, (guessed,)), color=False, unicode=True, width=80)
    assert text == GUESSED
    both = Why(Frequency.STEP, (Way(STEP, "steps an environment"), guessed))
    assert "not proven" not in render("agent.py:12", both, color=False, unicode=True, width=80)
