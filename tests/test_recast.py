"""A buffer follows its module to another dtype: where modules are cast, TL401 assumes that its own module is not."""

from __future__ import annotations

import pytest

from torchlint.testing.linting import found

PROGRAM = """\
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(17, 51)

    def forward(self, obs):
        support = {constant}
        return self.body(obs) * support


def train(optimizer, batches, critic: Critic):
    critic = {made}
    for batch in batches:
        loss = critic(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
FLOATS, INTEGERS = "torch.linspace(-10.0, 10.0, 51)", "torch.arange(51)"


def assumed(made: str, constant: str = FLOATS) -> str:
    """What the fix in a program with a module that is made so assumes."""
    (finding,) = found(PROGRAM.format(made=made, constant=constant), ["TL401"], [])
    assert finding.fix is not None
    return finding.fix.assumes


@pytest.mark.parametrize(
    "made",
    [
        "Critic().double()",
        "Critic().to(torch.float64)",
        "Critic().to('cpu', dtype=torch.bfloat16)",
        "Critic().type(torch.float64)",
        "nn.Sequential(Critic()).half()",
        "Critic().to(torch.ones(1).double())",
        "Critic().apply(lambda module: module.double())",
    ],
)
def test_a_cast_of_a_module_is_an_assumption(made: str) -> None:
    assert "keeps its dtype" in assumed(made)
    assert not assumed(made, INTEGERS)


@pytest.mark.parametrize(
    "made", ["Critic()", "Critic().to('cpu')", "Critic().eval()", "Critic().to(torch.device('cpu'))"]
)
def test_a_module_that_keeps_its_dtype_asks_for_no_assumption(made: str) -> None:
    assert not assumed(made)
