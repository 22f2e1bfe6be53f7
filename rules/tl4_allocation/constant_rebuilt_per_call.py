"""TL401: a constant tensor is built again on every call."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping

from torchlint import cst
from torchlint.facts.hotness.collecting import RolloutLoops
from torchlint.models import function_names
from torchlint.rule import (
    Call,
    Change,
    Device,
    Example,
    Fix,
    Found,
    Frequency,
    Input,
    Kind,
    Level,
    Method,
    Report,
    Rule,
    Site,
)
from torchlint.rule.build import in_place_of, keyword_of, source, without_keyword
from torchlint.rule.convert import device_named, move_after

from ._beside import beside_module
from ._constant_rebuilt_per_call import (
    ARRAYS,
    Copiers,
    copied_by,
    follows_a_cast,
    free_attribute,
    is_accumulated,
    is_fixed,
    is_same_array,
    settled,
)
from ._filling import COPIES, Filled, filled

_RANGES = function_names("torch", makes="pattern")
_OF_A_TABLE: Mapping[str, Container[str]] = {
    "torch.from_numpy": ARRAYS,
    "torch.tril": frozenset({"torch.ones", "torch.full"}),
    "torch.triu": frozenset({"torch.ones", "torch.full"}),
    "torch.nn.functional.one_hot": COPIES | _RANGES,
}
# Makes a tensor of data where another one lies: ``x.new_tensor([1, 0])``.
_BESIDE = "new_tensor"
_PLACEMENT = frozenset({"dtype", "device", "layout", "pin_memory"})
_NAMES = {
    "arange": "indices",
    "linspace": "grid",
    "logspace": "grid",
    "eye": "identity",
    "tril": "lower_mask",
    "triu": "upper_mask",
    "one_hot": "one_hot",
    **{name.rpartition(".")[2]: "window" for name in _RANGES if name.endswith("_window")},
}
_ROWS = re.compile(r"\s*\n\s*")
_ASSUMES = "what the tensor meets is on the device of the module's parameters"
_KEEPS_DTYPE = "the module keeps its dtype: it is cast to no other, which its buffers would follow"
_CHANGEABLE = frozenset({Kind.LIST, Kind.DICT, Kind.SET, Kind.NDARRAY, Kind.TENSOR})

_SOURCE = """\
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6 * 51))

    def expectation(self, logits):
        support = torch.linspace(-10.0, 10.0, 51, device=logits.device)
        return (logits.softmax(-1) * support).sum(-1)

    def forward(self, obs):
        return self.expectation(self.body(obs).view(-1, 6, 51))


class Agent:
    def __init__(self):
        self.critic = Critic()

    def act(self, obs):
        with torch.no_grad():
            return self.critic(obs).argmax(dim=-1)


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""
_BETTER = _SOURCE.replace("torch.linspace(-10.0, 10.0, 51, device=logits.device)", "self.support").replace(
    "6 * 51))\n",
    '6 * 51))\n        self.register_buffer("support", torch.linspace(-10.0, 10.0, 51), persistent=False)\n',
)


_NUMBER = """\
import torch


class Agent:
    def __init__(self, device):
        self.device = torch.device(device)

    def shaped(self, values):
        return {expression}

    def act(self, obs):
        return self.shaped(obs.sum(dim=-1))


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


def _number(name: str, expression: str, number: str) -> Example:
    return Example(
        name=name,
        source=_NUMBER.format(expression=expression.format(f"torch.tensor({number})")),
        fixed=_NUMBER.format(expression=expression.format(f"torch.full((), {number})")),
        setup="agent = Agent(device)\nvalues = values.to(device)",
        workload="agent.shaped(values)",
        inputs=(Input("values", Kind.TENSOR, (64,)),),
    )


_TABLE = "torch.tensor([1.0, 0.5, 0.25, 2.0], device=self.device)"
_COPIED = _NUMBER.format(expression=f"values * {_TABLE}")


class ConstantRebuiltPerCall(Rule):
    """A tensor with the same values is built again on every call.

    ## What it does
    Finds `torch.tensor`, `linspace`, `arange`, `eye`, windows (`hann_window`), triangular masks and one-hot tables in
    hot code whose arguments are all literals or settings, so that every call builds the same tensor; tensors of such
    arrays (`torch.from_numpy(np.array([0.1, 0.9]))`), and such tensors beside one on a device (`x.new_tensor([1, 0])`).
    A call of a function of the project that copies its argument to a device, `to_tensor(2.0, device)`, counts as well.

    ## Why is this slow
    Building a small tensor costs about as much as an operation of a small network does. `torch.tensor(..., device=)`
    on an accelerator is worse: it copies from the host and waits for the copy.

    ## Example
    ```python
    def forward(self, logits):
        support = torch.linspace(-10.0, 10.0, 51)
        return (logits.softmax(-1) * support).sum(-1)
    ```

    ## Use instead
    ```python
    def __init__(self):
        super().__init__()
        self.register_buffer("support", torch.linspace(-10.0, 10.0, 51), persistent=False)

    def forward(self, logits):
        return (logits.softmax(-1) * self.support).sum(-1)
    ```

    ## What the fix may change
    Equal literal numbers, as in `torch.tensor(0.0, device=d)` and `torch.tensor(0.0).to(d)`, become `torch.zeros`,
    `ones`, `full` or `empty` with the same dtype and device: a new tensor on each call as before, and nothing changes.

    Any other tensor that is kept is shared by all calls: writing into it in place changes it for all of them
    (`aliasing`). The fix makes it a buffer that is in no state dict. It is offered in a module whose own `__init__`
    calls `super().__init__()`, for arguments that are there at its end. A buffer follows the module to its device.
    Where the code asks for that of a tensor (`x.device`), the fix is offered only if both are proven the same: a
    layer of the module made the tensor or takes it before, or nothing here leaves the CPU. A buffer also follows
    `net.half()` and the like: where modules are cast so, the fix assumes that this one is not.

    ## When to ignore it
    Where the tensor is written into, or where a few microseconds do not matter. A range or a pattern that is filled
    in once for each batch that a model generates is left alone; what is copied to a device there is not.

    ## Measured
    The figures below compare a network head that builds its constant with one that keeps it, numbers that are copied
    with numbers that are filled in, and a table that is copied with one that is kept.

    ## References
    - PyTorch documentation, `torch.nn.Module.register_buffer`.
    """

    code = "TL401"
    name = "constant-rebuilt-per-call"
    summary = "a tensor with the same values is built on every call"
    level = Level.NOTE
    trigger = Call(*COPIES, *_RANGES, *_OF_A_TABLE.keys()) | Method(_BESIDE) | Found(Copiers)
    least = Frequency.UPDATE
    yields_to = ("TL209", "TL102")
    fixable = True
    may_change = (Change.ALIASING,)
    examples = (
        Example(
            name="51-atoms",
            source=_SOURCE,
            fixed=_BETTER,
            setup="critic = Critic().to(device)\nlogits = logits.to(device)",
            workload="critic.expectation(logits)",
            inputs=(Input("logits", Kind.TENSOR, (1, 6, 51)),),
        ),
        _number("floor-64", "torch.maximum(values, {})", "-1.0, device=self.device"),
        _number("offset-64", "values + {}", "0.5"),
        Example(
            name="weights-64x4",
            source=_COPIED,
            fixed=_COPIED.replace(_TABLE, "self.weights").replace(
                "torch.device(device)\n", f"torch.device(device)\n        self.weights = {_TABLE}\n"
            ),
            setup="agent = Agent(device)\nvalues = values.to(device)",
            workload="agent.shaped(values)",
            inputs=(Input("values", Kind.TENSOR, (64, 4)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a call that builds a constant, unless it is part of a bigger constant or written into later."""
        node = site.node
        if not isinstance(node, cst.Call) or site.compiling.inside() or site.compiling.scripted():
            return
        if (given := copied_by(site, node)) is not None:
            same = _is_setting(site, given) or is_same_array(site, given)
            if same and site.device.may_be_cuda() and not _is_written(site, node):
                yield Report(
                    node, _BY_FUNCTION.format(name=source(node.func)), level=Level.WARNING, figure="weights-64x4"
                )
            return
        if not _is_constant(site, node) or _is_part(site, node):
            return
        name = site.names.of(node.func) or ""
        copied = _goes_beside(site, node) or (name in COPIES and _goes_to_device(site, node))
        fill = filled(site, node)
        changed = site.values.is_mutated(node)
        level = Level.WARNING if copied else None
        if fill is not None and _is_empty(node):
            yield Report(node, _EMPTY.format(name=name, better=fill.text), _fill(fill), figure="offset-64")
        elif fill is not None and (copied or not changed):
            message = (_FILLED if copied else _READ).format(name=name, better=fill.text)
            yield Report(node, message, _fill(fill), level=level, figure="floor-64" if copied else "offset-64")
        elif changed or (name not in _RANGES and is_accumulated(site, node)) or not (name or copied):
            return
        elif copied:
            yield Report(node, _SAME, _fix(site, node), level=level, figure="weights-64x4")
        elif name not in _RANGES or not site.fact(RolloutLoops).generates(site.file, site.twin):
            fix = _fix(site, node)
            # A buffer follows its module: what is made without a device may be needed on the host.
            place = " in a buffer" if fix is not None or keyword_of(node, "device") is not None else ""
            message = f"`{name}` builds the same tensor on every call; build it once and keep it{place}"
            yield Report(node, message, fix, figure="51-atoms")


_FILLED = "`{name}` copies the same number on every call and waits for the copy; `{better}` fills it on the device"
_READ = "`{name}` reads the same number as data on every call; `{better}` only fills it in"
_SAME = "the same constant is copied to the device on every call, a GPU sync each; keep it in a buffer"
_BY_FUNCTION = (
    "`{name}` copies the same constant to the device on every call, a GPU sync each; build it once and keep it"
)
_EMPTY = "`{name}` makes an empty tensor on the host first, on every call; `{better}` makes it where it belongs"


def _is_written(site: Site, call: cst.Call) -> bool:
    """Whether a tensor changes after it was made, so that each call needs one of its own."""
    return site.values.is_mutated(call) or is_accumulated(site, call)


def _is_empty(call: cst.Call) -> bool:
    """Whether a tensor is made of no numbers: ``torch.tensor(())``."""
    given = call.args[0].value if call.args else None
    return isinstance(given, (cst.Tuple, cst.List)) and not given.elements


def _fill(fill: Filled) -> Fix:
    """The creator that fills the tensor where it is needed."""
    new = in_place_of(fill.old, fill.node)
    return Fix(f"use `{fill.text}`", ((fill.old, new),), assumes=fill.assumes, imports=fill.imports)


def _fix(site: Site, call: cst.Call) -> Fix | None:
    """The constant as a buffer of the module; ``None`` where it cannot be built in ``__init__``."""
    name = _buffer_name(site, call)
    attribute = free_attribute(site, name) if name is not None else None
    built = _built_once(site, call) if site.names.of(call.func) else None
    if attribute is None or built is None:
        return None
    this, _, found = attribute.partition(".")
    made, anywhere = built
    assumes = _ASSUMES if anywhere and site.device.may_be_cuda() else ""
    return Fix(
        f"keep it in the buffer `{attribute}`",
        ((call, attribute),),
        may_change=(Change.ALIASING,),
        assumes=assumes or (_KEEPS_DTYPE if follows_a_cast(site, call) else ""),
        setup=(f'{this}.register_buffer("{found}", {made}, persistent=False)',),
    )


def _buffer_name(site: Site, call: cst.Call) -> str | None:
    """A name for the buffer: that of the variable, else one for what it holds; ``None`` where it is stored."""
    match site.parent(call):
        case cst.Assign(targets=[cst.AssignTarget(target=target)]):
            return target.value if isinstance(target, cst.Name) else None
        case cst.AnnAssign(target=target):
            return target.value if isinstance(target, cst.Name) else None
    return _NAMES.get((site.names.of(call.func) or "").rpartition(".")[2], "constant")


def _built_once(site: Site, call: cst.Call) -> tuple[str, bool] | None:
    """The call as it reads in ``__init__``, on one row, and whether nothing said on which device.

    ``None`` where an argument is not there, or the device is not proven to be the module's.
    """
    inner = _table(site, call, site.names.of(call.func) or "")
    anywhere = True
    for made in (call, inner):
        if made is None:
            continue
        if not settled(site, made.func) or any(keyword_of(made, word) for word in ("layout", "pin_memory")):
            return None
        device = keyword_of(made, "device")
        if device is not None and not _is_own_device(site, device):
            return None
        anywhere = anywhere and device is None
        if not all(settled(site, argument.value) for argument in made.args if argument.value not in (device, inner)):
            return None
    text = source(_anywhere(call, inner))
    return None if "#" in text or '"""' in text else (_on_one_row(text), anywhere)


def _is_own_device(site: Site, device: cst.BaseExpression) -> bool:
    """Whether a device is proven to be the module's: ``x.device`` of a tensor beside its parameters, or all is CPU."""
    match device:
        case cst.Attribute(value=tensor, attr=cst.Name(value="device")):
            return beside_module(site, tensor) or (site.values.is_parameter(tensor) and not site.device.may_be_cuda())
    return False


def _anywhere(call: cst.Call, inner: cst.Call | None) -> cst.Call:
    """The call without the device; the module takes its buffers along."""
    bare = without_keyword(call, "device")
    if inner is None:
        return bare
    first = bare.args[0].with_changes(value=without_keyword(inner, "device"))
    return bare.with_changes(args=[first, *bare.args[1:]])


def _on_one_row(text: str) -> str:
    return _ROWS.sub(" ", text).replace("( ", "(").replace(", )", ")").replace(" )", ")")


def _is_constant(site: Site, call: cst.Call) -> bool:
    """Whether a call builds a tensor from nothing but constants."""
    name = site.names.of(call.func) or ""
    if (table := _table(site, call, name)) is not None:
        return _has_constant_arguments(site, table) and _has_constant_arguments(site, call, besides=table)
    made = name in COPIES | _RANGES or _tensor_beside(site, call) is not None
    return made and _has_constant_arguments(site, call)


def _table(site: Site, call: cst.Call, name: str) -> cst.Call | None:
    """The call whose result a function takes: ``torch.ones`` of a mask, or what makes an array."""
    table = site.calls.argument(call, 0, "tensor" if name.endswith("one_hot") else "input")
    made = ARRAYS if name in COPIES else _OF_A_TABLE.get(name, ())
    return table if isinstance(table, cst.Call) and site.names.of(table.func) in made else None


def _has_constant_arguments(site: Site, call: cst.Call, besides: cst.BaseExpression | None = None) -> bool:
    if not call.args or not site.calls.is_plain(call):
        return False
    for argument in call.args:
        keyword = argument.keyword.value if argument.keyword is not None else ""
        if keyword in _PLACEMENT or argument.value is besides:
            continue
        records = keyword == "requires_grad" and site.values.of(argument.value).literal is not False
        if keyword == "out" or records or not _is_setting(site, argument.value):
            return False
    return True


def _is_setting(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is the same on every call; a named list or array may have been written into."""
    if not site.values.is_constant(node):
        return False
    named = isinstance(node, (cst.Name, cst.Attribute))
    return not named or site.values.of(node).kind not in _CHANGEABLE or is_fixed(site, node)


def _is_part(site: Site, call: cst.Call) -> bool:
    """Whether a call is an argument of a bigger constant, which is reported instead."""
    outer = site.parent(call)
    return isinstance(outer, cst.Call) and _is_constant(site, outer)


def _tensor_beside(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """The tensor beside which a call makes one of data."""
    match call.func:
        case cst.Attribute(value=tensor, attr=cst.Name(value=name)) if name == _BESIDE:
            return tensor if site.values.of(tensor).kind is Kind.TENSOR else None
    return None


def _goes_beside(site: Site, call: cst.Call) -> bool:
    """Whether a call makes its tensor where another one lies that is not proven to be on the host."""
    tensor = _tensor_beside(site, call)
    here = tensor is None or keyword_of(call, "device") is not None or not site.device.may_be_cuda()
    return not here and tensor is not None and site.values.of(tensor).device is not Device.CPU


def _goes_to_device(site: Site, call: cst.Call) -> bool:
    """Whether a call names a device that is not proven to be the host, or what it makes is moved there at once."""
    if not site.device.may_be_cuda():
        return False
    device = site.calls.argument(call, 2, "device")
    if device is None:
        move = move_after(site, site.calls.chain(call), "torch")
        return move is not None and device_named(site, move.device) is not Device.CPU
    value = site.values.of(device)
    return value.device is not Device.CPU and value.literal != "cpu"
