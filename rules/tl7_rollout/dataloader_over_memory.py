"""TL708: a DataLoader hands out what lies in memory anyway, row by row."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site

from ._dataloader_over_memory import in_memory

_LOADERS = function_names(loads="batches")
_FETCHES = frozenset({"collate_fn", "batch_sampler"})

_SOURCE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def batches(obs, returns):
    return DataLoader(TensorDataset(obs, returns), batch_size=64, shuffle=True)


def epoch(obs, returns):
    return sum(len(rows) for rows, goal in batches(obs, returns))


def train(net: nn.Module, rollouts, updates):
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(updates):
        for rows, goal in batches(*rollouts.collect()):
            loss = (net(rows) - goal).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
_BETTER = _SOURCE.replace("from torch.utils.data import DataLoader, TensorDataset\n", "").replace(
    "    return DataLoader(TensorDataset(obs, returns), batch_size=64, shuffle=True)\n",
    "    for index in torch.randperm(len(obs)).split(64):\n        yield obs[index], returns[index]\n",
)


class DataloaderOverMemory(Rule):
    """A `DataLoader` collates data that is already in memory, row by row.

    ## What it does
    Finds `DataLoader` over a `TensorDataset`, or over a dataset of the project whose `__getitem__` only indexes.

    ## Why is this slow
    The loader takes every row by itself, makes tuples of views, and stacks them into a batch again; with workers the
    rows also travel between processes. Indexing the tensors with all rows of the batch does it at once.

    ## Example
    ```python
    for rows, goal in DataLoader(TensorDataset(obs, returns), batch_size=64, shuffle=True):
        loss = self.loss(rows, goal)
    ```

    ## Use instead
    ```python
    for index in torch.randperm(len(obs)).split(64):
        loss = self.loss(obs[index], returns[index])
    ```

    ## What the fix may change
    There is no automatic fix: the loader draws another permutation, and may drop the last batch or pin its memory.

    ## When to ignore it
    Where a network takes far longer for a batch than the loader, or rows are read from a disk or augmented.

    ## Measured
    On 2,048 rows in batches of 64; `torchlint rule TL708` prints the figures.

    ## References
    - PyTorch documentation, `torch.utils.data`: single- and multi-process data loading.
    """

    code = "TL708"
    name = "dataloader-over-memory"
    summary = "a DataLoader collates data in memory row by row"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call(*_LOADERS)
    least = Frequency.ONCE  # the loader is mostly built once, before the epochs that go through it
    examples = (
        Example(
            name="rows-2048-by-64",
            source=_SOURCE,
            fixed=_BETTER,
            setup="",
            workload="epoch(obs, returns)",
            unit="epoch",
            inputs=(Input("obs", Kind.TENSOR, (2048, 17)), Input("returns", Kind.TENSOR, (2048, 1))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a loader over what lies in memory, which collates as loaders do by default."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _LOADERS or not site.calls.is_plain(call):
            return
        words = {argument.keyword.value for argument in call.args if argument.keyword is not None}
        dataset = site.calls.argument(call, 0, "dataset")
        if dataset is not None and not words & _FETCHES and in_memory(site, dataset):
            yield Report(call, "every row is taken and stacked by itself; index the tensors with a split permutation")
