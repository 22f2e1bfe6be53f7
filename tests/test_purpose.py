"""What a branch is there for, as the advice of a rule says it."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import lint

CODE = """\
import torch
from torch import nn


class Learner:
    def __init__(self, net: nn.Linear, rate: float = 1e-3):
        self.net = net.to("cuda")
        self.rate = rate
        self.gain = torch.zeros(3, device="cuda")
        self.loss = torch.zeros(3, device="cuda")
        self.optimizer = torch.optim.Adam(net.parameters())

    def update(self, obs: torch.Tensor):
        loss = self.net(obs).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if loss > 0.5:
            {first}
        elif obs.any():
            {second}
"""


@pytest.mark.parametrize(
    ("first", "second", "advice"),
    [
        ("self.gain += loss", "self.loss += loss", "use `torch.where` in place of the branch"),
        ("self.gain = loss * 2", "self.gain = loss", "use `torch.where` in place of the branch"),
        ("self.gain = loss * 2", "self.net.train()", "decide by a number or flag that is already on the host"),
        (
            "self.rate = max(1e-5, self.rate / 2)",
            "self.rate = min(1e-2, self.rate * 2)",
            "decide by a number or flag that is already on the host",
        ),
    ],
)
def test_only_tensors_are_blended(tmp_path: Path, first: str, second: str, advice: str) -> None:
    found = lint(tmp_path, {"code.py": CODE.format(first=first, second=second)}, select=("TL208",)).findings
    assert [finding.message.rpartition("; ")[2] for finding in found] == [advice] * 2
