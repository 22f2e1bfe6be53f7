"""What findings cost by a profile: by line, by operator, by function, by guess; pace and agreement."""

import pytest
from profiles import frame, joined, node, operator, profile_of

from torchlint.profile.agree import spearman
from torchlint.profile.model import Effect, Source
from torchlint.profile.pace import Pace, pace_of
from torchlint.rule import Basis, Frequency

TEXT = """\
import torch


class Agent:
    def act(self, obs):
        if torch.isnan(obs).any():
            raise ValueError("NaN")
        if torch.isinf(obs).any():
            raise ValueError("infinity")
        return obs


def train(env, agent):
    obs = env.reset()
    while True:
        obs, reward, terminated, truncated, info = env.step(agent.act(obs))
"""
PLAN = """\
    def plan(self, obs):
        hidden = torch.softmax(obs, 0)
        if torch.isnan(hidden).any():
            raise ValueError
        return hidden
"""
CALLED = [frame("agent.py", "train", 1, 100.0, line=13), frame("agent.py", "act", 10, 80.0, line=5)]
TREE = [node(0, -1, 1, 100.0, 20.0), node(1, 0, 10, 80.0, 30.0)]


def one(report):
    """The only group."""
    assert len(report.groups) == 1, report.groups
    return report.groups[0]


def test_operators_of_the_smell_in_its_function_are_its_cost(tmp_path):
    profile = profile_of(
        CALLED,
        TREE,
        [
            operator("aten::isnan", 1, 10, 12.0),
            operator("aten::isinf", 1, 10, 8.0),
            operator("aten::any", 1, 20, 5.0),
            operator("aten::linear", 1, 10, 40.0),
            operator("aten::isnan", 0, 10, 3.0),
        ],
    )
    group = one(joined(profile, {"agent.py": TEXT}, tmp_path))
    assert (group.code, group.function, group.rows) == ("TL201", "Agent.act", (6, 8))
    assert group.measured.basis is Basis.CALLS
    assert group.measured.us == 25.0
    assert group.measured.share == 0.25
    assert group.measured.calls == 20
    assert {finding.measured for finding in group.findings} == {group.measured}


def test_synchronisations_inside_of_the_operators_are_counted(tmp_path):
    operators = [
        operator("aten::is_nonzero", 1, 20, 12.0),
        operator("aten::item", 1, 20, 11.0, within="aten::is_nonzero", effect=Effect.SYNC),
    ]
    group = one(joined(profile_of(CALLED, TREE, operators), {"agent.py": TEXT}, tmp_path))
    assert group.measured.us == 12.0
    assert group.syncs == 20


def test_without_its_operators_the_function_is_an_upper_bound(tmp_path):
    group = one(joined(profile_of(CALLED, TREE), {"agent.py": TEXT}, tmp_path))
    assert group.measured.basis is Basis.FUNCTION
    assert group.measured.us == 30.0
    # Two lines of six.
    assert group.weight == pytest.approx(0.3 * 2 / 6)


def test_lines_are_exact_where_samples_have_them(tmp_path):
    frames = [
        frame("agent.py", "train", 0, 100.0, line=16),
        frame("agent.py", "act", 0, 40.0, line=6),
        frame("agent.py", "act", 0, 10.0, line=10),
    ]
    nodes = [node(0, -1, 0, 100.0, 50.0), node(1, 0, 0, 40.0, 40.0), node(2, 0, 0, 10.0, 10.0)]
    profile = profile_of(frames, nodes, source=Source.SAMPLES, exact=True)
    report = joined(profile, {"agent.py": TEXT}, tmp_path)
    group = one(report)
    assert group.measured.basis is Basis.LINE
    assert group.measured.share == pytest.approx(0.4)
    first, second = group.findings
    assert first.measured.share == pytest.approx(0.4)
    assert second.measured.basis is Basis.UNSEEN
    assert [(spot.row, spot.exact) for spot in report.spots] == [(16, True), (10, True)]
    assert report.agreement is None


def test_samples_never_claim_that_something_did_not_run(tmp_path):
    profile = profile_of(
        [frame("agent.py", "train", 0, 100.0, line=16)],
        [node(0, -1, 0, 100.0, 100.0)],
        source=Source.SAMPLES,
        exact=True,
    )
    report = joined(profile, {"agent.py": TEXT}, tmp_path)
    assert [group.measured.basis for group in report.idle] == [Basis.UNSEEN]


@pytest.mark.parametrize(
    ("operators", "basis"), [([], Basis.NEVER), ([operator("Torch-Compiled Region: 0/0", 0, 1, 1.0)], Basis.UNSEEN)]
)
def test_a_profile_of_all_calls_claims_it_unless_code_was_compiled(operators, basis, tmp_path):
    profile = profile_of(CALLED[:1], TREE[:1], operators)
    report = joined(profile, {"agent.py": TEXT}, tmp_path)
    assert [group.measured.basis for group in report.idle] == [basis]


def test_without_stacks_neighbours_decide_whose_operators_they_are(tmp_path):
    text = TEXT.replace("        return obs\n", f"        return obs\n\n{PLAN}")
    text = text.replace("agent.act(obs))", "agent.plan(agent.act(obs)))")
    order = ["aten::softmax", "aten::isnan"] * 3
    profile = profile_of(operators=[operator("aten::isnan", -1, 8, 40.0)], order=order)
    groups = {group.function: group.measured for group in joined(profile, {"agent.py": text}, tmp_path).groups}
    assert groups.keys() == {"Agent.plan"}
    assert groups["Agent.plan"].basis is Basis.GUESS
    assert groups["Agent.plan"].us == pytest.approx(40.0)


def test_what_is_no_finding_is_hot_by_what_its_findings_leave(tmp_path):
    profile = profile_of(CALLED, TREE, [operator("aten::isnan", 1, 10, 12.0)])
    spots = {spot.function: spot for spot in joined(profile, {"agent.py": TEXT}, tmp_path).spots}
    assert spots["Agent.act"].us == pytest.approx(30.0 - 12.0)
    assert spots["Agent.act"].rest
    assert not spots["train"].rest


# pace -----------------------------------------------------------------------------------------------------------------


def test_outermost_steps_of_an_environment_count():
    profile = profile_of(
        [
            frame("wrapper.py", "step", 40, 1.0),
            frame("env.py", "step", 80, 1.0),
            frame("/x/torch/optim/adam.py", "step", 500, 1.0),
        ],
        [node(0, -1, 40, 1.0), node(1, 0, 80, 1.0), node(2, -1, 500, 1.0)],
    )
    assert pace_of(profile) == Pace(steps=40, updates=500)


def test_announced_steps_count_where_no_environment_was_seen():
    profile = profile_of(operators=[operator("Optimizer.step#Adam.step", -1, 7, 1.0)], steps=9)
    assert pace_of(profile) == Pace(steps=9, updates=7, announced=True)


def test_samples_have_no_pace():
    assert (
        pace_of(profile_of([frame("env.py", "step", 0, 1.0)], [node(0, -1, 0, 1.0)], source=Source.SAMPLES)) == Pace()
    )


@pytest.mark.parametrize(
    ("calls", "frequency"),
    [
        (1, Frequency.ONCE),
        (5, Frequency.EPISODE),
        (40, Frequency.UPDATE),
        (400, Frequency.STEP),
        (4000, Frequency.STEP),
    ],
)
def test_calls_come_to_a_frequency(calls, frequency):
    assert Pace(steps=1000, updates=100).frequency(calls) is frequency


# agreement ------------------------------------------------------------------------------------------------------------


def test_what_ran_once_though_it_seems_to_run_per_step_is_a_gross_disagreement(tmp_path):
    frames = [
        frame("agent.py", "train", 1, 100.0, line=13),
        frame("agent.py", "act", 1, 80.0, line=5),
        frame("env.py", "step", 50, 5.0),
    ]
    profile = profile_of(frames, [node(0, -1, 1, 100.0), node(1, 0, 1, 80.0), node(2, 0, 50, 5.0)])
    found = joined(profile, {"agent.py": TEXT}, tmp_path).agreement
    assert found.compared == 2
    assert [(each.name, each.predicted, each.seen) for each in found.gross] == [
        ("Agent.act", Frequency.STEP, Frequency.ONCE)
    ]


@pytest.mark.parametrize(
    ("one_", "other", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [30, 20, 10], -1.0),
        ([1, 1, 2, 2], [1, 2, 3, 4], 0.894427),
        ([1, 1, 1], [1, 2, 3], None),
        ([1, 2], [1, 2], None),
    ],
)
def test_rank_correlation(one_, other, expected):
    assert spearman(one_, other) == (None if expected is None else pytest.approx(expected))
