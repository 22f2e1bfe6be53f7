"""TL614: a network runs twice on the same input."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, NetworkCall, Report, Rule, RuleSet, Site
from torchlint.rule.build import source

from ._repeated_forward import ran_before

_LONGEST = 60

_MESSAGE = "`{call}` already ran in line {row} on the same input with the same parameters; reuse that result"

_SOURCE = """\
import torch
from torch import nn
from torch.nn import functional as F


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.actor, self.critic = nn.Linear(64, 6), nn.Linear(64, 1)

    def value(self, obs: torch.Tensor):
        return self.critic(self.body(obs))

    def scores(self, obs: torch.Tensor):
        return self.actor(self.body(obs))


class Learner:
    def __init__(self):
        self.model = ActorCritic()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def update(self, obs: torch.Tensor, actions: torch.Tensor, returns: torch.Tensor):
        advantage = returns - self.model.value(obs)
        chosen = torch.log_softmax(self.model.scores(obs), dim=1).gather(1, actions)
        loss = -(chosen * advantage.detach()).mean() + F.smooth_l1_loss(self.model.value(obs), returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(rollouts):
    learner = Learner()
    for obs, actions, returns in rollouts:
        learner.update(obs, actions, returns)
"""


class RepeatedForward(Rule):
    """The same forward pass is computed twice in one update.

    ## What it does
    Finds hot calls that run a network where an equal call always came before in the same round, and nothing between the
    two can have changed the input, the parameters or any other state that the network reads.

    ## Why is this slow
    Both passes give the same numbers. When both are in the loss, the backward pass is computed twice, too.

    ## Example
    ```python
    advantage = returns - self.critic(obs)
    loss = -(log_prob * advantage.detach()).mean() + F.mse_loss(self.critic(obs), returns)
    ```

    ## Use instead
    ```python
    value = self.critic(obs)
    advantage = returns - value
    loss = -(log_prob * advantage.detach()).mean() + F.mse_loss(value, returns)
    ```

    ## What the fix may change
    There is no automatic fix: the kept result needs a name, and a `detach()` where one of the two had no graph.

    ## When to ignore it
    Where layers draw random numbers, such as dropout. Files that mention such layers are left alone.

    ## Measured
    On the update of a small actor-critic; `torchlint rule TL614` prints the figures.

    ## References
    - PyTorch documentation, "Autograd mechanics".
    """

    code = "TL614"
    name = "repeated-forward"
    summary = "a network runs twice on the same input with the same parameters"
    set = RuleSet.PREVIEW
    trigger = NetworkCall()
    least = Frequency.UPDATE
    examples = (
        Example(
            name="value-of-256",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        advantage = returns - self.model.value(obs)\n",
                "        value = self.model.value(obs)\n        advantage = returns - value\n",
            ).replace("F.smooth_l1_loss(self.model.value(obs), returns)", "F.smooth_l1_loss(value, returns)"),
            setup="torch.manual_seed(0)\nlearner = Learner()\nlearner.model.to(device)\n"
            "obs, returns = obs.to(device), returns.to(device)\nactions = torch.zeros(len(obs), 1, dtype=torch.int64)\n"
            "actions = actions.to(device)",
            workload="learner.update(obs, actions, returns)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("returns", Kind.TENSOR, (256, 1))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a run of a network that gives what an earlier one gave."""
        call = site.node
        if isinstance(call, cst.Call) and site.autograd.run(call) is not None and (row := ran_before(site, call)):
            text = " ".join(source(call).split())
            short = text if len(text) <= _LONGEST else f"{text.partition('(')[0]}(...)"
            yield Report(call, _MESSAGE.format(call=short, row=row))
