"""inference_mode in place of no_grad while acting."""

import sys

from claim import Claim, main

from torchlint.rule import Example, Input, Kind

SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, size=64):
        self.net = nn.Sequential(nn.Linear(17, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 6))

    def act(self, obs):
        with torch.no_grad():
            return int(self.net(torch.as_tensor(obs, dtype=torch.float32)[None]).argmax(dim=-1).item())


def play(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


def example(size: int) -> Example:
    """One action of an MLP."""
    return Example(
        name=f"one-action-{size}-wide",
        source=SOURCE,
        fixed="",
        setup=f"torch.manual_seed(0)\nagent = Agent({size})",
        workload="agent.act(obs)",
        inputs=(Input("obs", Kind.NDARRAY, (17,)),),
    )


CLAIM = Claim(
    title="inference_mode instead of no_grad",
    words="acting gets 10-20% faster (1.1-1.2x)",
    least=1.1,
    most=1.2,
    rule="TL301",
    examples=(example(64), example(256)),
)

if __name__ == "__main__":
    sys.exit(main(CLAIM))
