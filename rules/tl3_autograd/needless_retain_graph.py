"""TL304: a graph is kept after the only backward pass through it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Change, Example, Fix, Frequency, Input, Kind, Level, Method, Report, Rule, Site
from torchlint.rule.build import keyword_of, without_keyword

from ._backward import keeps_graph_for_nothing

_MESSAGE = "no second backward pass runs through this graph; `retain_graph=True` only keeps its memory longer"

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
        self.net.to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def update(self, obs, goal):
        obs, goal = torch.from_numpy(obs).to(self.device), torch.from_numpy(goal).to(self.device)
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizer.step()
        return loss.item()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(64))
"""


class NeedlessRetainGraph(Rule):
    """`backward(retain_graph=True)` keeps a graph that no later backward pass uses.

    ## What it does
    Finds `backward(retain_graph=True)` in update loops where every later backward pass is known and none shares a part
    of the graph: not in the function, not in its callers, not in the next round of a loop.

    ## Why is this slow
    A backward pass frees what each operation saved as it goes. With `retain_graph=True` all of it stays until the last
    name of the graph is bound again, often until the next forward pass is through: twice the memory for activations.
    The time is the same.

    ## Example
    ```python
    critic_loss.backward(retain_graph=True)
    self.critic_optimizer.step()
    ```

    ## Use instead
    ```python
    critic_loss.backward()
    self.critic_optimizer.step()
    ```

    ## What the fix may change
    The memory in use, which is what it is for (`memory`). Were there a second pass after all, it would raise.

    ## When to ignore it
    Where an interactive session goes back through the graph once more.

    ## Measured
    The figures below show the time of one update, which hardly changes; the gain is memory.

    ## References
    - PyTorch documentation, `torch.Tensor.backward`.
    """

    code = "TL304"
    name = "needless-retain-graph"
    summary = "a graph is kept after the only backward pass through it"
    level = Level.NOTE
    trigger = Method("backward")
    least = Frequency.UPDATE
    about_memory = True
    fixable = True
    may_change = (Change.MEMORY,)
    examples = (
        Example(
            name="one-loss",
            source=_SOURCE,
            fixed=_SOURCE.replace("retain_graph=True", ""),
            setup="learner = Learner(device)",
            workload="learner.update(obs, goal)",
            inputs=(Input("obs", Kind.NDARRAY, (64, 17)), Input("goal", Kind.NDARRAY, (64, 6))),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a backward pass that keeps a graph nothing goes through again."""
        node = site.node
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return
        kept = keyword_of(node, "retain_graph")
        if node.func.attr.value != "backward" or kept is None or keyword_of(node, "create_graph") is not None:
            return
        if keeps_graph_for_nothing(site, node):
            yield Report(node, _MESSAGE, _fix(node, kept))


def _fix(call: cst.Call, kept: cst.BaseExpression) -> Fix | None:
    """The call without the argument; where a parameter carries it, its default is for a person to change."""
    if not isinstance(kept, cst.Name) or kept.value != "True":
        return None
    return Fix("drop `retain_graph=True`", ((call, without_keyword(call, "retain_graph")),), (Change.MEMORY,))
