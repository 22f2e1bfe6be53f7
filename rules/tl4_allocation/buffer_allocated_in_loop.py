"""TL402: a buffer of the same shape is allocated in every call."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site, Use

_CREATORS = frozenset({"torch.empty", "torch.zeros"})
_PLACEMENT = frozenset({"dtype", "device"})
_LEAVING = frozenset({Use.STORED, Use.COLLECTED, Use.RETURNED, Use.PASSED, Use.BACKWARD})

_SOURCE = """\
import torch
from torch import nn


class Planner:
    def __init__(self):
        self.policy = nn.Linear(17, 6)
        self.buffer = torch.zeros(8, 256, 6)

    @torch.no_grad()
    def plan(self, states):
        actions = torch.empty(8, 256, 6)
        for step in range(8):
            actions[step] = self.policy(states[step])
        return actions.mean().item()


def run(env, planner: Planner, steps):
    states = env.reset()
    for _ in range(steps):
        states, reward, terminated, truncated, _ = env.step(planner.plan(states))
"""


class BufferAllocatedInLoop(Rule):
    """A buffer of the same shape is allocated in every call.

    ## What it does
    Finds `torch.empty` and `torch.zeros` in hot code that records no graph, with sizes that are literals or settings,
    whose tensor is written into and proven dead when the call ends.

    ## Why is this slow
    Every call asks the allocator for the same memory again. That takes about a microsecond.

    ## Example
    ```python
    def plan(self, states):
        actions = torch.empty(8, 256, 6)
    ```

    ## Use instead
    ```python
    def plan(self, states):
        actions = self.buffer  # torch.empty(8, 256, 6) in __init__
    ```

    ## What the fix may change
    There is no automatic fix: a tensor that is kept is shared by all calls, also by calls in other threads.

    ## When to ignore it
    Nearly always: the rule is there for loops where a microsecond counts.

    ## Measured
    On the buffer of a planner; `torchlint rule TL402` prints the figures.

    ## References
    - PyTorch documentation, "CUDA semantics": memory management.
    """

    code = "TL402"
    name = "buffer-allocated-in-loop"
    summary = "a buffer of the same shape is allocated in every call"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Call(*_CREATORS)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="plan-8x256x6",
            source=_SOURCE,
            fixed=_SOURCE.replace("        actions = torch.empty(8, 256, 6)\n", "        actions = self.buffer\n"),
            setup="torch.manual_seed(0)\nplanner = Planner()",
            workload="planner.plan(states)",
            inputs=(Input("states", Kind.TENSOR, (8, 256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a buffer that is filled and dropped."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _CREATORS or not _is_constant(site, call):
            return
        if (
            site.compiling.inside()
            or site.compiling.scripted()
            or not site.values.is_mutated(call)
            or site.autograd.records() is not False
        ):
            return
        if not site.flow.uses(call) & _LEAVING:
            message = "a buffer of the same shape is allocated on every call; keep one and write into it"
            yield Report(call, message)


def _is_constant(site: Site, call: cst.Call) -> bool:
    """Whether the sizes are the same on every call."""
    sizes = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value not in _PLACEMENT]
    plain = all(arg.keyword is None or arg.keyword.value in _PLACEMENT for arg in call.args)
    return plain and site.calls.is_plain(call) and bool(sizes) and all(site.values.is_constant(size) for size in sizes)
