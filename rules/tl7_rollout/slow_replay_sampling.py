"""TL704: a batch is drawn from a replay buffer in a way that touches all of it, or row by row."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Change, Example, Frequency, Input, Kind, Report, Rule, Site

from ._fields_moved import fields_moved
from ._slow_replay_sampling import is_deque, many

_CHOICE = "numpy.random.choice"
_SAMPLE = "random.sample"
_PERMUTATION = "torch.randperm"

_DEQUE = """\
import collections
import random

import numpy as np
import torch
from torch import nn


class Replay:
    def __init__(self, rows):
        self.buffer = collections.deque(maxlen=100_000)
        for row in rows:
            self.put((row, row[:1]))

    def put(self, transition):
        self.buffer.append(transition)

    def sample(self, size):
        states, rewards = zip(*random.sample(self.buffer, size))
        return torch.as_tensor(np.array(states)), torch.as_tensor(np.array(rewards))


def train(net: nn.Module, optimizer, replay: Replay, updates):
    for _ in range(updates):
        states, rewards = replay.sample(64)
        loss = (net(states) - rewards).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(rows):
    net = nn.Linear(17, 1)
    train(net, torch.optim.Adam(net.parameters()), Replay(rows), 1000)
"""
_ARRAYS = """\
import numpy as np
import torch
from torch import nn


class Replay:
    def __init__(self, rows):
        self.states = np.zeros((100_000, 17), dtype=np.float32)
        self.rewards = np.zeros((100_000, 1), dtype=np.float32)
        self.at = self.size = 0
        for row in rows:
            self.put((row, row[:1]))

    def put(self, transition):
        self.states[self.at], self.rewards[self.at] = transition
        self.at = (self.at + 1) % len(self.states)
        self.size = min(self.size + 1, len(self.states))

    def sample(self, size):
        rows = np.random.randint(0, self.size, size)
        return torch.as_tensor(self.states[rows]), torch.as_tensor(self.rewards[rows])


def train(net: nn.Module, optimizer, replay: Replay, updates):
    for _ in range(updates):
        states, rewards = replay.sample(64)
        loss = (net(states) - rewards).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(rows):
    net = nn.Linear(17, 1)
    train(net, torch.optim.Adam(net.parameters()), Replay(rows), 1000)
"""
_PROGRAM = """\
import numpy as np
import torch
from torch import nn

generator = np.random.default_rng(0)


class Replay:
    def __init__(self):
        self.states = torch.zeros(100_000, 17)

    def sample(self, size):
        rows = {rows}
        return self.states[rows]


def train(net: nn.Module, optimizer, replay: Replay, updates):
    for _ in range(updates):
        loss = net(replay.sample(256)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    net = nn.Linear(17, 1)
    train(net, torch.optim.Adam(net.parameters()), Replay(), 1000)
"""


def _drawn(name: str, before: str, after: str) -> Example:
    return Example(
        name=name,
        source=_PROGRAM.format(rows=before),
        fixed=_PROGRAM.format(rows=after),
        setup="replay = Replay()",
        workload="replay.sample(256)",
        by_hand=True,
    )


class SlowReplaySampling(Rule):
    """A batch is drawn from a replay buffer in a way that touches all of it, or row by row.

    ## What it does
    Finds, in code that runs per gradient update, `np.random.choice(n, k, replace=False)` and `torch.randperm(n)[:k]`
    where `n` is at least 10,000 or counts what a ring buffer holds, and `random.sample` of a deque.

    ## Why is this slow
    The first two permute all `n` indices to take a few. `random.sample` reaches into the middle of the deque for
    each row, block by block, and the rows must then be put together in Python.

    ## Example
    ```python
    rows = np.random.choice(self.size, batch_size, replace=False)
    ```

    ## Use instead
    ```python
    rows = self.generator.choice(self.size, batch_size, replace=False)  # np.random.default_rng(seed)
    ```

    ## What the fix may change
    Where the fields of rows that `random.sample` draws become tensors on a device one by one, the fix moves the bytes
    of all of them by one copy and takes them apart there, with the dtypes that they had. That changes nothing where
    each tensor gets a memory of its own, by a copy on the device. Without these copies, which `aliasing` and `memory`
    allow, the tensors share one memory, which is held as long as one of them is, and autograd takes a change in place
    of one for a change of all. It is right only if nothing changes the rows before they are moved, and says so where
    that is not proven. Draws have no automatic fix: a generator draws another random stream and needs a seed of its
    own, and integers drawn with replacement (`np.random.randint`) may repeat, which for a large buffer hardly ever
    happens.

    ## When to ignore it
    For draws that happen once per epoch. Choices with probabilities (`p=`) are not reported.

    ## Measured
    On buffers of 100,000 rows; `torchlint rule TL704` prints the figures.

    ## References
    - NumPy documentation, `numpy.random.Generator.choice`.
    - Python documentation, `collections.deque`: indexed access is O(n) in the middle.
    """

    code = "TL704"
    name = "slow-replay-sampling"
    summary = "a batch is drawn in a way that touches the whole replay buffer, or row by row"
    trigger = Call(_CHOICE, _SAMPLE, _PERMUTATION)
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.ALIASING, Change.MEMORY)
    examples = (
        _drawn(
            "choice-256-of-100000",
            "np.random.choice(100_000, size, replace=False)",
            "generator.choice(100_000, size, replace=False)",
        ),
        _drawn(
            "randperm-256-of-100000",
            "torch.randperm(100_000)[:size]",
            "torch.randint(0, 100_000, (size,))",
        ),
        Example(
            name="deque-64-of-20000",
            source=_DEQUE,
            fixed=_ARRAYS,
            setup="replay = Replay(list(rows))",
            workload="[tensor.shape for tensor in replay.sample(64)]",
            inputs=(Input("rows", Kind.NDARRAY, (20_000, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a draw without replacement from many, and a sample of a deque."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.calls.is_plain(call):
            return
        name = site.names.of(call.func)
        if name == _CHOICE:
            if _without_replacement(site, call):
                message = (
                    "all indices are permuted to draw one batch; use `choice` of a `np.random.Generator`, "
                    "or integers that may repeat"
                )
                yield Report(call, message, figure="choice-256-of-100000")
        elif name == _PERMUTATION:
            first = _first(site, call)
            if first is not None:
                message = "all indices are permuted to draw one batch; draw integers that may repeat, `torch.randint`"
                yield Report(first, message, figure="randperm-256-of-100000")
        elif name == _SAMPLE:
            population = site.calls.argument(call, 0, "population")
            if population is not None and is_deque(site, population) and many(site, population):
                message = (
                    "a deque is searched block by block for each row of the batch; "
                    "keep the fields in arrays and index them once"
                )
                yield Report(call, message, fields_moved(site), figure="deque-64-of-20000")


def _without_replacement(site: Site, call: cst.Call) -> bool:
    """``np.random.choice(n, k, replace=False)`` of many, all with the same probability."""
    drawn, replace = site.calls.argument(call, 0, "a"), site.calls.argument(call, 2, "replace")
    if drawn is None or replace is None or site.calls.argument(call, 1, "size") is None:
        return False
    weights = site.calls.argument(call, 3, "p")
    equal = weights is None or (isinstance(weights, cst.Name) and weights.value == "None")
    return equal and isinstance(replace, cst.Name) and replace.value == "False" and many(site, drawn)


def _first(site: Site, call: cst.Call) -> cst.Subscript | None:
    """The whole ``torch.randperm(n)[:k]`` of many."""
    drawn = site.calls.argument(call, 0, "n")
    links = site.calls.chain(call)
    if drawn is None or not links or not many(site, drawn):
        return None
    match links[0].node:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Slice(lower=None, upper=upper, step=None))]) as first:
            return first if upper is not None else None
    return None
