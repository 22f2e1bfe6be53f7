"""TL210: a tensor is indexed with a single number that lives on a device."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Device, Example, Found, Frequency, Input, Kind, Level, Report, Rule, Site

from ._device_scalar_index import ScalarIndices, gone_over, has_bound

_MESSAGE = "indexing with a 0-d tensor forces a GPU sync; `index_select` takes a tensor there"

_LOOP = "indexing with a 0-d tensor forces a GPU sync; go over {places}, which reads all at once"

_BOUND = "a slice with a tensor as its bound forces a GPU sync; read all bounds at once with `tolist()`, or use a mask"

_SOURCE = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Planner:
    def __init__(self, horizon):
        self.horizon = horizon

    @torch.no_grad()
    def plan(self, candidates: torch.Tensor, returns: torch.Tensor):
        best = torch.argmax(returns)
        return candidates[best]


def control(planner, env, model, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        action = planner.plan(*model.imagine(obs))
        obs, reward, terminated, truncated, _ = env.step(action[0].cpu().numpy())
"""


class DeviceScalarIndex(Rule):
    """Indexing with a 0-d tensor reads the number on the host.

    ## What it does
    Finds hot subscripts `x[i]` of tensors with an index `i` that is proven a 0-d tensor and may be on a device, and
    slices `x[:n]` with such a tensor as a bound, as in `rows[i, : lengths[i]]`. A loop over a tensor of places gives
    such indices, one after the other: `for i in done.nonzero().squeeze(-1): lengths[i] = 0`.

    ## Why is this slow
    An index of a single integer becomes a view at an offset, and the offset has to be known on the host: Python waits
    for all work queued on the device. An index with a dimension stays on the device. So does a mask, where a slice
    with bounds of each row would cut rows one by one.

    ## Example
    ```python
    best = candidates[returns.argmax()]
    ```

    ## Use instead
    ```python
    best = candidates.index_select(0, returns.argmax()).squeeze(0)
    ```

    ## What the fix may change
    There is no automatic fix: the subscript gives a view of the tensor, `index_select` a copy.

    ## When to ignore it
    On the CPU, and where the number is needed on the host anyway.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL210` prints them.

    ## References
    - PyTorch documentation, `torch.index_select`, and "Tensor indexing API".
    """

    code = "TL210"
    name = "device-scalar-index"
    summary = "a tensor is indexed with a 0-d tensor on the GPU, which forces a GPU sync"
    level = Level.NOTE
    trigger = Found(ScalarIndices)
    least = Frequency.UPDATE
    cuda_only = True
    examples = (
        Example(
            name="best-candidate",
            source=_SOURCE,
            fixed=_SOURCE.replace("candidates[best]", "candidates.index_select(0, best).squeeze(0)"),
            setup="planner = Planner(5)\ncandidates, returns = candidates.to(device), returns.to(device)",
            workload="planner.plan(candidates, returns)",
            inputs=(Input("candidates", Kind.TENSOR, (512, 5, 6)), Input("returns", Kind.TENSOR, (512,))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a subscript with a 0-d index that may be on a device."""
        node = site.node
        if not isinstance(node, cst.Subscript) or not site.device.may_be_cuda():
            return
        if has_bound(site, node):
            yield Report(node, _BOUND)
            return
        value = site.values.of(node.value)
        if value.kind is not Kind.TENSOR or value.device is Device.CPU:
            return
        indices = [element.slice.value for element in node.slice if isinstance(element.slice, cst.Index)]
        scalar = next((index for index in indices if _is_device_scalar(site, index)), None)
        if scalar is not None:
            places = gone_over(site, scalar)
            yield Report(node, _MESSAGE if places is None else _LOOP.format(places=places))


def _is_device_scalar(site: Site, index: cst.BaseExpression) -> bool:
    """Whether an index is proven a 0-d tensor of numbers, off the host. A 0-d bool is a mask and not a number."""
    value = site.values.of(index)
    return value.kind is Kind.TENSOR and value.rank == 0 and value.dtype != "bool" and value.device is not Device.CPU
