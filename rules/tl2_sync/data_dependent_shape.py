"""TL202: an operation whose result size depends on the values of a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import method_names
from torchlint.rule import (
    Call,
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

from ._data_dependent_shape import Masks, are_truths, gone_through, masks_of, routes_rows
from ._masked_forms import fixed_size
from ._texts import becomes_text

_METHODS = method_names(waits="shape")
_FUNCTIONS = frozenset({"torch.where", *(f"torch.{method}" for method in _METHODS)})
_REPEATING, _SELECTING = "repeat_interleave", "masked_select"
_FIELDS = "tensordict.TensorDict"

_MESSAGE = "{what} forces a GPU sync, because the size of its result depends on the data; {better}"

_INDEXING = "indexing with a mask"
_OFTEN = "indexing with a mask {count} times"
_KEEP = "keep the mask instead"
_ALL = "work on all rows, and leave out by the mask what does not count"
_EACH = "`tolist()` before the loop reads all elements at once"
_COPY = "copy the mask to the host and select there, with a single sync"
_COPY_BOTH = "copy it and the mask to the host, and select there"
_WHERE = "`torch.where(mask, new, old)` has a fixed size"
_WHERE_OR_ROWS = f"{_WHERE}; so has `masked_scatter` of one row for each that the mask picks"
_ON_HOST = frozenset({Use.READ, Use.HOST})
_SIZED = "`output_size=` names the size where it is known"
_DISTINCT = "find the distinct values once, where the data is created, or in a copy on the host"

_SOURCE = """\
import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.target = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.q.parameters())

    @torch.no_grad()
    def next_value(self, next_obs: torch.Tensor, done: torch.Tensor):
        alive = done == 0
        value = torch.zeros(len(done), device=device)
        value[alive] = self.target(next_obs[alive]).amax(1)
        return value

    def update(self, obs, action, reward, next_obs, done):
        goal = reward + 0.99 * self.next_value(next_obs, done)
        loss = F.smooth_l1_loss(self.q(obs).gather(1, action), goal[:, None])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(agent, replay, updates):
    for _ in range(updates):
        agent.update(*replay.sample(256))
"""
_BETTER = _SOURCE.replace(
    """\
        value = torch.zeros(len(done), device=device)
        value[alive] = self.target(next_obs[alive]).amax(1)
        return value
""",
    """\
        return torch.where(alive, self.target(next_obs).amax(1), 0.0)
""",
)


_LOSS = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6)).to(device)
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def loss(self, obs: torch.Tensor, goal: torch.Tensor):
        error = self.q(obs).amax(1) - goal
        large = error > 1.0
        error[large] -= 0.5
        return error.square()[large].sum()

    def update(self, obs: torch.Tensor, goal: torch.Tensor):
        loss = self.loss(obs.to(device), goal.to(device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(agent: Agent, replay, updates):
    for _ in range(updates):
        agent.update(*replay.sample(256))
"""
_LOSS_BETTER = _LOSS.replace("error[large] -= 0.5", "error[...] = torch.where(large, error - 0.5, error)")
_LOSS_BETTER = _LOSS_BETTER.replace("error.square()[large].sum()", "torch.where(large, error.square(), 0).sum()")


class DataDependentShape(Rule):
    """The size of a result depends on the values of a tensor, which forces a GPU sync.

    ## What it does
    Finds hot operations whose result size depends on the values of a tensor: `torch.where(mask)` with one argument,
    `nonzero`, `unique`, `masked_select`, `repeat_interleave` with a tensor of counts and without `output_size`, reading
    `x[mask]`, and assigning a tensor to `x[mask]`. Indices and selected elements that code outside of the project takes
    are left alone: a simulator may know no mask, and a tokenizer makes texts of tokens on the host. So are the rows
    that a loop selects for one of many experts.

    ## Why is this slow
    The result cannot be allocated before the number of selected elements is known on the host, so Python waits for
    all work queued on the device. `torch.compile` breaks the graph there too. Assigning a number to `x[mask]` needs
    no such number: it becomes `masked_fill_`.

    ## Example
    ```python
    next_value[alive] = self.target(next_obs[alive]).amax(1)
    ```

    ## Use instead
    ```python
    next_value = torch.where(alive, self.target(next_obs).amax(1), 0.0)
    ```

    ## What the fix may change
    Nothing where numbers are added to selected elements: `x[mask] -= c` becomes `x[...] = torch.where(mask, x - c, x)`,
    and nothing where whole numbers are added to whole numbers. Where selected elements are multiplied, gradients that
    are not finite; where the tensors are not proven to be of one floating dtype, validation, for storing through a mask
    refuses any other. Where selected elements are summed up or averaged (`x[mask].mean()`, `torch.mean(-x[mask])`),
    rounding, for zeros are added in other order; a mean of 16-bit numbers may overflow, too. Means over one mask share
    a count of what it selects, which stands behind the mask where nothing changes it. A maximum or minimum of
    selected floating-point numbers becomes one of all, with infinities elsewhere: where nothing is selected it raises
    no longer (validation), unless the expression ends in `if mask.any() else ...`, and the gradient of an infinity may
    change (nonfinite). Indexing raises where the mask does not fit, and `torch.where` may broadcast. So the fix is safe
    only where the mask is computed from the selected tensor alone, element by element, and says elsewhere that it
    assumes one shape. Other selections have no automatic fix: which form fits depends on what is done with the result.

    ## When to ignore it
    On the CPU, where nothing waits; where the selected part is much smaller than the whole and costly to process.

    ## Measured
    The wait exists on an accelerator only. The events before and after are counted on the counted device;
    `torchlint rule TL202` prints them.

    ## References
    - PyTorch documentation, `torch.nonzero`: on CUDA tensors it causes host-device synchronization.
    """

    code = "TL202"
    name = "data-dependent-shape"
    summary = "the size of a result depends on the values of a tensor, which forces a GPU sync"
    level = Level.NOTE
    trigger = Call(*_FUNCTIONS, f"torch.{_REPEATING}") | Method(*_METHODS, _REPEATING) | Found(Masks)
    least = Frequency.UPDATE
    cuda_only = True
    fixable = True
    may_change = (Change.ROUNDING, Change.NONFINITE, Change.VALIDATION)
    examples = (
        Example(
            name="masked-target",
            source=_SOURCE,
            fixed=_BETTER,
            setup="agent = Agent()\nagent.target.to(device)\nnext_obs, done = next_obs.to(device), done.to(device)",
            workload="agent.next_value(next_obs, done)",
            inputs=(Input("next_obs", Kind.TENSOR, (256, 17)), Input("done", Kind.TENSOR, (256,), "bool")),
            by_hand=True,
        ),
        Example(
            name="masked-errors",
            source=_LOSS,
            fixed=_LOSS_BETTER,
            setup="agent = Agent()\nobs, goal = obs.to(device), goal.to(device)",
            workload="agent.loss(obs, goal)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)), Input("goal", Kind.TENSOR, (256,))),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call or a boolean subscript with a result of unknown size, off the CPU."""
        if not site.device.may_be_cuda() or _is_on_host(site) or routes_rows(site):
            return
        node = site.node
        if isinstance(node, cst.Call) and (what := _call(site, node)):
            better = _DISTINCT if "unique" in what else _COPY if _is_copied(site, node) else _KEEP
            uses = site.flow.uses(node) if better is _KEEP else frozenset[Use]()
            if Use.PASSED in uses and _SELECTING not in what:
                return  # code that is not seen, such as a simulator, may take nothing but indices
            better = _EACH if better is _KEEP and gone_through(site, node) else _ALL if Use.INDEX in uses else better
            yield Report(node, _MESSAGE.format(what=what, better=better))
        elif isinstance(node, cst.Call) and _repeats(site, node):
            yield Report(node, _MESSAGE.format(what=f"`{_REPEATING}`", better=_SIZED))
        elif isinstance(node, cst.Subscript) and _is_masked(site, node) and (better := _better(site, node)):
            fix = fixed_size(site, node) if are_truths(site, node) else None
            figure = "masked-errors" if fix is not None else ""
            alike = list(_selecting_alike(site, node))
            if fix is not None or node is alike[0]:
                what = _INDEXING if fix is not None or len(alike) == 1 else _OFTEN.format(count=len(alike))
                yield Report(node, _MESSAGE.format(what=what, better=better), fix, figure=figure)


def _is_on_host(site: Site) -> bool:
    """Whether what is selected becomes an array at once, which only a tensor on the host can."""
    for link in site.calls.chain(site.node):
        if link.name in ("cpu", "to"):
            return False
        if link.name == "numpy":
            return True
    return False


def _is_copied(site: Site, call: cst.Call) -> bool:
    """Whether what is selected goes to the host in the same expression: ``mask.nonzero().squeeze(1).tolist()``."""
    return any(link.name in ("cpu", "tolist", "item") for link in site.calls.chain(call))


def _call(site: Site, call: cst.Call) -> str:
    """The name of the operation that a call is, where its size depends on a tensor that may be on a device."""
    name = site.names.of(call.func) or ""
    if name in _FUNCTIONS:
        source = site.calls.argument(call, 0, "condition" if name == "torch.where" else "input")
        if source is None or (name == "torch.where" and len(call.args) != 1):
            return ""
        return "" if site.values.of(source).device is Device.CPU else f"`{name}`"
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in _METHODS:
        return ""
    value = site.values.of(func.value)
    selects = value.kind is Kind.TENSOR or (value.name == _FIELDS and func.attr.value == _SELECTING)
    return f"`{func.attr.value}`" if selects and value.device is not Device.CPU else ""


def _repeats(site: Site, call: cst.Call) -> bool:
    """Whether a call repeats the elements of a tensor by counts that may be on a device, and has to add them up."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value != _REPEATING or not site.calls.is_plain(call):
        return False
    of_torch = site.names.of(func) == f"torch.{_REPEATING}"
    if not of_torch and site.values.of(func.value).kind is not Kind.TENSOR:
        return False
    counts = site.calls.argument(call, int(of_torch), "repeats")
    if counts is None or site.calls.argument(call, 9, "output_size") is not None:
        return False
    value = site.values.of(counts)
    return value.kind is Kind.TENSOR and value.device is not Device.CPU and value.rank != 0


def _is_masked(site: Site, node: cst.CSTNode) -> bool:
    """Whether a node is a subscript by a boolean tensor, of something not proven to be on the host."""
    if not isinstance(node, cst.Subscript):
        return False
    held = site.values.of(node.value)
    if held.kind not in (Kind.TENSOR, Kind.UNKNOWN) and held.name != _FIELDS:
        return False
    masks = masks_of(site, node)
    return bool(masks) and all(value.device is not Device.CPU for value in (held, *masks))


def _better(site: Site, node: cst.Subscript) -> str:
    """What to write instead of ``x[mask]``; empty where it costs nothing or its statement is reported already."""
    child: cst.CSTNode = node
    parent = site.parent(node)
    if isinstance(parent, cst.AugAssign) and parent.target is node:
        return "compute it for all elements and select with `torch.where`"
    if isinstance(parent, cst.Assign) and parent.value is not node:
        if not _holds_tensor(site, parent.value):
            return ""
        return _WHERE if _reads_masked(site, parent.value) else _WHERE_OR_ROWS
    if becomes_text(site, node):
        return ""
    while parent is not None and not isinstance(parent, cst.Assign):
        child, parent = parent, site.parent(parent)
    targets = parent.targets if parent is not None and child is parent.value else ()
    if any(_is_masked(site, target.target) for target in targets):
        return ""
    uses = site.flow.uses(node)
    return _COPY_BOTH if uses and uses <= _ON_HOST else "`torch.where` or a masked reduction has a fixed size"


def _selecting_alike(site: Site, node: cst.Subscript) -> Iterator[cst.Subscript]:
    """The subscripts of a line that select by the mask of one of them and are reported: they are one smell."""
    statement: cst.CSTNode | None = node
    while statement is not None and not isinstance(statement, cst.BaseSmallStatement):
        statement = site.parent(statement)
    first, row = node.slice[0], _row(site, node)
    for each in _subscripts(node if statement is None else statement):
        alike = row == _row(site, each) and each.slice[0].deep_equals(first)
        if alike and _is_masked(site, each) and _better(site, each):
            yield each


def _row(site: Site, node: cst.CSTNode) -> int:
    """The row at which an expression begins."""
    twin = site.expression(node)
    return 0 if twin is None else twin.lineno


def _subscripts(node: cst.CSTNode) -> Iterator[cst.Subscript]:
    """The subscripts in a node, in the order of the text."""
    if isinstance(node, cst.Subscript):
        yield node
    for child in node.children:
        yield from _subscripts(child)


def _holds_tensor(site: Site, value: cst.BaseExpression) -> bool:
    """Whether an assigned value is a tensor that cannot become ``masked_fill_``: proven, or made of masked parts."""
    known = site.values.of(value)
    if known.kind is Kind.TENSOR or known.name == _FIELDS:
        return not (known.rank == 0 and known.device is Device.CPU)
    if isinstance(value, cst.Tuple):
        return any(_holds_tensor(site, element.value) for element in value.elements)
    return known.kind is Kind.UNKNOWN and (_is_no_number(site, value) or _reads_masked(site, value))


def _is_no_number(site: Site, value: cst.BaseExpression) -> bool:
    """Whether a value of unknown kind is a tensor if a tensor takes it: ``x[:, 0]``, ``x.to(dtype)``, ``net(x)``."""
    match value:
        case cst.Subscript(slice=[_, _, *_]):
            return any(isinstance(part.slice, cst.Slice) for part in value.slice)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to"))):
            return True
        case cst.Call(func=func):
            return site.values.of(func).kind is Kind.MODULE
    return False


def _reads_masked(site: Site, node: cst.CSTNode) -> bool:
    return _is_masked(site, node) or any(_reads_masked(site, child) for child in node.children)
