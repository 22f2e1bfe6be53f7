"""What is compiled in one file and guarded, called, broken or taken in another."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import lint

NETWORK = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor):
        logits = self.body(x)
        if logits.abs().max() > 50.0:
            logits = logits / 2
        return logits
"""
LEARNER = """\
class Learner:
    def __init__(self, policy):
        self.policy = policy

    def loss(self, x):
        return self.policy(x).square().mean()
"""
MAIN = """\
import torch

from learner import Learner
from network import Policy

device = "cuda" if torch.cuda.is_available() else "cpu"


def train(batches):
    policy = Policy().to(device)
    {before}
    policy = torch.compile(policy, mode="reduce-overhead")
    {after}
    optimizer = torch.optim.Adam(policy.parameters())
    for x in batches:
        value = policy(x[None])
        loss = learner.loss(x) + value.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    train([torch.zeros(64, 8)] * 100)
"""
PERF = """\
import torch


def worth_it():
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
"""
NET = """\
import torch
from torch import nn

{imports}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 4)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        if {condition}:
            self.forward = torch.compile(self.forward)

    def forward(self, x):
        return self.body(x)
"""


def found(folder: Path, code: str, texts: dict[str, str], *, preview: bool = False) -> list[tuple[str, int, str]]:
    result = lint(folder, texts, select=(code,), preview=preview)
    return [(finding.path, finding.start.row, finding.message) for finding in result.findings]


def project(before: str = "pass", after: str = "learner = Learner(policy)") -> dict[str, str]:
    return {"network.py": NETWORK, "learner.py": LEARNER, "main.py": MAIN.format(before=before, after=after)}


def test_sizes_that_are_not_known_to_differ_say_nothing(tmp_path: Path) -> None:
    learner = LEARNER.replace("self.policy(x)", "self.policy(x.unsqueeze(0))")
    same = found(tmp_path / "same", "TL501", project() | {"learner.py": learner})
    assert same == []
    known = LEARNER.replace("self.policy(x)", "self.policy(x.reshape(2, -1, 8))")
    assert found(tmp_path / "unknown", "TL501", project() | {"learner.py": known}) == []


def test_a_break_in_a_module_that_another_file_compiles(tmp_path: Path) -> None:
    [(path, row, message)] = found(tmp_path, "TL504", project())
    assert (path, row) == ("network.py", 12)
    assert "main.py:12" in message


@pytest.mark.parametrize(("name", "number"), [("speed.py", 1), ("bench_speed.py", 0)])
def test_what_a_benchmark_compiles_runs_as_it_is_in_programs(tmp_path: Path, name: str, number: int) -> None:
    compiled = 'torch.compile(policy, mode="reduce-overhead")'
    main = project()["main.py"].replace(compiled, "policy")
    measured = (
        f"import torch\nfrom network import Policy\n\npolicy = Policy()\nfast = {compiled}\nfast(torch.zeros(8))\n"
    )
    assert len(found(tmp_path, "TL504", project() | {"main.py": main, name: measured})) == number


def test_a_reference_taken_before_compiling(tmp_path: Path) -> None:
    taken = project("learner = Learner(policy)", "pass")
    [(path, row, message)] = found(tmp_path / "before", "TL505", taken)
    assert (path, row) == ("main.py", 11)
    assert "learner.py:6" in message
    assert found(tmp_path / "after", "TL505", project()) == []


def test_a_guard_in_another_file(tmp_path: Path) -> None:
    guarded = NET.format(imports="from perf import worth_it", condition="worth_it()")
    assert found(tmp_path / "guarded", "TL503", {"net.py": guarded, "perf.py": PERF}, preview=True) == []
    present = NET.format(imports="", condition='hasattr(torch, "compile")')
    [(path, row, _)] = found(tmp_path / "present", "TL503", {"net.py": present}, preview=True)
    assert (path, row) == ("net.py", 13)
