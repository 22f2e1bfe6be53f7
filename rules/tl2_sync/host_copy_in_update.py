"""TL204: a tensor copied to the host in every update, where only a log reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.models import last_names, method_names
from torchlint.rule import (
    Change,
    Device,
    Example,
    Found,
    Frequency,
    Input,
    Kind,
    Level,
    Method,
    Report,
    Rule,
    Site,
    Use,
)

from ._host_copy_in_update import HostCopies, copying, is_copy
from ._recording import recorded

if TYPE_CHECKING:
    from torchlint.rule import Link

_COPIES = method_names(waits="reads", returns=("array", "tensor"))
_LISTS, _ARRAYS = (method_names(waits="reads", returns=kind) for kind in ("list", "array"))
_JOINING = last_names("torch", joins=("parts", "elements"))
_MOVES = method_names(moves=("host", "given"))
_SAME = method_names("torch.Tensor torch", elements="all", casts=False, shapes=False)
_FURTHER = method_names(waits="reads", returns=("number", "array", "list"))
_RECORDING = method_names("list", adds=True, at=False)
_ENDS = frozenset({Use.LOGGED, Use.REPORTED, Use.RETURNED, Use.PASSED, Use.STORED})

_MESSAGE = "`{what}` forces a GPU sync only to log a value; keep it detached and copy it where it is needed"
_REPORT = "`{what}` forces a GPU sync only to report a number; report the detached tensor, read it where it is logged"
_UNREAD = "`{what}` forces a GPU sync for a value that nothing here reads; leave the copy out, or give the tensor"

_SOURCE = """\
import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Critic:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)

    def update(self, obs, goal):
        value = self.net(obs).squeeze(-1)
        loss = F.mse_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach().cpu().numpy(), "value": value.mean().detach().cpu().numpy()}


def train(critic: Critic, replay, updates):
    for step in range(updates):
        metrics = critic.update(*replay.sample(256))
        if step % 1000 == 0:
            print({name: float(value) for name, value in metrics.items()})
"""
_BETTER = _SOURCE.replace(".detach().cpu().numpy()", ".detach()")


_RECORD = """\
import collections

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Critic:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)
        self.values = collections.deque(maxlen=1000)

    def update(self, obs: torch.Tensor, goal: torch.Tensor):
        value = self.net(obs).mean(1)
        loss = F.mse_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.values.extend(value.detach().cpu().numpy())

    def statistics(self):
        return {"value": np.mean(self.values)}


def train(critic: Critic, replay, updates):
    for step in range(updates):
        critic.update(*replay.sample(16))
        if step % 1000 == 0:
            print(critic.statistics())
"""
_RECORDED = _RECORD.replace(".detach().cpu().numpy()", ".detach()").replace(
    "np.mean(self.values)", "np.mean(_read_rows(self.values))"
)
_RECORDED = _RECORDED.replace(
    "functional as F\n",
    """functional as F


def _read_rows(tensors):
    \"\"\"Copy tensors of one shape to the host at once, as arrays.\"\"\"
    return list(torch.stack(tuple(tensors)).cpu().numpy()) if tensors else []

""",
)


class HostCopyInUpdate(Rule):
    """Every update copies a tensor to the host that is only logged at intervals.

    ## What it does
    Finds `.cpu()` and `.numpy()` of tensors, and calls of functions that do nothing else (`to_np(x)`), in code that
    runs at least once per gradient update, when the value is followed through names, containers, attributes, returns
    and calls, and all it comes to is logging, a single number in a record that the code reports, or nothing at all. A
    copy that is a statement of its own is left alone: its use is the wait.

    ## Why is this slow
    The copy has to wait until the device has finished all work queued so far, Python queues nothing meanwhile, and the
    device idles afterwards. Most of the values are thrown away: a log reads them every thousand updates.

    ## Example
    ```python
    metrics["loss"] = loss.detach().cpu().numpy()
    ```

    ## Use instead
    ```python
    metrics["loss"] = loss.detach()
    ```

    and copy the metrics where they are logged.

    ## What the fix may change
    An attribute that only records such copies, in a deque or list that begins empty, records the tensors, and a call
    that only reads it gets all of them by one copy: the order of effects, for the host waits where the record is read,
    and the memory, which the tensors keep on the device. This is offered where all mentions of the attribute are seen,
    lie in one file, and read it less often than it grows. The fix says where it assumes that no code outside of a
    library reads the attribute, that rows have one shape and dtype, or that nothing writes into recorded tensors later;
    without the last they are cloned. Elsewhere there is no automatic fix: the code that logs has to make the copy.

    ## When to ignore it
    On the CPU, where nothing is copied. Where the host computes with the value in each update, which torchlint takes
    for granted when it sees NumPy, a sum tree, an environment or code that it does not know.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL204` prints them.

    ## References
    - PyTorch documentation, "Performance Tuning Guide": avoid unnecessary CPU-GPU synchronization.
    """

    code = "TL204"
    name = "host-copy-in-update"
    summary = "a tensor is copied to the host in every update for a value that is only logged"
    level = Level.NOTE
    trigger = Method(*_COPIES, *_LISTS) | Found(HostCopies)
    least = Frequency.UPDATE
    yields_to = ("TL107", "TL203")
    cuda_only = True
    fixable = True
    may_change = (Change.ORDER, Change.MEMORY)
    examples = (
        Example(
            name="metrics-of-an-update",
            source=_SOURCE,
            fixed=_BETTER,
            setup="critic = Critic()\nobs, goal = obs.to(device), goal.to(device)",
            workload="round(float(critic.update(obs, goal)['loss']), 3)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
            by_hand=True,
        ),
        Example(
            name="record-of-values",
            source=_RECORD,
            fixed=_RECORDED,
            setup="critic = Critic()\nobs, goal = obs.to(device), goal.to(device)",
            workload="critic.update(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (16, 17)), Input("goal", Kind.TENSOR, (16,))),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a copy of a tensor to the host, off the CPU, that only a log needs."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda():
            return
        what = _copy(site, call)
        if what and not copying(site):
            uses = site.flow.uses(call, _ENDS)
            # What code that acts gives back is acted upon, unless it is kept: metrics are, and updates give them back.
            acted_upon = Use.RETURNED in uses and site.hot.acting() and not _recorded(site, call)
            logged = Use.LOGGED in uses and uses <= _ENDS and not acted_upon
            reported = uses == {Use.REPORTED} and _is_number(site, call)
            if logged or reported or (not uses and not isinstance(site.parent(call), cst.Expr)):
                fix = None if site.compiling.scripted() else recorded(site, call)
                message = (_MESSAGE if logged else _REPORT if reported else _UNREAD).format(what=what)
                flow = site.flow.way(call, Use.LOGGED) if logged else ()
                yield Report(call, message, fix, figure="record-of-values" if fix is not None else "", flow=flow)


def _is_number(site: Site, call: cst.Call) -> bool:
    """Whether one number is made of a copy: ``rewards.cpu().mean()``. A record of arrays may be for more than a log."""
    links = list(site.calls.chain(call))
    value = site.values.of(links[-1].node if links else call)
    return value.kind is Kind.TENSOR and value.rank == 0


def _recorded(site: Site, call: cst.Call) -> bool:
    """Whether a copy is put into a container at once: ``self.values.extend(value.cpu().numpy())``."""
    taker = site.parent(call)
    func = taker.func if isinstance(taker, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value in _RECORDING


def _copy(site: Site, call: cst.Call) -> str:
    """How a call copies a tensor to the host, empty for any other call and for one that a later one completes."""
    if any(link.name in _FURTHER and not _is_of_scalar(site, link) for link in site.calls.chain(call)):
        return ""
    if is_copy(site, call):
        given = call.args[0].value if call.args else None
        return f"{_name(call.func)}()" if given is not None and site.values.of(given).device is not Device.CPU else ""
    func = call.func
    if not isinstance(func, cst.Attribute) or call.args:
        return ""
    source, listed = func.value, func.attr.value in _LISTS
    if listed and isinstance(source, cst.Call) and isinstance(source.func, cst.Attribute) and not source.args:
        source = source.func.value if source.func.attr.value in _ARRAYS else source
    if not (listed or func.attr.value in _COPIES) or site.values.of(source).kind is not Kind.TENSOR:
        return ""
    moved = func.attr.value == "cpu"
    while (link := _link(site, source)) is not None:
        moved = moved or link.attr.value in _MOVES
        source = link.value
    if listed and isinstance(source, cst.Call) and _name(source.func) in _JOINING:
        return ""  # several numbers that are read at once
    if not moved:
        return ""  # `numpy()` alone raises for anything but a tensor on the host
    return f".{func.attr.value}()" if site.values.of(source).device is not Device.CPU else ""


def _is_of_scalar(site: Site, link: Link) -> bool:
    """Whether a method is that of a number of NumPy, which is on the host: ``item`` of ``x.numpy().mean().item()``."""
    match link.node:
        case cst.Call(func=cst.Attribute(value=of)):
            return site.values.of(of).kind is Kind.SCALAR
    return False


def _link(site: Site, node: cst.BaseExpression) -> cst.Attribute | None:
    """The method that gives a tensor on as it is, or computes with it on the host, or ``data`` of it."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        held = site.values.of(node.func.value)
        on_host = held.kind is Kind.TENSOR and held.device is Device.CPU
        return node.func if node.func.attr.value in _SAME or on_host else None
    return node if isinstance(node, cst.Attribute) and node.attr.value == "data" else None


def _name(func: cst.BaseExpression) -> str:
    """The last part of a function's name."""
    if isinstance(func, cst.Attribute):
        return func.attr.value
    return func.value if isinstance(func, cst.Name) else "the function"
