"""Hotness corrected by how often functions were seen to run."""

import pytest
from projects import Code

from torchlint.rule import Frequency
from torchlint.rule.observed import Observed, Ran

TEXT = """
    class Agent:
        def act(self, obs):
            look(obs)
            return 1

        def other(self, obs):
            return inner(obs)

    def look(obs):
        mark_look = obs

    def inner(obs):
        mark_inner = obs

    def train(env, agent):
        obs = env.reset()
        while True:
            mark_loop = 1
            obs, reward, terminated, truncated, info = env.step(agent.act(obs))
"""


def seen(*functions, complete=False):
    return {"observed": Observed(tuple(Ran("code.py", *each) for each in functions), complete)}


def test_nothing_observed_changes_nothing():
    code = Code(TEXT)
    assert code.frequency("mark_look") is Frequency.STEP
    assert code.frequency("mark_inner") is Frequency.ONCE


def test_what_ran_often_is_hot_and_so_is_what_it_calls():
    code = Code(TEXT, **seen(("Agent.other", 500, Frequency.STEP)))
    assert code.frequency("return inner") is Frequency.STEP
    assert code.frequency("mark_inner") is Frequency.STEP


def test_what_ran_once_is_entered_once_and_so_is_what_only_it_calls():
    code = Code(TEXT, **seen(("Agent.act", 1, Frequency.ONCE)))
    assert code.frequency("return 1") is Frequency.ONCE
    assert code.frequency("mark_look") is Frequency.ONCE


def test_loops_of_a_function_that_ran_once_stay_hot():
    code = Code(TEXT, **seen(("train", 1, Frequency.ONCE)))
    assert code.frequency("mark_loop") is Frequency.STEP


def test_what_ran_as_often_as_it_seems_keeps_its_path():
    plain, code = Code(TEXT), Code(TEXT, **seen(("look", 500, Frequency.STEP), ("Agent.act", 500, Frequency.STEP)))
    assert code.hot("mark_look") == plain.hot("mark_look")


@pytest.mark.parametrize(
    ("ran", "complete", "frequency"),
    [
        ((("Agent.other", 3, Frequency.EPISODE),), True, Frequency.ONCE),
        # Not all that ran is known.
        ((("Agent.other", 3, Frequency.EPISODE),), False, Frequency.STEP),
        # No other method of the class ran: it may have worked in another process.
        ((("train", 1, Frequency.ONCE),), True, Frequency.STEP),
        # The file was only imported.
        ((("<module>", 1, Frequency.ONCE),), True, Frequency.STEP),
    ],
)
def test_what_never_ran_beside_others_of_its_class_is_not_hot(ran, complete, frequency):
    assert Code(TEXT, **seen(*ran, complete=complete)).frequency("return 1") is frequency


def test_the_user_knows_better_than_a_profile():
    hot = Code(TEXT.replace("def other(self, obs):", "def other(self, obs):  # torchlint: hot"))
    assert hot.frequency("mark_inner") is Frequency.STEP
    observed = seen(("Agent.act", 500, Frequency.STEP), complete=True)
    marked = Code(TEXT.replace("def other(self, obs):", "def other(self, obs):  # torchlint: hot"), **observed)
    assert marked.frequency("mark_inner") is Frequency.STEP
    often = seen(("Agent.other", 500, Frequency.STEP))
    cold = Code(TEXT.replace("def other(self, obs):", "def other(self, obs):  # torchlint: cold"), **often)
    assert cold.frequency("mark_inner") is Frequency.ONCE
