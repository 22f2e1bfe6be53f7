"""TL308: gradients are filled with zeros instead of being dropped."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import (
    Change,
    Example,
    Fix,
    Frequency,
    Input,
    Kind,
    Level,
    Method,
    Report,
    Rule,
    RuleSet,
    Site,
)
from torchlint.rule.build import keyword_of, without_keyword

_PARAMETERS = frozenset({"parameters", "params", "trainable_parameters"})
_PLAIN = "filling gradients with zeros costs a pass over all of them; `zero_grad()` drops them"
_BY_HAND = "a loop fills gradients with zeros; `zero_grad()` drops them all at once"

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self, device):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
        self.net.to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(64))
"""


class ZeroGradToZeros(Rule):
    """Gradients are filled with zeros before each update.

    ## What it does
    Finds `zero_grad(set_to_none=False)` in update loops, and loops over parameters that call `grad.zero_()`.

    ## Why is this slow
    Zeros are written to every gradient, and the next backward pass adds to them: one more pass over all parameters
    each way. A dropped gradient is simply replaced. It is a few percent of an update of a small network.

    ## Example
    ```python
    self.optimizer.zero_grad(set_to_none=False)
    ```

    ## Use instead
    ```python
    self.optimizer.zero_grad()
    ```

    ## What the fix may change
    A parameter that gets no gradient in some update is then left alone by the optimizer. With zeros, momentum and
    weight decay still move it (`updates`). Code that reads `p.grad` before the backward pass finds `None`.

    ## When to ignore it
    Where gradients are read or written between updates, or the memory of gradients must stay in place.

    ## Measured
    The figures below show one update of a small network.

    ## References
    - PyTorch documentation, `torch.optim.Optimizer.zero_grad`.
    """

    code = "TL308"
    name = "zero-grad-to-zeros"
    summary = "gradients are filled with zeros before each update"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Method("zero_grad", "zero_", "fill_")
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.UPDATES,)
    examples = (
        Example(
            name="before-each-update",
            source=_SOURCE,
            fixed=_SOURCE.replace("set_to_none=False", ""),
            setup="learner = Learner(device)\nobs, goal = obs.to(device), goal.to(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)), Input("goal", Kind.TENSOR, (64, 6))),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report ``zero_grad`` that is told to keep the gradients, and the same by hand."""
        match site.node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="zero_grad"))) as call:
                if _is_false(keyword_of(call, "set_to_none")):
                    yield Report(call, _PLAIN, _fix(call))
            case cst.Call(func=cst.Attribute(value=target, attr=cst.Name(value="zero_" | "fill_"))) as call:
                if _fills_with_zeros(site, call) and _is_gradient(site, target):
                    yield Report(call, _BY_HAND)


def _fix(call: cst.Call) -> Fix:
    return Fix(
        "drop `set_to_none=False`",
        ((call, without_keyword(call, "set_to_none")),),
        may_change=(Change.UPDATES,),
        torch=(2, 0),
    )


def _is_false(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "False"


def _fills_with_zeros(site: Site, call: cst.Call) -> bool:
    """``zero_()``, or ``fill_(0)``."""
    filled = [argument.value for argument in call.args]
    return all(site.values.of(value).literal == 0 and not _is_false(value) for value in filled)


def _is_gradient(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is the gradient of each parameter of a loop: ``p.grad``, ``p.grad.data``."""
    match node:
        case (
            cst.Attribute(value=inner, attr=cst.Name(value="data"))
            | cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="detach" | "detach_")))
        ):
            return _is_gradient(site, inner)
        case cst.Attribute(value=parameter, attr=cst.Name(value="grad")):
            return site.loops.iterated(parameter) in _PARAMETERS
    return False
