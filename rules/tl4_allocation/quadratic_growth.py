"""TL405: a tensor or array grows by concatenation in a loop."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Change, Example, Fix, Frequency, Input, Kind, Report, Rule, Site

from ._joining_afterwards import joined_afterwards
from ._regrowth import regrown

_TORCH = function_names("torch", joins="parts", axis=("given", "fixed"))
# Of a single part these return it as it is; others may add an axis, so that a loop without a round would differ.
_AS_IT_IS = function_names("torch", joins="parts", axis="given")
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
    states = rows[:1]
    states_parts = [states]
    for row in rows[1:]:
        states_parts.append(row[None])
    states = torch.cat(states_parts)
    return states"""
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
    Which memory is shared, where the loop runs no round: the tensor is then a copy of the first one. And memory: the
    pieces are kept until the loop is over. And rounding: gradients of what several pieces are made of are added in
    another order. The fix is for `torch.cat`, not `vstack` and its like, onto a local name that the loop does
    not read; it assumes that nothing writes into a piece before the loop is over, unless the piece is computed where it
    is joined. For arrays there is none: by hand, append what the loop makes new; a buffer that is written into again
    must be copied first, which the concatenation did.

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
    fixable = True
    may_change = (Change.ALIASING, Change.MEMORY, Change.ROUNDING)
    examples = (
        Example(
            name="cat-256x17",
            source=_CAT,
            fixed=_LIST,
            setup="",
            workload="scan(rows)",
            unit="loop",
            inputs=(Input("rows", Kind.TENSOR, (256, 17)),),
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
        grown = regrown(site, call) if name in _TORCH or name in _NUMPY else None
        if grown is not None:
            where = "where it is read" if grown.taken else "after the loop"
            message = (
                f"each iteration copies all of `{grown.text}` again; append to a list and concatenate once {where}"
            )
            fix = _fix(site, call) if name in _AS_IT_IS and not grown.taken else None
            yield Report(call, message, fix, figure="cat-256x17" if name in _TORCH else "append-256")


def _fix(site: Site, call: cst.Call) -> Fix | None:
    """The pieces in a list, joined behind the loop."""
    found = joined_afterwards(site, call)
    if found is None or site.compiling.scripted():
        return None
    return Fix(
        "collect the pieces, and join them once",
        (),
        may_change=(Change.ALIASING, Change.MEMORY, Change.ROUNDING),
        assumes=found.doubt,
        elsewhere=((found.statement, found.inside),),
        ahead=((found.loop, found.before),),
        behind=((found.loop, found.behind),),
    )
