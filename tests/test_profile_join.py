"""What findings cost by a profile: by line, by operator, by function; pace and agreement."""

import pytest
from profiles import frame, joined, node, operator, profile_of

from torchlint.profile.agree import spearman
from torchlint.profile.model import Effect, ProfileSource
from torchlint.profile.pace import ProfilePace, pace_of
from torchlint.profile.table import as_text
from torchlint.rule import Basis, Frequency, Measured

TEXT = """\
import torch


class Agent:
    def act(self, obs):
        if torch.isnan(torch.softmax(obs, 0)).any():
            raise ValueError("NaN")
        if torch.isinf(torch.softmax(obs, 0)).any():
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


def test_syncs_inside_of_the_operators_are_counted(tmp_path):
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
    profile = profile_of(frames, nodes, source=ProfileSource.SAMPLES, exact=True)
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
        source=ProfileSource.SAMPLES,
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


# without stacks -------------------------------------------------------------------------------------------------------


def test_without_stacks_only_what_no_other_line_names_is_a_finding_s(tmp_path):
    ran = [
        operator("aten::isnan", -1, 8, 40.0),
        operator("aten::isinf", -1, 8, 10.0),
        operator("aten::is_nonzero", -1, 50, 30.0),
    ]
    report = joined(profile_of(operators=ran), {"agent.py": TEXT}, tmp_path)
    group = one(report)
    assert (group.measured.basis, group.measured.us, group.measured.calls) == (Basis.CALLS, 50.0, 8)
    assert group.named == ("aten::isinf", "aten::isnan")
    # A test of a tensor is named by nothing: an optimizer makes some, too.
    assert [(each.name, each.us, len(each.findings)) for each in report.shared] == [("aten::is_nonzero", 30.0, 2)]


def test_without_stacks_an_operator_that_two_functions_name_is_nobodys(tmp_path):
    text = TEXT.replace("        return obs\n", f"        return obs\n\n{PLAN}")
    text = text.replace("agent.act(obs))", "agent.plan(agent.act(obs)))")
    order = ["aten::softmax", "aten::isnan"] * 3
    profile = profile_of(operators=[operator("aten::isnan", -1, 8, 40.0)], order=order)
    report = joined(profile, {"agent.py": text}, tmp_path)
    assert report.groups == ()
    assert {group.measured for group in report.idle} == {Measured(Basis.UNSEEN)}
    assert [(each.name, len(each.findings)) for each in report.shared] == [("aten::isnan", 2)]
    other = {"agent.py": TEXT, "tools.py": "def clean(x):\n    return x[x.isnan()]\n"}
    report = joined(profile, other, tmp_path)
    assert report.groups == ()


def test_without_stacks_the_first_words_are_how_to_record_them(tmp_path):
    report = joined(profile_of(operators=[operator("aten::is_nonzero", -1, 8, 40.0)]), {"agent.py": TEXT}, tmp_path)
    told = " ".join(as_text(report, 10, color=False, unicode=True, width=80).split())
    assert told.index("has no stacks") < told.index("with_stack=True") < told.index("aten::is_nonzero")
    assert "TL201 (2 findings) or code without findings" in told
    assert "Costliest" not in told
    assert "of the time" not in told


# what is hot ----------------------------------------------------------------------------------------------------------


def test_what_is_measured_comes_before_what_is_only_bounded(tmp_path):
    text = TEXT.replace("def act", "@torch.no_grad()\n    def act").replace(
        "return obs\n", "return obs.argmax().item()\n"
    )
    operators = [operator("aten::isnan", 1, 10, 0.5)]
    frames = [*CALLED[:1], frame("agent.py", "act", 10, 80.0, line=6)]
    report = joined(profile_of(frames, TREE, operators), {"agent.py": text}, tmp_path)
    bases = [group.measured.basis for group in report.groups]
    assert bases == sorted(bases, key=lambda basis: basis is Basis.FUNCTION)
    assert bases[0] is Basis.CALLS


def test_imports_are_part_of_no_function_and_of_no_share(tmp_path):
    frames = [
        *CALLED,
        frame("<frozen importlib._bootstrap>", "_find_and_load", 3, 45.0),
        frame("/x/site-packages/torch/_dynamo/__init__.py", "<module>", 1, 40.0),
    ]
    nodes = [
        node(0, -1, 1, 100.0, 5.0),
        node(1, 0, 10, 50.0, 50.0),
        node(2, 0, 3, 45.0, 5.0),
        node(3, 2, 1, 40.0, 40.0),
    ]
    profile = profile_of(frames, nodes, [operator("aten::isnan", 1, 10, 11.0)], total_us=100.0)
    report = joined(profile, {"agent.py": TEXT}, tmp_path)
    assert report.attribution.imports_us == 45.0
    assert {each.name: each.own_us for each in report.attribution.functions} == {"Agent.act": 50.0, "train": 5.0}
    assert one(report).measured.share == pytest.approx(11 / 55)
    assert "(45 us of it imports)" in as_text(report, 10, color=False, unicode=True, width=80)


SETUP = """

def build(size):
    return [size for _ in range(size)]


def main(env, agent):
    build(3)
    train(env, agent)
"""


@pytest.mark.parametrize(("calls", "hot"), [(1, set()), (500, {"build"})])
def test_what_runs_once_is_not_hot(calls, hot, tmp_path):
    frames = [
        frame("agent.py", "train", 1, 100.0, line=13),
        frame("agent.py", "build", calls, 30.0, line=20),
        frame("env.py", "step", 500, 20.0),
        frame("", "<built-in method torch._C._load>", 1, 40.0),
    ]
    nodes = [
        node(0, -1, 1, 100.0, 10.0),
        node(1, 0, calls, 30.0, 30.0),
        node(2, 0, 500, 20.0),
        node(3, 0, 1, 40.0, 40.0),
    ]
    report = joined(profile_of(frames, nodes), {"agent.py": TEXT + SETUP}, tmp_path)
    # The loop calls the environment again and again; what it loads before is not counted.
    assert {spot.function for spot in report.spots} == {"train", *hot}
    assert next(spot.us for spot in report.spots if spot.function == "train") == pytest.approx(10.0)


LEARN = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Agent:
    def __init__(self):
        self.net = nn.Linear(17, 1).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, batches):
        total = 0.0
        for obs in batches:
            loss = self.net(obs).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(batches)


def train(agent: Agent, replay, updates):
    for _ in range(updates):
        print(agent.update(replay.sample(8)))
"""


def learning(own):
    frames = [
        frame("agent.py", "update", 10, 80.0, line=12),
        frame("/x/site-packages/torch/optim/optimizer.py", "wrapper", 10, 40.0),
        frame("/x/site-packages/torch/optim/adam.py", "step", 10, 30.0),
    ]
    nodes = [node(0, -1, 10, 80.0, 40.0), node(1, 0, 10, 40.0, 10.0), node(2, 1, 10, 30.0, 30.0)]
    waits = [operator("aten::item", 2, 80, 8.0, effect=Effect.SYNC)]
    if own:
        waits += [
            operator("aten::item", 0, 10, 2.0, effect=Effect.SYNC),
            operator("aten::item", 0, 20, 1.0, within="aten::multinomial", effect=Effect.SYNC),
            operator("aten::item", 0, 30, 1.0, within="aten::is_nonzero", effect=Effect.SYNC),
        ]
    return profile_of(frames, nodes, waits)


def test_waits_of_torch_itself_are_told_apart(tmp_path):
    report = joined(learning(own=True), {"agent.py": LEARN}, tmp_path, select=("TL703",))
    spot = one_spot(report)
    assert spot.syncs == 140
    assert [(each.where, each.syncs) for each in spot.inside] == [("torch.optim.adam", 80)]
    told = as_text(report, 10, color=False, unicode=True, width=80)
    for words in ("60 GPU syncs\n", "80 GPU syncs inside torch.optim.adam"):
        assert words in told


def one_spot(report):
    return next(spot for spot in report.spots if spot.function == "Agent.update")


@pytest.mark.parametrize("own", [True, False])
def test_what_an_optimizer_waits_for_is_no_cost_of_a_line_that_reads_a_loss(own, tmp_path):
    found = joined(learning(own), {"agent.py": LEARN}, tmp_path, select=("TL203",))
    readbacks = [group for group in found.groups if group.function == "Agent.update"]
    assert readbacks, found.groups
    assert readbacks[0].measured.basis is (Basis.CALLS if own else Basis.FUNCTION)
    assert readbacks[0].measured.us != 8.0


SAMPLED = """\
import torch
from torch.distributions import Categorical


class Agent:
    def act(self, obs):
        return Categorical(logits=torch.as_tensor(obs)).sample().item()


def train(env, agent):
    obs = env.reset()
    while True:
        obs, reward, terminated, truncated, info = env.step(agent.act(obs))
"""


@pytest.mark.parametrize(
    ("source", "us", "calls"), [(ProfileSource.TORCH, 18.0, 9), (ProfileSource.CPROFILE, 20.0, 10)]
)
def test_validation_alone_is_what_a_validated_distribution_costs(source, us, calls, tmp_path):
    frames = [
        *CALLED,
        frame("/x/site-packages/torch/distributions/categorical.py", "__init__", 10, 60.0),
        frame("/x/site-packages/torch/distributions/distribution.py", "__init__", 10, 20.0),
    ]
    # cProfile's contexts are shares, of which some are folded into those above.
    nodes = [*TREE, node(2, 1, 10, 60.0, 42.0), node(3, 2, 9, 18.0, 18.0)]
    group = one(joined(profile_of(frames, nodes, source=source), {"agent.py": SAMPLED}, tmp_path, select=("TL205",)))
    assert group.measured.basis is Basis.CALLS
    assert (group.measured.us, group.measured.calls) == (pytest.approx(us), calls)


def test_what_is_no_finding_is_hot_by_what_its_findings_leave(tmp_path):
    waits = [
        operator("aten::is_nonzero", 1, 20, 0.0, effect=Effect.SYNC),
        operator("aten::item", 1, 5, 0.0, effect=Effect.SYNC),
    ]
    profile = profile_of(CALLED, TREE, [operator("aten::isnan", 1, 10, 12.0), *waits])
    spots = {spot.function: spot for spot in joined(profile, {"agent.py": TEXT}, tmp_path).spots}
    assert spots["Agent.act"].us == pytest.approx(30.0 - 12.0)
    assert spots["Agent.act"].rest
    assert spots["Agent.act"].syncs == 5
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
    assert pace_of(profile) == ProfilePace(steps=40, updates=500)


def test_announced_steps_count_where_no_environment_was_seen():
    profile = profile_of(operators=[operator("Optimizer.step#Adam.step", -1, 7, 1.0)], steps=9)
    assert pace_of(profile) == ProfilePace(steps=9, updates=7, announced=True)


def test_samples_have_no_pace():
    assert (
        pace_of(profile_of([frame("env.py", "step", 0, 1.0)], [node(0, -1, 0, 1.0)], source=ProfileSource.SAMPLES))
        == ProfilePace()
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
    assert ProfilePace(steps=1000, updates=100).frequency(calls) is frequency


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
