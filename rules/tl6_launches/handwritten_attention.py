"""TL609: attention is written out although one function computes it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Method, Report, Rule, RuleSet, Site

from ._attention import weighs_values

_FUNCTIONS = frozenset({"torch.softmax", "torch.nn.functional.softmax"})
_MESSAGE = (
    "attention is written by hand, and its weights are not used elsewhere; `F.scaled_dot_product_attention(q, k, v)` "
    "does not keep them for the backward pass (slower on a CPU for sequences of a few dozen steps)"
)

_SOURCE = """\
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x):
        parts = self.project(x).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
        return weights @ v


def gradients(model, x):
    model.zero_grad()
    model(x).square().mean().backward()
    return model.project.weight.grad


def train(replay, updates):
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(updates):
        gradients(model, replay.sample(64))
        optimizer.step()
"""
_LINES = """\
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
        return weights @ v
"""
_BETTER = _SOURCE.replace(_LINES, "        return nn.functional.scaled_dot_product_attention(q, k, v)\n").replace(
    "import math\n\n", ""
)


class HandwrittenAttention(Rule):
    """Attention is written by hand although one function computes it.

    ## What it does
    Finds `softmax(q @ k.transpose(-2, -1) / scale) @ v` in hot code, also with masks and dropout in between, where
    nothing but the product with the values reads the weights.

    ## Why is this slow
    Scores, weights and masked weights are tensors of their own, and the backward pass keeps them.
    `scaled_dot_product_attention` computes them again where that is cheaper.

    ## Example
    ```python
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d), dim=-1)
    return weights @ v
    ```

    ## Use instead
    ```python
    return F.scaled_dot_product_attention(q, k, v)
    ```

    ## What the fix may change
    There is no automatic fix: results are rounded otherwise, the scale has to be that of the size of `q`, and masks are
    spelled in another way. This rule must be selected by its code.

    ## When to ignore it
    On a CPU with sequences of a few dozen steps: there the written form was as fast or faster.

    ## Measured
    The figures below take a forward and a backward pass over sequences of 128 steps.

    ## References
    - PyTorch documentation, `torch.nn.functional.scaled_dot_product_attention`.
    """

    code = "TL609"
    name = "handwritten-attention"
    summary = "attention is written by hand"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Call(*_FUNCTIONS) | Method("softmax")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="16-sequences-of-128",
            source=_SOURCE,
            fixed=_BETTER,
            setup="torch.manual_seed(0)\nmodel = Attention()",
            workload="gradients(model, x)",
            inputs=(Input("x", Kind.TENSOR, (16, 128, 128)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a softmax of scaled products whose result only weighs values."""
        call = site.node
        if not isinstance(call, cst.Call) or site.compiling.scripted() or site.compiling.inside():
            return
        if site.names.of(call.func) in _FUNCTIONS:
            scores = site.calls.argument(call, 0, "input")
        elif isinstance(call.func, cst.Attribute) and call.func.attr.value == "softmax":
            scores = call.func.value
        else:
            return
        if scores is not None and weighs_values(site, call, scores):
            yield Report(call, _MESSAGE)
