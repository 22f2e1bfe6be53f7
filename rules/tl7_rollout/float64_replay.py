"""TL709: a replay buffer stores float64 although every batch is cast to float32."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site
from torchlint.rule.build import keyword_of

from ._narrowing import narrowed

_MAKERS = frozenset(f"numpy.{name}" for name in ("zeros", "empty", "ones"))
_DTYPE = 1  # place of dtype among the arguments

_MESSAGE = (
    "the array holds float64, and line {row} casts each batch to float32; with `dtype=np.float32` here it takes half "
    "the memory and needs no cast"
)

_SOURCE = """\
import numpy as np
import torch


class Replay:
    def __init__(self, size, width):
        self.obs = np.zeros((size, width))
        self.place, self.size = 0, size

    def add(self, obs):
        self.obs[self.place] = obs
        self.place = (self.place + 1) % self.size

    def rows(self, index):
        return torch.as_tensor(self.obs[index], dtype=torch.float32)


def train(replay, updates):
    for _ in range(updates):
        replay.rows(np.random.randint(0, replay.size, 256)).mean()
"""


class Float64Replay(Rule):
    """Rollouts or replays are kept in float64, the default of NumPy, and cast in every batch.

    ## What it does
    Finds `np.zeros(shape)`, `np.empty(shape)` and `np.ones(shape)` without a dtype that an object keeps and fills row
    by row, where rows of it become float32 tensors in the same class.

    ## Why is this slow
    A row of float64 takes twice the memory and twice the traffic, and every batch is cast again, although each row
    could have been cast once, when it was written.

    ## Example
    ```python
    self.obs = np.zeros((size, width))
    ...
    return torch.as_tensor(self.obs[rows], dtype=torch.float32)
    ```

    ## Use instead
    ```python
    self.obs = np.zeros((size, width), dtype=np.float32)
    ```

    ## What the fix may change
    There is no automatic fix: code that reads the array as float64 would see rounded numbers, and large integers in it
    would no longer be exact.

    ## When to ignore it
    Where other code computes with the array in float64, such as sums of priorities.

    ## Measured
    A batch of 256 rows of 64; `torchlint rule TL709` prints the figures. The memory halves.

    ## References
    - NumPy documentation, `numpy.zeros`.
    """

    code = "TL709"
    name = "float64-replay"
    summary = "a replay buffer stores float64 although every batch is cast to float32"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call(*_MAKERS)
    least = Frequency.ONCE
    about_memory = True
    examples = (
        Example(
            name="rows-256x64",
            source=_SOURCE,
            fixed=_SOURCE.replace("np.zeros((size, width))", "np.zeros((size, width), dtype=np.float32)"),
            setup="replay = Replay(10_000, 64)\nfor row in obs:\n    replay.add(row)\nindex = np.arange(0, 10_000, 40)",
            workload="replay.rows(index)",
            unit="batch",
            inputs=(Input("obs", Kind.NDARRAY, (64, 64)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a kept array without a dtype whose rows are cast."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _MAKERS or not site.calls.is_plain(call):
            return
        if keyword_of(call, "dtype") is not None or site.calls.argument(call, _DTYPE, "dtype") is not None:
            return
        if row := narrowed(site, call):
            yield Report(call, _MESSAGE.format(row=row))
