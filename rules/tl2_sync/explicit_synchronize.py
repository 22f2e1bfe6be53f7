"""TL207: hot code waits for the device without a need."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names, names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, Site

from ._explicit_synchronize import clocked, copies_aside, nearby, shares_memory, timed

_WAITS = function_names(waits="queue")
# What a wait is needed for: a clock that is read, a capture, a copy between streams.
_CLOCKS = names(clock=True)
_CAPTURES = frozenset({"torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.make_graphed_callables"})
_STREAMS = frozenset({"torch.cuda.Stream", "torch.cuda.stream", "torch.cuda.current_stream"})
_MEMORY = frozenset(
    f"torch.cuda.{name}"
    for name in ("max_memory_allocated", "memory_allocated", "max_memory_reserved", "memory_reserved", "memory_stats")
)

_MESSAGE = "this call forces a GPU sync without a need; remove it: code that reads a result waits for it anyway"

_SOURCE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Learner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class ExplicitSynchronize(Rule):
    """Hot code waits for the device where nothing is timed.

    ## What it does
    Finds `torch.cuda.synchronize()` (and those of other devices) in hot code, unless the function also reads a clock,
    makes events or streams, captures a graph or asks for the memory in use, is in a `with` block of a timer or right
    before a call of one, or the files tied to it share tensors between processes.

    ## Why is this slow
    Kernels run while Python prepares the next ones. A wait ends that: the device idles from its last kernel until
    Python has queued new work. No result needs the wait, because whatever reads a tensor on the host waits by itself.

    ## Example
    ```python
    self.optimizer.step()
    torch.cuda.synchronize()
    ```

    ## Use instead
    ```python
    self.optimizer.step()
    ```

    ## What the fix may change
    There is no automatic fix: a copy that does not block, or memory shared with another process, may rely on it.

    ## When to ignore it
    Where another process reads the memory, and after `copy_(..., non_blocking=True)` to the host.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL207` prints them.

    ## References
    - PyTorch documentation, "CUDA semantics: asynchronous execution".
    """

    code = "TL207"
    name = "explicit-synchronize"
    summary = "hot code forces a GPU sync without a need"
    level = Level.NOTE
    trigger = Call(*_WAITS)
    least = Frequency.UPDATE
    cuda_only = True
    examples = (
        Example(
            name="after-each-update",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                """\
        if device.type == "cuda":
            torch.cuda.synchronize()
""",
                "",
            ),
            setup="torch.manual_seed(0)\nlearner = Learner()\nobs, goal = obs.to(device), goal.to(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a wait whose function does nothing that needs one."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _WAITS or not site.device.may_be_cuda():
            return
        if (
            not nearby(site, _CLOCKS.all | _CAPTURES | _STREAMS | _MEMORY)
            and not timed(site)
            and not clocked(site, _CLOCKS.all)
            and not shares_memory(site)
            and not copies_aside(site)
        ):
            yield Report(call, _MESSAGE)
