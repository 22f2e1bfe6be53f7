"""TL707: each step of an environment waits for a gradient update."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Level, Method, Report, Rule, RuleSet, Site

from ._update_per_step import updated_each_step

_MESSAGE = (
    "each step waits for the gradient update in row {row}; make the number of steps between updates a setting, and "
    "run the updates that are due in one go"
)

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.q = nn.Linear(17, 6)
        self.optimizer = torch.optim.Adam(self.q.parameters())

    @torch.no_grad()
    def act(self, obs):
        return self.q(torch.as_tensor(obs)).argmax().item()

    def update(self, replay):
        obs, goal = replay.sample(64)
        loss = (self.q(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(agent: Agent, env, replay, steps):
    obs = env.reset()
    for step in range(steps):
        action = agent.act(obs)
        next_obs, reward, done, _ = env.step(action)
        replay.add(obs, action, reward, done)
        obs = env.reset() if done else next_obs
        agent.update(replay)
    return steps
"""


class UpdatePerStep(Rule):
    """Each step of an environment is followed by a gradient update, whatever the settings say.

    ## What it does
    Finds loops that step an environment and run a gradient update in every round, with no interval and no number of
    updates that a setting could change. Updates on the very step that was made (online actor-critic) are left alone.

    ## Why is this slow
    Data is collected no faster than the network is updated, and acting and updating can neither overlap nor be done for
    several environments at once.

    ## Example
    ```python
    obs, reward, done, info = env.step(action)
    agent.update(replay)
    ```

    ## Use instead
    ```python
    obs, reward, done, info = env.step(action)
    if step % update_every == 0:
        for _ in range(updates_due):
            agent.update(replay)
    ```

    ## What the fix may change
    There is no automatic fix: it is another schedule of learning. This rule must be selected by its code.

    ## When to ignore it
    Where one update per step is what the algorithm asks for.

    ## Measured
    Nothing: it is a question of design, and what it costs depends on the environment.

    ## References
    - Stooke and Abbeel, "Accelerated Methods for Deep Reinforcement Learning", 2018.
    """

    code = "TL707"
    name = "update-per-step"
    summary = "each step of an environment waits for a gradient update"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Method("step")
    least = Frequency.STEP
    examples = (
        Example(
            name="update-every-step",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        agent.update(replay)\n",
                "        if step % 4 == 0:\n            for _ in range(4):\n                agent.update(replay)\n",
            ),
            setup="torch.manual_seed(0)\nagent = Agent()",
            workload="agent.q.weight.shape",
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a step that is followed by an update in every round."""
        match site.node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="step")), args=[_, *_]) as call:
                row = updated_each_step(site, call)
                if row:
                    yield Report(call, _MESSAGE.format(row=row))
