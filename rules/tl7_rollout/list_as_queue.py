"""TL705: a long list is used as a queue, or a long deque as a list."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Found, Frequency, Input, Kind, Method, Report, Rule, Site

from ._list_as_queue import Fronts, Reaches, drained, reaches_into_deque, shortened

_SOURCE = """\
import torch
from torch import nn


class History:
    def __init__(self, rows):
        self.rows = list(rows)

    def put(self, row):
        self.rows.append(row)
        if len(self.rows) > 10_000:
            self.rows.pop(0)


def train(net: nn.Module, env, history: History):
    obs, _ = env.reset()
    for _ in range(100_000):
        with torch.no_grad():
            action = net(torch.as_tensor(obs)).argmax().item()
        obs, reward, terminated, truncated, _ = env.step(action)
        history.put(reward)


def main(net, env):
    train(net, env, History([]))
"""
_BETTER = (
    _SOURCE.replace("import torch\n", "from collections import deque\n\nimport torch\n", 1)
    .replace("list(rows)", "deque(rows, maxlen=10_000)")
    .replace("        if len(self.rows) > 10_000:\n            self.rows.pop(0)\n", "")
)
_REACHING = """\
import random
from collections import deque

import torch
from torch import nn


class Replay:
    def __init__(self, rows):
        self.rows = deque(rows, maxlen=100_000)

    def put(self, row):
        self.rows.append(row)

    def sample(self, size):
        picks = random.choices(range(len(self.rows)), k=size)
        return [self.rows[pick] for pick in picks]


def train(net: nn.Module, optimizer, replay: Replay, updates):
    for _ in range(updates):
        loss = net(torch.tensor(replay.sample(64))[:, None]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    net = nn.Linear(1, 1)
    train(net, torch.optim.Adam(net.parameters()), Replay([0.0]), 1000)
"""
_RING = (
    _REACHING.replace("from collections import deque\n", "")
    .replace("        self.rows = deque(rows, maxlen=100_000)\n", "        self.rows, self.next = list(rows), 0\n")
    .replace(
        "        self.rows.append(row)\n",
        "        if len(self.rows) < 100_000:\n"
        "            self.rows.append(row)\n"
        "        else:\n"
        "            self.rows[self.next] = row\n"
        "        self.next = (self.next + 1) % 100_000\n",
    )
)


class ListAsQueue(Rule):
    """A long list is used as a queue, or a long deque as a list.

    ## What it does
    Finds `items.pop(0)`, `del items[0]`, `del items[:n]` and `items = items[1:]` in hot code on a list that is trimmed
    to a capacity of 1,000 or more or drained in a loop. Per gradient update it finds `items[i]` in a loop over places
    drawn at random, where `items` is a deque that is not known to hold fewer than 10,000.

    ## Why is this slow
    They move or copy every other element of the list. A deque adds and removes at either end at once. It holds its
    elements in blocks of 64 that are linked one to the next, so to read one in its middle walks there from an end.

    ## Example
    ```python
    self.rows.append(row)
    if len(self.rows) > self.capacity:
        self.rows.pop(0)
    ```

    ## Use instead
    ```python
    self.rows = deque(maxlen=self.capacity)
    ...
    self.rows.append(row)
    ```

    ## What the fix may change
    There is no automatic fix: a deque cannot be sliced, and is slow where elements in its middle are read.

    ## When to ignore it
    Where the list stays short. What takes a share of the capacity at once, `del items[: n // 100]`, is not reported,
    nor is a list that is built from its end by `insert(0, x)`: of 2,048 steps this costs about a millisecond.

    ## Measured
    On a list of 10,000 elements, and on batches of 64 from 100,000; `torchlint rule TL705` prints the figures.

    ## References
    - Python documentation, `collections.deque`.
    """

    code = "TL705"
    name = "list-as-queue"
    summary = "a long list is used as a queue, or a long deque as a list"
    trigger = Method("pop") | Found(Fronts) | Found(Reaches)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="list-of-10000",
            source=_SOURCE,
            fixed=_BETTER,
            setup="history = History(rows)",
            workload="[history.put(0.0) for _ in range(100)]",
            runs=100,
            inputs=(Input("rows", Kind.LIST, (10_000,)),),
            by_hand=True,
        ),
        Example(
            name="deque-64-of-100000",
            source=_REACHING,
            fixed=_RING,
            setup="replay = Replay(rows)",
            workload="len(replay.sample(64))",
            inputs=(Input("rows", Kind.LIST, (100_000,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report work at the front of a list that may be long."""
        if site.compiling.scripted():
            return
        if isinstance(site.node, cst.Subscript) and reaches_into_deque(site, site.node):
            yield Report(site.node, _REACH, figure="deque-64-of-100000")
        elif site.hot.here.frequency >= Frequency.STEP:  # once per update, what a list moves costs nothing beside it
            yield from _queued(site)


def _queued(site: Site) -> Iterator[Report]:
    """Work at the front of a list that may be long."""
    match site.node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=taken)]) as part if shortened(site, part):
            copied = isinstance(taken, cst.Slice) and taken.lower is not None
            what = "a slice without the first elements copies all others" if copied else _MOVES.format("`del`")
            yield Report(part, f"{what}; {_USE}")
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="pop")), args=[cst.Arg() as place]) as call:
            if _is_first(place) and drained(site, call):
                yield Report(call, f"{_MOVES.format('`pop(0)`')}; {_USE}")


_MOVES = "{} moves all remaining elements of the list"
_USE = "use a deque, or a ring if batches are drawn from it"
_REACH = "a deque is searched block by block for each row of the batch; use a ring: a list written round and round"


def _is_first(argument: cst.Arg) -> bool:
    """Whether an argument is the place 0."""
    return isinstance(argument.value, cst.Integer) and argument.value.value == "0" and not argument.star
