"""What a finding is said to cost was measured with code like it, and all that is said of it agrees."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from linting import lint
from reporting import STEP, UPDATE, context_of, finding_of

from torchlint.bench.judgement import section
from torchlint.engine.figures import Figures, figures_by_example, figures_of
from torchlint.engine.result import Result
from torchlint.engine.rules import load_rules
from torchlint.report import as_json, full, markdown
from torchlint.report.context import Context
from torchlint.report.cost import cost_of, duration, own_cost_of
from torchlint.report.rank import time_lost
from torchlint.report.total import total
from torchlint.rule import Basis, Cost, Finding, Frequency, Hop, Hotness, Measured, Position, Rule

RULES = load_rules()
EACH = [pytest.param(rule, id=rule.code) for rule in RULES]
SMALL = Cost(4.0, 2.0, 1.9, 2.1, "rows 8", example="small")
LARGE = Cost(60.0, 7.0, 6.9, 7.1, "rows 64", example="large")
FLAT = Cost(9.0, 1.02, 0.99, 1.05, "rows 1", example="flat")


@cache
def shipped() -> dict[tuple[str, str], Cost]:
    return dict(figures_by_example())


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """For each rule what it finds in the sources of its examples, by code; a file has the name of its example."""
    found = {}
    for rule in RULES:
        texts = {f"{example.name.replace('-', '_')}.py": example.source for example in rule.examples}
        found[rule.code] = lint(tmp_path_factory.mktemp(rule.code), texts, select=(rule.code,))
    return found


def names_of(rule: type[Rule], finding: Finding) -> set[str]:
    return {rule.examples[0].name if name == "" else name for name in finding.figures}


@pytest.mark.parametrize("rule", EACH)
def test_a_program_is_quoted_its_own_figure(rule: type[Rule], examined: dict[str, Result]) -> None:
    for finding in examined[rule.code].findings:
        example = Path(finding.path).stem.replace("_", "-")
        own = shipped().get((rule.code, example))
        if finding.figures == ("none",):
            assert own is None or not own.gains
            assert finding.cost is None
            continue
        assert example in names_of(rule, finding)
        if own is not None and own.gains:
            assert finding.cost is not None
            most = finding.cost.most_us or finding.cost.saves_us
            assert finding.cost.saves_us <= own.saves_us
            assert own.saves_us <= most or finding.cost.open
        elif len(finding.figures) == 1:
            assert finding.cost is None


@pytest.mark.parametrize("rule", EACH)
def test_figures_are_those_of_examples(rule: type[Rule], root: Path) -> None:
    folder = root / "tests" / "fixtures" / rule.code
    names = {example.name for example in rule.examples} | {"", "none"}
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("hot*.py"))}
    for name, text in texts.items():
        assert not set(re.findall(r'figure="([^"]+)"', text)) - names, name
    module = Path(__import__("inspect").getfile(rule)).read_text(encoding="utf-8")
    assert set(re.findall(r'figure="([^"]+)"', module)) <= names


@pytest.mark.parametrize("rule", EACH)
def test_every_format_says_the_same(rule: type[Rule], examined: dict[str, Result], tmp_path: Path) -> None:
    context = Context.of(examined[rule.code], tmp_path)
    for finding in context.findings:
        one = replace(context, findings=(finding,))
        read = json.loads(as_json.render(one))[0]["cost"] or {}
        table, text = markdown.render(one), " ".join(full.render(replace(one, width=10_000)).split())
        assert ("on a GPU" in text) == ("events" in read) == (finding.events is not None)
        if finding.cost is None:
            assert not read.keys() - {"events"}
            assert "measured on" not in text
            assert "sizes measured" not in text
            continue
        assert finding.cost.gains
        assert read["saves_us"] == finding.cost.saves_us
        assert (read["size"], read["unit"]) == (finding.cost.size, finding.cost.unit or "all")
        sign = ": " if finding.cost.open else "about "
        assert f"{sign}{duration(finding.cost.saves_us)}" in text
        assert f"{sign}{duration(finding.cost.saves_us)}" in table
        assert read.get("smaller_measured", True) is not finding.cost.open
        assert read.get("most_us", 0.0) == finding.cost.most_us
        assert finding.cost.size in text


@pytest.mark.parametrize("rule", EACH)
def test_what_costs_no_time_is_given_none(rule: type[Rule], examined: dict[str, Result]) -> None:
    for finding in examined[rule.code].findings:
        if re.search(r"\bno time\b|no effect on time", finding.message):
            assert finding.cost is None
    told = section(rule, "Measured")
    gains = [cost for (code, _), cost in shipped().items() if code == rule.code and cost.gains]
    if told.startswith("Nothing") or "has not been measured" in told:
        assert not gains
    # A factor in words would not follow the next measurement.
    if any(code == rule.code for code, _ in shipped()):
        assert not re.search(r"\d times\b|\d(\.\d+)?x\b", told)


def test_a_rule_without_a_gain_shows_none() -> None:
    figures = figures_of()
    for code in ("TL105", "TL303", "TL909"):
        assert figures.cost(code, ("",)) is None
    assert figures.cost("TL306", ("",)) == shipped()["TL306", "dqn-update"]
    detached = shipped().get(("TL306", "dqn-update-detached"))
    assert figures.cost("TL306", ("dqn-update-detached",)) == (detached if detached and detached.gains else None)


def test_of_several_sizes_both_ends_are_said() -> None:
    figures = Figures({("TL1", "small"): SMALL, ("TL1", "large"): LARGE})
    cost = figures.cost("TL1", ("large", "small"))
    assert cost == replace(SMALL, most_us=60.0, most_size="rows 64")
    found = finding_of("x = 1\n", "x", cost=cost)
    assert cost_of(found) == "about 4.0 us a call at rows 8 to 60 us at rows 64, measured on CPU"
    assert figures.cost("TL1", ("small",)) == SMALL
    assert figures.cost("TL1", ("none",)) is None


def test_a_size_that_waits_to_be_measured_leaves_the_others_examples() -> None:
    cost = Figures({("TL1", "large"): LARGE}).cost("TL1", ("small", "large"))
    assert cost == replace(LARGE, open=True)
    found = found_in(Hop("train.py", 9, "loop"))
    found = replace(found, cost=cost)
    assert cost_of(found) == "measured at rows 64 on CPU: 60 us a call, 7.0x; smaller data were not measured"
    assert total([found]) == ""
    # One that was measured and gains nothing is not a reason to doubt the others.
    assert Figures({("TL1", "large"): LARGE, ("TL1", "flat"): FLAT}).cost("TL1", ("flat", "large")) == LARGE


def test_a_figure_is_given_for_what_it_is_the_figure_of() -> None:
    per_update = finding_of("x = 1\n", "x", cost=replace(LARGE, unit="update"))
    assert cost_of(per_update).startswith("about 60 us an update, 7.0x")
    whole = finding_of("x = 1\n", "x", cost=replace(LARGE, unit=""), hot=STEP)
    assert cost_of(whole).startswith("about 60 us, 7.0x")
    # What is lost once is not a loss per step, and what is lost per update is one wherever it stands.
    assert total([whole]) == ""
    assert time_lost(whole) < time_lost(per_update) < time_lost(replace(per_update, hot=STEP))


def test_own_figures_are_those_of_the_same_example() -> None:
    own = {"TL101": (replace(FLAT, source="local"), replace(LARGE, source="local"))}
    found = finding_of("x = 1\n", "x", figures=("large",))
    assert own_cost_of(found, own).startswith("about 60 us a call")
    assert own_cost_of(replace(found, figures=("none",)), own) == ""
    assert own_cost_of(replace(found, figures=("",)), own).startswith("no gain beyond noise")


# the sum --------------------------------------------------------------------------------------------------------------


def found_in(*path: Hop, us: float = 10.0, frequency: Frequency = Frequency.STEP) -> Finding:
    return finding_of("x = 1\n", "x", hot=Hotness(frequency, path), cost=replace(LARGE, saves_us=us))


def test_programs_that_nobody_runs_together_are_not_added() -> None:
    ppo, sac, dqn = (Hop(f"{name}.py", 9, "loop") for name in ("ppo", "sac", "dqn"))
    act = Hop("agent.py", 3, "Agent.act", (10, 4))
    found = [
        found_in(ppo, act),
        found_in(ppo, us=2.0),
        found_in(sac, act, us=40.0),
        found_in(dqn, us=500.0, frequency=Frequency.UPDATE),
    ]
    assert total(found[:2]) == "about 12 us per environment step at the sizes measured (CPU)"
    assert total(found) == (
        "at the sizes measured (CPU) about 500 us per gradient update in the loop at dqn.py:9, "
        "40 us per environment step in the loop at sac.py:9, less in 1 other"
    )


def test_methods_that_one_call_may_mean_are_not_added() -> None:
    loop = Hop("train.py", 9, "loop")
    uniform = Hop("replay.py", 5, "Uniform.sample", (12, 8))
    ranked = Hop("replay.py", 50, "Ranked.sample", (12, 8))
    weights = Hop("replay.py", 70, "Ranked.weights", (55, 8))
    actor, critic = Hop("nets.py", 3, "Actor.forward", (13, 4)), Hop("nets.py", 30, "Critic.forward", (14, 4))
    found = [found_in(loop, uniform, us=7.0), found_in(loop, ranked), found_in(loop, ranked, weights, us=1.0)]
    assert total(found) == "about 11 us per environment step at the sizes measured (CPU)"
    assert total([found_in(loop, actor), found_in(loop, critic)]).startswith("about 20 us per environment step")


def test_the_alternatives_of_a_program_are_seen(tmp_path: Path) -> None:
    text = """
import torch


class Plain:
    def read(self, obs):
        return torch.FloatTensor(obs["plain"])


class Stacked:
    def read(self, obs):
        return torch.FloatTensor(obs["stacked"])


def reader(kind):
    return Plain() if kind == "plain" else Stacked()


def train(env, policy, kind):
    chosen = reader(kind)
    obs, _ = env.reset()
    for _ in range(1000):
        action = policy(chosen.read(obs)).argmax().item()
        obs, reward, terminated, truncated, _ = env.step(action)
"""
    found = lint(tmp_path, {"train.py": text}, select=("TL101",)).findings
    assert [finding.hot.path[-1].name for finding in found] == ["Plain.read", "Stacked.read"]
    assert found[0].hot.path[-1].at == found[1].hot.path[-1].at != (0, 0)
    assert found[0].cost is not None
    assert f"about {duration(found[0].cost.saves_us)} per environment step" in total(found)


def test_memory_is_no_time() -> None:
    memory = finding_of("x = 1\n", "x", code="TL303", hot=UPDATE, cost=replace(FLAT, saves_us=89.8))
    assert total([memory]) == ""
    assert total([memory, found_in(Hop("train.py", 9, "loop"))]).startswith("about 10 us per environment step")


def test_a_context_sums_up_what_it_shows() -> None:
    found = [found_in(Hop("train.py", 9, "loop"), us=7.0)]
    assert "about 7.0 us per environment step" in full.render(context_of("x = 1\n", *found))


# with a profile -------------------------------------------------------------------------------------------------------


def measured_as(basis: Basis, share: float, alike: int = 1, row: int = 1) -> Finding:
    found = found_in(Hop("train.py", 9, "loop"), us=1000.0)
    return replace(found, start=Position(row, 1), end=Position(row, 2), measured=Measured(basis, share, alike=alike))


def test_with_a_profile_the_sum_is_what_it_measured() -> None:
    together = [measured_as(Basis.CALLS, 0.08, 2), measured_as(Basis.CALLS, 0.08, 2)]
    assert total(together) == "together 8.0% of the profiled time"
    bound = measured_as(Basis.FUNCTION, 0.5)
    assert total([*together, bound, measured_as(Basis.NEVER, 0.0)]) == "together 8.0% of the profiled time"
    assert total([bound]) == "together at most 50% of the profiled time"
    assert total([measured_as(Basis.UNSEEN, 0.0)]) == ""


def test_two_findings_of_one_line_have_its_time_once() -> None:
    lines = [measured_as(Basis.LINE, 0.1, row=3), measured_as(Basis.LINE, 0.1, row=3), measured_as(Basis.LINE, 0.2)]
    assert total(lines) == "together 30% of the profiled time"
