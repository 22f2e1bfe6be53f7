"""The oracle: a tiny program goes through the classification, and the section of the page is made of the figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from programs import benchmark

PROGRAM = """\
import os

import torch
from torch import nn

device = torch.device(os.environ.get("TRAIN_DEVICE", "cpu"))


class Env:
    def reset(self):
        self.time = 0
        return [0.0] * 4

    def step(self, action):
        self.time += 1
        return [float(self.time)] * 4, 1.0, self.time >= 10, {}


class Agent:
    def __init__(self, strict=0.0):
        self.strict = strict
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.seen = torch.zeros(4, device=device)

    def act(self, obs):
        obs = torch.tensor(obs, device=device)  # sent
        with torch.no_grad():
            return self.net(obs).argmax().item()  # needed

    def update(self, obs):
        obs = torch.tensor(obs, device=device)
        dist = torch.distributions.Categorical(logits=self.net(obs))  # built
        loss = -dist.log_prob(torch.zeros((), device=device))  # validated
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.strict and loss > self.strict:  # wrong
            print("a large loss")
        read = getattr(loss, "item")()  # missed
        noise = torch.normal(self.seen, self.seen + 1.0)  # uncovered
        print(f"loss {loss.item()}")  # reported


def train(agent, env):
    for _ in range(4):
        obs, done = env.reset(), False
        while not done:
            obs, reward, done, _ = env.step(agent.act(obs))
            agent.update(obs)


torch.manual_seed(0)
train(Agent(float(os.environ.get("STRICT", "0"))), Env())
"""


@pytest.fixture
def oracle() -> ModuleType:
    return benchmark("oracle")


@pytest.fixture
def data(oracle: ModuleType) -> Mapping:
    return json.loads(oracle.DATA.read_text(encoding="utf-8"))


def row_of(mark: str) -> int:
    return 1 + next(number for number, line in enumerate(PROGRAM.splitlines()) if line.endswith(f"# {mark}"))


@pytest.mark.torch
@pytest.mark.once
def test_a_program_with_a_line_of_each_kind(oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(oracle, "PROJECTS", {"tiny": lambda: tmp_path})
    counted = oracle.run(oracle.Program(["tiny"], tmp_path / "train.py", (), list))
    assert counted.agrees
    assert (counted.clocks.steps, counted.clocks.updates) == (40, 40)
    lines, findings, launching = oracle.held("tiny", tmp_path, {"run": counted})
    by_row = {line.row: line for line in lines}
    said = {
        mark: by_row[row_of(mark)]
        for mark in ("sent", "needed", "built", "validated", "missed", "uncovered", "reported")
    }
    assert {mark: (line.status, line.codes) for mark, line in said.items()} == {
        "sent": ("needed", ()),
        "needed": ("needed", ()),
        "built": ("fixable", ("TL205",)),
        "validated": ("reported", ("TL205",)),
        "missed": ("missed", ()),
        "uncovered": ("uncovered", ()),
        "reported": ("reported", ("TL203",)),
    }
    assert said["needed"].why == "it goes to the environment"
    assert said["missed"].why == "a value is read"
    assert all(line.function.startswith("Agent.") for line in said.values())
    assert said.pop("uncovered").waits == {"run": 80}
    assert all(line.waits == {"run": 40} for line in said.values())
    judged = {(each.code, each.row): each for each in findings}
    assert judged["TL205", row_of("built")].confirmed
    assert judged["TL205", row_of("built")].waits == {"run": 80}
    assert judged["TL203", row_of("reported")].confirmed
    wrong = judged["TL208", row_of("wrong")]
    assert (wrong.confirmed, wrong.ran, wrong.waits) == (False, {"run": 40}, {"run": 0})
    assert launching == {"lines": 1, "reported": 0}  # the backward pass
    kept = oracle.as_data({"run": counted}, lines, findings, {"tiny": launching})
    found = set(oracle.problems(kept, {}))
    assert f"not explained: tiny train.py {row_of('missed')} missed" in found
    assert f"not explained: tiny train.py {row_of('wrong')} wrong TL208" in found
    assert not any(str(row_of("reported")) in problem for problem in found)


def test_a_line_is_hot_that_runs_at_most_steps_or_between_most_updates(oracle) -> None:
    clocks = oracle.Clocks(300, 30)
    assert clocks.often(oracle.Ran(100, 1))
    assert clocks.often(oracle.Ran(10, 10))
    assert not clocks.often(oracle.Ran(99, 9))
    assert clocks.as_often(oracle.Ran(300, 30), 100)
    assert not clocks.as_often(oracle.Ran(300, 30), 10)
    assert not clocks.as_often(oracle.Ran(1, 1), 20)
    assert not oracle.Clocks(0, 0).often(oracle.Ran(5, 5))


def test_the_section_is_made_of_the_figures(oracle, data, root: Path) -> None:
    page = (root / "docs" / "counted-device.md").read_text(encoding="utf-8")
    assert oracle.written(page, "oracle", oracle.text(data, oracle.reasons())) == page
    assert oracle.kept(data) == oracle.DATA.read_text(encoding="utf-8")


def test_everything_is_explained_and_every_program_ends_as_on_the_cpu(oracle, data) -> None:
    why = oracle.reasons()
    assert list(oracle.problems(data, why)) == []
    assert all(reason for _, reason in why.values())
    assert len(data["programs"]) >= 10
    other = {**data, "programs": {"gone": {**next(iter(data["programs"].values())), "agrees": False}}}
    found = list(oracle.problems(other, {("project", "file", 1, "missed"): ("", "why")}))
    assert "no longer so: project file 1 missed" in found
    assert "other parameters than on the CPU: gone" in found
    assert any(line.startswith("not explained: ") for line in found)


def test_findings_are_confirmed(oracle, data) -> None:
    _, findings = oracle.of_data(data)
    assert sum(each.confirmed for each in findings) >= 0.95 * len(findings)
