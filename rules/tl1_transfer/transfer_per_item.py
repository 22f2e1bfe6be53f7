"""TL107: tensors are moved between host and device one by one, or one index again for each tensor."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.hotness.collecting import RolloutLoops
from torchlint.models import function_names, method_names
from torchlint.rule import (
    Call,
    Device,
    Example,
    Fix,
    Found,
    Frequency,
    Input,
    Kind,
    Level,
    Loop,
    Method,
    Report,
    Rule,
    Site,
)
from torchlint.rule.build import keyword_of, module_for
from torchlint.rule.build import source as source_of
from torchlint.rule.convert import asks_for, made_like

from ._host_index import HostIndices, host_index
from ._host_rows import HostRows, copied_again, fills_host, lies_there
from ._item import gives_items
from ._joined_on_host import joined_items, moved_at_once
from ._put_together import mapped_together, put_together, takes_row
from ._steps_of_batch import is_step

_METHODS = method_names(moves=True)
_CREATORS = function_names("torch", makes="data")
_WRAPPERS = frozenset({"numpy.array", "numpy.asarray", "numpy.squeeze", "builtins.float", "builtins.int"})
_SAME_ROWS = frozenset({"numpy", "tolist", "detach", "float", "long", "int", "bool"})
_THERE = frozenset({Device.CUDA, Device.EITHER})
_SURELY_TENSOR = frozenset({"detach", "unsqueeze", "squeeze", "clone"})

_TOGETHER = "each item is copied separately, one transfer per iteration; stack the items and move them in one transfer"
_AGAIN = "`{name}` is copied to the device for each {tensors} that it indexes; move it there once, before it is used"
_STEP = "each step of a batch is moved separately, in the loop over its steps; move the batch once, before the loop"
_ITEM = "each item of a dataset is moved separately, before a batch is made of it; move the batch in one transfer"
_ROW_OF_ALL = "all of the tensor is copied to the host in each round, for one row of it; copy it once, before the loop"
_BEFORE = "rows are moved one at a time, with a GPU sync each; move the whole tensor once before the loop"
_ROW = "`{name}` lies on the host, so each row that is stored in it is copied alone and waits; make it on the device"
_WHOLE = "`{name}` is filled on the host, so all of it is copied again in each round; make it on the device"

_SOURCE = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Learner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def collate(self, rows):
        return torch.stack([row.to(device) for row in rows])

    def update(self, rows):
        loss = self.net(self.collate(rows)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(replay.sample(256))
"""
_BETTER = _SOURCE.replace(
    "torch.stack([row.to(device) for row in rows])",
    "torch.stack(list(rows)).to(device)",
)
_INDEXED = """\
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Replay:
    def __init__(self, size):
        self.obs = torch.zeros(size, 17, device=device)
        self.action = torch.zeros(size, device=device)
        self.reward = torch.zeros(size, device=device)

    def rows(self, indices):
        index = np.sort(indices).astype(np.int64)
        return self.obs[index], self.action[index], self.reward[index]


class Learner:
    def __init__(self):
        self.net = nn.Linear(17, 1).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, obs, action, reward):
        loss = (self.net(obs).squeeze(1) - action - reward).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner: Learner, replay: Replay, updates):
    for _ in range(updates):
        learner.update(*replay.rows(np.random.randint(0, 1000, 64)))
"""


class TransferPerItem(Rule):
    """Many small tensors are moved between host and device one at a time.

    ## What it does
    Finds `.to(device)`, `.cuda()`, `.cpu()` and `torch.as_tensor(..., device=)` of each item in a loop or
    comprehension in hot code, where the results are stacked afterwards or fill the rows of a tensor, and `.cpu()` of
    one row, one column or some rows of a tensor at a time, by a number or of a loop over the rows, or of all of it for
    one row. A tensor that a network gave and that is stored in a row or column of a tensor on the host counts too:
    `tokens[:, i] = token` copies it there; so does a move of all that is stored there, in the same loop.
    Also a move to a device of one step of a batch on the host, `batch["obs"][:, t]`, or of what a function makes of
    it, in a loop over the steps. Also an index on the host, such as an array of NumPy or a list, with which more
    than one tensor on a device is indexed: each of these copies it there, and the first is reported. And moves to a
    device in `__getitem__` of a dataset, which a loader calls for each item of a batch.

    ## Why is this slow
    Every copy between host and device has a fixed cost, whatever its size, and a copy to the host waits for the
    device. One copy of the whole costs about as much as one copy of a row.

    ## Example
    ```python
    batch = torch.stack([row.to(device) for row in rows])
    index = np.random.randint(0, size, 64)
    return self.obs[index], self.action[index], self.reward[index]
    ```

    ## Use instead
    ```python
    batch = torch.stack(rows).to(device)
    index = torch.as_tensor(np.random.randint(0, size, 64), device=self.obs.device)
    return self.obs[index], self.action[index], self.reward[index]
    ```

    ## What the fix may change
    Nothing. An index is moved once, to where the tensor lies that is indexed first, or, for tensors that an object
    keeps under names, to the device on which its class makes tensors. The fix says what it assumes where it is not
    proven that the tensors lie on one device, that the index holds whole numbers, or that nothing changes it in
    between. It gets a new name where something else reads it, where a loop binds it, and in a function with types.
    Items of a comprehension that one function of torch joins are joined on the host, and what that gives is moved. The
    fix says what it assumes where it is not proven that they lie there. Other items have no automatic fix.

    ## When to ignore it
    For a handful of tensors of different shapes. The values of a dict and the fields of a batch are not reported.

    ## Measured
    The cost exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL107` prints them.

    ## References
    - PyTorch documentation, "CUDA semantics": copies between host and device.
    """

    code = "TL107"
    name = "transfer-per-item"
    summary = "tensors are moved between host and device one by one, or an index for each tensor"
    level = Level.NOTE
    trigger = Call(*_CREATORS) | Method(*_METHODS) | Found(HostIndices) | Found(HostRows)
    least = Frequency.UPDATE
    yields_to = ("TL102", "TL104", "TL611")
    cuda_only = True
    fixable = True
    examples = (
        Example(
            name="256-rows",
            source=_SOURCE,
            fixed=_BETTER,
            setup="learner = Learner()\nrows = list(rows)",
            workload="learner.collate(rows)",
            inputs=(Input("rows", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
        Example(
            name="indexed-by-an-array",
            source=_INDEXED,
            fixed=_INDEXED.replace(
                "        return self.obs[index]",
                "        index = torch.as_tensor(index, device=self.obs.device)\n        return self.obs[index]",
            ),
            setup="replay = Replay(100)",
            workload="replay.rows(indices)",
            inputs=(Input("indices", Kind.NDARRAY, (64,), "int64"),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a move of one item of many, if it could be one move of all, and an index that is copied again."""
        call = site.node
        if isinstance(call, cst.Subscript) and site.device.may_be_cuda():
            yield from _put_on_host(call) if fills_host(site) else _copied_again(site, call)
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda() or not site.calls.is_plain(call):
            return
        source = _moved(site, call)
        if source is None:
            return
        if not _to_host(call) and gives_items(site):
            yield Report(call, _ITEM)
            return
        if not _to_host(call) and (name := copied_again(site, source)) is not None:
            yield Report(call, _WHOLE.format(name=name))
            return
        if site.values.of(source).kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.LIST) and mapped_together(site, call):
            yield Report(call, _TOGETHER)
            return
        place, loop = next(
            ((place, each) for place, each in enumerate(site.loops.around(source)) if not each.few), (0, None)
        )
        if loop is None or loop.strided:
            return
        if _to_host(call) and _gives_row(site, call, place):
            yield Report(call, _ROW_OF_ALL)
            return
        known = site.values.of(source).kind
        items = joined_items(site, call)
        # Arrays of one shape are joined as arrays (TL104); what pads them takes tensors.
        alone = known in (Kind.TENSOR, Kind.UNKNOWN, Kind.LIST) or (items is not None and known is Kind.NDARRAY)
        element = alone and _is_element(site, call) and loop.joined
        together = element or (alone and put_together(site, call))
        on_host = site.values.of(source).device is Device.CPU
        if on_host and not (together or _to_host(call) or loop.learns) and is_step(site, source):
            yield Report(call, _STEP)
            return
        # A state that goes from round to round stays where it is if only its copies are collected.
        kept = element and _to_host(call) and loop.carried is True and not loop.learns
        kept = kept and not site.fact(RolloutLoops).around(site.file, site.twin)  # one copy is little beside a rollout
        if not (together or _to_host(call)) or not (kept or _goes_through(loop)):
            return
        # A copy of such a state that says when to stop, or that the next round reads on the host, is needed at once.
        if _to_host(call) and loop.carried is True and site.loops.around(call)[place].feeds is True:
            return
        if together:
            yield Report(call, _TOGETHER, moved_at_once(site, items))
        elif _is_row(site, source, place):
            yield Report(call, _BEFORE)


def _put_on_host(node: cst.Subscript) -> Iterator[Report]:
    """Report a place in a tensor on the host that a loop copies a tensor of a device to."""
    yield Report(node, _ROW.format(name=source_of(node.value)))


def _copied_again(site: Site, node: cst.Subscript) -> Iterator[Report]:
    """Report an index on the host that this subscript copies to the device, and others behind it, too."""
    index = host_index(site)
    if index is None:
        return
    fix = None
    if index.moved and not site.compiling.scripted():
        torch, imports = module_for(site, "torch", "torch")
        moved = index.moved.replace("{torch}", torch)
        fix = Fix(
            message="move the index once",
            replace=(),
            elsewhere=tuple((name, index.target) for name in index.replaced),
            ahead=((index.first, f"{index.target} = {moved}"),),
            assumes=index.doubt,
            imports=imports if moved != index.moved else (),
        )
    tensors = "tensor" if index.count == 1 else f"of {index.count} tensors"
    message = _AGAIN.format(name=index.name, tensors=tensors)
    yield Report(node, message, fix, figure="indexed-by-an-array", apart=True)


def _moved(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """What a call moves to another device; ``None`` where it may move nothing."""
    func = call.func
    if site.names.of(func) in _CREATORS:
        device, source = keyword_of(call, "device"), site.calls.argument(call, 0, "data")
        if source is None or device is None:
            return None
        given = site.values.of(source)
        if given.kind is Kind.TENSOR and given.device is not Device.CPU:
            return None  # it may lie there
        return source if site.values.of(device).device is not Device.CPU else None
    if not isinstance(func, cst.Attribute) or func.attr.value not in _METHODS:
        return None
    known = site.values.of(func.value)
    if known.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return None
    if _to_host(call):
        return func.value if known.device is not Device.CPU else None
    if func.attr.value == "cuda":
        return None if _is_computed(site, func.value) else func.value
    target = site.calls.argument(call, 0, "device")
    value = site.values.of(target) if target is not None else None
    if value is None or value.kind not in (Kind.DEVICE, Kind.STRING) or value.device is Device.CPU:
        return None
    there = known.device in _THERE or _is_computed(site, func.value) or _is_beside(call, func.value)
    return None if there or lies_there(site, func.value) else func.value


def _is_beside(move: cst.Call, source: cst.BaseExpression) -> bool:
    """Whether a tensor that is like another one is moved to where that one lies: ``zeros_like(x).to(x.device)``."""
    while isinstance(source, cst.Call) and isinstance(source.func, cst.Attribute) and source.func.attr.value == "to":
        source = source.func.value
    other = made_like(source)
    return other is not None and asks_for(move, other)


def _is_computed(site: Site, source: cst.BaseExpression) -> bool:
    """Whether a tensor comes of a distribution that may be on the device already, as one of a network's outputs is."""
    match source:
        case cst.Call(func=cst.Attribute(value=inner)):
            computed = site.values.of(inner).kind is Kind.DISTRIBUTION
            return computed and site.values.of(source).device is not Device.CPU
    return False


def _to_host(call: cst.Call) -> bool:
    """Whether a move is to the host: ``.cpu()``, ``.to("cpu")``."""
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="cpu")), args=[]):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to")), args=[cst.Arg(value=cst.SimpleString() as text)]):
            return text.evaluated_value == "cpu"
    return False


def _goes_through(loop: Loop) -> bool:
    """Whether an expression is one of the many items of a loop, or is drawn again for each."""
    return ((loop.item and loop.carried is not True) or loop.draws) and not loop.learns


def _gives_row(site: Site, call: cst.Call, place: int) -> bool:
    """Whether one row is taken of a copy to the host, another one in each round: ``x.cpu().numpy()[i]``."""
    links = site.calls.chain(call)
    taken = next((link.node for link in links if link.name not in _SAME_ROWS), None)
    if not isinstance(taken, cst.Subscript):
        return False
    match taken.slice[0].slice:
        case cst.Index(value=index) if site.values.of(index).kind in (Kind.NUMBER, Kind.UNKNOWN):
            turns, same = site.loops.around(index)[place], site.loops.around(call)[place]
            named = isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name)
            stays = not same.item and same.carried is False and not same.draws
            return turns.item and stays and (named or not same.learns)
    return False


def _is_element(site: Site, call: cst.Call) -> bool:
    """Whether what is moved is, as it is or converted further, an element of a comprehension or appended to a list."""
    links = site.calls.chain(call)
    node: cst.CSTNode = links[-1].node if links else call
    parent = site.parent(node)
    while isinstance(parent, cst.Call) and site.names.of(parent.func) in _WRAPPERS:
        node, parent = parent, site.parent(parent)
    if isinstance(parent, (cst.ListComp, cst.GeneratorExp)):
        return parent.elt is node
    return bool(site.loops.grown(node))


def _is_row(site: Site, source: cst.BaseExpression, place: int) -> bool:
    """Whether an expression is one part of a tensor, by a number that a loop counts, of a tensor that stays the same.

    A row, a column, or some rows: ``x[i]``, ``x[:, i]``, ``x[i : i + 1]``. A loop may go over the rows, and a mask may
    pick some elements of each.
    """
    surely = False
    while (inner := _whole(site, source)) is not None:
        surely = surely or (isinstance(source, cst.Call) and _named(source) in _SURELY_TENSOR)
        source = inner
    if takes_row(site, source.value if isinstance(source, cst.Subscript) else source):
        return True
    if not isinstance(source, cst.Subscript):
        return False
    counts = [index for index in _indices(source) if site.values.of(index).kind is Kind.NUMBER]
    base = source.value
    if not counts or not (surely or site.values.of(base).kind is Kind.TENSOR):
        return False
    same = site.loops.around(base)[place]
    return any(site.loops.around(index)[place].item for index in counts) and not same.item and not same.carried


def _indices(node: cst.Subscript) -> Iterator[cst.BaseExpression]:
    """The numbers that a subscript is given: its indices, and the first place of each slice."""
    for element in node.slice:
        match element.slice:
            case cst.Index(value=index, star=None):
                yield index
            case cst.Slice(lower=cst.BaseExpression() as first):
                yield first


def _whole(site: Site, source: cst.BaseExpression) -> cst.BaseExpression | None:
    """What a method is called on, or a constant part is taken of: ``x[i]`` of ``x[i].sum()`` and of ``x[i][0]``.

    A function of torch that computes something of one tensor is such a method under another name.
    """
    match source:
        case cst.Call(func=func, args=[cst.Arg(value=inner, keyword=None, star="")]) if (
            name := site.names.of(func) or ""
        ).startswith("torch.") and name not in _CREATORS:
            return inner
        case cst.Call(func=cst.Attribute(value=inner)):
            return inner
        case cst.Subscript(
            value=cst.Subscript() as inner, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]
        ):
            return inner
    return None


def _named(call: cst.Call) -> str:
    """The name of the method that is called."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
