"""TL408: a network is copied with ``copy.deepcopy`` in every update."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Report, Rule, Site

_COPY = "copy.deepcopy"

_SOURCE = """\
import copy

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6))
        self.target = copy.deepcopy(self.net)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def sync(self):
        self.target = copy.deepcopy(self.net)
        return self.target[0].weight

    def update(self, obs, reward):
        with torch.no_grad():
            goal = reward + 0.99 * self.target(obs).amax(dim=1)
        loss = (self.net(obs).amax(dim=1) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.sync()


def train(replay, updates):
    agent = Agent()
    for _ in range(updates):
        agent.update(*replay.sample(256))
"""


class ModuleDeepcopyPerUpdate(Rule):
    """A network is copied with `copy.deepcopy` in every update.

    ## What it does
    Finds `copy.deepcopy(net)` of a module in code that runs once per gradient update or more often.

    ## Why is this slow
    A deep copy builds every module, dictionary and parameter again in Python and allocates all their memory.
    Copying the numbers into a network that is there already does neither.

    ## Example
    ```python
    self.target = copy.deepcopy(self.net)
    ```

    ## Use instead
    ```python
    self.target.load_state_dict(self.net.state_dict())
    ```

    ## What the fix may change
    There is no automatic fix: a new object has other parameters, which an optimizer, an exponential average or another
    name for the old network would not see change.

    ## When to ignore it
    Where each copy is kept, as in a league of opponents.

    ## Measured
    On a network with two hidden layers of 256; `torchlint rule TL408` prints the figures.

    ## References
    - PyTorch documentation, `torch.nn.Module.load_state_dict`.
    """

    code = "TL408"
    name = "module-deepcopy-per-update"
    summary = "a network is copied with copy.deepcopy in every update"
    trigger = Call(_COPY)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="mlp-256",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "    def sync(self):\n        self.target = copy.deepcopy(self.net)\n",
                "    def sync(self):\n        self.target.load_state_dict(self.net.state_dict())\n",
            ),
            setup="torch.manual_seed(0)\nagent = Agent()",
            workload="agent.sync().detach()",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a deep copy of a proven module."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) != _COPY or site.flow.handles_error():
            return
        copied = site.calls.argument(call, 0, "x")
        if copied is not None and site.values.of(copied).kind is Kind.MODULE:
            yield Report(
                call,
                "a deep copy builds the whole network again; copy its state into one that exists, with "
                "`load_state_dict` or `Tensor.copy_`",
            )
