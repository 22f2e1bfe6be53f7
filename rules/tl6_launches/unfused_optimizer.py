"""TL612: an optimizer updates parameter by parameter although a fused implementation exists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site
from torchlint.rule.build import source

_OPTIMIZERS = function_names(fused=True)
_NUMBER = re.compile(r"alpha|temperature", re.IGNORECASE)
"""What a module is called that holds a single number, the weight of the entropy."""
_CHOICES = frozenset({"fused", "foreach", "capturable", "differentiable"})
_MESSAGE = (
    "no implementation is chosen for the optimizer; `fused=True` takes its step in one kernel for all parameters "
    "(on a CPU since torch 2.4), which is a small part of an update"
)

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self, width=64):
        layers = [nn.Linear(17, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 6)]
        self.net = nn.Sequential(*layers)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(replay, updates):
    learner = Learner()
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class UnfusedOptimizer(Rule):
    """An optimizer of a network's parameters leaves the choice of its implementation to the default.

    ## What it does
    Reports the first `Adam`, `AdamW` or `SGD` over a network's parameters in a project that chooses neither `fused` nor
    `foreach` anywhere.

    ## Why is this slow
    The default on a CPU runs a dozen small operations for each parameter. The fused implementation runs one kernel over
    all of them.

    ## Example
    ```python
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    ```

    ## Use instead
    ```python
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    ```

    ## What the fix may change
    There is no automatic fix: results are rounded otherwise, and the implementation for a CPU needs torch 2.4.

    ## When to ignore it
    Where the step is a small part of the update, as it is for large networks. An optimizer of a single number, such as
    a temperature, is left alone.

    ## Measured
    The figures below take a whole training step of a small network.

    ## References
    - PyTorch documentation, `torch.optim.Adam`: `fused`, `foreach`.
    """

    code = "TL612"
    name = "unfused-optimizer"
    summary = "an optimizer updates parameter by parameter"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call(*_OPTIMIZERS)
    least = Frequency.ONCE
    examples = (
        Example(
            name="step-mlp64-b256",
            source=_SOURCE,
            fixed=_SOURCE.replace("lr=1e-3)", "lr=1e-3, fused=True)"),
            setup="torch.manual_seed(0)\nlearner = Learner()",
            workload="learner.update(obs, goal)",
            unit="update",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the first optimizer of a network, if nothing in the project chooses an implementation."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or site.names.of(call.func) not in _OPTIMIZERS
            or not site.calls.is_plain(call)
        ):
            return
        if any(arg.keyword is not None and arg.keyword.value in _CHOICES for arg in call.args):
            return
        parameters = site.calls.argument(call, 0, "params")
        if parameters is None or not _are_many(parameters) or not site.calls.is_first(_OPTIMIZERS.all):
            return
        if not site.names.in_project("fused=") and not site.names.in_project("foreach="):
            yield Report(call, _MESSAGE)


def _are_many(node: cst.BaseExpression) -> bool:
    """Whether an expression spells the parameters of a network, or several of them."""
    match node:
        case cst.Call(func=cst.Attribute(value=network, attr=cst.Name(value="parameters"))):
            return not _NUMBER.search(source(network))
        case cst.Call(args=[first, *others]):
            return any(_are_many(argument.value) for argument in (first, *others))
        case cst.BinaryOperation(left=left, right=right):
            return _are_many(left) or _are_many(right)
        case cst.List(elements=elements):
            return any(_are_many(element.value) for element in elements)
        case cst.Dict(elements=elements):
            return any(_are_many(element.value) for element in elements)
    return False
