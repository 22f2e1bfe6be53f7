"""TL710: a binary tree is walked in Python once for every sample of a batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Example, Frequency, Input, Kind, Report, Rule, RuleSet, Site, Statement

from ._python_tree_walk import walks_tree

_MESSAGE = (
    "Python walks this tree once for each sample of a batch; walk it once for all of them, level by level, with arrays "
    "of places"
)

_SOURCE = """\
import numpy as np
import torch


class SumTree:
    def __init__(self, capacity):
        self.capacity = capacity
        self.tree = np.zeros(2 * capacity - 1)

    def find(self, value):
        place = 0
        while place < self.capacity - 1:
            left = 2 * place + 1
            if value <= self.tree[left]:
                place = left
            else:
                value -= self.tree[left]
                place = left + 1
        return place - self.capacity + 1

    def sample(self, values):
        return np.array([self.find(value) for value in values])


def train(tree: SumTree, values: torch.Tensor, optimizer: torch.optim.Optimizer, updates):
    for _ in range(updates):
        rows = tree.sample(np.random.rand(256) * tree.tree[0])
        optimizer.zero_grad()
        values[torch.as_tensor(rows)].mean().backward()
        optimizer.step()
"""

_ARRAYS = """\
    def find(self, values):
        places = np.zeros(len(values), dtype=np.int64)
        values = np.array(values)
        for _ in range(self.capacity.bit_length() - 1):
            left = 2 * places + 1
            below = self.tree[left]
            right = values > below
            values -= np.where(right, below, 0.0)
            places = left + right
        return places - self.capacity + 1

    def sample(self, values):
        return self.find(values)
"""


class PythonTreeWalk(Rule):
    """A prioritized replay walks its sum tree for one sample after the other.

    ## What it does
    Finds `while` loops and functions that call themselves which go up or down a binary tree in an array (`2 * i + 1`,
    `(i - 1) // 2`), where they run once for each element of a batch.

    ## Why is this slow
    A tree over 100,000 transitions has 17 levels. For a batch of 256 Python takes 4,352 steps to draw it and as many to
    write its priorities back, each with a few lookups of single elements of an array. Walked for all samples at once
    it takes 17 steps with arrays of 256.

    ## Example
    ```python
    rows = [self.find(value) for value in values]
    ```

    ## Use instead
    ```python
    places = np.zeros(len(values), dtype=np.int64)
    for _ in range(self.depth):
        left = 2 * places + 1
        below = self.tree[left]
        right = values > below
        values = values - np.where(right, below, 0.0)
        places = left + right
    ```
    Writing back works the same way from the leaves up: `np.add.at` takes places that are there twice.

    ## What the fix may change
    There is no automatic fix.

    ## When to ignore it
    Where the batch is a handful, or the tree is walked once per step only.

    ## Measured
    256 samples of a tree of 65,536; `torchlint rule TL710` prints the figures.

    ## References
    - Schaul et al., "Prioritized Experience Replay", appendix B.2.1.
    """

    code = "TL710"
    name = "python-tree-walk"
    summary = "a binary tree is walked in Python once for every sample of a batch"
    set = RuleSet.PREVIEW
    trigger = Statement("While", "FunctionDef")
    least = Frequency.INNER
    gate = ("torch", "numpy")
    examples = (
        Example(
            name="sample-256-of-65536",
            source=_SOURCE,
            fixed=_SOURCE[: _SOURCE.index("    def find")] + _ARRAYS + _SOURCE[_SOURCE.index("\n\ndef train") :],
            setup="tree = SumTree(65_536)\ntree.tree[65_535:] = 1.0\n"
            "for place in range(65_534, -1, -1):\n"
            "    tree.tree[place] = tree.tree[2 * place + 1] + tree.tree[2 * place + 2]\n"
            "values = np.linspace(0.5, 65_535.5, 256)",
            workload="tree.sample(values)",
            unit="loop",
            inputs=(Input("obs", Kind.NDARRAY, (4,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a loop or function that walks a tree for each sample."""
        if walks_tree(site) and site.hot.here.frequency >= self.least:
            yield Report(site.node, _MESSAGE)
