"""TL404: a list grows with every step and is never emptied."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from torchlint import cst
from torchlint.rule import Example, Frequency, Level, Method, Option, Report, Rule, RuleSet, Site

from ._unbounded_growth import hoarded

_SOURCE = """\
import torch
from torch import nn


class Recorder:
    def __init__(self):
        self.rewards = []

    def record(self, reward):
        self.rewards.append(reward)
        return len(self.rewards) > 0


def train(net: nn.Module, env, steps):
    recorder = Recorder()
    obs, _ = env.reset()
    for _ in range(steps):
        with torch.no_grad():
            action = net(torch.as_tensor(obs)).argmax().item()
        obs, reward, terminated, truncated, _ = env.step(action)
        recorder.record(reward)
"""


_ALLOW = Option[tuple[str, ...]]("allow", (), "names or patterns of attributes that may grow, e.g. 'episode_*'")


class UnboundedGrowth(Rule):
    """A list grows with every step and is never emptied.

    ## What it does
    Finds lists of long-lived objects, and lists in their dictionaries, that hot code appends to and that nothing in the
    project ever clears, trims, replaces or bounds.

    ## Why is this slow
    It is not slow at first: the memory of the process grows for as long as the run lasts, and whatever reads the whole
    list takes longer each time.

    ## Example
    ```python
    self.rewards = []
    ...
    self.rewards.append(reward)
    ```

    ## Use instead
    ```python
    self.rewards = deque(maxlen=1000)
    ...
    self.rewards.append(reward)
    ```

    ## What the fix may change
    There is no automatic fix: how much history is needed is not in the code.

    ## When to ignore it
    Where all of it is needed at the end, or the run is short: the option `allow` names such lists.

    ## Measured
    A matter of memory: the figures below only say that a bounded deque takes no longer.

    ## References
    - Python documentation, `collections.deque`.
    """

    code = "TL404"
    name = "unbounded-growth"
    summary = "a list grows with every step and is never emptied"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Method("append", "appendleft")
    least = Frequency.UPDATE
    options = (_ALLOW,)
    examples = (
        Example(
            name="record-reward",
            source=_SOURCE,
            fixed=_SOURCE.replace("import torch\n", "from collections import deque\n\nimport torch\n", 1).replace(
                "self.rewards = []", "self.rewards = deque(maxlen=1000)"
            ),
            setup="recorder = Recorder()",
            workload="recorder.record(1.0)",
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report an append to a list that nothing empties, and that is not allowed to grow."""
        call = site.node
        if isinstance(call, cst.Call):
            grown = hoarded(site, call)
            if grown and not any(fnmatchcase(grown.removeprefix("self."), glob) for glob in _ALLOW.of(self.given)):
                message = f"`{grown}` grows for as long as the run lasts; bound it, `deque(maxlen=...)`, or clear it"
                yield Report(call, message, figure="none")
