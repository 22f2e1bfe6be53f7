"""TL506: compiled code reads an integer of a module that changes."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site

from ._integer_attribute_recompiles import ChangingIntegers, recompiles

_SOURCE = """\
import torch
from torch import nn


class NoisyPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(17, 6)
        self.step = 0

    def forward(self, obs):
        return self.net(obs) / (1.0 + self.step)


class Agent:
    def __init__(self):
        self.policy = NoisyPolicy()
        self.fast = torch.compile(self.policy, backend="eager")

    @torch.no_grad()
    def act(self, obs):
        self.policy.step += 1
        return self.fast(obs)


def rollout(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""
_SETUP = """\
def first_calls():
    torch.manual_seed(0)
    torch.compiler.reset()
    agent = Agent()
    return [agent.act(obs) for _ in range(12)]
"""


class IntegerAttributeRecompiles(Rule):
    """Compiled code reads an integer that a module holds and that hot code changes.

    ## What it does
    Finds, in functions that are compiled or called by compiled ones, integers held by an `nn.Module` that hot code
    counts on or sets to another number (`self.step += 1`), inside the function or elsewhere.

    ## Why is this slow
    An integer of a module counts as a constant of the graph: for each value the function is compiled again, until the
    recompile limit (8) is reached. After that it runs uncompiled. Floats, arguments of the function, and integers of
    objects that are no modules become symbols after the second value.

    ## Example
    ```python
    def forward(self, obs):
        return self.net(obs) / (1 + self.step)
    ```

    ## Use instead
    ```python
    def forward(self, obs, step: int):
        return self.net(obs) / (1 + step)
    ```
    Or keep it in a buffer: `self.register_buffer("step", torch.zeros(()))`, then `self.step.add_(1)`.

    ## What the fix may change
    There is no automatic fix.

    ## When to ignore it
    Where the integer takes only a handful of values in a run.

    ## Measured
    The figures count compiling: the first dozen calls, without code generation (`backend="eager"`). A generating
    backend takes seconds for each graph.

    ## References
    - PyTorch documentation, "Recompilation", and `torch._dynamo.config.allow_unspec_int_on_nn_module`.
    """

    code = "TL506"
    name = "integer-attribute-recompiles"
    summary = "compiled code reads an integer of a module that changes"
    level = Level.WARNING
    trigger = Found(ChangingIntegers)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="first-12-calls",
            source=_SOURCE,
            fixed=_SOURCE.replace("self.step = 0\n", 'self.register_buffer("step", torch.zeros(()))\n').replace(
                "self.policy.step += 1\n", "self.policy.step.add_(1)\n"
            ),
            setup=_SETUP,
            workload="first_calls()",
            unit="",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the read of a changing integer in compiled code."""
        found = recompiles(site)
        if found is None or not isinstance(site.node, cst.BaseExpression):
            return
        compiled, changed = (f"{hop.path}:{hop.row}" for hop in (found.compiled, found.changed))
        yield Report(
            site.node,
            f"compiled code reads the integer {found.name}, which changes; it is compiled for each of 8 values, "
            f"then no more (compiled at {compiled}, changed at {changed}); pass it as an argument, or keep it in a "
            "buffer",
        )
