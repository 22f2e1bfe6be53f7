"""TL103: arrays copied by ``torch.tensor`` where the tensor could share their memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.rule import Call, Change, Example, Fix, Input, Kind, Level, Report, Rule, RuleSet
from torchlint.rule.build import expression, in_place_of, keyword_of, module_for

from ._copying_construction import gathered

if TYPE_CHECKING:
    from torchlint.rule import Site, Value

_NO_TWIN = frozenset({"requires_grad", "pin_memory"})

_REPLAY = """\
import numpy as np
import torch
from torch import nn


class Replay:
    def __init__(self):
        self.frames = np.zeros((512, 4, 84, 84), dtype=np.uint8)

    def batch(self, rows):
        return {line}


def train(network, optimizer, replay: Replay, updates):
    for _ in range(updates):
        frames = replay.batch(np.random.randint(512, size=32))
        loss = network(frames.float() / 255).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class CopyingConstruction(Rule):
    """`torch.tensor` copies an array whose dtype stays the same.

    ## What it does
    Finds `torch.tensor(array)` on arrays that are proven large: frames of bytes, and batches that are gathered from a
    replay buffer, where no dtype is changed.

    ## Why is this slow
    `torch.tensor` always copies. `torch.as_tensor` makes a tensor over the array's own memory.

    ## Example
    ```python
    frames = torch.tensor(self.frames[rows])
    ```

    ## Use instead
    ```python
    frames = torch.as_tensor(self.frames[rows])
    ```

    ## What the fix may change
    The tensor and the array share memory (`aliasing`): what is later written into one shows in the other. It is not
    offered with `requires_grad=` or `pin_memory=`, which `torch.as_tensor` does not have.

    ## When to ignore it
    Where the array is written to afterwards, as an environment does that reuses its observation. Small observations are
    not reported: the copy of 17 numbers costs about a microsecond. Where the dtype changes a copy is needed anyway.

    ## Measured
    On a batch of 32 stacks of frames; `torchlint rule TL103` prints the figures.

    ## References
    `torch.tensor` and `torch.as_tensor` in the documentation of PyTorch.
    """

    code = "TL103"
    name = "copying-construction"
    summary = "torch.tensor copies a large array whose dtype stays as it is"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call("torch.tensor")
    yields_to = ("TL104", "TL108")
    fixable = True
    may_change = (Change.ALIASING,)
    examples = (
        Example(
            name="frames-32x4x84x84",
            source=_REPLAY.format(line="torch.tensor(self.frames[rows])"),
            fixed=_REPLAY.format(line="torch.as_tensor(self.frames[rows])"),
            setup="replay = Replay()",
            workload="replay.batch(rows % 512)",
            inputs=(Input("rows", Kind.NDARRAY, (32,), "int64"),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report ``torch.tensor`` of a large array in its own dtype."""
        match site.node:
            case cst.Call(args=[cst.Arg(keyword=None, star="", value=data), *_]) as call:
                pass
            case _:
                return
        if site.names.of(call.func) != "torch.tensor" or not site.calls.is_plain(call):
            return
        array = site.values.of(data)
        dtype = keyword_of(call, "dtype")
        told = site.values.of(dtype).dtype if dtype is not None else array.dtype
        if (
            array.kind is not Kind.NDARRAY
            or told is None
            or not _stays(array, told)
            or not _is_large(site, data, array, told)
        ):
            return
        fix = None
        if not site.compiling.scripted() and all(keyword_of(call, word) is None for word in _NO_TWIN):
            torch, imports = module_for(site, "torch", "torch")
            new = in_place_of(call, call.with_changes(func=expression(f"{torch}.as_tensor")))
            fix = Fix(f"Use {torch}.as_tensor", ((call, new),), (Change.ALIASING,), imports=imports)
        yield Report(call, "torch.tensor copies this array again: torch.as_tensor shares its memory", fix)


def _stays(array: Value, told: str) -> bool:
    """Whether the tensor has the array's dtype. What is asked for as bytes without more knowledge is an image."""
    return array.dtype == told or (array.dtype is None and told == "uint8")


def _is_large(site: Site, data: cst.BaseExpression, array: Value, dtype: str) -> bool:
    """Whether an array is a batch picked out of another array, or frames of bytes."""
    if dtype == "uint8" and array.rank not in (0, 1):
        return True
    return gathered(site, data)
