"""TL605: a network is called for each item of a batch, or for each environment, by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.values.dtypes import is_counting
from torchlint.models.protocols import makers
from torchlint.rule import Example, Frequency, Input, Kind, Method, NetworkCall, Report, Row, Rule, Site
from torchlint.rule.forward import runs_module, same_in_all_rounds

from ._rows import row_of

_MESSAGE = "the network is called for one item at a time; stack the items and call it once for all of them"
_ONE_PROMPT = "the model generates for one prompt of the batch at a time; hand it all rows and generate once"
_SAMPLES = re.compile(r"(^|[^a-z])(n_?|num_?)?(batch|envs?|samples?|agents?|workers?|actors?)($|[^a-z]|_?size)")
_ARRAYS = frozenset({Kind.TENSOR, Kind.NDARRAY})
# What these compute for an item depends on how long the item is, and items may be of any length.
_SEQUENCES = frozenset(
    f"torch.nn.{name}"
    for name in ("LSTM", "GRU", "RNN", "Transformer", "TransformerEncoder", "TransformerDecoder", "MultiheadAttention")
)

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, width=64):
        self.policy = nn.Sequential(nn.Linear(17, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 6)

    @torch.no_grad()
    def act(self, observations):
        features = torch.cat([self.policy(torch.as_tensor(obs).unsqueeze(0)) for obs in observations])
        return self.head(features).argmax(dim=1).numpy()


def rollout(agent, envs, steps):
    observations = envs.reset()
    for _ in range(steps):
        observations, rewards, dones, infos = envs.step(agent.act(observations))
"""
_BETTER = _SOURCE.replace(
    "torch.cat([self.policy(torch.as_tensor(obs).unsqueeze(0)) for obs in observations])",
    "self.policy(torch.stack([torch.as_tensor(obs) for obs in observations]))",
)


class PerSampleForward(Rule):
    """A network is called separately for each item of a batch or each environment.

    ## What it does
    Finds calls of a network in loops and comprehensions whose input is the item that the loop is at: a row of a tensor
    or array, also one that a data set of the project picks by its number (`obs, action = data[i]`), or an item that is
    made a batch of one; also `generate` of a language model for one row of a batch. Items that are sequences, networks
    that the loop trains, and loops that need a result before they go on are left alone.

    ## Why is this slow
    A small network costs about as much for one row as for many: what counts are the operations that are started. One
    call for all items starts them once.

    ## Example
    ```python
    values = torch.cat([self.critic(torch.as_tensor(obs).unsqueeze(0)) for obs in observations])
    ```

    ## Use instead
    ```python
    values = self.critic(torch.as_tensor(np.array(observations)))
    ```

    ## What the fix may change
    There is no automatic fix: results are rounded otherwise, random numbers are drawn in another order, and batch
    normalisation in training mode sees another batch.

    ## When to ignore it
    Where items differ in shape, or a batch of all items does not fit into memory.

    ## Measured
    The figures below choose actions for 64 environments.

    ## References
    - PyTorch documentation, `torch.stack`.
    """

    code = "TL605"
    name = "per-sample-forward"
    summary = "a network is called for one item of a batch at a time"
    trigger = NetworkCall(looped=True) | Method("generate")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="64-observations",
            source=_SOURCE,
            fixed=_BETTER,
            setup="torch.manual_seed(0)\nagent = Agent()",
            workload="agent.act(observations)",
            unit="loop",
            inputs=(Input("observations", Kind.NDARRAY, (64, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call whose input is one item, and for which no other round waits."""
        call = site.node
        if not isinstance(call, cst.Call) or not call.args:
            return
        if _generates(call):
            if _is_one_prompt(site, call):
                yield Report(call, _ONE_PROMPT, figure="none")
            return
        if not site.calls.is_plain(call):
            return
        loops = site.loops.around(call)
        if not loops or loops[0].few or not runs_module(site, call.func):
            return
        rows = [(argument.value, _row(site, argument.value)) for argument in call.args]
        places = _is_looked_up(site, call)
        samples = places or any(row is not None and _is_sample(row) for _, row in rows)
        if not samples or not same_in_all_rounds(site, call):
            return
        if not places and any(row is None and site.loops.around(node)[0].carried is not False for node, row in rows):
            return
        if (
            site.autograd.run(call) is not None
            and not _takes_sequences(site, call.func)
            and site.loops.is_batchable(call)
        ):
            yield Report(call, _MESSAGE)


def _generates(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "generate"


def _is_one_prompt(site: Site, call: cst.Call) -> bool:
    """Whether a model generates for one row of a batch, whose rows are of one length, and no other round waits."""
    loops = site.loops.around(call)
    if not loops or loops[0].few or site.values.of(call).kind is not Kind.TENSOR:
        return False
    rows = [row_of(site, argument.value) for argument in call.args if argument.star != "*"]
    return (
        any(row is not None and row.single and row.over.kind is Kind.TENSOR for row in rows)
        and same_in_all_rounds(site, call)
        and site.loops.is_batchable(call)
    )


def _row(site: Site, node: cst.BaseExpression) -> Row | None:
    """The item that an argument is, if it may be one of many alike."""
    row = row_of(site, node)
    return row if row is not None and (row.single or row.over.kind in _ARRAYS) else None


def _is_looked_up(site: Site, call: cst.Call) -> bool:
    """Whether a loop goes over a tensor of places, and an argument is computed from what is at one of them."""
    over = site.loops.around(call)[0].over
    if over.kind is not Kind.TENSOR or over.rank != 1 or not is_counting(over.dtype):
        return False
    return any(site.loops.around(argument.value)[0].item for argument in call.args)


def _is_sample(row: Row) -> bool:
    """Whether an item is one of a batch, and not one step of a sequence: those are for TL602."""
    return row.single or not row.counted or bool(_SAMPLES.search(row.counted))


def _takes_sequences(site: Site, func: cst.BaseExpression) -> bool:
    """Whether a network is known to have a part that reads a sequence."""
    module = func if site.values.of(func).kind is Kind.MODULE or not isinstance(func, cst.Attribute) else func.value
    if any(map(makers, site.values.of(module).name.split("|"))):
        return True  # a pretrained model of a framework, which takes sequences of all lengths
    parts = site.autograd.network(module).parts
    return parts is not None and bool(parts & _SEQUENCES)
