"""TL607: one value of each row is selected by a product with a one-hot tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from torchlint import cst
from torchlint.rule import Call, Change, Example, Fix, Found, Frequency, Input, Kind, Level, Method, Report, Rule, Site
from torchlint.rule.build import call_of, expression

from ._one_hot_selection import ONE_HOT, RowProducts, handed_on, picks_by_table, reads_rows

_CASTS = frozenset({"float", "to", "type_as", "type", "double", "half", "bool", "detach"})
_LOSSLESS = frozenset({"float", "detach"})

_PICKED = (
    "a table of zeros and ones is built, multiplied and summed only to select elements by index; `gather` along "
    "that dimension picks it"
)
_EMBEDDED = (
    "a linear layer multiplies its weights with a table of zeros and ones; `F.embedding(index, weight.T) + bias` or "
    "`nn.Embedding` reads the rows that are asked for"
)
_ROWS = (
    "a matrix is multiplied with a table of zeros and ones only to read rows of it; `F.embedding(index, weight)` reads "
    "the rows that are asked for"
)
_ASSUMES = "the values are float32 with one row for each index"

_SOURCE = """\
import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self):
        self.q = nn.Linear(17, 6)
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def update(self, obs, actions, goal):
        loss = (chosen(self.q(obs), actions) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def chosen(q, actions):
    return {line}


def train(agent, replay, updates):
    for _ in range(updates):
        agent.update(*replay.sample(256))
"""


class OneHotSelection(Rule):
    """One value of each row is selected by a product with a one-hot tensor.

    ## What it does
    Finds products of values with `F.one_hot(...)` that are summed over the dimension of the table, in hot code, and
    linear layers whose whole input is such a table, and matrix products with a table on the left
    (`F.one_hot(tokens, n).to(weight) @ weight`). Rows of a unit matrix (`torch.eye(n)[index]`) and zeros into which
    ones are scattered (`table.scatter_(1, index.unsqueeze(1), 1)`) are such tables, too, where they are multiplied.

    ## Why is this slow
    The table has as many numbers as there are values, most of them zeros; it is filled, cast, multiplied and summed.
    `gather` reads one number per row.

    ## Example
    ```python
    chosen = (q * F.one_hot(actions, 6).float()).sum(1)
    ```

    ## Use instead
    ```python
    chosen = q.gather(1, actions.unsqueeze(1)).squeeze(1)
    ```

    ## What the fix may change
    Where a value that is not picked is infinite or NaN: the product with zero makes the sum NaN, `gather` does not read
    it. Unless the shapes and the dtype are known, the fix also assumes that the values are float32 with one row for
    each index.

    ## When to ignore it
    Where the table has other uses. A table that is kept, returned or handed to a call besides is not reported, nor one
    that is an input of a network among others.

    ## Measured
    The figures below pick one of six values in 256 rows.

    ## References
    - PyTorch documentation, `torch.gather`, `torch.nn.functional.embedding`.
    """

    code = "TL607"
    name = "one-hot-selection"
    summary = "one value of each row is selected by a product with a one-hot tensor"
    trigger = Call("torch.sum", ONE_HOT) | Method("sum") | Found(RowProducts)
    least = Frequency.UPDATE
    fixable = True
    may_change: ClassVar[tuple[Change, ...]] = (Change.NONFINITE,)
    examples = (
        Example(
            name="256x6",
            source=_SOURCE.format(line="(q * F.one_hot(actions, 6)).sum(1)"),
            fixed=_SOURCE.format(line="q.gather(1, actions.unsqueeze(1)).squeeze(1)").replace(
                "import torch.nn.functional as F\n", ""
            ),
            setup="actions = q.argmax(1)",
            workload="chosen(q, actions)",
            inputs=(Input("q", Kind.TENSOR, (256, 6)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a summed product with a one-hot table, and a linear layer on one."""
        call = site.node
        if reads_rows(site):
            yield Report(call, _ROWS, figure="none", level=Level.NOTE)
            return
        if not isinstance(call, cst.Call) or not site.calls.is_plain(call) or site.compiling.inside():
            return
        if site.names.of(call.func) == ONE_HOT:
            layer = _layer(site, call)
            if layer is not None:
                yield Report(layer, _EMBEDDED, level=Level.NOTE)
            return
        whole, dim, kept = _summed(site, call)
        if whole is None or dim is None:
            return
        for values, table in _operands(whole):
            picks = _is_table(site, table) and not _is_table(site, values) and _is_last(site, values, dim)
            if picks and not handed_on(site, _bare(table)):
                fix = None if kept or site.compiling.scripted() else _fix(site, call, values, table, dim)
                yield Report(call, _PICKED, fix)
                return
        if picks_by_table(site, whole, dim):
            yield Report(call, _PICKED)


def _layer(site: Site, call: cst.Call) -> cst.Call | None:
    """The call of a linear layer that gets a one-hot table, as it is or cast."""
    links = site.calls.chain(call)
    if any(link.name not in _CASTS for link in links):
        return None
    table = links[-1].node if links else call
    layer = site.parent(table)
    if not isinstance(layer, cst.Call) or all(argument.value is not table for argument in layer.args):
        return None
    return layer if site.values.of(layer.func).name == "torch.nn.Linear" else None


def _operands(whole: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The operands of a product, in both orders."""
    if isinstance(whole, cst.BinaryOperation) and isinstance(whole.operator, cst.Multiply):
        yield whole.left, whole.right
        yield whole.right, whole.left


def _summed(site: Site, call: cst.Call) -> tuple[cst.BaseExpression | None, int | None, bool]:
    """What is summed, over which dimension, and whether more is asked for than the sum."""
    args: Sequence[cst.Arg] = call.args
    if site.names.of(call.func) == "torch.sum":
        whole, args = (args[0].value if args and args[0].keyword is None else None), args[1:]
    else:
        whole = call.func.value if isinstance(call.func, cst.Attribute) else None
    dims = [arg for arg in args if arg.keyword is None or arg.keyword.value in ("dim", "axis")]
    if whole is None or not dims:
        return None, None, False
    literal = site.values.of(dims[0].value).literal
    return whole, literal if type(literal) is int else None, len(args) > 1


def _is_table(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is a one-hot table, also behind names and functions of the project."""
    return site.values.maker(_bare(node)) == "one_hot" or _made(site, node) is not None


def _made(site: Site, node: cst.BaseExpression) -> cst.Call | None:
    """The call that makes a table on the spot."""
    inner = _bare(node)
    return inner if isinstance(inner, cst.Call) and site.names.of(inner.func) == ONE_HOT else None


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """What is cast: ``x`` of ``x.float()``."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _CASTS:
        node = node.func.value
    return node


def _is_last(site: Site, values: cst.BaseExpression, dim: int) -> bool:
    """Whether a dimension is the last one of the values, as far as is known."""
    rank = site.values.of(values).rank
    if dim == -1:
        return True
    return dim == rank - 1 if rank is not None else dim == 1


def _fix(site: Site, call: cst.Call, values: cst.BaseExpression, table: cst.BaseExpression, dim: int) -> Fix | None:
    """``values.gather(dim, index.unsqueeze(dim)).squeeze(dim)`` for a table that is made on the spot."""
    made = _made(site, table)
    index = site.calls.argument(made, 0, "tensor") if made is not None else None
    if made is None or index is None or not site.calls.is_plain(made) or _casts(table) - _LOSSLESS:
        return None
    if not all(
        isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)) or node.lpar for node in (index, values)
    ):
        return None
    at = expression(str(dim))
    picked = _method(values, "gather", at, _method(index, "unsqueeze", at))
    known, chosen = site.values.of(values), site.values.of(index)
    proven = known.dtype == "float32" and known.rank == dim % known.rank + 1 if known.rank else False
    proven = proven and chosen.rank is not None and chosen.rank + 1 == known.rank
    message = "pick the values with `gather`"
    assumes = "" if proven else _ASSUMES
    return Fix(message, ((call, _method(picked, "squeeze", at)),), (Change.NONFINITE,), assumes)


def _casts(table: cst.BaseExpression) -> frozenset[str]:
    """The casts on top of a table."""
    found: set[str] = set()
    while isinstance(table, cst.Call) and isinstance(table.func, cst.Attribute) and table.func.attr.value in _CASTS:
        found.add(table.func.attr.value)
        table = table.func.value
    return frozenset(found)


def _method(base: cst.BaseExpression, name: str, *arguments: cst.BaseExpression) -> cst.Call:
    return call_of("f", *arguments).with_changes(func=cst.Attribute(base, cst.Name(name)))
