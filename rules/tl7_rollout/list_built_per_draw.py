"""TL711: all entries of a replay buffer are listed again for each random draw."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import last_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Method, Report, Rule, RuleSet, Site

from ._enumerating import listed

_NAMES = last_names("random numpy.random Generator", draws=("items", "integer"))

_MESSAGE = (
    "each draw first lists all of `{whole}`, which grows; keep the list up to date where `{whole}` changes, and draw "
    "from that"
)

_SOURCE = """\
import random

import numpy as np
import torch


class Episodes:
    def __init__(self):
        self.episodes = []

    def add(self, episode):
        self.episodes.append(episode)

    def sample(self, count, length):
        starts = [(rows, start) for rows in self.episodes for start in range(len(rows) - length + 1)]
        return np.stack([rows[start : start + length] for rows, start in random.choices(starts, k=count)])


def train(episodes, weight: torch.Tensor, optimizer: torch.optim.Optimizer, updates):
    for _ in range(updates):
        loss = (torch.as_tensor(episodes.sample(32, 4)) * weight).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

_KEPT = """\
class Episodes:
    def __init__(self):
        self.starts = []

    def add(self, episode, length=4):
        self.starts.extend((episode, start) for start in range(len(episode) - length + 1))

    def sample(self, count, length):
        return np.stack([rows[start : start + length] for rows, start in random.choices(self.starts, k=count)])

"""


class ListBuiltPerDraw(Rule):
    """A batch is drawn from a list that is built from the whole replay each time.

    ## What it does
    Finds hot random draws from a list (or from its length) that is made for the draw out of a whole collection of the
    object itself: a comprehension or loop over it, or `list(self.x.values())`, where methods of the class add to the
    collection. The list may be made in another method of the project.

    ## Why is this slow
    The list takes time in proportion to all that is kept, the draw in proportion to the batch. The fuller the replay,
    the slower each update.

    ## Example
    ```python
    starts = [(i, t) for i, rows in enumerate(self.episodes) for t in range(len(rows) - length + 1)]
    drawn = random.choices(starts, k=count)
    ```

    ## Use instead
    Keep `starts` on the object, and extend it when an episode is added; or draw an episode by its weight and a start in
    it, which needs no list.

    ## What the fix may change
    There is no automatic fix: two collections have to be kept in step.

    ## When to ignore it
    Where the collection stays small.

    ## Measured
    100 episodes of 200 steps; `torchlint rule TL711` prints the figures.

    ## References
    - Python documentation, "TimeComplexity".
    """

    code = "TL711"
    name = "list-built-per-draw"
    summary = "all entries of a replay buffer are listed again for each random draw"
    set = RuleSet.PREVIEW
    trigger = Call(*(f"{module}.{name}" for module in ("random", "numpy.random") for name in _NAMES)) | Method(*_NAMES)
    least = Frequency.UPDATE
    gate = ("torch", "random")
    examples = (
        Example(
            name="100-episodes",
            source=_SOURCE,
            fixed=_SOURCE[: _SOURCE.index("class")] + _KEPT + _SOURCE[_SOURCE.index("\ndef train") :],
            setup="import random\nrandom.seed(0)\nepisodes = Episodes()\nfor _ in range(100):\n    episodes.add(rows)",
            workload="episodes.sample(32, 4)",
            inputs=(Input("rows", Kind.NDARRAY, (200, 8)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a draw from a list of everything that an object keeps."""
        call = site.node
        if isinstance(call, cst.Call) and (whole := listed(site, call)):
            yield Report(call, _MESSAGE.format(whole=whole))
