"""TL619: a loop writes numbers into a tensor one by one."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Example, Frequency, Input, Kind, Report, Rule, RuleSet, Site, Statement

from ._filling import filled

_MESSAGE = (
    "this loop writes into the tensor `{name}` one number at a time; collect the numbers in a list or an array, and "
    "make the tensor once"
)

_SOURCE = """\
import numpy as np
import torch


class Replay:
    def __init__(self, priorities):
        self.priorities = priorities

    def weights(self, rows):
        weights = torch.zeros(len(rows))
        for i, row in enumerate(rows):
            chance = float(self.priorities[row]) / 100.0
            weights[i] = (len(self.priorities) * chance) ** -0.5
        return weights


def train(replay, values: torch.Tensor, optimizer: torch.optim.Optimizer, updates):
    for _ in range(updates):
        weights = replay.weights(np.random.randint(0, 100, 64))
        optimizer.zero_grad()
        (values * weights).mean().backward()
        optimizer.step()
"""


class TensorFilledByLoop(Rule):
    """Numbers are stored into a tensor in a Python loop.

    ## What it does
    Finds hot `for` loops that store numbers into a one-dimensional tensor (or a column) which the function has just
    made, place by place, and that do not read it.

    ## Why is this slow
    Each store is a call into torch for one number, with an index and a fill; on an accelerator it is a kernel each. A
    list takes a number in a fraction of the time, and becomes a tensor at once.

    ## Example
    ```python
    weights = torch.zeros(len(rows))
    for i, row in enumerate(rows):
        weights[i] = self.weight_of(row)
    ```

    ## Use instead
    ```python
    weights = torch.tensor([self.weight_of(row) for row in rows])
    ```

    ## What the fix may change
    There is no automatic fix: the numbers are rounded when they are stored, and may be read from the tensor later.

    ## When to ignore it
    Where only a few of many places are written.

    ## Measured
    64 weights of a replay; `torchlint rule TL619` prints the figures.

    ## References
    - PyTorch documentation, "Tensor indexing API".
    """

    code = "TL619"
    name = "tensor-filled-by-loop"
    summary = "a loop writes numbers into a tensor one by one"
    set = RuleSet.PREVIEW
    trigger = Statement("For")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="weights-of-64",
            source=_SOURCE,
            fixed=_SOURCE.replace("        weights = torch.zeros(len(rows))\n", "        found = []\n")
            .replace("        for i, row in enumerate(rows):", "        for row in rows:")
            .replace(
                "            weights[i] = (len(self.priorities) * chance) ** -0.5\n        return weights",
                """\
            found.append((len(self.priorities) * chance) ** -0.5)
        return torch.tensor(found)""",
            ),
            setup="replay = Replay(np.linspace(1.0, 2.0, 100))\nrows = np.arange(64)",
            workload="replay.weights(rows)",
            unit="loop",
            inputs=(Input("obs", Kind.NDARRAY, (4,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a loop that fills a tensor."""
        if name := filled(site):
            yield Report(site.node, _MESSAGE.format(name=name))
