"""TL609: attention is written out although one function computes it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site, Trigger

_FUNCTIONS = frozenset({"torch.softmax", "torch.nn.functional.softmax"})
_MESSAGE = (
    "attention is written out, and nothing else looks at its weights; `F.scaled_dot_product_attention(q, k, v)` does "
    "not keep them for the backward pass (on a CPU its forward pass alone may be slower)"
)

_SOURCE = """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(64, 64)

    def forward(self, q, k, v):
        q = self.project(q)
        weights = torch.softmax(q @ k.transpose(-2, -1) / 16**0.5, dim=-1)
        return weights @ v


def gradients(model, q, k, v):
    model.zero_grad()
    model(q, k, v).mean().backward()
    return model.project.weight.grad


def train(replay, updates):
    model = Attention()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(updates):
        gradients(model, *replay.sample(64))
        optimizer.step()
"""
_LINES = """\
        weights = torch.softmax(q @ k.transpose(-2, -1) / 16**0.5, dim=-1)
        return weights @ v
"""
_SIZE = (64, 4, 16, 16)


class HandwrittenAttention(Rule):
    """Attention is written out although one function computes it.

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
    In forward passes without gradients on a CPU: there the written form was as fast or faster.

    ## Measured
    The figures below take a forward and a backward pass.

    ## References
    - PyTorch documentation, `torch.nn.functional.scaled_dot_product_attention`.
    """

    code = "TL609"
    name = "handwritten-attention"
    summary = "attention is written out"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Trigger(calls=_FUNCTIONS, methods=frozenset({"softmax"}))
    least = Frequency.UPDATE
    examples = (
        Example(
            name="b64-h4-t16-d16",
            source=_SOURCE.replace("64, 64", "16, 16"),
            fixed=_SOURCE.replace("64, 64", "16, 16").replace(
                _LINES, "        return nn.functional.scaled_dot_product_attention(q, k, v)\n"
            ),
            setup="torch.manual_seed(0)\nmodel = Attention()",
            workload="gradients(model, q, k, v)",
            inputs=(
                Input("q", Kind.TENSOR, _SIZE, grad=False),
                Input("k", Kind.TENSOR, _SIZE, grad=False),
                Input("v", Kind.TENSOR, _SIZE, grad=False),
            ),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a softmax of scaled products whose result only weighs values."""
        call = site.node
        if not isinstance(call, cst.Call) or site.scripted() or site.compiled():
            return
        if site.name(call.func) in _FUNCTIONS:
            scores = site.argument(call, 0, "input")
        elif isinstance(call.func, cst.Attribute) and call.func.attr.value == "softmax":
            scores = call.func.value
        else:
            return
        if scores is not None and site.weighs_values(call, scores):
            yield Report(call, _MESSAGE)
