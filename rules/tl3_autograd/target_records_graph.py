"""TL306: a target network runs with its graph recorded."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Change, Example, Fix, Frequency, Input, Kind, Level, NetworkCall, Report, Rule, Site, Use
from torchlint.rule.build import source

from ._guarded import ENDS, guarded, value_of
from ._target_records_graph import given_with_others

_DETACHED = "the graph of `{what}`, a copy that no optimizer updates, is recorded and detached; use `torch.no_grad()`"
_LIVE = "`backward` also runs through `{what}`, a copy that no optimizer updates; run it in `torch.no_grad()`"
_GRADIENTS = "nothing reads gradients of the target network"

_SOURCE = """\
import copy

import torch
from torch import nn
from torch.nn import functional as F


class DQN:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(17, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6))
        self.q_target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def update(self, obs, action, reward, next_obs):
        next_value = self.q_target(next_obs).amax(1)
        loss = F.mse_loss(self.q(obs).gather(1, action).squeeze(1), reward + 0.99 * next_value)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def train(agent, replay, updates):
    for _ in range(updates):
        agent.update(*replay.sample(256))


if __name__ == "__main__":
    from replay import replay

    train(DQN(), replay, 1000)
"""
_DETACHING = _SOURCE.replace("reward + 0.99 * next_value)", "(reward + 0.99 * next_value).detach())")


def _example(name: str, before: str) -> Example:
    return Example(
        name=name,
        source=before,
        fixed=before.replace(
            "        next_value = self.q_target(next_obs).amax(1)\n",
            "        with torch.no_grad():\n            next_value = self.q_target(next_obs).amax(1)\n",
        ),
        setup="agent = DQN()",
        workload="agent.update(obs, torch.zeros(256, 1, dtype=torch.int64), reward, next_obs)",
        inputs=(
            Input("obs", Kind.TENSOR, (256, 17)),
            Input("reward", Kind.TENSOR, (256,)),
            Input("next_obs", Kind.TENSOR, (256, 17)),
        ),
    )


class TargetRecordsGraph(Rule):
    """A target network is never trained, and yet its graph is recorded, or even backpropagated.

    ## What it does
    Finds hot calls of target networks (copies of a trained network, brought up to date by loading or averaging
    parameters) that record a graph. Left alone are networks whose parameters are frozen, and inputs that belong to the
    graph of a trained network themselves, since a gradient may be meant to go through.

    ## Why is this slow
    The graph of the target network is built and kept like any other. Where its result is not detached, `backward`
    goes through all of it and fills gradients that are never read. Where it is detached afterwards, what is left is the
    bookkeeping, which is little; the finding is a note then.

    ## Example
    ```python
    next_value = self.q_target(next_obs).amax(1)
    ```

    ## Use instead
    ```python
    with torch.no_grad():
        next_value = self.q_target(next_obs).amax(1)
    ```

    ## What the fix may change
    Nothing where the result was detached anyway and the network is known to have no transformer layers, which round
    otherwise without gradients. Where the loss was backpropagated, the gradients of the target network are no longer
    filled, which matters only if something reads them: not safe.

    ## When to ignore it
    When the target network is trained after all, by an optimizer that cannot be seen.

    ## Measured
    The figures below come from one update of a Q-network with the graph of the target backpropagated, and from one
    with its result detached, as far as that was measured.

    ## References
    - V. Mnih et al., "Human-level control through deep reinforcement learning", 2015: the target network.
    """

    code = "TL306"
    name = "target-records-graph"
    summary = "a target network, which is never trained, runs with its graph recorded"
    trigger = NetworkCall(recorded=True)
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.ROUNDING,)
    examples = (_example("dqn-update", _SOURCE), _example("dqn-update-detached", _DETACHING))

    def check(self, site: Site) -> Iterator[Report]:
        """Report the outermost run of a target network in a statement that records a graph."""
        call = site.node
        if (
            not isinstance(call, cst.Call)
            or site.autograd.records() is not True
            or site.compiling.scripted()
            or not _copied(site, call)
        ):
            return
        above = site.parent(call)
        while above is not None:
            if isinstance(above, cst.Call) and _copied(site, above):
                return
            above = site.parent(above)
        what = source(_network(site, call))
        ends = site.flow.graph_uses(call)
        if ends <= ENDS:
            message, fix = _DETACHED.format(what=what), _fix(site, call, detached=True)
            yield Report(call, message, fix, figure="dqn-update-detached", level=Level.NOTE)
        elif Use.BACKWARD in ends and not any(
            site.autograd.has_graph(argument.value, trained=True) for argument in call.args
        ):
            yield Report(call, _LIVE.format(what=what), _fix(site, call, detached=False))


def _copied(site: Site, call: cst.Call) -> bool:
    """Whether a call runs a target network that records, and hands its result to nothing else."""
    run = site.autograd.run(call)
    if run is None or run.differentiates or site.autograd.has_graph(call) is not True:
        return False
    if run.returned and not given_with_others(site):
        return False
    network = site.autograd.network(call.func)
    target = network.target and not network.trained
    return (target or site.autograd.has_graph(call, trained=True) is False) and bool(site.flow.uses(call, frozenset()))


def _network(site: Site, call: cst.Call) -> cst.BaseExpression:
    """What a call runs, or hands to a function that only runs it."""
    handed = (arg.value for arg in call.args if site.values.of(arg.value).kind is Kind.MODULE)
    runs_another = site.values.of(call.func).kind is Kind.FUNCTION and isinstance(call.func, cst.Name)
    return next(handed, call.func) if runs_another else call.func


def _fix(site: Site, call: cst.Call, *, detached: bool) -> Fix | None:
    """The statement in a ``with``, where all that it computes comes from target networks or is detached."""
    value = value_of(site, call)
    if value is None or (
        site.autograd.has_graph(value, trained=True) and not site.flow.graph_uses(value, ENDS) <= ENDS
    ):
        return None
    run = site.autograd.run(call)
    return guarded(site, call, "" if detached and run is not None and not run.keeps else _GRADIENTS)
