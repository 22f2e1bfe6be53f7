"""TL803: a profiler of a whole run records shapes, memory and stacks."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, Site
from torchlint.rule.build import keyword_of

_PROFILERS = frozenset({"torch.profiler.profile", "torch.profiler.profiler.profile", "torch.autograd.profiler.profile"})
_OPTIONS = ("record_shapes", "profile_memory", "with_stack")

_SOURCE = """\
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
        return loss.detach()


def train(learner: Learner, obs, goal, updates):
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True):
        for _ in range(updates):
            loss = learner.update(obs, goal)
    return loss


def main(learner, obs, goal):
    return train(learner, obs, goal, 10_000)
"""


class HeavyProfilerOptions(Rule):
    """A profiler of the whole training loop also records shapes, memory or stacks.

    ## What it does
    Finds a profiler without a schedule around a training or rollout loop, in every run, with at least two of
    `record_shapes`, `profile_memory` and `with_stack`.

    ## Why is this slow
    Each of them adds work and memory to every event: the shapes of all inputs, every allocation, the Python stack.
    Besides, `record_shapes` keeps tensors alive, and so changes the use of memory that it shows.

    ## Example
    ```python
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True):
        train()
    ```

    ## Use instead
    ```python
    schedule = torch.profiler.schedule(wait=5, warmup=2, active=3, repeat=1)
    with torch.profiler.profile(schedule=schedule, record_shapes=True, on_trace_ready=save):
        train()
    ```

    ## What the fix may change
    There is no automatic fix: what to record is a choice.

    ## When to ignore it
    In a run that exists to be profiled and ends after a few steps.

    ## Measured
    The figures below compare updates of a small network inside such a profiler and outside.

    ## References
    - PyTorch documentation, `torch.profiler.profile`.
    """

    code = "TL803"
    name = "heavy-profiler-options"
    summary = "a profiler of the whole training loop also records shapes, memory or stacks"
    level = Level.NOTE
    trigger = Call(*_PROFILERS)
    least = Frequency.ONCE
    examples = (
        Example(
            name="shapes-memory-stacks",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True)",
                "torch.profiler.profile(schedule=torch.profiler.schedule(wait=9, warmup=1, active=2))",
            ),
            setup="torch.manual_seed(0)\nlearner = Learner(device)",
            workload="train(learner, obs, goal, 8)",
            runs=8,
            unit="update",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the options of a profiler that a plain run comes to."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or site.names.of(call.func) not in _PROFILERS
            or not site.calls.is_plain(call)
        ):
            return
        given = [(option, keyword_of(call, option)) for option in _OPTIONS]
        heavy = [(option, value) for option, value in given if isinstance(value, cst.Name) and value.value == "True"]
        if len(heavy) < 2 or keyword_of(call, "schedule") is not None:
            return
        if site.hot.runs_anyway() and site.hot.covers_training():
            names = ", ".join(option for option, _ in heavy)
            yield Report(heavy[0][1], f"{names} over the whole run: each adds work and memory to every event recorded")
