"""TL405: a tensor or array grows by concatenation in a loop."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Report, Rule, Site
from torchlint_rules.tl4_allocation._regrowth import regrown

_TORCH = function_names("torch", joins="parts", axis=("given", "fixed"))
_NUMPY = function_names("numpy", joins=("parts", "two"), axis=("given", "fixed"))

_PROGRAM = """\
import numpy as np
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 17)

    def forward(self, action, state):
        return self.cell(action, state)


def scan(rows):
{scan}


def train(model, optimizer, replay, updates):
    for _ in range(updates):
        states = scan(model(*replay.sample(256)))
        loss = torch.as_tensor(states).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(replay):
    model = Model()
    train(model, torch.optim.Adam(model.parameters()), replay, 1000)
"""
_CAT = _PROGRAM.format(
    scan="""\
    states = rows[:1]
    for row in rows[1:]:
        states = torch.cat([states, row[None]])
    return states"""
)
_LIST = _PROGRAM.format(
    scan="""\
    states = [rows[0]]
    for row in rows[1:]:
        states.append(row)
    return torch.stack(states)"""
)
_APPEND = _PROGRAM.format(
    scan="""\
    returns = np.zeros(0, dtype=np.float32)
    for reward in rows:
        returns = np.append(returns, reward)
    return returns"""
)
_ARRAY = _PROGRAM.format(
    scan="""\
    returns = []
    for reward in rows:
        returns.append(reward)
    return np.array(returns)"""
)


class QuadraticGrowth(Rule):
    """A tensor or array grows by concatenation in a loop.

    ## What it does
    Finds `x = torch.cat([x, y])`, `x = np.append(x, y)` and `x = np.concatenate([x, y])` in loops of hot code where
    `x` comes from the round before and the loop does not read it otherwise.

    ## Why is this slow
    Every round copies all that was joined before, so the work grows with the square of the number of rounds, and with
    autograd every copy is differentiated too. A list takes each piece as it is and is joined once.

    ## Example
    ```python
    for step in range(horizon):
        states = torch.cat([states, state])
    ```

    ## Use instead
    ```python
    pieces = [states]
    for step in range(horizon):
        pieces.append(state)
    states = torch.cat(pieces)
    ```

    ## What the fix may change
    There is no automatic fix: it spans the code before, in and after the loop. By hand, append what the loop makes new;
    a buffer that is written into again must be cloned first, which the concatenation did.

    ## When to ignore it
    Where the loop has only a few rounds.

    ## Measured
    On 256 rows of 17 numbers, and on 256 rewards; `torchlint rule TL405` prints the figures.

    ## References
    - NumPy documentation, `numpy.append`: it allocates a new array and copies each time.
    """

    code = "TL405"
    name = "quadratic-growth"
    summary = "a tensor or array grows by concatenation in a loop"
    trigger = Call(*_TORCH, *_NUMPY)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="cat-256x17",
            source=_CAT,
            fixed=_LIST,
            setup="",
            workload="scan(rows)",
            unit="loop",
            inputs=(Input("rows", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
        Example(
            name="append-256",
            source=_APPEND,
            fixed=_ARRAY,
            setup="",
            workload="scan(rows)",
            unit="loop",
            inputs=(Input("rows", Kind.NDARRAY, (256,)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a concatenation whose result is joined to again in the next round."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        name = site.names.of(call.func)
        grown = regrown(site, call) if name in _TORCH or name in _NUMPY else ""
        if grown:
            message = f"every round copies all of `{grown}` again; append to a list and join it once after the loop"
            yield Report(call, message, figure="cat-256x17" if name in _TORCH else "append-256")
