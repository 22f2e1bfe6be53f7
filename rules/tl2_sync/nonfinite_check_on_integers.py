"""TL212: integers and bools are tested for NaN or infinity, which they cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import last_names, method_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Method, Report, Rule, Site
from torchlint.rule.convert import CAST_DTYPES

_PREDICATES = method_names(tests=True)
_INTEGERS = last_names(dtype=("integer", "truth"))

_MESSAGE = "`{predicate}` of {what} gives the same result for every value: remove the check"

_SOURCE = """\
import torch
from torch import nn


class MaskedPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(17, 18)

    def forward(self, obs: torch.Tensor, legal: torch.Tensor):
        legal = legal.bool()
        if torch.isnan(legal.float()).any():
            raise ValueError("NaN in the mask")
        return self.head(obs).masked_fill(~legal, float("-inf"))


class Agent:
    def __init__(self):
        self.policy = MaskedPolicy()

    def act(self, obs, legal):
        with torch.inference_mode():
            return self.policy(obs, legal).argmax(dim=1).cpu().numpy()


def collect(agent, envs, steps):
    obs, info = envs.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = envs.step(agent.act(obs, info["legal"]))
"""


class NonfiniteCheckOnIntegers(Rule):
    """A tensor of bools or integers is tested for NaN or infinity.

    ## What it does
    Finds hot `isnan`, `isinf`, `isfinite` of a tensor that is proven to hold bools or integers, also when it was cast
    to a floating dtype just for the test.

    ## Why is this slow
    The answer is known before the program runs, yet each call makes a tensor of it, usually a reduction, and a bool
    that Python waits for.

    ## Example
    ```python
    if torch.isnan(mask.float()).any():
        raise ValueError("NaN in the mask")
    ```

    ## Use instead
    Nothing: the check can be deleted. What a mask can be wrong in is its values and its shape.

    ## What the fix may change
    There is no automatic fix: a check that can never fire was meant for something, perhaps for another tensor.

    ## When to ignore it
    Where the dtype is about to change.

    ## Measured
    On a mask of 18 actions; `torchlint rule TL212` prints the figures.

    ## References
    - PyTorch documentation, `torch.isnan`.
    """

    code = "TL212"
    name = "nonfinite-check-on-integers"
    summary = "integers or bools are tested for NaN or infinity, which they cannot hold"
    trigger = Call(*(f"torch.{name}" for name in _PREDICATES)) | Method(*_PREDICATES)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="mask-256x18",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                """\
        if torch.isnan(legal.float()).any():
            raise ValueError("NaN in the mask")
""",
                "",
            ),
            setup="agent = Agent()\nagent.policy.to(device)\nobs, legal = obs.to(device), legal.to(device)",
            workload="agent.act(obs, legal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("legal", Kind.TENSOR, (256, 18), "bool")),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a test for NaN or infinity of a tensor that holds integers."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        predicate, tested = _tested(site, call)
        dtype = _dtype(site, tested) if tested is not None else None
        if dtype in _INTEGERS:
            what = "bools" if dtype == "bool" else "integers"
            yield Report(call, _MESSAGE.format(predicate=predicate, what=what))


def _tested(site: Site, call: cst.Call) -> tuple[str, cst.BaseExpression | None]:
    """The predicate that a call is, and the tensor it tests."""
    module, _, predicate = (site.names.of(call.func) or "").rpartition(".")
    if module == "torch" and predicate in _PREDICATES:
        return predicate, site.calls.argument(call, 0, "input")
    func = call.func
    if isinstance(func, cst.Attribute) and func.attr.value in _PREDICATES and not module:
        return func.attr.value, func.value
    return "", None


def _dtype(site: Site, node: cst.BaseExpression) -> str | None:
    """The dtype of a tensor's elements before it was cast to a floating dtype; ``None`` when it is not known."""
    value = site.values.of(node)
    if value.kind is not Kind.TENSOR:
        return None
    if value.dtype in _INTEGERS:
        return value.dtype
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in CAST_DTYPES:
            return _dtype(site, inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))):
            return _dtype(site, inner)
    return None
