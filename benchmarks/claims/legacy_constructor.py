"""torch.FloatTensor on every observation."""

import sys

from claim import Claim, main

from torchlint.rule import Example, Input, Kind

SOURCE = """\
import numpy as np
import torch


class Agent:
    def __init__(self, device):
        self.device = device

    def observe(self, obs: np.ndarray):
        return torch.FloatTensor(obs).to(self.device)


def play(env, device, steps):
    agent = Agent(device)
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.observe(obs).argmax().item())
"""


def example(name: str, shape: tuple[int, ...], dtype: str) -> Example:
    """An observation or a batch of them on its way to the device."""
    return Example(
        name=name,
        source=SOURCE,
        fixed="",
        setup="agent = Agent(device)",
        workload="agent.observe(obs)",
        inputs=(Input("obs", Kind.NDARRAY, shape, dtype),),
    )


CLAIM = Claim(
    title="torch.FloatTensor instead of torch.as_tensor",
    words="as_tensor is 1.3-1.5x as fast",
    least=1.3,
    most=1.5,
    rule="TL101",
    examples=(
        example("observation-of-17-float64", (17,), "float64"),
        example("observation-of-17-float32", (17,), "float32"),
        example("batch-of-256x17-float64", (256, 17), "float64"),
    ),
)

if __name__ == "__main__":
    sys.exit(main(CLAIM))
