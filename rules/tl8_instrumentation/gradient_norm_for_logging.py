"""TL808: norms of gradients are computed in every update, and only to be logged."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site, Use

_CLIPS = frozenset(
    {"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_", "torch.nn.utils.clip_grad_norm"}
)
_ENDLESS = function_names(constant="infinity")
_HUGE = 1e8
_NEEDED = frozenset({Use.CONDITION, Use.TENSOR, Use.HOST, Use.BACKWARD, Use.ENVIRONMENT, Use.INDEX, Use.SIZE})

_MESSAGE = (
    "this clips nothing: the norm is computed in every update only to be reported; compute it when it is logged, or "
    "take what the clipping of all parameters returns"
)

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.0)
        self.updates = 0

    def update(self, obs: torch.Tensor, writer):
        loss = self.net(obs).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), float("inf"))
        writer.add_scalar("norm", norm, self.updates)
        self.optimizer.step()
        self.updates += 1
        return loss.detach()


def train(learner, rollouts, writer):
    for obs in rollouts:
        learner.update(obs, writer)
"""


class GradientNormForLogging(Rule):
    """`clip_grad_norm_` with an infinite bound computes a norm, and nothing depends on it.

    ## What it does
    Finds `clip_grad_norm_(parameters, inf)` (or a bound of 1e8 and more) in every gradient update whose result decides
    nothing and enters no computation: it is logged, collected or dropped.

    ## Why is this slow
    The norm reads every gradient, and multiplies every gradient by 1 afterwards, in every update, for a number that is
    looked at once in a while.

    ## Example
    ```python
    norm = clip_grad_norm_(self.net.parameters(), float("inf"))
    writer.add_scalar("norm", norm, step)
    ```

    ## Use instead
    ```python
    if step % 100 == 0:
        writer.add_scalar("norm", get_total_norm([p.grad for p in self.net.parameters()]), step)
    ```

    ## What the fix may change
    There is no automatic fix: what is logged is behaviour.

    ## When to ignore it
    While gradients are being watched.

    ## Measured
    The update of a network with two hidden layers of 64; `torchlint rule TL808` prints the figures.

    ## References
    - PyTorch documentation, `torch.nn.utils.clip_grad_norm_`.
    """

    code = "TL808"
    name = "gradient-norm-for-logging"
    summary = "norms of gradients are computed in every update only to be logged"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call(*_CLIPS)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="mlp64",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                """\
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), float("inf"))
        writer.add_scalar("norm", norm, self.updates)
""",
                """\
        if self.updates % 100 == 0:
            norm = nn.utils.get_total_norm([p.grad for p in self.net.parameters()])
            writer.add_scalar("norm", norm, self.updates)
""",
            ),
            setup="torch.manual_seed(0)\nlearner = Learner()\nlearner.net.to(device)\nobs = obs.to(device)\n"
            "class Writer:\n    def add_scalar(self, *parts):\n        self.last = parts\n\nwriter = Writer()",
            workload="learner.update(obs, writer)",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a clip that clips nothing and whose norm nothing depends on."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _CLIPS:
            return
        bound = site.calls.argument(call, 1, "max_norm")
        if bound is not None and _is_endless(site, bound) and not site.flow.uses(call) & _NEEDED:
            yield Report(call, _MESSAGE)


def _is_endless(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a bound is infinite, or so large that it bounds nothing."""
    if site.names.of(node) in _ENDLESS:
        return True
    match node:
        case cst.Call(func=cst.Name(value="float"), args=[cst.Arg(value=cst.SimpleString() as text)]):
            return text.evaluated_value in ("inf", "+inf", "Inf", "infinity")
    literal = site.values.of(node).literal
    return isinstance(literal, (int, float)) and (math.isinf(literal) or literal >= _HUGE)
