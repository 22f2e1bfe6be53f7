"""TL703: a loop polls instead of blocking."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Option, Report, Rule, Site, Statement

from ._waiting import polls

_SOURCE = """\
import time

import torch
from torch import nn


class Shared:
    def __init__(self, net: nn.Module):
        self.net = net
        self.busy = False

    def weights(self):
        while True:
            if self.busy:
                time.sleep(0.0002)
            else:
                time.sleep(0.0002)
                if not self.busy:
                    self.busy = True
                    found = [parameter.detach().clone() for parameter in self.net.parameters()]
                    self.busy = False
                    return found


def act(shared: Shared, env):
    obs, _ = env.reset()
    for _ in range(100_000):
        weight, bias = shared.weights()
        obs, reward, terminated, truncated, _ = env.step((weight @ torch.as_tensor(obs) + bias).argmax().item())
"""
_BETTER = (
    _SOURCE[: _SOURCE.index("    def weights")]
    .replace("import time\n", "import threading\n")
    .replace("busy = False", "lock = threading.Lock()")
    + """\
    def weights(self):
        with self.lock:
            return [parameter.detach().clone() for parameter in self.net.parameters()]
"""
    + _SOURCE[_SOURCE.index("\n\ndef act") :]
)


_SHORT = Option[float]("shortest-sleep", 0.01, "a loop that sleeps longer than this, in seconds, is left alone", 0)


class BusyWait(Rule):
    """A loop polls instead of blocking.

    ## What it does
    Finds loops that do nothing but test a flag, a queue or a counter, at once again or after a sleep of at most ten
    milliseconds: `while not ready: pass`, a lock made of a flag and `time.sleep`, `get_nowait()` in a loop, and calls
    of a function that comes back at once where nothing is there.

    ## Why is this slow
    A loop without a sleep keeps a core busy that environments and networks need, and in Python the interpreter lock
    too. With a sleep, what happened is noticed late, and every sleep costs more than it says.

    ## Example
    ```python
    while not self.ready.is_set():
        time.sleep(0.0002)
    ```

    ## Use instead
    ```python
    self.ready.wait()
    ```

    ## What the fix may change
    There is no automatic fix: a lock, a condition, an event or a blocking `get()` has to be shared by both sides.

    ## When to ignore it
    Where a loop keeps time, or waits for hardware that knows no other way. Loops that sleep longer are not reported.

    ## Measured
    On a lock that is free; `torchlint rule TL703` prints the figures.

    ## References
    - Python documentation, `threading.Condition`, `multiprocessing.Event`, `queue.Queue.get`.
    """

    code = "TL703"
    name = "busy-wait"
    summary = "a loop polls instead of blocking"
    trigger = Statement("While")
    least = Frequency.ONCE  # what waits is mostly a worker of its own, whose loop nothing in the project calls
    options = (_SHORT,)
    examples = (
        Example(
            name="free-lock",
            source=_SOURCE,
            fixed=_BETTER,
            setup="torch.manual_seed(0)\nshared = Shared(nn.Linear(4, 2))",
            workload="shared.weights()",
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a loop that only polls."""
        if isinstance(site.node, cst.While) and polls(site, _SHORT.of(self.given)):
            yield Report(site.node, "the loop polls until something happens; block on a lock, an event or a queue")
