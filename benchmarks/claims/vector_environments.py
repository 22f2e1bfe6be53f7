"""Environments stepped one by one, with a forward pass for each."""

import sys

from claim import Claim, by_hand, main

from torchlint.rule import Example

SOURCE = """\
import numpy as np
import torch
from torch import nn


class Pole:
    def __init__(self, seed, count=()):
        self.state = np.random.default_rng(seed).uniform(-0.05, 0.05, (*count, 4))

    def step(self, action):
        x, v, angle, spin = np.moveaxis(self.state, -1, 0)
        force = np.where(action == 1, 10.0, -10.0)
        push = (force + 0.05 * spin**2 * np.sin(angle)) / 1.1
        turn = (9.8 * np.sin(angle) - np.cos(angle) * push) / (0.5 * (4.0 / 3.0 - 0.1 * np.cos(angle) ** 2 / 1.1))
        change = np.stack([v, push - 0.05 * turn * np.cos(angle) / 1.1, spin, turn], axis=-1)
        self.state = np.clip(self.state + 0.02 * change, -4.0, 4.0)
        return self.state


def network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    return net.requires_grad_(False)


def rollout(net, steps):
    poles = [Pole(seed) for seed in range(COUNT)]
    for _ in range(steps):
        states = []
        for pole in poles:
            action = net(torch.as_tensor(pole.state, dtype=torch.float32)[None]).argmax(-1).item()
            states.append(pole.step(action))
    return np.stack(states)
"""
BETTER = SOURCE.replace(
    """\
    poles = [Pole(seed) for seed in range(COUNT)]
    for _ in range(steps):
        states = []
        for pole in poles:
            action = net(torch.as_tensor(pole.state, dtype=torch.float32)[None]).argmax(-1).item()
            states.append(pole.step(action))
    return np.stack(states)
""",
    """\
    poles = Pole(0, (COUNT,))
    poles.state = np.stack([Pole(seed).state for seed in range(COUNT)])
    for _ in range(steps):
        states = poles.step(net(torch.as_tensor(poles.state, dtype=torch.float32)).argmax(-1).numpy())
    return states
""",
)


def example(count: int) -> Example:
    """Steps of several environments, each with its action."""
    return by_hand(
        Example(
            name=f"{count}-environments",
            source=f"COUNT = {count}\n{SOURCE}",
            fixed=f"COUNT = {count}\n{BETTER}",
            setup="net = network()",
            workload="rollout(net, 16)",
        )
    )


CLAIM = Claim(
    title="Vector environments",
    words="stepping environments together is 4x as fast",
    least=4.0,
    most=5.0,
    rule="",
    examples=(example(2), example(4), example(8), example(16)),
    remark="A cart and pole in NumPy, with a forward pass for every action. The cost of the environment is decisive.",
)

if __name__ == "__main__":
    sys.exit(main(CLAIM))
