"""Checks for NaN on every forward pass."""

import sys

from claim import Claim, main

from torchlint.rule import Example, Input, Kind

SOURCE = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.head = nn.Linear(64, 6)

    def forward(self, obs):
        if torch.isnan(obs).any():
            raise ValueError("NaN in the observations")
        hidden = self.body(obs)
        if torch.isnan(hidden).any():
            raise ValueError("NaN in the features")
        logits = self.head(hidden)
        if torch.isnan(logits).any():
            raise ValueError("NaN in the logits")
        return logits


def play(env, steps):
    policy = Policy()
    obs, _ = env.reset()
    for _ in range(steps):
        with torch.no_grad():
            action = policy(torch.as_tensor(obs, dtype=torch.float32)[None]).argmax(-1)
        obs, reward, terminated, truncated, _ = env.step(int(action))
"""


def example(batch: int) -> Example:
    """Three checks in a forward pass of an MLP."""
    return Example(
        name=f"three-checks-batch-{batch}",
        source=SOURCE,
        fixed="",
        setup="torch.manual_seed(0)\npolicy = Policy().to(device).requires_grad_(False)\nobs = obs.to(device)",
        workload="policy(obs)",
        inputs=(Input("obs", Kind.TENSOR, (batch, 17)),),
    )


CLAIM = Claim(
    title="NaN checks on every forward pass",
    words="they take 20-30% of the forward pass (1.25-1.43x)",
    least=1.25,
    most=1.43,
    rule="TL201",
    examples=(example(1), example(8), example(256)),
    remark="Three checks, in a network with two hidden layers of 64; the more checks, the more they cost.",
)

if __name__ == "__main__":
    sys.exit(main(CLAIM))
