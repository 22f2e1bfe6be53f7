"""TL615: a network runs although a random number then decides that its result is not needed."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, NetworkCall, Report, Rule, RuleSet, Site

from ._forward_before_random_choice import runs_in_vain

_MESSAGE = "only one branch after line {row} needs this forward pass; run it there, after the random number is drawn"

_SOURCE = """\
import random

import torch
from torch import nn


class Agent:
    def __init__(self, epsilon):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
        self.epsilon = epsilon

    @torch.no_grad()
    def act(self, obs):
        scores = self.net(torch.as_tensor(obs, dtype=torch.float32))
        if random.random() < self.epsilon:
            return random.randrange(6)
        return int(scores.argmax())


def collect(env, steps):
    agent = Agent(0.5)
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


class ForwardBeforeRandomChoice(Rule):
    """A forward pass is computed before it is known whether an action is chosen at random.

    ## What it does
    Finds hot calls that run a network whose result has a name that only one way out of a later `if` reads, where the
    condition compares a random number: `random.random() < epsilon`.

    ## Why is this slow
    With an exploration rate of `epsilon` that share of all forward passes is computed for nothing, and at the start of
    training the rate is often 1.

    ## Example
    ```python
    scores = self.net(obs)
    if random.random() < self.epsilon:
        return random.randrange(self.n_actions)
    return int(scores.argmax())
    ```

    ## Use instead
    ```python
    if random.random() < self.epsilon:
        return random.randrange(self.n_actions)
    return int(self.net(obs).argmax())
    ```

    ## What the fix may change
    There is no automatic fix: noisy layers draw their numbers in the forward pass.

    ## When to ignore it
    Where the result is needed anyway, or exploration ends after a short time.

    ## Measured
    With half of the actions at random; `torchlint rule TL615` prints the figures.

    ## References
    - "Playing Atari with Deep Reinforcement Learning", algorithm 1.
    """

    code = "TL615"
    name = "forward-before-random-choice"
    summary = "a network runs before a random number decides that its result is not needed"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = NetworkCall()
    least = Frequency.UPDATE
    examples = (
        Example(
            name="epsilon-one-half",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        scores = self.net(torch.as_tensor(obs, dtype=torch.float32))\n",
                "",
            ).replace(
                "        return int(scores.argmax())",
                "        return int(self.net(torch.as_tensor(obs, dtype=torch.float32)).argmax())",
            ),
            setup="import random\nrandom.seed(0)\ntorch.manual_seed(0)\nagent = Agent(0.5)",
            workload="[agent.act(obs) for _ in range(8)]",
            runs=8,
            inputs=(Input("obs", Kind.NDARRAY, (17,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a run of a network that a random number makes needless."""
        call = site.node
        if isinstance(call, cst.Call) and site.autograd.run(call) is not None and (row := runs_in_vain(site, call)):
            yield Report(call, _MESSAGE.format(row=row))
