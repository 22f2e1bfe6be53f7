"""TL307: the loss of the actor also computes gradients of the critic, which are discarded."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, NetworkCall, Report, Rule, RuleSet, Site, Use
from torchlint.rule.build import source

_MESSAGE = (
    "`backward` also computes gradients of `{what}`, but only another network is updated; "
    "freeze its parameters for this loss"
)

_SOURCE = """\
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(23, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, obs, action):
        return self.net(torch.cat([obs, action], dim=1))


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(17, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6))
        self.critic = Critic()
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters())
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters())

    def update_actor(self, obs):
        loss = -self.critic(obs, self.actor(obs)).mean()
        self.actor_optimizer.zero_grad()
        loss.backward()
        self.actor_optimizer.step()
        return loss.item()


def train(agent, replay, updates):
    for _ in range(updates):
        agent.update_actor(replay.sample(256))


if __name__ == "__main__":
    from replay import replay

    train(Agent(), replay, 1000)
"""
_BETTER = _SOURCE.replace(
    """\
        loss = -self.critic(obs, self.actor(obs)).mean()
        self.actor_optimizer.zero_grad()
        loss.backward()
""",
    """\
        self.critic.requires_grad_(False)
        loss = -self.critic(obs, self.actor(obs)).mean()
        self.actor_optimizer.zero_grad()
        loss.backward()
        self.critic.requires_grad_(True)
""",
)


class CriticGradsInActorUpdate(Rule):
    """The actor learns through the critic, and gradients of the critic are computed without use.

    ## What it does
    Finds calls of a trained network whose input is part of the graph of another network, where the loss is
    backpropagated and the optimizer that steps next moves that other network alone. The gradients that were added to
    the first one's parameters are zeroed before its own next step.

    ## Why is this slow
    A gradient of the action needs the critic's weights, but not the gradients of these weights. Each layer computes
    both unless its parameters do not require gradients.

    ## Example
    ```python
    loss = -self.critic(obs, self.actor(obs)).mean()
    loss.backward()
    self.actor_optimizer.step()
    ```

    ## Use instead
    ```python
    self.critic.requires_grad_(False)
    loss = -self.critic(obs, self.actor(obs)).mean()
    loss.backward()
    self.critic.requires_grad_(True)
    self.actor_optimizer.step()
    ```

    ## What the fix may change
    There is no automatic fix: the parameters must be thawed on every way out, and a critic that shares layers with
    the actor must not be frozen at all.

    ## When to ignore it
    Where the critic's gradients are meant to add up over several losses before its optimizer steps.

    ## Measured
    The figures below come from one update of an actor with a critic of two hidden layers of 256 units.

    ## References
    - OpenAI Spinning Up, documentation of SAC and DDPG: freezing the Q-networks in the policy update.
    """

    code = "TL307"
    name = "critic-grads-in-actor-update"
    summary = "the loss of the actor also computes gradients of the critic, which are discarded"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = NetworkCall(recorded=True)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="ddpg-actor",
            source=_SOURCE,
            fixed=_BETTER,
            setup="agent = Agent()",
            workload="agent.update_actor(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the run of a trained network in the loss of another one."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        run = site.autograd.run(call)
        if run is None or not run.apart or site.autograd.records() is not True or site.compiling.scripted():
            return
        network = site.autograd.network(call.func)
        if network.trained and not network.target and not network.frozen and Use.BACKWARD in site.flow.graph_uses(call):
            yield Report(call, _MESSAGE.format(what=source(call.func)))
