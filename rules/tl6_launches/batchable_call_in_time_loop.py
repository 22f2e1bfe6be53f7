"""TL602: a network is called step by step although no step needs its result."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, NetworkCall, Report, Rule, Site
from torchlint.rule.forward import runs_module, same_in_all_rounds

from ._batchable_call_in_time_loop import in_one_round, takes_stretches

_CARRIED = (
    "nothing that this network gives comes back to its input in later steps; collect its inputs in the loop and call "
    "it once for all steps"
)
_KNOWN = "the inputs of all steps are known before the loop; call the network once for all of them"

_ARRAYS = frozenset({Kind.TENSOR, Kind.NDARRAY})

_SOURCE = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.dynamics = nn.Linear(32 + 4, 32)
        self.reward = nn.Sequential(nn.Linear(32 + 4, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, z, actions):
        rewards = []
        for t in range(actions.shape[0]):
            x = torch.cat([z, actions[t]], dim=-1)
            rewards.append(self.reward(x))
            z = self.dynamics(x)
        return torch.stack(rewards)


def train(replay, updates):
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(updates):
        z, actions, goal = replay.sample(64)
        loss = (model(z, actions) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_BETTER = _SOURCE.replace("rewards = []", "inputs = []").replace("rewards.append(self.reward(x))", "inputs.append(x)")
_BETTER = _BETTER.replace("torch.stack(rewards)", "self.reward(torch.stack(inputs))")


class BatchableCallInTimeLoop(Rule):
    """A network is called once per time step although no later step needs what it gives.

    ## What it does
    Finds calls of networks in loops that count steps, where the result does not come back to the input of that network
    in a later step: its inputs are known before the loop, or can be collected in it.

    ## Why is this slow
    A small network costs about as much for one row as for many: what counts are the operations that are started. One
    call for all steps starts them once.

    ## Example
    ```python
    for t in range(horizon):
        rewards.append(self.reward(z))
        z = self.dynamics(z, actions[t])
    ```

    ## Use instead
    ```python
    for t in range(horizon):
        states.append(z)
        z = self.dynamics(z, actions[t])
    rewards = self.reward(torch.stack(states))
    ```

    ## What the fix may change
    There is no automatic fix: results are rounded otherwise, random numbers are drawn in another order, and batch
    normalisation in training mode sees another batch.

    ## When to ignore it
    Where the batch of all steps does not fit into memory. Networks whose result is part of their next input, such as
    a recurrence or a model of the dynamics, are not reported.

    ## Measured
    The figures below roll out 16 steps for a batch of 64.

    ## References
    - PyTorch documentation, `torch.stack`.
    """

    code = "TL602"
    name = "batchable-call-in-time-loop"
    summary = "a network is called step by step although no step needs its result"
    trigger = NetworkCall(looped=True)
    least = Frequency.UPDATE
    yields_to = ("TL605",)
    examples = (
        Example(
            name="16-rewards-of-64",
            source=_SOURCE,
            fixed=_BETTER,
            setup="torch.manual_seed(0)\nmodel = Model()",
            workload="model(z, actions)",
            unit="loop",
            inputs=(Input("z", Kind.TENSOR, (64, 32)), Input("actions", Kind.TENSOR, (16, 64, 4))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call in a loop that counts steps and does not feed its own input."""
        call = site.node
        if not isinstance(call, cst.Call) or not call.args:
            return
        loops = site.loops.around(call)
        if not loops or loops[0].few or loops[0].strided:
            return
        if not (loops[0].counted or loops[0].over.kind in _ARRAYS):
            return
        given = [argument.value for argument in call.args]
        if not runs_module(site, call.func) or not all(map(_is_step, given)):
            return
        if in_one_round(site, call) or takes_stretches(site, call):
            return
        if not same_in_all_rounds(site, call) or any(_is_count(site, node) for node in given):
            return
        parts = [site.loops.around(node)[0] for node in given]
        if not any(part.item or part.carried for part in parts):
            return
        if site.autograd.run(call) is not None and site.loops.is_batchable(call):
            carried = any(part.carried for part in parts)
            yield Report(call, _CARRIED if carried else _KNOWN)


def _is_count(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an argument is a number that the loop counts, which may choose what the network does."""
    return site.values.of(node).kind is Kind.NUMBER and site.loops.around(node)[0].item


def _is_step(node: cst.BaseExpression) -> bool:
    """Whether an argument is one step and no stretch of many: ``x[t]``, not ``x[i : i + 64]``."""
    if not isinstance(node, cst.Subscript):
        return True
    slices = [part.slice for part in node.slice if isinstance(part.slice, cst.Slice)]
    return all(part.lower is None or part.upper is None for part in slices)
