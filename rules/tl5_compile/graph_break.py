"""TL504: a graph break in a compiled function."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site, Splits

from ._graph_break import GraphBreaks, breaks_graph

_SOURCE = """\
import torch


@torch.compile(backend="eager")
def clipped_loss(ratio: torch.Tensor, advantage: torch.Tensor):
    weight = ratio.mean().item()
    if advantage.abs().max() > 10.0:
        advantage = advantage / 10.0
    surrogate = ratio * advantage
    clipped = ratio.clamp(0.8, 1.2) * advantage
    return -torch.min(surrogate, clipped).mean() * weight


def update(optimizer, ratios, advantages):
    for ratio, advantage in zip(ratios, advantages):
        loss = clipped_loss(ratio, advantage)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_WORDS = {
    Splits.NUMBER: ("reading a number off a tensor", "keep it a tensor, or read it outside"),
    Splits.TEST: ("branching on a tensor", "use torch.where, or test outside"),
    Splits.TEXT: ("writing text", "write it outside"),
    Splits.CLOCK: ("reading the clock", "read it outside"),
}


class GraphBreak(Rule):
    """Code that breaks the graph of a function that this project compiles.

    ## What it does
    Finds, in functions that are compiled or called by compiled ones: `.item()`, `.tolist()`, `float(t)`, `int(t)` and
    `math` functions of tensors, branches on tensors (`if`, `while`, conditional expressions, `and`, `or`), `print`,
    loggers, and clocks. Code under `torch.compiler.is_compiling()`, functions with `torch.compiler.disable`, and
    what is compiled with `fullgraph=True` (where a break is an error, and a number no break) are left alone; so are
    conversions to NumPy, which torch traces.

    ## Why is this slow
    The compiler stops there: what was traced so far becomes one graph, Python runs the line, and the rest of the
    function becomes another. Nothing is fused across the break, and every call pays for the second entry.

    ## Example
    ```python
    @torch.compile
    def loss(x, weight):
        if x.abs().max() > 10.0:
            x = x / 10.0
        return (x * weight.mean().item()).sum()
    ```

    ## Use instead
    ```python
    @torch.compile
    def loss(x, weight):
        x = torch.where(x.abs().max() > 10.0, x / 10.0, x)
        return (x * weight.mean()).sum()
    ```

    ## What the fix may change
    There is no automatic fix.

    ## When to ignore it
    Where `torch._dynamo.config.capture_scalar_outputs` is set from outside the project: then `.item()` is traced.

    ## Measured
    The figures compare a small loss function with and without breaks under `backend="eager"`: the time that entering
    two graphs more takes, without what a generating backend could have fused.

    ## References
    - PyTorch documentation, "Working with graph breaks".
    """

    code = "TL504"
    name = "graph-break"
    summary = "a graph break in a compiled function"
    level = Level.WARNING
    trigger = Found(GraphBreaks)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="two-breaks-in-a-loss",
            source=_SOURCE,
            fixed=_SOURCE.replace("ratio.mean().item()", "ratio.mean()").replace(
                """\
    if advantage.abs().max() > 10.0:
        advantage = advantage / 10.0
""",
                """\
    advantage = torch.where(advantage.abs().max() > 10.0, advantage / 10.0, advantage)
""",
            ),
            setup="clipped_loss(ratio, advantage)",
            workload="clipped_loss(ratio, advantage)",
            inputs=(
                Input("ratio", Kind.TENSOR, (256,), grad=False),
                Input("advantage", Kind.TENSOR, (256,), grad=False),
            ),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call or test that breaks the graph of compiled code."""
        found = breaks_graph(site)
        if found is None or not isinstance(site.node, cst.BaseExpression):
            return
        why, instead = _WORDS[found.why]
        place = f"{found.compiled.path}:{found.compiled.row}"
        yield Report(site.node, f"{why} breaks the compiled graph; {instead} (compiled at {place})")
