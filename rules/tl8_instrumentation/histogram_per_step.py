"""TL807: histograms or norms of parameters are logged in every update."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import method_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Method, Report, Rule, Site

_WANDB = frozenset({"wandb.Histogram"})
_PARAMETERS = method_names(gives=("parameters", "state"))

_SOURCE = """\
import numpy as np
import torch
from torch import nn


class Writer:
    def add_histogram(self, tag, values, step):
        return np.histogram(values.detach().cpu().numpy(), bins=64)


class Learner:
    def __init__(self, device):
        self.net = nn.Sequential(nn.Linear(17, 256), nn.ReLU(), nn.Linear(256, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.writer = Writer()
        self.updates = 0

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        for name, parameter in self.net.named_parameters():
            self.writer.add_histogram(name, parameter, self.updates)
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


class HistogramPerStep(Rule):
    """A histogram, or a value of every parameter, is logged in every update.

    ## What it does
    Finds `add_histogram` of a writer and `wandb.Histogram` in hot code, and `add_scalar` of something computed from
    each parameter in turn. An interval counts wherever it stands: around the call, in a caller or in the callee.

    ## Why is this slow
    A histogram copies a tensor to the host, which waits for the device, sorts its values into bins there, and writes
    them to a file. For the parameters of a network that is once per layer, and it may cost as much as the update.

    ## Example
    ```python
    for name, parameter in self.net.named_parameters():
        self.writer.add_histogram(name, parameter, self.updates)
    ```

    ## Use instead
    ```python
    if self.updates % 1000 == 0:
        for name, parameter in self.net.named_parameters():
            self.writer.add_histogram(name, parameter, self.updates)
    ```

    ## What the fix may change
    There is no automatic fix: how often to log is a choice.

    ## When to ignore it
    Where updates are so long or so few that it does not matter.

    ## Measured
    The figures below compare one update of a small network with `np.histogram` of every parameter and without.

    ## References
    - PyTorch documentation, `torch.utils.tensorboard.SummaryWriter.add_histogram`.
    """

    code = "TL807"
    name = "histogram-per-step"
    summary = "a histogram, or a value of every parameter, is logged in every update"
    level = Level.NOTE
    trigger = Call(*_WANDB) | Method("add_histogram", "add_scalar")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="parameters-of-a-small-network",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                """\
        for name, parameter in self.net.named_parameters():
            self.writer.add_histogram(name, parameter, self.updates)
""",
                """\
        if self.updates % 1000 == 0:
            for name, parameter in self.net.named_parameters():
                self.writer.add_histogram(name, parameter, self.updates)
""",
            ),
            setup="torch.manual_seed(0)\nlearner = Learner(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a histogram in hot code, and a scalar of each parameter."""
        call = site.node
        if not isinstance(call, cst.Call) or site.hot.here.frequency < self.least:
            return
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if site.names.of(call.func) in _WANDB:
            values = site.calls.argument(call, 0, "sequence")
        elif method == "add_histogram":
            values = site.calls.argument(call, 1, "values")
        elif method == "add_scalar":
            values = site.calls.argument(call, 1, "scalar_value")
        else:
            return
        of_each = values is not None and site.loops.iterated(_base(values)) in _PARAMETERS
        if of_each:
            yield Report(call, f"logs every parameter, one by one, {_OFTEN}")
        elif method != "add_scalar" and values is not None and not _passed_on(site, values):
            yield Report(call, f"copies a tensor to the host and sorts it into bins {_OFTEN}")


_OFTEN = "each time; log it at intervals"


def _passed_on(site: Site, values: cst.BaseExpression) -> bool:
    """Whether a helper only passes on what it is given, and that is not known to be a tensor."""
    return site.values.is_parameter(values) and site.values.of(values).kind is not Kind.TENSOR


def _base(node: cst.BaseExpression) -> cst.BaseExpression:
    """The name that an expression starts from: ``p`` of ``p.grad.norm().item()``."""
    while True:
        match node:
            case cst.Attribute(value=inner) | cst.Subscript(value=inner) | cst.Call(func=cst.Attribute(value=inner)):
                node = inner
            case _:
                return node
