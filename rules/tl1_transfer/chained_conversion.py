"""TL105: a cast and a move in two calls where one does both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.rule import Device, Example, Fix, Input, Kind, Level, Method, Report, Rule
from torchlint.rule.build import call_of, in_place_of, module_for, on_top, with_keyword
from torchlint.rule.convert import (
    CAST_DTYPES,
    CONVERSIONS,
    FLOATING,
    WIDTHS,
    beneath,
    conversion,
    device_named,
    is_view,
)

if TYPE_CHECKING:
    from torchlint.rule import Link, Site, Value
    from torchlint.rule.convert import Conversion

_UPDATE = """\
import torch
from torch import nn


def labels(returns, device: torch.device):
    return {line}


def train(critic, optimizer, batches, device: torch.device):
    for obs, returns in batches:
        loss = nn.functional.mse_loss(critic(obs), labels(returns, device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(critic, optimizer, obs, device: torch.device):
    returns = torch.zeros(256, 17, dtype=torch.float64)
    train(critic, optimizer, [(obs, returns)], device)
"""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A cast and a move: the value before both, the two steps, and whether the cast comes first."""

    source: cst.BaseExpression
    inner: Link
    between: tuple[Link, ...]
    device: cst.BaseExpression
    cast: Conversion
    cast_first: bool

    @property
    def dtype(self) -> str:
        """The name of the dtype it is cast to."""
        return self.cast.dtype_name or ""


class ChainedConversion(Rule):
    """A tensor that is cast by one call and moved by another, where one `.to(device=, dtype=)` does both.

    ## What it does
    Finds exactly one cast and one move of a tensor in the same expression: `.float().to(device)`,
    `.to(device).to(torch.bool)`, `.double().cpu()`, with views between them at most. It asks for a proof that the one
    call copies no more: from the host to a device the source must be at least as wide as the target, from a device to
    the host at most as wide.

    ## Why is this slow
    Each call is a pass through PyTorch's dispatcher and may be a copy of its own. Merged, a wide tensor is cast on the
    host while it is copied out, and the narrow form crosses the bus.

    ## Example
    ```python
    targets = torch.from_numpy(returns).to(self.device).float()
    ```

    ## Use instead
    ```python
    targets = torch.from_numpy(returns).to(device=self.device, dtype=torch.float32)
    ```

    ## What the fix may change
    Nothing. It is not offered where a floating tensor would be cast to integers on another device than before, since
    what NaN and numbers out of range become differs there.

    ## When to ignore it
    The gain is small. Two casts, narrow sources such as uint8 frames on their way to a device, `non_blocking=`, and
    sources whose dtype or device is not known are left alone: a blocking `.to(device, dtype)` casts on the host first.

    ## Measured
    On a batch of returns in float64; `torchlint rule TL105` prints the figures. On the CPU the one call takes as long
    as the two, so this is a note. On an accelerator the events are the same.

    ## References
    `torch.Tensor.to` in the documentation of PyTorch.
    """

    code = "TL105"
    name = "chained-conversion"
    summary = "a cast and a move in two calls, where one .to(device=, dtype=) does both"
    level = Level.NOTE
    kept = "the one call takes as long as the two, so this is a note"
    trigger = Method(*CONVERSIONS)
    yields_to = ("TL102", "TL108")
    fixable = True
    examples = (
        Example(
            name="returns-256x17",
            source=_UPDATE.format(line="returns.float().to(device)"),
            fixed=_UPDATE.format(line="returns.to(device=device, dtype=torch.float32)"),
            setup="device = torch.device(device)",
            workload="labels(returns, device)",
            inputs=(Input("returns", Kind.TENSOR, (256, 17), "float64"),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the outer one of a cast and a move."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda():
            return
        torch, imports = module_for(site, "torch", "torch")
        pair = _pair(site, call, torch)
        if pair is None or not _copies_no_more(site, site.values.of(pair.source), pair):
            return
        fix = None
        if not site.compiling.scripted() and not _rounds_elsewhere(site.values.of(pair.source), pair):
            new = in_place_of(call, _merged(pair))
            needed = imports if pair.inner.name in CAST_DTYPES or _method(call) in CAST_DTYPES else ()
            fix = Fix("Cast and move in one call", ((call, new),), imports=needed)
        yield Report(call, _message(pair, call), fix)


def _pair(site: Site, call: cst.Call, torch: str) -> _Pair | None:
    """The cast and the move that end in a call, if there are exactly these two."""
    if any(conversion(site, link, torch) is not None for link in _converting(site, site.calls.chain(call))):
        return None
    _, links = beneath(call)
    steps = [(link, conversion(site, link, torch)) for link in reversed(links)]
    if not steps:
        return None
    outer, rest = steps[0], steps[1:]
    between: list[Link] = []
    while rest and rest[0][1] is None and is_view(site, rest[0][0]):
        between.insert(0, rest.pop(0)[0])
    if outer[1] is None or not rest or rest[0][1] is None:
        return None
    inner = rest.pop(0)
    while rest and rest[0][1] is None and is_view(site, rest[0][0]):
        rest.pop(0)
    if rest and rest[0][1] is not None:
        return None
    source = _receiver(inner[0])
    return _sorted(source, inner, outer, tuple(between)) if source is not None else None


def _converting(site: Site, links: Sequence[Link]) -> Iterator[Link]:
    """The links that may convert: up to the first that does more than show the elements in another shape."""
    for link in links:
        yield link
        if not is_view(site, link):
            return


def _sorted(
    source: cst.BaseExpression,
    inner: tuple[Link, Conversion | None],
    outer: tuple[Link, Conversion | None],
    between: tuple[Link, ...],
) -> _Pair | None:
    """The pair, if one step only casts and the other only moves, both proven and blocking."""
    first, last = inner[1], outer[1]
    if first is None or last is None or not (first.proven and last.proven) or first.asynchronous or last.asynchronous:
        return None
    if first.device is None and last.dtype is None and last.device is not None and first.dtype_name:
        return _Pair(source, inner[0], between, last.device, first, cast_first=True)
    if first.dtype is None and last.device is None and first.device is not None and last.dtype_name:
        return _Pair(source, inner[0], between, first.device, last, cast_first=False)
    return None


def _receiver(link: Link) -> cst.BaseExpression | None:
    match link.node:
        case cst.Call(func=cst.Attribute(value=inner)):
            return inner
    return None


def _method(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _copies_no_more(site: Site, source: Value, pair: _Pair) -> bool:
    """Whether one call is proven to copy no more between the devices than the two do."""
    there = device_named(site, pair.device)
    old, new = WIDTHS.get(source.dtype or ""), WIDTHS.get(pair.dtype)
    if new is None or source.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return False
    if source.device is Device.CPU:
        return there is not Device.CPU and (new == 1 or (old is not None and old >= new))
    if there is Device.CPU:
        return source.device in (Device.CUDA, Device.EITHER) and old is not None and old <= new
    return new == 1 and source.device is Device.UNKNOWN  # nothing is narrower, whatever the source is


def _rounds_elsewhere(source: Value, pair: _Pair) -> bool:
    """Whether the merged call would turn numbers with a fraction into integers on another device."""
    return pair.dtype not in {*FLOATING, "bool"} and source.dtype not in set(WIDTHS) - FLOATING and not pair.cast_first


def _merged(pair: _Pair) -> cst.BaseExpression:
    """``source.to(device=..., dtype=...)`` with the views on top that stood between the two calls."""
    assert pair.cast.dtype is not None
    method = cst.Attribute(value=pair.source, attr=cst.Name("to"))
    new = with_keyword(call_of("to"), "device", pair.device).with_changes(func=method)
    return on_top(with_keyword(new, "dtype", pair.cast.dtype), pair.between)


def _message(pair: _Pair, call: cst.Call) -> str:
    """The smell and the better form in one line."""
    first, last = f".{pair.inner.name}(...)", f".{_method(call)}(...)"
    return f"{first} then {last} converts in two calls: .to(device=..., dtype=torch.{pair.dtype}) does both"
