"""TL412: what was just copied is copied once more."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Example, Fix, Frequency, Input, Kind, Level, Method, Report, Rule, RuleSet, Site
from torchlint.rule.build import in_place_of

_NAMES = function_names("torch numpy", joins="parts")

_MESSAGE = "{what} made a copy already; leave `.{method}()` out"

# NumPy joins and gathers in the order of what it is given, and copies into the order of C.
_IN_ORDER = "the array lies in memory row by row"

_SOURCE = """\
import torch


class Learner:
    def __init__(self):
        self.weight = torch.ones(17, 6, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.weight], lr=0.0)

    def update(self, obs: torch.Tensor, goal: torch.Tensor):
        rows = torch.arange(len(obs) - 1, -1, -1)
        obs, goal = obs[rows].clone(), goal[rows].clone()
        loss = (obs @ self.weight - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def train(learner, rollouts):
    for obs, goal in rollouts:
        learner.update(obs, goal)
"""


class CopyOfACopy(Rule):
    """The result of indexing or concatenation is copied again.

    ## What it does
    Finds hot `.clone()` of a tensor and `.copy()` of an array that an index of several elements, or a call of `cat`,
    `stack` or `concatenate`, has just made.

    ## Why is this slow
    Indexing with a tensor, an array or a list copies the rows that it picks, unlike a slice, and joining copies what it
    joins. No other name holds the result, so the second copy only costs time.

    ## Example
    ```python
    obs = obs[permutation].clone()
    ```

    ## Use instead
    ```python
    obs = obs[permutation]
    ```

    ## What the fix may change
    Nothing for tensors. `.copy()` of an array also lays it out row by row, which indexing and joining do only where
    their arrays lie like that. So the fix assumes it, but for arrays that are proven to have one dimension.

    ## When to ignore it
    Never.

    ## Measured
    Two gathered tensors of 2,048 rows; `torchlint rule TL412` prints the figures.

    ## References
    - NumPy documentation, "Advanced indexing"; PyTorch documentation, `torch.Tensor.clone`.
    """

    code = "TL412"
    name = "copy-of-a-copy"
    summary = "the result of indexing or concatenation is copied again"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Method("clone", "copy")
    least = Frequency.UPDATE
    fixable = True
    gate = ("torch", "numpy")
    examples = (
        Example(
            name="gather-2048x17",
            source=_SOURCE,
            fixed=_SOURCE.replace("[rows].clone()", "[rows]"),
            setup="learner = Learner()",
            workload="learner.update(obs, goal)",
            inputs=(
                Input("obs", Kind.TENSOR, (2048, 17), grad=False),
                Input("goal", Kind.TENSOR, (2048, 6), grad=False),
            ),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a copy of what is a copy already."""
        match site.node:
            case (
                cst.Call(
                    func=cst.Attribute(value=inner, attr=cst.Name(value="clone" | "copy" as method)), args=[]
                ) as call
            ):
                what = _fresh(site, inner, method)
                if what:
                    doubt = "" if method == "clone" or site.values.of(inner).rank in (0, 1) else _IN_ORDER
                    fix = Fix("leave the copy out", ((call, in_place_of(call, inner)),), assumes=doubt)
                    yield Report(
                        call, _MESSAGE.format(what=what, method=method), None if site.compiling.scripted() else fix
                    )


def _fresh(site: Site, node: cst.BaseExpression, method: str) -> str:
    """What made a copy of which nothing else knows; empty when that is not proven."""
    wanted = Kind.TENSOR if method == "clone" else Kind.NDARRAY
    match node:
        case cst.Subscript(value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            if site.values.of(base).kind is wanted and _picks_several(site, index):
                return "indexing with several elements"
        case cst.Call(func=func) if (name := site.names.of(func)) in _NAMES:
            module, _, function = (name or "").rpartition(".")
            if (module == "torch") == (wanted is Kind.TENSOR):
                return f"`{function}`"
    return ""


def _picks_several(site: Site, index: cst.BaseExpression) -> bool:
    """Whether an index is proven a mask, or a tensor, array or list of numbers."""
    value = site.values.of(index)
    if value.kind is Kind.LIST:
        return value.element.kind in (Kind.NUMBER, Kind.SCALAR)
    if value.kind not in (Kind.TENSOR, Kind.NDARRAY):
        return False
    return value.dtype == "bool" or (value.rank is not None and value.rank >= 1)
