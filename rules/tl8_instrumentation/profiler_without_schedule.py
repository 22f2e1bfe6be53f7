"""TL802: a profiler records a whole run."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, Site
from torchlint.rule.build import keyword_of

from ._profiler_without_schedule import calls_method

PROFILERS = function_names(profiles="scheduled")
_OLD = function_names(profiles="whole")

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
    with torch.profiler.profile() as profiler:
        for _ in range(updates):
            loss = learner.update(obs, goal)
            profiler.step()
    return loss


def main(learner, obs, goal):
    return train(learner, obs, goal, 10_000)
"""


class ProfilerWithoutSchedule(Rule):
    """A profiler records the whole training loop.

    ## What it does
    Finds `torch.profiler.profile` without a `schedule` around a training or rollout loop: in every run, or behind a
    flag where `step()` is called on it. Without a schedule `step()` limits nothing.

    ## Why is this slow
    Every operation becomes an event that is kept until the profiler stops. Each step takes longer, and memory grows
    with the length of the run. A schedule records a few steps and rests in between.

    ## Example
    ```python
    with torch.profiler.profile() as profiler:
        for batch in batches:
            learner.update(batch)
            profiler.step()
    ```

    ## Use instead
    ```python
    schedule = torch.profiler.schedule(wait=5, warmup=2, active=20, repeat=1)
    with torch.profiler.profile(schedule=schedule, on_trace_ready=save) as profiler:
        for batch in batches:
            learner.update(batch)
            profiler.step()
    ```

    ## What the fix may change
    There is no automatic fix: which steps to record is a choice.

    ## When to ignore it
    In a run that exists to be profiled and ends after a few steps.

    ## Measured
    The figures below compare updates of a small network inside a profiler and outside.

    ## References
    - PyTorch documentation, `torch.profiler`.
    """

    code = "TL802"
    name = "profiler-without-schedule"
    summary = "a profiler records the whole training loop"
    trigger = Call(*PROFILERS, *_OLD)
    least = Frequency.ONCE
    examples = (
        Example(
            name="around-the-loop",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "torch.profiler.profile() as",
                "torch.profiler.profile(schedule=torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1)) as",
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
        """Report a profiler without a schedule whose block, or what follows it, runs a root loop."""
        if not isinstance(site.node, cst.Call):
            return
        call, name = site.node, site.names.of(site.node.func)
        if name not in PROFILERS | _OLD or not site.calls.is_plain(call):
            return
        if keyword_of(call, "schedule") is not None or _off(site, call) or not site.hot.covers_training():
            return
        if site.hot.runs_anyway():
            yield Report(call, "without a schedule this profiler records every step of the run; give it a schedule")
        elif name in PROFILERS and calls_method(site, call, "step"):
            text = "step() limits nothing without a schedule: the whole run is recorded until the profiler stops"
            yield Report(call, f"{text}; give it a schedule", level=Level.NOTE)


def _off(site: Site, call: cst.Call) -> bool:
    """Whether the profiler of ``torch.autograd`` is given a flag that decides whether it records."""
    return site.names.of(call.func) in _OLD and site.calls.argument(call, 0, "enabled") is not None
