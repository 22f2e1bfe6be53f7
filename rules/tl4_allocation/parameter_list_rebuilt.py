"""TL413: the list of all parameters is put together again in every update."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Example, Frequency, Input, Kind, Level, Method, Report, Rule, RuleSet, Site

_LISTS = function_names("builtins", makes="sequence")

_MESSAGE = (
    "the parameters of several networks are collected in every update; they do not change, so keep the list where "
    "the optimizer is made"
)

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
        self.critic = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        both = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.SGD(both, lr=0.0)

    def update(self, obs: torch.Tensor):
        loss = self.actor(obs).square().mean() + self.critic(obs).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(list(self.actor.parameters()) + list(self.critic.parameters()), 0.5)
        self.optimizer.step()
        return loss.detach()


def train(learner, rollouts):
    for obs in rollouts:
        learner.update(obs)
"""


class ParameterListRebuilt(Rule):
    """The parameters of several networks are collected in every update.

    ## What it does
    Finds `list(a.parameters()) + list(b.parameters())` and `[*a.parameters(), *b.parameters()]` in gradient updates.

    ## Why is this slow
    `parameters()` walks all modules of a network in Python, and looks for parameters that are there twice. What it
    finds does not change during training.

    ## Example
    ```python
    clip_grad_norm_(list(self.actor.parameters()) + list(self.critic.parameters()), 0.5)
    ```

    ## Use instead
    ```python
    self.parameters = [*self.actor.parameters(), *self.critic.parameters()]  # once
    ...
    clip_grad_norm_(self.parameters, 0.5)
    ```

    ## What the fix may change
    There is no automatic fix: a network that is replaced later would keep its old parameters in the list.

    ## When to ignore it
    Where layers are added or replaced during training.

    ## Measured
    Two networks with two hidden layers; `torchlint rule TL413` prints the figures. It is a few percent of a small
    update.

    ## References
    - PyTorch documentation, `torch.nn.Module.parameters`.
    """

    code = "TL413"
    name = "parameter-list-rebuilt"
    summary = "the parameters of several networks are collected in every update"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Method("parameters")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="actor-and-critic",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                "        self.optimizer = torch.optim.SGD(both, lr=0.0)\n",
                "        self.optimizer = torch.optim.SGD(both, lr=0.0)\n        self.moved = both\n",
            ).replace("list(self.actor.parameters()) + list(self.critic.parameters())", "self.moved"),
            setup="torch.manual_seed(0)\nlearner = Learner()\nlearner.actor.to(device)\nlearner.critic.to(device)\n"
            "obs = obs.to(device)",
            workload="learner.update(obs)",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the first of several networks whose parameters are joined."""
        call = site.node
        if not _is_parameters(call):
            return
        above = site.parent(call)
        if isinstance(above, cst.StarredElement):
            above = site.parent(above)
            elements = above.elements if isinstance(above, (cst.List, cst.Tuple)) else ()
            parts = [element.value for element in elements]
        else:
            above, parts = _sum(site, above)
        joined = [part for part in parts if _is_parameters(part)]
        if above is not None and len(joined) > 1 and joined[0] is call:
            yield Report(above, _MESSAGE)


def _sum(site: Site, listed: cst.CSTNode | None) -> tuple[cst.CSTNode | None, list[cst.BaseExpression]]:
    """The sum that a list of parameters is part of, and what its lists are made from."""
    if not isinstance(listed, cst.Call) or site.names.of(listed.func) not in _LISTS:
        return None, []
    whole: cst.CSTNode = listed
    above = site.parent(listed)
    while isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Add):
        whole, above = above, site.parent(above)
    return whole, [
        part.args[0].value
        for part in _terms(whole)
        if isinstance(part, cst.Call) and part.args and site.names.of(part.func) in _LISTS
    ]


def _terms(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The terms of a sum from left to right."""
    if isinstance(node, cst.BinaryOperation):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _is_parameters(node: cst.CSTNode) -> bool:
    """``x.parameters()``."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="parameters")), args=[]):
            return True
    return False
