"""TL805: a clock on the host is read before the device has done the work that is timed."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site

from ._timed_blocks import TimedBlocks
from ._unsynchronised_timing import unsynchronised

_CLOCKS = function_names(clock="wall")
_LONGEST = 40

_MESSAGE = "nothing waits for what `{work}` queued on the GPU; synchronize before the clock is read, or record events"

_SOURCE = """\
import time

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Learner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.seconds = 0.0

    def update(self, obs, goal):
        began = time.perf_counter()
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.seconds += time.perf_counter() - began
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class UnsynchronisedTiming(Rule):
    """The time of an update or a forward pass is taken without waiting for the device.

    ## What it does
    Finds differences of two readings of a clock in hot code where the last thing done between them gives work to the
    device (a network, `backward()`, an optimizer step), directly or in a function of the project, and nothing after it
    waits: no `synchronize()`, no `.item()`, no copy to the host. Where something waits earlier between the readings,
    only a network or a `backward()` after it counts: an optimizer step alone is a small part of what is timed.

    A context manager that reads the clock on entry and on exit counts, too: `with timeit("backward"):` of TorchRL, a
    timer of the project. One that synchronizes by itself is fine.

    ## Why is this slow
    It is not slow, it measures something else: work on an accelerator is queued, and the call returns before the work
    is done. The time shows up in the next statement that waits. Whatever is tuned by such figures is tuned by noise.

    ## Example
    ```python
    began = time.perf_counter()
    loss.backward()
    self.optimizer.step()
    self.seconds += time.perf_counter() - began
    ```

    ## Use instead
    ```python
    began = time.perf_counter()
    loss.backward()
    self.optimizer.step()
    torch.cuda.synchronize()
    self.seconds += time.perf_counter() - began
    ```
    Waiting costs, too, so do it while measuring only; `torch.cuda.Event(enable_timing=True)` measures without a wait.

    ## What the fix may change
    There is no automatic fix: a wait in every update slows the run down.

    ## When to ignore it
    Where the time spent on the host is what you want to know.

    ## Measured
    The better form waits once more on an accelerator: the rule is about a figure that misleads, not about time.

    ## References
    - PyTorch documentation, "CUDA semantics: asynchronous execution".
    """

    code = "TL805"
    name = "unsynchronised-timing"
    summary = "a clock is read before the device has done the work that is timed"
    level = Level.NOTE
    trigger = Call(*_CLOCKS) | Found(TimedBlocks)
    least = Frequency.UPDATE
    cuda_only = True
    kept = "about a figure that misleads, not about time"
    examples = (
        Example(
            name="update",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        self.seconds +=",
                """\
        if device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds +=""",
            ),
            setup="torch.manual_seed(0)\nlearner = Learner()\nobs, goal = obs.to(device), goal.to(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the second reading of a clock after work that nothing waits for."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda():
            return
        work = unsynchronised(site, call)
        if work:
            short = work if len(work) <= _LONGEST else f"{work.partition('(')[0]}(...)"
            yield Report(call, _MESSAGE.format(work=short))
