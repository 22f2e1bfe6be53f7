"""TL801: anomaly detection is left on."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Change, Example, Fix, Frequency, Input, Kind, Report, Rule, Site
from torchlint.rule.build import keyword_of

_SET = frozenset({"torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"})
_WITH = frozenset({"torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"})
_TRAINERS = frozenset({"pytorch_lightning.Trainer", "lightning.Trainer", "lightning.pytorch.Trainer"})

_SOURCE = """\
import torch
from torch import nn

torch.autograd.set_detect_anomaly(True)


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


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""
# The mode is the process's: the workload switches it off again.
_SETUP = """\
learner = Learner(device)
anomaly = torch.is_anomaly_enabled()
torch.autograd.set_detect_anomaly(False)

def run():
    torch.autograd.set_detect_anomaly(anomaly)
    loss = learner.update(obs, goal)
    torch.autograd.set_detect_anomaly(False)
    return loss
"""


class AnomalyMode(Rule):
    """Anomaly detection is on in every run.

    ## What it does
    Finds `torch.autograd.set_detect_anomaly(True)` and `torch.autograd.detect_anomaly()` with no flag in front of
    them, and `detect_anomaly=True` of a Lightning trainer.

    ## Why is this slow
    In this mode every operation of a forward pass records a traceback of Python, and every function of a backward pass
    checks its result for NaN, which waits for the device.

    ## Example
    ```python
    torch.autograd.set_detect_anomaly(True)
    ```

    ## Use instead
    ```python
    if args.detect_anomaly:
        torch.autograd.set_detect_anomaly(True)
    ```

    ## What the fix may change
    The fix takes the statement out, or writes `False` where the call is part of another one. A backward pass that makes
    NaN then goes on instead of raising (`validation`).

    ## When to ignore it
    While a NaN is being searched.

    ## Measured
    The figures below compare one update of a small network.

    ## References
    - PyTorch documentation, `torch.autograd.detect_anomaly`.
    """

    code = "TL801"
    name = "anomaly-mode"
    summary = "anomaly detection is on in every run"
    trigger = Call(*_SET, *_WITH, *_TRAINERS)
    least = Frequency.ONCE
    fixable = True
    may_change = (Change.VALIDATION,)
    examples = (
        Example(
            name="set-at-the-top",
            source=_SOURCE,
            fixed=_SOURCE.replace("\ntorch.autograd.set_detect_anomaly(True)\n", ""),
            setup=_SETUP,
            workload="run()",
            unit="update",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256, 6))),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report what switches the mode on wherever the program runs."""
        if not isinstance(site.node, cst.Call):
            return
        call, name = site.node, site.names.of(site.node.func)
        if (
            name in _WITH
            and site.hot.runs_anyway()
            and (site.hot.here.frequency > Frequency.ONCE or site.hot.covers_training())
        ):
            yield Report(call, _MESSAGE)
        on = site.calls.argument(call, 0, "mode") if name in _SET else None
        if name in _TRAINERS:
            on = keyword_of(call, "detect_anomaly")
        if on is not None and _is_true(on) and site.hot.runs_anyway():
            alone = name in _SET
            what = "take it out" if alone else "write False"
            fix = Fix(what, ((on, cst.Name("False")),), (Change.VALIDATION,), drops=alone)
            yield Report(call, _MESSAGE, fix)


_MESSAGE = (
    "anomaly detection is on in every run: each operation records a traceback and each backward function checks for "
    "NaN; put it behind a flag"
)


def _is_true(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "True"
