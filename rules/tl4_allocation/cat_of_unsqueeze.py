"""TL409: tensors get a new dimension one by one and are concatenated along it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Fix, Frequency, Input, Kind, Report, Rule, Site
from torchlint.rule.build import bare_star_safe, expression, module_for

from ._cat_of_unsqueeze import Replaced, collected, in_place, raised

_CATS = function_names("torch", joins="parts", axis="given")
_KEYWORDS = frozenset({"tensors", "dim"})
_MESSAGE = "each tensor is unsqueezed by a separate operation; `torch.stack` adds the dimension to all"

_SOURCE = """\
import torch
from torch import nn


class Ensemble(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(17, 6) for _ in range(size))

    def forward(self, obs: torch.Tensor):
        return join([head(obs) for head in self.heads])


def join(values: list[torch.Tensor]):
    return {line}


def train(ensemble: Ensemble, optimizer, replay, updates):
    for _ in range(updates):
        obs, goal = replay.sample(256)
        loss = (ensemble(obs) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(replay):
    ensemble = Ensemble(64)
    train(ensemble, torch.optim.Adam(ensemble.parameters()), replay, 1000)
"""


def _example(name: str, shape: tuple[int, ...], before: str, after: str) -> Example:
    return Example(
        name=name,
        source=_SOURCE.format(line=before),
        fixed=_SOURCE.format(line=after),
        setup="values = list(rows)",
        workload="join(values)",
        inputs=(Input("rows", Kind.TENSOR, shape),),
    )


class CatOfUnsqueeze(Rule):
    """Tensors get a new dimension one by one and are concatenated along it.

    ## What it does
    Finds `torch.cat` of a list whose elements all get the dimension along which they are joined just for that:
    `x.unsqueeze(0)`, `x[None]`. Also of a list that a loop fills with such views, that is only joined and may be
    begun again, and where each tensor gets the dimension in place (`x.unsqueeze_(0)`; then without a fix).

    ## Why is this slow
    Every view is an operation that PyTorch dispatches, and that autograd records, on its own. `torch.stack` adds the
    dimension itself.

    ## Example
    ```python
    values = torch.cat([head(obs).unsqueeze(0) for head in self.heads])
    ```

    ## Use instead
    ```python
    values = torch.stack([head(obs) for head in self.heads])
    ```

    ## What the fix may change
    Nothing. It is offered where the dimension of the concatenation and that of each view are the same literal. Both
    forms refuse an empty list, but stack refuses an empty list with a RuntimeError, cat with a ValueError.

    ## When to ignore it
    Where the list holds two or three tensors and a microsecond does not matter.

    ## Measured
    On lists of 64 and of 8 rows; `torchlint rule TL409` prints the figures.

    ## References
    - PyTorch documentation, `torch.stack`.
    """

    code = "TL409"
    name = "cat-of-unsqueeze"
    summary = "tensors get a new dimension one by one and are concatenated along it"
    trigger = Call(*_CATS)
    least = Frequency.UPDATE
    fixable = True
    exceptions: ClassVar[Mapping[str, str]] = {"empty": "stack refuses an empty list with a RuntimeError"}
    examples = (
        _example("rows-64x256", (64, 256), "torch.cat([x.unsqueeze(0) for x in values])", "torch.stack(values)"),
        _example(
            "rows-8x6",
            (8, 6),
            "torch.cat([torch.tanh(x)[None] for x in values], dim=0)",
            "torch.stack([torch.tanh(x) for x in values], dim=0)",
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a concatenation of views that only add its dimension."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) not in _CATS or not site.calls.is_plain(call):
            return
        if any(arg.keyword is not None and arg.keyword.value not in _KEYWORDS for arg in call.args):
            return
        tensors, along = site.calls.argument(call, 0, "tensors"), site.calls.argument(call, 1, "dim")
        dim = 0 if along is None else site.values.of(along).literal
        if tensors is None or type(dim) is not int:
            return
        elements = _elements(tensors)
        filled: Replaced = ()
        listed = isinstance(tensors, (cst.List, cst.Tuple))
        if elements and all(raised(site, element, dim) for element in elements):
            fix = _fix(site, call, tensors, [(element, _bare(element)) for element in elements])
        elif filled := collected(site, tensors, dim):
            fix = _fix_of_filled(site, call, filled)
        else:
            return
        figure = ("rows-8x6",) if listed else ("rows-8x6", "rows-64x256")
        kept = site.compiling.scripted() or any(in_place(site, each, filled) for each in (tensors, *elements))
        yield Report(call, _MESSAGE, None if kept else fix, figure=figure)


def _elements(tensors: cst.BaseExpression | None) -> Sequence[cst.BaseExpression]:
    """The elements of a list, or the one that a comprehension makes again and again."""
    match tensors:
        case cst.ListComp(elt=element) | cst.GeneratorExp(elt=element):
            return [element]
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            plain = [element.value for element in elements if isinstance(element, cst.Element)]
            return plain if len(plain) == len(elements) and len(plain) > 1 else []
    return []


def _bare(view: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor that a view adds a dimension to."""
    match view:
        case cst.Subscript(value=tensor) | cst.Call(args=[cst.Arg(value=tensor), _]):
            return tensor
        case cst.Call(func=cst.Attribute(value=tensor)):
            return tensor
    raise AssertionError(view)


def _fix(
    site: Site,
    call: cst.Call,
    tensors: cst.BaseExpression,
    bare: Sequence[tuple[cst.BaseExpression, cst.BaseExpression]],
) -> Fix:
    """``torch.stack`` of the tensors themselves; of a list as it is where the comprehension did nothing else."""
    torch, missing = module_for(site, "torch", "torch")
    replace: list[tuple[cst.CSTNode, cst.CSTNode]] = [(call.func, expression(f"{torch}.stack"))]
    walked = _walked(site, tensors, bare[0][1])
    if walked is not None:
        replace.append((tensors, walked))
    else:
        replace.extend((element, bare_star_safe(tensor)) for element, tensor in bare)
    return Fix("stack them", tuple(replace), imports=missing)


def _fix_of_filled(site: Site, call: cst.Call, filled: Replaced) -> Fix:
    """``torch.stack`` of a list that loops fill with the tensors themselves."""
    torch, missing = module_for(site, "torch", "torch")
    return Fix(
        "stack them",
        ((call.func, expression(f"{torch}.stack")),),
        imports=missing,
        elsewhere=filled,
    )


def _walked(site: Site, tensors: cst.BaseExpression, tensor: cst.BaseExpression) -> cst.BaseExpression | None:
    """The list that a comprehension only walks through, ``None`` where it does more or is not proven a list."""
    match tensors:
        case cst.ListComp(
            for_in=cst.CompFor(target=target, iter=items, ifs=[], inner_for_in=None, asynchronous=None)
        ) if tensor.deep_equals(target) and site.values.of(items).kind in (Kind.LIST, Kind.TUPLE):
            return items
    return None
