"""TL604: returns or advantages are computed in a Python loop over the elements of tensors."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site

from ._python_recurrence_over_tensors import Picking, picked_by

_SINGLE = (
    "each iteration of this recurrence computes with single tensor elements; compute what needs no earlier "
    "iteration before the loop, and run the recurrence over Python numbers or an array"
)
_ROWS = (
    "each iteration of this recurrence runs several small operations on tensor elements; compute what needs no "
    "earlier iteration in one operation before the loop"
)
_ALONE = "this loop fills a tensor element by element with independent values; compute all elements at once"
_SUM = "this loop adds up single elements of tensors, by operations of their own; pick all of them at once and sum them"
_REST = (
    "each iteration sums up the rest of the tensor again; `x.flip(dim).cumsum(dim).flip(dim)` computes all these sums"
)
_RESTS = (
    "each iteration sums up the rest of the tensor again; one recurrence over Python numbers, from the end, or one "
    "`cumsum` computes all these sums"
)

_SERIES = (
    "each iteration multiplies the same tensor by the same factor, an operation of its own; compute these powers as "
    "Python numbers, or all of them at once"
)

_WORTH = 3
"""A loop over the rows of one rollout is worth a change from as many operations on that need no earlier round."""

_HEAD = """\
import torch
from torch import nn

GAMMA, LAM = 0.99, 0.95


"""
_LOOP = """\
def advantages(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor):
    steps = rewards.shape[0]
    found = torch.zeros_like(rewards)
    gae = torch.zeros(())
    for t in reversed(range(steps)):
        delta = rewards[t] + GAMMA * values[t + 1] * (1 - dones[t]) - values[t]
        gae = delta + GAMMA * LAM * (1 - dones[t]) * gae
        found[t] = gae
    return found
"""
_NUMBERS = """\
def advantages(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor):
    deltas = rewards + GAMMA * values[1:] * (1 - dones) - values[:-1]
    decays = GAMMA * LAM * (1 - dones)
    gae, found = 0.0, []
    for delta, decay in zip(reversed(deltas.tolist()), reversed(decays.tolist())):
        gae = delta + decay * gae
        found.append(gae)
    return torch.tensor(found[::-1])
"""
_TAIL = """\


class Learner:
    def __init__(self):
        self.critic = nn.Linear(17, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters())

    def update(self, obs, rewards, dones):
        values = self.critic(obs).squeeze(-1)
        loss = -(advantages(rewards, values.detach(), dones) * values[:-1]).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, rollouts):
    for obs, rewards, dones in rollouts:
        learner.update(obs, rewards, dones)
"""


class PythonRecurrenceOverTensors(Rule):
    """Returns, advantages or targets are computed in a Python loop that reads tensors element by element.

    ## What it does
    Finds loops in hot code that read tensors at the place that they count, or one element after the other, and compute
    a recurrence from them (discounted sums, GAE, V-trace), add them up one by one, or fill a tensor with what does not
    depend on other rounds, such as sums of all that follows; and comprehensions of such sums
    (`[(powers[: n - t] * rewards[t:]).sum() for t in range(n)]`). Also loops that list the powers of a discount:
    `returns.insert(0, g); g = g * gamma` with a tensor `g`. Of lists that hold a tensor for each step, only where some
    are read without their graph: `values[t + 1].data`.

    ## Why is this slow
    Taking an element out of a tensor and every sum and product of 0-d tensors is an operation with all its overhead,
    on an accelerator a kernel each, for one number. The same recurrence over Python numbers or an array is cheap, and
    everything in it that does not depend on the round before can be computed for all steps at once.

    ## Example
    ```python
    for t in reversed(range(steps)):
        delta = rewards[t] + gamma * values[t + 1] * (1 - dones[t]) - values[t]
        gae = delta + gamma * lam * (1 - dones[t]) * gae
        found[t] = gae
    ```

    ## Use instead
    ```python
    deltas = rewards + gamma * values[1:] * (1 - dones) - values[:-1]
    decays = gamma * lam * (1 - dones)
    gae, found = 0.0, []
    for delta, decay in zip(reversed(deltas.tolist()), reversed(decays.tolist())):
        gae = delta + decay * gae
        found.append(gae)
    ```

    ## What the fix may change
    There is no automatic fix: Python numbers hold no graph, and are rounded as float64.

    ## When to ignore it
    Where gradients have to flow through the recurrence. What may be rows of many environments is a note only: there a
    round has more to compute, and only what stands before the recurrence can be pulled out. Where that was done, such
    loops are reported only if each round still computes several numbers that need no earlier one; a plain
    discounted sum has none.

    ## Measured
    The figures below compute the advantages of a rollout.

    ## References
    - Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016.
    """

    code = "TL604"
    name = "python-recurrence-over-tensors"
    summary = "a recurrence is computed in a Python loop over the elements of tensors"
    trigger = Found(Picking)
    least = Frequency.EPISODE  # a recurrence over a rollout runs once for it, with a round for each step
    yields_to = ("TL605", "TL611")
    examples = (
        Example(
            name="advantages-of-128-steps",
            source=_HEAD + _LOOP + _TAIL,
            fixed=_HEAD + _NUMBERS + _TAIL,
            setup="dones = (dones > 1).float()",
            workload="advantages(rewards, values, dones)",
            unit="loop",
            inputs=(
                Input("rewards", Kind.TENSOR, (128,)),
                Input("values", Kind.TENSOR, (129,)),
                Input("dones", Kind.TENSOR, (128,)),
            ),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a loop that computes with the elements of tensors and does nothing else."""
        loop = site.node
        if not isinstance(loop, (cst.For, cst.ListComp)) or site.compiling.scripted() or site.compiling.inside():
            return
        picked = picked_by(site)
        if picked is None:
            return
        over = loop.iter if isinstance(loop, cst.For) else loop.for_in.iter
        seldom = site.hot.here.frequency < Frequency.UPDATE
        worth = picked.single or picked.ahead >= _WORTH
        if seldom and not (picked.carried and worth):
            return
        if not picked.carried:
            rest = _REST if isinstance(loop, cst.For) else _RESTS
            yield Report(over, rest if picked.rest else _ALONE)
        elif picked.series:
            yield Report(over, _SERIES)
        elif picked.single:
            yield Report(over, _SUM if picked.summed else _SINGLE)
        elif picked.paired or picked.ahead > picked.prepared:
            yield Report(over, _ROWS, level=Level.NOTE)
