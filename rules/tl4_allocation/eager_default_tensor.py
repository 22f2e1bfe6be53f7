"""TL411: a tensor is made as a default that is hardly ever needed."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Method, Report, Rule, RuleSet, Site

_CREATORS = (
    function_names("torch", makes=("filled", "pattern", "like", "random"))
    # Not ``as_tensor``, which may return a tensor as it is.
    | function_names("torch", makes="data", graph="ends")
)
_METHODS = frozenset({"get", "pop", "setdefault"})
_CONVERSIONS = frozenset({"to", "float", "long", "bool", "cuda", "expand", "repeat", "unsqueeze"})

_MESSAGE = "the default is made on every call, also when `{key}` is there; look for the key first"

_SOURCE = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(17, 6)

    def forward(self, obs: dict[str, torch.Tensor]):
        x = obs["state"]
        mask = obs.get("mask", torch.ones(x.shape[0], 6, device=x.device))
        return self.body(x) * mask


class Agent:
    def __init__(self):
        self.net = Encoder()

    def act(self, obs):
        with torch.no_grad():
            return self.net(obs).argmax(dim=-1).cpu().numpy()


def collect(agent, envs, steps):
    obs, _ = envs.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = envs.step(agent.act(obs))
"""


class EagerDefaultTensor(Rule):
    """A default argument of `dict.get`, `dict.pop` or `getattr` allocates a tensor on every call.

    ## What it does
    Finds hot `d.get(key, default)`, `d.pop(key, default)`, `d.setdefault(key, default)` and
    `getattr(x, name, default)` whose default makes a tensor.

    ## Why is this slow
    Python evaluates arguments before the call, so the tensor is made whether or not the key is there: an allocation,
    and on an accelerator a kernel, per call.

    ## Example
    ```python
    mask = obs.get("mask", torch.ones(batch, 6, device=x.device))
    ```

    ## Use instead
    ```python
    mask = obs.get("mask")
    if mask is None:
        mask = torch.ones(batch, 6, device=x.device)
    ```

    ## What the fix may change
    There is no automatic fix: it takes a statement of its own.

    ## When to ignore it
    Where the key is missing most of the time.

    ## Measured
    A mask of 256 rows that is there; `torchlint rule TL411` prints the figures.

    ## References
    - Python documentation, "Expressions: calls".
    """

    code = "TL411"
    name = "eager-default-tensor"
    summary = "a default tensor is created even if the key exists"
    level = Level.NOTE
    set = RuleSet.PREVIEW
    trigger = Call("builtins.getattr") | Method(*_METHODS)
    least = Frequency.UPDATE
    examples = (
        Example(
            name="mask-256x6",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                '        mask = obs.get("mask", torch.ones(x.shape[0], 6, device=x.device))\n',
                """\
        mask = obs.get("mask")
        if mask is None:
            mask = torch.ones(x.shape[0], 6, device=x.device)
""",
            ),
            setup="torch.manual_seed(0)\nagent = Agent()\nagent.net.to(device)\n"
            'obs = {"state": state.to(device), "mask": mask.to(device)}',
            workload="agent.act(obs)",
            inputs=(Input("state", Kind.TENSOR, (256, 17)), Input("mask", Kind.TENSOR, (256, 6))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a default that makes a tensor."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.calls.is_plain(call):
            return
        place = _place(site, call)
        if not place:
            return
        key = site.calls.argument(call, place - 1, "key")
        default = site.calls.argument(call, place, "default")
        if key is not None and default is not None and _makes_tensor(site, default):
            known = site.values.of(key).literal
            yield Report(call, _MESSAGE.format(key=known if isinstance(known, str) else "the key"))


def _place(site: Site, call: cst.Call) -> int:
    """The place of the default among the arguments, 0 where a call takes none."""
    if site.names.of(call.func) == "builtins.getattr":
        return 2
    return 1 if isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS else 0


def _makes_tensor(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression makes a new tensor, also one that is then moved, cast or spread out."""
    while isinstance(node, cst.Call):
        if site.names.of(node.func) in _CREATORS:
            return True
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _CONVERSIONS:
            return False
        node = node.func.value
    return False
