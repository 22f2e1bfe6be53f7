"""Heads of a world model that are called inside the loop over time."""

import sys

from claim import Claim, by_hand, main

from torchlint.rule import Example, Input, Kind

SOURCE = """\
import torch
from torch import nn


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 64)
        self.reward = nn.Sequential(nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))
        self.value = nn.Sequential(nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))

    def imagine(self, state, actions):
        rewards, values = [], []
        for action in actions:
            state = self.cell(action, state)
            rewards.append(self.reward(state))
            values.append(self.value(state))
        return torch.stack(rewards), torch.stack(values)
"""
BETTER = SOURCE.replace(
    """\
        rewards, values = [], []
        for action in actions:
            state = self.cell(action, state)
            rewards.append(self.reward(state))
            values.append(self.value(state))
        return torch.stack(rewards), torch.stack(values)
""",
    """\
        states = []
        for action in actions:
            state = self.cell(action, state)
            states.append(state)
        states = torch.stack(states)
        return self.reward(states), self.value(states)
""",
)


def example(steps: int, batch: int) -> Example:
    """An imagined rollout."""
    return by_hand(
        Example(
            name=f"{steps}-steps-batch-{batch}",
            source=SOURCE,
            fixed=BETTER,
            setup=(
                "torch.manual_seed(0)\nworld = World().to(device).requires_grad_(False)\n"
                "state, actions = state.to(device), actions.to(device)"
            ),
            workload="world.imagine(state, actions)",
            inputs=(Input("state", Kind.TENSOR, (batch, 64)), Input("actions", Kind.TENSOR, (steps, batch, 6))),
        )
    )


CLAIM = Claim(
    title="Heads called once after the loop over time",
    words="batched heads are 2x as fast",
    least=2.0,
    most=2.5,
    rule="",
    examples=(example(16, 1), example(16, 64), example(64, 8)),
    remark="The recurrence itself stays in the loop and is timed, too.",
)

if __name__ == "__main__":
    sys.exit(main(CLAIM))
