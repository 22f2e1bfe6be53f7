"""TL618: a network runs in each iteration of a loop on the same input."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, NetworkCall, Report, Rule, RuleSet, Site

# Layers that draw numbers or remember what they saw.
_FICKLE = ("Dropout", "dropout", "BatchNorm", "Noisy", "noisy")

_MESSAGE = (
    "this forward pass gives the same result in each iteration of the loop in line {row}; run it once before the loop"
)

_SOURCE = """\
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(64, 1) for name in ("reward", "value", "done")})

    def loss(self, obs: torch.Tensor, goals: dict[str, torch.Tensor]):
        total = torch.zeros((), device=obs.device)
        for name, head in self.heads.items():
            features = self.body(obs)
            total = total + (head(features).squeeze(1) - goals[name]).square().mean()
        return total


class Learner:
    def __init__(self):
        self.model = Heads()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)

    def update(self, obs: torch.Tensor, goals: dict[str, torch.Tensor]):
        loss = self.model.loss(obs, goals)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(batches):
    learner = Learner()
    for obs, goals in batches:
        learner.update(obs, goals)
"""


class InvariantForward(Rule):
    """A forward pass in a loop does not depend on the loop.

    ## What it does
    Finds hot calls that run a network in a loop or comprehension where neither the input nor the parameters nor
    anything else that the network reads changes from round to round.

    ## Why is this slow
    Each round computes the same numbers, and where the loss takes them in, each round has a backward pass of its own.

    ## Example
    ```python
    for name, head in self.heads.items():
        features = self.body(obs)
        losses[name] = head(features).mean()
    ```

    ## Use instead
    ```python
    features = self.body(obs)
    for name, head in self.heads.items():
        losses[name] = head(features).mean()
    ```

    ## What the fix may change
    There is no automatic fix: a loop without rounds would run the network for nothing.

    ## When to ignore it
    Where layers draw random numbers, such as dropout. Files that mention such layers are left alone.

    ## Measured
    Three heads on one body; `torchlint rule TL618` prints the figures.

    ## References
    - PyTorch documentation, "Performance tuning guide".
    """

    code = "TL618"
    name = "invariant-forward"
    summary = "a network runs in each iteration of a loop on the same input"
    set = RuleSet.PREVIEW
    trigger = NetworkCall()
    least = Frequency.UPDATE
    yields_to = ("TL614",)
    examples = (
        Example(
            name="three-heads",
            source=_SOURCE,
            fixed=_SOURCE.replace("            features = self.body(obs)\n", "").replace(
                "        for name, head", "        features = self.body(obs)\n        for name, head"
            ),
            setup="torch.manual_seed(0)\nlearner = Learner()\nlearner.model.to(device)\nobs = obs.to(device)\n"
            'goals = {name: goal.to(device) for name in ("reward", "value", "done")}',
            workload="learner.update(obs, goals)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a run of a network that no round of its loop changes."""
        call = site.node
        loop = next(iter(site.loops.around(call)), None) if isinstance(call, cst.Call) else None
        if not isinstance(call, cst.Call) or loop is None:
            return
        run = site.autograd.run(call)
        if run is None or run.keeps or loop.item or loop.carried is not False or loop.draws or loop.learns:
            return
        if not any(site.names.in_project(word) for word in _FICKLE):
            yield Report(call, _MESSAGE.format(row=loop.row))
