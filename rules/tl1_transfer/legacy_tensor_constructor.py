"""TL101: tensors made by ``torch.FloatTensor`` and its kin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.rule import Call, Example, Fix, Input, Kind, Report, Rule
from torchlint.rule.build import expression, in_place_of, module_for, on_top, source, with_keyword
from torchlint.rule.convert import (
    FLOATING,
    LEGACY_CONSTRUCTORS,
    legacy_dtype,
    move_after,
)

from ._defaults import defaults_kept, home_of
from ._sizes import sounds_like_size

if TYPE_CHECKING:
    from torchlint.rule import Link, Site
    from torchlint.rule.convert import Move

_DATA = frozenset({Kind.LIST, Kind.TUPLE, Kind.NDARRAY})
_NO_SIZE = FLOATING | {"bool"}

_AGENT = """\
import numpy as np
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.device = torch.device(device)
        self.policy = nn.Linear(17, 6).to(self.device)

    def observe(self, obs: np.ndarray):
        return {line}

    def act(self, obs):
        return self.policy(self.observe(obs)).argmax(dim=1).item()


def train(agent: Agent, env, steps):
    obs, info = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(agent.act(obs))
        if terminated or truncated:
            obs, info = env.reset()
"""
_COLLECT = """\
import torch


def alive(done):
    return {line}


def collect(policy, envs, steps):
    obs, info = envs.reset()
    masks = []
    for _ in range(steps):
        obs, reward, terminated, truncated, info = envs.step(policy(obs))
        masks.append(alive(terminated))
    return masks
"""


class LegacyTensorConstructor(Rule):
    """Hot code calls a legacy constructor such as ``torch.FloatTensor`` on data.

    ## What it does
    Finds `torch.FloatTensor(x)` and its relatives (`torch.LongTensor`, `torch.cuda.FloatTensor`, `torch.Tensor`, ...)
    that turn an array or a list into a tensor once per step or update, alone or moved to a device right after.

    ## Why is this slow
    The legacy constructors take a slower way through PyTorch than `torch.as_tensor`, always build the tensor on their
    own device first, and leave the move to another call.

    ## Example
    ```python
    state = torch.FloatTensor(obs[None, :]).to(self.device)
    ```

    ## Use instead
    ```python
    state = torch.as_tensor(obs[None, :], dtype=torch.float32, device=self.device)
    ```

    ## What the fix may change
    Nothing, where the argument is proven to be a list, or an array that has a dimension or holds no integers.
    `torch.FloatTensor` shares memory with a float32 array just as `torch.as_tensor` does, so no aliasing comes or goes.
    Where the argument may be a number, the fix is unsafe, for `torch.FloatTensor(5)` makes five elements, as does
    `torch.FloatTensor(np.array(5))`. So is it where the argument may be a tensor, which keeps its dtype in
    `torch.Tensor(x)` and loses a class of its own in all of them, and for a `torch.Tensor(x)` that is not moved, where
    the code is a library's or the project mentions `torch.set_default_tensor_type` or its like: that may name an
    accelerator. Elsewhere the dtype of `torch.Tensor(x)` is written as `torch.float32`. `device="cpu"` is written where
    a default device or a `with torch.device(...)` may say otherwise. A move to something that is not proven to be a
    device stays where it is. An empty list becomes `torch.empty(0)`.

    ## When to ignore it
    In code that runs seldom. Sizes (`torch.FloatTensor(3, 4)`, `torch.FloatTensor(x.shape)`) are never reported.

    ## Measured
    On observations of 17 numbers and on lists of them; `torchlint rule TL101` prints the figures.

    ## References
    `torch.Tensor` and `torch.as_tensor` in the documentation of PyTorch.
    """

    code = "TL101"
    name = "legacy-tensor-constructor"
    summary = "a legacy constructor such as torch.FloatTensor turns data into a tensor in hot code"
    trigger = Call(*LEGACY_CONSTRUCTORS)
    yields_to = ("TL104", "TL108")
    fixable = True
    examples = (
        Example(
            name="observation-17",
            source=_AGENT.format(line="torch.FloatTensor(obs[np.newaxis, :]).to(self.device)"),
            fixed=_AGENT.format(
                line="torch.as_tensor(obs[np.newaxis, :], dtype=torch.float32, device=self.device)",
            ),
            setup="agent = Agent(device)",
            workload="agent.observe(obs)",
            inputs=(Input("obs", Kind.NDARRAY, (17,), "float64"),),
        ),
        Example(
            name="masks-of-8-environments",
            source=_COLLECT.format(line="torch.FloatTensor([[0.0] if end else [1.0] for end in done])"),
            fixed=_COLLECT.format(
                line="torch.as_tensor([[0.0] if end else [1.0] for end in done], dtype=torch.float32)",
            ),
            setup="",
            workload="alive(done)",
            inputs=(Input("done", Kind.NDARRAY, (8,), "bool"),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a legacy constructor that is given data, not sizes."""
        match site.node:
            case cst.Call(args=[cst.Arg(keyword=None, star="", value=data)]) as call:
                named = site.names.of(call.func) or ""
            case _:
                return
        chosen = {named} if named in LEGACY_CONSTRUCTORS else set(site.names.alternatives(call.func))
        name = min(chosen, default="")
        if not chosen <= LEGACY_CONSTRUCTORS.keys() or len({LEGACY_CONSTRUCTORS[each] for each in chosen}) > 1:
            return
        links = site.calls.chain(call)
        if name not in LEGACY_CONSTRUCTORS or not _may_be_data(site, data, links):
            return
        torch, imports = module_for(site, "torch", "torch")
        move = move_after(site, links, torch)
        old = move.end if move else call
        fix = None
        if len(chosen) == 1 and name == named and not site.compiling.scripted():
            kept = name == "torch.Tensor" and defaults_kept(site)
            bare = name == "torch.Tensor" and _is_empty(data)
            home = move.device if move else None if bare else home_of(site, name)
            new = on_top(_rewritten(call, name, torch, home, kept=kept), move.views if move else ())
            doubt = _doubt(site, name, data, move, kept=kept)
            fix = Fix(f"Use {torch}.as_tensor", ((old, in_place_of(old, new)),), assumes=doubt, imports=imports)
        figure = "masks-of-8-environments" if site.values.of(data).kind is Kind.LIST else "observation-17"
        yield Report(old, _message(name if name == named else source(call.func), name, move), fix, figure=figure)


def _may_be_data(site: Site, data: cst.BaseExpression, links: Sequence[Link]) -> bool:
    """Whether the argument is data; where nothing is known, whether at least nothing speaks for a size."""
    value = site.values.of(data)
    if value.known and value.kind is not Kind.ITEM:
        return value.kind in _DATA
    filled_in_place = bool(links) and links[0].name.endswith("_")
    twin = site.expression(data)
    return not filled_in_place and not (twin is not None and sounds_like_size(site, twin))


def _doubt(site: Site, name: str, data: cst.BaseExpression, move: Move | None, *, kept: bool) -> str:
    """What the fix has to assume, empty when all is proven; ``kept``: no default of new tensors is changed.

    The constructors take what Python can index with for a number of elements: an array of integers without a
    dimension too, but none of floats or of truths. A tensor, and no array, keeps the dtype that it has in
    ``torch.Tensor``, and loses a class of its own.
    """
    value = site.values.of(data)
    if value.kind not in (*_DATA, Kind.ITEM):
        return "the argument is an array or a list, not a number of elements or a tensor"
    if value.kind in (Kind.NDARRAY, Kind.ITEM) and not (value.has_axes or value.dtype in _NO_SIZE):
        return "the array has at least one dimension"
    if name == "torch.Tensor" and move is None and not kept:
        return "no default device is set" if _is_empty(data) else "the default tensor type lives on the CPU"
    return ""


def _is_empty(data: cst.BaseExpression) -> bool:
    """Whether the argument is ``[]`` or ``()``."""
    return isinstance(data, (cst.List, cst.Tuple)) and not data.elements


def _rewritten(
    call: cst.Call, name: str, torch: str, home: cst.BaseExpression | None, *, kept: bool
) -> cst.BaseExpression:
    """The call as ``torch.as_tensor(x, dtype=..., device=...)``."""
    if _is_empty(call.args[0].value):
        zero = call.args[0].with_changes(value=cst.Integer("0"))
        new = call.with_changes(func=expression(f"{torch}.empty"), args=[zero])
        if name != "torch.Tensor":
            new = with_keyword(new, "dtype", legacy_dtype(name, torch))
    else:
        new = call.with_changes(func=expression(f"{torch}.as_tensor"))
        new = with_keyword(new, "dtype", legacy_dtype(name, torch, "float32") if kept else legacy_dtype(name, torch))
    return with_keyword(new, "device", home) if home is not None else new


def _message(called: str, name: str, move: Move | None) -> str:
    """The smell and the better form in one line."""
    dtype = LEGACY_CONSTRUCTORS[name] or "get_default_dtype()"
    if move:
        better = f"torch.as_tensor(..., dtype=torch.{dtype}, device=...) does both in one call"
        return f"{called}(...) is built on the CPU and then moved: {better}"
    return f"{called}(...) is the slow legacy constructor: use torch.as_tensor(..., dtype=torch.{dtype}, device=...)"
