"""TL410: data is copied that broadcasting would repeat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, Method, Report, Rule, RuleSet, Site

_SOURCE = """\
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(17, 51)

    def distance(self, values, support):
        return (values - support.unsqueeze(0).repeat(256, 1)).abs().sum(-1)

    def forward(self, obs, support):
        return self.distance(self.body(obs), support)


def train(critic: Critic, optimizer, replay, updates):
    for _ in range(updates):
        obs, support = replay.sample(256)
        loss = critic(obs, support).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(replay):
    critic = Critic()
    train(critic, torch.optim.Adam(critic.parameters()), replay, 1000)
"""


class RepeatInsteadOfExpand(Rule):
    """Data is copied that broadcasting would repeat.

    ## What it does
    Finds `x.unsqueeze(0).repeat(n, 1)` and `x[None].repeat(n, 1)` in hot code as an operand of arithmetic, where only
    the new dimension is repeated.

    ## Why is this slow
    `repeat` writes every copy to memory. Arithmetic broadcasts a dimension of size one by itself, and `expand` makes a
    view of any size of it.

    ## Example
    ```python
    error = goal - values.unsqueeze(0).repeat(n, 1)
    ```

    ## Use instead
    ```python
    error = goal - values.unsqueeze(0)
    ```

    ## What the fix may change
    There is no automatic fix: without the copies the result has the repeated size only where the other operand has it.

    ## When to ignore it
    Where both operands have size one in that dimension.

    ## Measured
    On 256 copies of 51 numbers; `torchlint rule TL410` prints the figures.

    ## References
    - PyTorch documentation, `torch.Tensor.expand`.
    """

    code = "TL410"
    name = "repeat-instead-of-expand"
    summary = "data is copied that broadcasting would repeat"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Method("repeat")
    least = Frequency.UPDATE
    examples = (
        Example(
            name="copies-256x51",
            source=_SOURCE,
            fixed=_SOURCE.replace(".unsqueeze(0).repeat(256, 1)", ".unsqueeze(0)"),
            setup="torch.manual_seed(0)\ncritic = Critic()",
            workload="critic.distance(values, support)",
            inputs=(Input("values", Kind.TENSOR, (256, 51)), Input("support", Kind.TENSOR, (51,))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a repeated new dimension that goes straight into arithmetic."""
        match site.node:
            case cst.Call(func=cst.Attribute(value=repeated, attr=cst.Name(value="repeat")), args=arguments) as call:
                sizes = _sizes(arguments)
                added = _added(site, repeated)
                if added is None or not 0 <= added < len(sizes) or not site.calls.is_plain(call):
                    return
                others = [size for place, size in enumerate(sizes) if place != added]
                ones = all(isinstance(size, cst.Integer) and size.value == "1" for size in others)
                outer = site.parent(call)
                broadcasting = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)
                if ones and isinstance(outer, cst.BinaryOperation) and isinstance(outer.operator, broadcasting):
                    yield Report(
                        call, "`repeat` copies what arithmetic broadcasts by itself; leave it out, or `expand`"
                    )


def _sizes(arguments: Sequence[cst.Arg]) -> list[cst.BaseExpression]:
    """How often each dimension is repeated; a shape may also be one tuple."""
    match arguments:
        case [cst.Arg(value=cst.Tuple(elements=elements) | cst.List(elements=elements))]:
            return [element.value for element in elements]
    return [argument.value for argument in arguments]


def _added(site: Site, node: cst.BaseExpression) -> int | None:
    """The place of the dimension of size one that a view of a tensor adds."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="unsqueeze")), args=[cst.Arg(value=place)]):
            literal = site.values.of(place).literal
            return literal if type(literal) is int else None
        case cst.Subscript(value=tensor, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value="None")))]):
            return 0 if site.values.of(tensor).kind is Kind.TENSOR else None
    return None
