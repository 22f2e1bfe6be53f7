"""TL616: rows of a tensor are taken out one by one and stacked again."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Report, Rule, RuleSet, Site
from torchlint.rule.build import source

_MESSAGE = "`{rows}` takes rows out one by one and stacks them again; index once with all of them: `{base}[...]`"

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.net = nn.Linear(17, 6)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.0)

    def update(self, obs: torch.Tensor, rows: list[int]):
        batch = torch.stack([obs[row] for row in rows])
        loss = self.net(batch).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(replay.obs, replay.rows())
"""


class RowsStackedOneByOne(Rule):
    """A tensor's rows are picked in a comprehension and stacked.

    ## What it does
    Finds hot `torch.stack([x[i] for i in rows])` with a tensor `x` that is the same for all rows.

    ## Why is this slow
    Each `x[i]` is a call and a tensor of its own, and stacking starts from as many tensors. An index with all rows is
    one call.

    ## Example
    ```python
    batch = torch.stack([obs[row] for row in rows])
    ```

    ## Use instead
    ```python
    batch = obs[rows]
    ```
    For a `range`, a slice: `obs[:n]`.

    ## What the fix may change
    There is no automatic fix: rows may be something else than numbers.

    ## When to ignore it
    Where there are two or three rows.

    ## Measured
    64 rows of 17; `torchlint rule TL616` prints the figures.

    ## References
    - PyTorch documentation, "Tensor indexing API".
    """

    code = "TL616"
    name = "rows-stacked-one-by-one"
    summary = "rows of a tensor are taken out one by one and stacked again"
    set = RuleSet.PREVIEW
    trigger = Call("torch.stack")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="rows-64x17",
            source=_SOURCE,
            fixed=_SOURCE.replace("torch.stack([obs[row] for row in rows])", "obs[rows]"),
            setup="torch.manual_seed(0)\nlearner = Learner()\nlearner.net.to(device)\nobs = obs.to(device)\n"
            "rows = list(range(64))",
            workload="learner.update(obs, rows)",
            unit="loop",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report rows of one tensor that are stacked."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) != "torch.stack":
            return
        match site.calls.argument(call, 0, "tensors"):
            case (
                cst.ListComp(
                    elt=cst.Subscript(
                        value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=row)))]
                    ),
                    for_in=cst.CompFor(target=cst.Name(value=bound), ifs=[], inner_for_in=None),
                ) as rows
            ) if (
                row == bound
                and site.values.of(base).kind is Kind.TENSOR
                and isinstance(base, (cst.Name, cst.Attribute))
            ):
                yield Report(call, _MESSAGE.format(rows=source(rows.elt), base=source(base)))
