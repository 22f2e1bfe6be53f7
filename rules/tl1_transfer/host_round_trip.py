"""TL110: a tensor goes to NumPy and comes back."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Device, Example, Fix, Found, Frequency, Input, Kind, Method, Report, Rule, Site
from torchlint.rule.build import source

from ._defaults import defaults_unset
from ._host_round_trip import WRAPPERS, TensorMakers, makes_tensor, read_alone, read_back

_COPY = "torch.tensor"
_STEPS = frozenset({"cpu", "detach", "to", "cuda", "float", "double", "squeeze", "unsqueeze", "clone", "contiguous"})
_BACK = "a tensor is converted to an array and back; stay in torch: {better}"
_FORTH = "an array is converted to a tensor and back with nothing computed in between"

_SOURCE = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.net = nn.Linear(17, 6)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def goals(self, q):
        return torch.tensor(q.numpy())

    def update(self, obs):
        with torch.no_grad():
            q = self.net(obs)
        goal = self.goals(q)
        loss = (self.net(obs) - goal).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(torch.as_tensor(replay.sample(64)))
"""


class HostRoundTrip(Rule):
    """A tensor is read back to the host, only to become a tensor again.

    ## What it does
    Finds tensors made of arrays that are tensors read back (`torch.tensor(t.cpu().numpy())`), also after NumPy
    functions that torch has too, and arrays that go through a tensor without anything being computed there, also under
    a name that nothing else reads.

    ## Why is this slow
    Every step of the way costs a few microseconds in Python. From an accelerator the read also waits for all work
    queued before it, and both ways copy.

    ## Example
    ```python
    target = torch.tensor(np.clip(q.detach().cpu().numpy(), -1.0, 1.0))
    ```

    ## Use instead
    ```python
    target = q.detach().clamp(-1.0, 1.0)
    ```

    ## What the fix may change
    Nothing, where `t` is of torch's own class: a tensor of a subclass loses it on the way through NumPy, so the fix
    says that it assumes none. It is offered for `torch.tensor(t.numpy())` alone, where `t` is proven to lie on the host
    and to need no gradient, and only where the project sets no default device. Everything else is for a person to
    rewrite.

    ## When to ignore it
    Where NumPy's float64 arithmetic in between is wanted.

    ## Measured
    The figures below show a small tensor on the host.

    ## References
    - PyTorch documentation, `torch.Tensor.clone`, `torch.Tensor.numpy`.
    """

    code = "TL110"
    name = "host-round-trip"
    summary = "a tensor goes to NumPy and comes back"
    trigger = Call(*WRAPPERS) | Method("numpy") | Found(TensorMakers)
    least = Frequency.UPDATE
    yields_to = ("TL101", "TL104")
    fixable = True
    examples = (
        Example(
            name="copied-targets",
            source=_SOURCE,
            fixed=_SOURCE.replace("torch.tensor(q.numpy())", "q.detach().clone()"),
            setup="learner = Learner()",
            workload="learner.goals(q)",
            inputs=(Input("q", Kind.TENSOR, (64, 6), grad=False),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a tensor made of one that was read back, or an array read back from one made of an array."""
        node = site.node
        if not isinstance(node, cst.Call):
            return
        if site.names.of(node.func) in WRAPPERS:
            data = node.args[0].value if node.args and site.calls.is_plain(node) else None
            if data is not None and read_back(site, data):
                better = "`t.detach().clone()`" if _is_copy(site, node) else "torch has these functions too"
                if isinstance(data, cst.Call) and _read(data) is not None and not _is_copy(site, node):
                    better = "`t.detach()`"
                yield Report(node, _BACK.format(better=better), _fix(site, node))
        elif makes_tensor(site, node):
            if read_back(site, node.args[0].value):
                yield Report(node, _BACK.format(better="torch has these functions too"))
        elif _read(node) is not None and _made_of_array(site, node):
            yield Report(node, _FORTH)


def _read(node: cst.CSTNode) -> cst.BaseExpression | None:
    """What ``.numpy()`` reads."""
    match node:
        case cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name(value="numpy")), args=[]):
            return tensor
    return None


def _is_copy(site: Site, call: cst.Call) -> bool:
    """``torch.tensor(t.numpy())`` and nothing else."""
    if site.names.of(call.func) != _COPY:
        return False
    match call.args:
        case [cst.Arg(keyword=None, star="", value=data)]:
            return _read(data) is not None
    return False


def _fix(site: Site, call: cst.Call) -> Fix | None:
    """The copy on the host, where the tensor is proven to be there and no default device takes it elsewhere."""
    if not _is_copy(site, call) or site.compiling.scripted():
        return None
    if not defaults_unset(site):
        return None
    tensor = _read(call.args[0].value)
    on_host, detached_before = True, False
    while True:
        match tensor:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="detach" | "cpu" as step)), args=[]):
                on_host = on_host and step != "cpu"
                detached_before = detached_before or step == "detach"
                tensor = inner
                continue
        break
    if tensor is None or not (on_host or site.values.of(tensor).device is Device.CPU or not site.device.may_be_cuda()):
        return None
    if site.values.of(tensor).kind is not Kind.TENSOR or "\n" in source(tensor):
        return None
    if not detached_before and site.autograd.has_graph(tensor) is not False:
        return None
    detached = cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name("detach")))
    copied = cst.Call(func=cst.Attribute(value=detached, attr=cst.Name("clone")))
    return Fix("copy the tensor", ((call, copied),), assumes="the tensor is of no subclass of torch.Tensor")


def _made_of_array(site: Site, read: cst.Call) -> bool:
    """Whether what is read back is a tensor just made of an array, moved and cast at most."""
    node = _read(read)
    while True:
        match node:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if (
                method in _STEPS and site.names.of(node.func) is None
            ):
                node = inner
            case cst.Call(func=function, args=[cst.Arg(value=data, star=""), *_]) if (
                site.names.of(function) in WRAPPERS
            ):
                return site.values.of(data).kind is Kind.NDARRAY
            case cst.Name():
                return read_alone(site, node)
            case _:
                return False
