"""TL806: a throughput clock runs while `torch.compile` compiles."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site

from ._clock_before_warm_up import warms_up

_CLOCKS = function_names(clock="wall")

_MESSAGE = (
    "the measured time includes compiling `{compiled}` at its first call; start the clock after a warm-up iteration"
)

_SOURCE = """\
import time

import torch


@torch.compile(backend="eager")
def loss_of(found: torch.Tensor, goal: torch.Tensor):
    return (found - goal).square().mean()


class Monitor:
    speed = 0.0


def train(found, goal, updates, monitor):
    weight = torch.ones(17, 6, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    began = time.perf_counter()
    for update in range(updates):
        loss = loss_of(found @ weight, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        monitor.speed = update / (time.perf_counter() - began)
    return loss.detach()
"""


class ClockBeforeWarmUp(Rule):
    """A rate is computed with a clock that was started before compiled code ran for the first time.

    ## What it does
    Finds readings of a clock in a training or rollout loop that are compared with one taken before the loop, where the
    loop runs something that the project compiles with `torch.compile` whatever its settings say.

    ## Why is this slow
    It is not slow, it measures something else: compiling happens at the first call and takes seconds (2 to 15 s for a
    small network), so the rate of a short run is mostly the speed of the compiler, and it creeps up for as long as the
    run goes.

    ## Example
    ```python
    start = time.time()
    for step in range(total_steps):
        agent.update(batch)  # compiled
        log("speed", step / (time.time() - start))
    ```

    ## Use instead
    ```python
    for step in range(total_steps):
        agent.update(batch)
        if step == warm_up:
            start = time.time()
        elif step > warm_up:
            log("speed", (step - warm_up) / (time.time() - start))
    ```

    ## What the fix may change
    There is no automatic fix: what a rate counts is a choice.

    ## When to ignore it
    Where the time to the first result is what you want to know.

    ## Measured
    Both versions do the same work; the figures of the example say so.

    ## References
    - PyTorch documentation, `torch.compile`.
    """

    code = "TL806"
    name = "clock-before-warm-up"
    summary = "a throughput measurement includes the time of compilation"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call(*_CLOCKS)
    least = Frequency.ONCE
    examples = (
        Example(
            name="updates",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        monitor.speed = update / (time.perf_counter() - began)",
                """\
        if update == 0:
            began = time.perf_counter()
        else:
            monitor.speed = update / (time.perf_counter() - began)""",
            ).replace(
                "    began = time.perf_counter()\n    for",
                "    for",
            ),
            setup="monitor = Monitor()",
            workload="train(found, goal, 4, monitor)",
            runs=4,
            unit="update",
            inputs=(Input("found", Kind.TENSOR, (64, 17)), Input("goal", Kind.TENSOR, (64, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a reading in a loop that compiles, against one from before the loop."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _CLOCKS:
            return
        compiled = warms_up(site, call)
        if compiled:
            yield Report(call, _MESSAGE.format(compiled=compiled.rpartition(".")[2]))
