"""TL407: device tensors are kept one by one in the Python list of a replay buffer."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Device, Example, Frequency, Input, Kind, Method, Report, Rule, RuleSet, Site

from ._device_tensors_in_replay import drawn_from

_SOURCE = """\
import random

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Replay:
    def __init__(self):
        self.rows = []

    def put(self, row):
        self.rows.append(torch.as_tensor(row, device=device))

    def sample(self, size):
        return torch.stack(random.sample(self.rows, size))


def train(net: nn.Module, env, replay: Replay, steps):
    optimizer = torch.optim.Adam(net.to(device).parameters())
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(0)
        replay.put(obs)
        loss = net(replay.sample(64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(net, env):
    train(net, env, Replay(), 1000)
"""
_BETTER = (
    _SOURCE.replace("self.rows = []", "self.rows = torch.zeros(10_000, 17, device=device)\n        self.at = 0")
    .replace(
        "self.rows.append(torch.as_tensor(row, device=device))",
        "self.rows[self.at] = torch.as_tensor(row)\n        self.at = (self.at + 1) % len(self.rows)",
    )
    .replace(
        "torch.stack(random.sample(self.rows, size))", "self.rows[torch.randint(0, self.at, (size,), device=device)]"
    )
    .replace("import random\n\n", "")
)


class DeviceTensorsInReplay(Rule):
    """Device tensors are kept one by one in the Python list of a replay buffer.

    ## What it does
    Finds `self.rows.append(t)` in hot code where `t` is a tensor that may lie on an accelerator and the object draws
    from that list or deque at random.

    ## Why is this slow
    Every row is an allocation of its own on the device, rounded up to at least 512 bytes, and every batch gathers its
    rows one by one. One tensor for all rows is indexed once.

    ## Example
    ```python
    self.rows.append(torch.as_tensor(row, device=device))
    ```

    ## Use instead
    ```python
    self.rows[self.at] = torch.as_tensor(row)  # torch.zeros(capacity, size, device=device)
    ```

    ## What the fix may change
    There is no automatic fix: the buffer has to be allocated with the shapes and dtypes of what it holds.

    ## When to ignore it
    For a buffer of a few hundred rows.

    ## Measured
    Counts of events show no gain: what is saved is memory of the accelerator, which is given out in whole blocks.

    ## References
    - PyTorch documentation, "CUDA semantics": memory management.
    """

    code = "TL407"
    name = "device-tensors-in-replay"
    summary = "device tensors are kept one by one in the list of a replay buffer"
    set = RuleSet.PREVIEW
    trigger = Method("append", "appendleft")
    least = Frequency.UPDATE
    cuda_only = True
    examples = (
        Example(
            name="rows-of-17",
            source=_SOURCE,
            fixed=_BETTER,
            setup="replay = Replay()\nfor row in rows: replay.put(row)",
            workload="replay.sample(64).shape",
            inputs=(Input("rows", Kind.NDARRAY, (1000, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report an append of a tensor that may be on a device, alone or in a tuple, to a replay buffer."""
        call = site.node
        if not isinstance(call, cst.Call) or len(call.args) != 1 or not site.device.may_be_cuda():
            return
        kept = call.args[0].value
        parts = [element.value for element in kept.elements] if isinstance(kept, cst.Tuple) else [kept]
        if any(_on_device(site, part) for part in parts) and drawn_from(site, call):
            message = "each row is a tensor of its own on the device; keep one tensor for all rows"
            yield Report(call, message)


def _on_device(site: Site, node: cst.BaseExpression) -> bool:
    value = site.values.of(node)
    return value.kind is Kind.TENSOR and value.device in (Device.CUDA, Device.EITHER)
