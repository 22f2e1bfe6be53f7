"""TL406: the garbage collector runs, or cached memory is given back, in every step or update."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.hotness.collecting import RolloutLoops
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, Site

from ._collect_per_step import follows_a_model, takes_a_model

_COLLECT = "gc.collect"
_EMPTY = "torch.cuda.empty_cache"
_BOTH = frozenset({"accelerate.utils.release_memory", "accelerate.utils.memory.release_memory"})

_SOURCE = """\
import gc

import torch
from torch import nn


class Learner:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6))
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def update(self, obs, goal):
        loss = (self.q(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        gc.collect()
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class CollectPerStep(Rule):
    """The garbage collector runs, or cached memory is given back, in every step or update.

    ## What it does
    Finds `gc.collect()`, `torch.cuda.empty_cache()` and `release_memory()` of accelerate, which does both, that run
    once per environment step or gradient update or more often. Calls in an `except` block, such as one that handles an
    exhausted memory, are not reported, nor is a cache that is emptied behind the move of a model to the host.

    ## Why is this slow
    A full collection walks through every object that Python keeps track of, and a process that has imported torch holds
    more than a hundred thousand of them. Tensors do not wait for it: they go when the last reference goes.
    `empty_cache()` waits for the device and gives memory back that the next allocation must ask for again.

    ## Example
    ```python
    def update(self, batch):
        self.step(self.loss(batch))
        gc.collect()
    ```

    ## Use instead
    ```python
    def update(self, batch):
        self.step(self.loss(batch))
    ```

    ## What the fix may change
    There is no automatic fix: where reference cycles hold memory, or another process needs the memory of the device,
    the call belongs behind an interval or at the end of an episode.

    ## When to ignore it
    Where each step takes seconds. A loop that calls what collects a whole rollout in each round is left alone, and so
    is memory for a model that the statements beside it wake (`llm.wake_up()`) or load (`from_pretrained`).

    ## Measured
    On a gradient update of a small network with and without `gc.collect()`. What `empty_cache()` costs was not
    measured: without CUDA it does nothing.

    ## References
    - Python documentation, `gc.collect`.
    - PyTorch documentation, "CUDA semantics": memory management.
    """

    code = "TL406"
    name = "collect-per-step"
    summary = "the garbage collector runs in every step or update"
    trigger = Call(_COLLECT, _EMPTY, *sorted(_BOTH))
    least = Frequency.UPDATE
    examples = (
        Example(
            name="update-256x17",
            source=_SOURCE,
            fixed=_SOURCE.replace("        gc.collect()\n", "").replace("import gc\n\n", ""),
            setup="torch.manual_seed(0)\nlearner = Learner()",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a full collection, and an emptied cache where there may be a device."""
        call = site.node
        if not isinstance(call, cst.Call) or site.flow.handles_error():
            return
        name = site.names.of(call.func)
        if name != _COLLECT and (follows_a_model(site) or takes_a_model(site)):
            return
        if (call.args and name not in _BOTH) or site.fact(RolloutLoops).around(site.file, site.twin):
            return
        if name == _COLLECT:
            yield Report(
                call,
                "`gc.collect()` walks through all objects of the process each time; do it at intervals or not at all",
            )
        elif name in _BOTH:
            yield Report(
                call,
                "`release_memory()` walks through all objects and empties the cache; do it at intervals or not at all",
            )
        elif name == _EMPTY and site.device.may_be_cuda():
            message = (
                "`empty_cache()` forces a GPU sync and gives back memory that is asked for again; "
                "do it at intervals or not at all"
            )
            yield Report(call, message, level=Level.NOTE, figure="none")
