"""TL106: asynchronous copies from memory that is not pinned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.rule import Device, Example, Input, Kind, Level, Method, Report, Rule, RuleSet
from torchlint.rule.build import keyword_of
from torchlint.rule.convert import beneath, conversion, device_named

if TYPE_CHECKING:
    from torchlint.rule import Site

_LEARNER = """\
import numpy as np
import torch
from torch import nn


class Replay:
    def __init__(self, device):
        self.device = torch.device(device)
        self.obs = np.zeros((4096, 17), dtype=np.float32)
        self.staged = torch.zeros(256, 17{pin})

    def sample(self, rows):
        batch = torch.from_numpy(self.obs[rows])
        {line}


def train(network, optimizer, replay: Replay, updates):
    for _ in range(updates):
        rows = np.random.randint(4096, size=256)
        loss = network(replay.sample(rows)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class UnpinnedAsyncCopy(Rule):
    """A copy to a device that is asked to run in the background, from memory that the device cannot read by itself.

    ## What it does
    Finds `.to(device, non_blocking=True)` and `.cuda(non_blocking=True)` on tensors that are proven to lie in ordinary,
    pageable memory of the host: made by `torch.from_numpy` or `torch.tensor`, results of arithmetic on the host, or
    picked out of a pinned buffer by an index tensor, which makes a new, pageable one.

    ## Why is this slow
    CUDA copies in the background only from page-locked memory. From any other memory the driver first copies the data
    to a pinned buffer of its own, and the program waits for that.

    ## Example
    ```python
    obs = torch.from_numpy(batch).to(self.device, non_blocking=True)
    ```

    ## Use instead
    ```python
    self.staged.copy_(torch.from_numpy(batch))  # staged = torch.empty(..., pin_memory=True), made once
    obs = self.staged.to(self.device, non_blocking=True)
    ```

    ## What the fix may change
    There is no fix: `.pin_memory()` on each batch allocates page-locked memory, which can cost more than it saves, and
    a buffer that is used again must not be written before its copy has ended.

    ## When to ignore it
    Where the batch is small, or the result is needed at once. Whoever tried it and measured no gain may ignore it: the
    gain shows in a profile or not at all. Not measured here; it does nothing on a CPU.

    ## Measured
    Counts show no event fewer: what is saved is the time that the host waits for the copy.

    ## References
    The tutorial on `non_blocking` and `pin_memory()` in the documentation of PyTorch.
    """

    code = "TL106"
    name = "unpinned-async-copy"
    summary = "non_blocking=True on memory that is not pinned"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Method("to", "cuda")
    cuda_only = True
    examples = (
        Example(
            name="batch-256x17",
            source=_LEARNER.format(pin="", line="return batch.to(self.device, non_blocking=True)"),
            fixed=_LEARNER.format(
                pin=", pin_memory=torch.cuda.is_available()",
                line="return self.staged.copy_(batch).to(self.device, non_blocking=True)",
            ),
            setup="replay = Replay(device)",
            workload="replay.sample(rows)",
            inputs=(Input("rows", Kind.NDARRAY, (256,), "int64"),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report an asynchronous move of pageable memory."""
        call = site.node
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or not site.device.may_be_cuda():
            return
        asked = keyword_of(call, "non_blocking")
        if asked is None or site.values.of(asked).literal is not True:
            return
        _, links = beneath(call)
        step = conversion(site, links[-1], "torch")
        if step is None or not step.proven or step.device is None or device_named(site, step.device) is Device.CPU:
            return
        tensor = site.values.of(call.func.value)
        if tensor.kind is Kind.TENSOR and tensor.device is Device.CPU and tensor.pinned is False:
            yield Report(call, _message(call.func.value))


def _message(moved: cst.BaseExpression) -> str:
    """The smell and the better form in one line."""
    what = f"`{moved.value}`" if isinstance(moved, cst.Name) else "the source"
    return f"{what} is not in pinned memory: non_blocking=True still blocks; copy it through a pinned buffer"
