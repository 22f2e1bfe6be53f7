"""Which tensors lie on one device, as the safe fixes of TL203 show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.linting import fixed_text

PROGRAM = """\
import torch
from torch import nn
from torch.nn import functional as F


class Learner:
    def __init__(self, net: nn.Module, device):
        self.net, self.device = net, device
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, obs: torch.Tensor, goal: torch.Tensor, extra):
        error = self.net(obs) - goal
{body}
        self.optimizer.zero_grad()
        (one + other).backward()
        self.optimizer.step()
        return {{"one": one.item(), "other": other.item()}}


def train(learner: Learner, replay, updates):
    for _ in range(updates):
        print(learner.update(*replay.sample(64)))


if __name__ == "__main__":
    train(Learner(nn.Linear(4, 1), "cuda"), None, 10)
"""
SAME = {
    "reductions of one tensor": "one = error.mean()\nother = error.square().sum() / 2",
    "functions and methods": "one = torch.mean(error)\nother = F.smooth_l1_loss(error, error.detach())",
    "parts of a join": "both = torch.stack([error, error * 2])\none = both.mean()\nother = error.std()",
    "added up": "one = error.mean()\nother = error.square().mean()\nother += 0.1 * one",
    "a view like another": "one = error.mean()\nother = error.view_as(extra).square().mean()",
    "between bounds that may lack": "c = None\nbound = error.clamp(-c, c)\none = bound.mean()\nother = bound.std()",
    "rows": "one = error[0].mean()\nother = error[1:].mean()",
}
OTHER = {
    "another tensor besides": "one = error.mean()\nother = (error * extra).mean()",
    "another tensor alone": "one = (error + goal).mean()\nother = goal.square().mean()",
    "another run": "one = error.mean()\nother = (self.net(obs) - goal).mean()",
    "moved": "one = error.mean()\nother = error.to(self.device).square().mean()",
    "made there": "one = error.mean()\nother = torch.zeros((), device=self.device) + error.mean()",
    "written elsewhere": "one = error.mean()\nother = torch.square(error.mean(), out=extra)",
    "one of two": "one = error.mean()\nother = one\nif extra:\n    other = extra.mean()",
    "given on": "one = error.mean()\nother = self.device.place(error).mean()",
    "a list with a name": "rows = [error.mean(), extra]\none = error.mean()\nother = torch.stack(rows).mean()",
    "changed in place": "one = error.mean()\nother = extra.copy_(error).mean()",
}


def _fixed(body: str, tmp_path: Path) -> str:
    """What the safe fix reads at once."""
    rows = "\n".join(f"        {row}" for row in body.split("\n"))
    text = fixed_text(tmp_path, "train.py", PROGRAM.format(body=rows), select=("TL203",))
    return text.partition("torch.stack([one, ")[2].partition("])")[0]


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_results_of_the_same_sources_lie_together(body: str, tmp_path: Path) -> None:
    assert _fixed(body, tmp_path) == "other"


@pytest.mark.parametrize("body", OTHER.values(), ids=OTHER)
def test_results_of_other_sources_may_lie_elsewhere_and_are_moved(body: str, tmp_path: Path) -> None:
    assert _fixed(body, tmp_path) in ("", "other.to(one.device)")
