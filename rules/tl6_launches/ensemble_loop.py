"""TL601: the members of an ensemble run one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site

from ._ensemble_loop import Ensembles, ensemble

_MESSAGE = (
    "networks of one shape run one after the other on the same input; on a GPU "
    "`torch.vmap` over stacked parameters runs them at once (slower on a CPU)"
)

_SOURCE = """\
import torch
from torch import nn


class Ensemble(nn.Module):
    def __init__(self, size=5):
        super().__init__()
        self.qs = nn.ModuleList([nn.Linear(23, 1) for _ in range(size)])

    def forward(self, x):
        return torch.stack([q(x) for q in self.qs])


def train(replay, updates):
    ensemble = Ensemble().to("cuda")
    optimizer = torch.optim.Adam(ensemble.parameters())
    for _ in range(updates):
        x, goal = replay.sample(256)
        loss = (ensemble(x) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_BETTER = _SOURCE.replace(
    "        return torch.stack([q(x) for q in self.qs])\n",
    "        weights = torch.stack([q.weight for q in self.qs])\n"
    "        biases = torch.stack([q.bias for q in self.qs])\n"
    "        return torch.baddbmm(biases[:, None], x.expand(len(self.qs), *x.shape), weights.mT)\n",
)


class EnsembleLoop(Rule):
    """The members of an ensemble are called one after the other with the same input.

    ## What it does
    Finds loops and comprehensions over a list of networks that one expression builds again and again
    (`ModuleList([Critic() for _ in range(n)])`), where each gets the same input, in projects that may use a GPU.

    ## Why is this slow
    Each member launches all of its kernels, and each is too small to fill a GPU. With stacked parameters one batched
    product does the work of all members.

    ## Example
    ```python
    values = torch.stack([q(x) for q in self.qs])
    ```

    ## Use instead
    ```python
    params, buffers = torch.func.stack_module_state(self.qs)
    values = torch.vmap(self.one, in_dims=(0, 0, None))(params, buffers, x)
    ```

    ## What the fix may change
    There is no automatic fix: parameters are stored otherwise, and results are rounded otherwise.

    ## When to ignore it
    On a CPU, where `vmap` was measured slower than the loop. Layers of one network, the attention heads of
    a layer, and heads that are given its features alone, are not reported.

    ## Measured
    Not on a GPU yet. On a CPU `vmap` takes 1.1 to 1.8 times as long as the loop.

    ## References
    - PyTorch tutorials, "Model ensembling".
    """

    code = "TL601"
    name = "ensemble-loop"
    summary = "the members of an ensemble run one after the other"
    level = Level.NOTE
    trigger = Found(Ensembles)
    least = Frequency.UPDATE
    cuda_only = True
    torch = (2, 0)
    examples = (
        Example(
            name="five-critics-256",
            source=_SOURCE,
            fixed=_BETTER,
            setup="torch.manual_seed(0)\nensemble = Ensemble().to(device)\nx = x.to(device)",
            workload="ensemble(x)",
            inputs=(Input("x", Kind.TENSOR, (256, 23)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the call of one of many networks that gets the same input as the others."""
        call = site.node
        if isinstance(call, cst.Call) and site.device.may_be_cuda() and ensemble(site, call):
            yield Report(call, _MESSAGE)
