"""TL804: a memory snapshot is taken repeatedly."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Report, Rule, Site

_HISTORY = frozenset({"torch.cuda.memory._record_memory_history"})
_SNAPSHOTS = {
    "tracemalloc.take_snapshot": "copies the trace of every live allocation",
    **dict.fromkeys(
        ("torch.cuda.memory_summary", "torch.cuda.memory.memory_summary"),
        "asks the allocator for all its counters and formats a table",
    ),
    **dict.fromkeys(
        (
            "torch.cuda.memory_snapshot",
            "torch.cuda.memory.memory_snapshot",
            "torch.cuda.memory._snapshot",
            "torch.cuda.memory._dump_snapshot",
        ),
        "lists every block of the allocator",
    ),
    **dict.fromkeys(_HISTORY, "starts recording a stack for every allocation"),
}

_SOURCE = """\
import tracemalloc

import torch
from torch import nn


class Learner:
    def __init__(self, device):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        snapshot = tracemalloc.take_snapshot()
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class MemorySnapshotPerCall(Rule):
    """A snapshot of the memory is taken in every step or update.

    ## What it does
    Finds `tracemalloc.take_snapshot()`, `torch.cuda.memory_summary()`, `torch.cuda.memory_snapshot()`,
    `torch.cuda.memory._record_memory_history()` and their relatives in hot code and in callbacks.

    ## Why is this slow
    A snapshot copies what is known of every live allocation, so that its cost grows with the program and not with the
    step. Snapshots that are kept make memory grow besides.

    ## Example
    ```python
    def _on_step(self):
        self.snapshots.append(tracemalloc.take_snapshot())
    ```

    ## Use instead
    ```python
    def _on_step(self):
        if self.n_calls % 10_000 == 0:
            self.report(tracemalloc.take_snapshot())
    ```

    ## What the fix may change
    There is no automatic fix: how often to look is a choice.

    ## When to ignore it
    While a leak is being searched.

    ## Measured
    The figures below compare one update of a small network with a snapshot of a traced process and without.

    ## References
    - Python documentation, `tracemalloc`; PyTorch documentation, "Understanding CUDA memory usage".
    """

    code = "TL804"
    name = "memory-snapshot-per-call"
    summary = "a memory snapshot is taken repeatedly"
    trigger = Call(*_SNAPSHOTS)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="after-each-update",
            source=_SOURCE,
            fixed=_SOURCE.replace("        snapshot = tracemalloc.take_snapshot()\n", "").replace(
                "import tracemalloc\n\n", ""
            ),
            setup="import tracemalloc\n"
            "tracemalloc.start()\nkept = [str(index) for index in range(10_000)]\nlearner = Learner(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a snapshot in hot code."""
        match site.node:
            case cst.Call(func=func) as call if (name := site.names.of(func)) in _SNAPSHOTS:
                if site.hot.here.frequency >= self.least and not (name in _HISTORY and _ends(site, call)):
                    what = _SNAPSHOTS[name or ""]
                    yield Report(call, f"each call {what}; take one at intervals, behind a flag")


def _ends(site: Site, call: cst.Call) -> bool:
    """``_record_memory_history(enabled=None)`` ends the recording."""
    enabled = site.calls.argument(call, 0, "enabled")
    return enabled is not None and site.values.of(enabled).kind is Kind.NONE
