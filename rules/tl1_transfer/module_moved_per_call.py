"""TL109: a network is moved to its device again and again."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Method, Report, Rule, Site

from ._module_moved_per_call import is_elsewhere, made_before, stays

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))

    def act(self, obs):
        self.net.to(self.device)
        with torch.inference_mode():
            return self.net(torch.as_tensor(obs, dtype=torch.float32, device=self.device)).argmax().item()


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


class ModuleMovedPerCall(Rule):
    """A module is moved to a device on every step.

    ## What it does
    Finds `.to(...)`, `.cuda()` and `.cpu()` of modules that run once per environment step or more often, where the
    module was there before, and no test asked its parameters for their device.

    ## Why is this slow
    A move visits every parameter and buffer of every submodule, also when all are on the device already. For a small
    network that costs more than its forward pass. When they are not there, all of them are copied.

    ## Example
    ```python
    def act(self, obs):
        self.net.to(self.device)
        return self.net(obs).argmax().item()
    ```

    ## Use instead
    ```python
    def __init__(self, device):
        self.net = Net().to(device)

    def act(self, obs):
        return self.net(obs).argmax().item()
    ```

    ## What the fix may change
    There is no automatic fix: something else may move the module between two calls.

    ## When to ignore it
    Where the module is meant to leave the device after every call, to make room for another.

    ## Measured
    The figures below show one action of a small network that is on its device already.

    ## References
    - PyTorch documentation, `torch.nn.Module.to`.
    """

    code = "TL109"
    name = "module-moved-per-call"
    summary = "a module is moved to a device on every step"
    trigger = Method("to", "cuda", "cpu")
    least = Frequency.STEP
    examples = (
        Example(
            name="moved-to-act",
            source=_SOURCE,
            fixed=_SOURCE.replace("        self.net.to(self.device)\n", "").replace(
                "nn.Linear(64, 6))\n", "nn.Linear(64, 6))\n        self.net.to(device)\n"
            ),
            setup="agent = Agent(device)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.NDARRAY, (17,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a move of a module that was not made on the spot."""
        match site.node:
            case cst.Call(func=cst.Attribute(value=cst.Name() | cst.Attribute() as module, attr=method)) as call:
                if (
                    method.value in self.trigger.names
                    and site.values.of(module).kind is Kind.MODULE
                    and made_before(site, module)
                    and not is_elsewhere(site, call)
                    and not stays(site, module)
                ):
                    yield Report(
                        call,
                        f"`{method.value}` visits all parameters of the module on every step, even if they are on "
                        "the device already; move it once, after it is created",
                    )
