"""TL611: the elements of a tensor are read back one by one."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names, last_names
from torchlint.rule import Call, Device, Example, Fix, Found, Frequency, Input, Kind, Method, Report, Rule, Site, Value

from ._element_loop_over_tensor import IndexReads, element_of, indexed_by, of_ended_text, row_of, unknown_element_of

_NUMBERS = function_names("builtins", number=True)
_SIZED = function_names("torch", makes=("filled", "random"))
_RANGE = "torch.arange"
# What takes how many elements to pick as a number: at this place behind the tensor, or by this keyword.
_PICKING = {"topk": "k", "multinomial": "num_samples"}
_INTEGERS = last_names(dtype="integer")
_MESSAGE = "the elements of a tensor are read back one by one; `tolist()` reads all of them at once"

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.policy = nn.Linear(17, 6).to(device)

    def act(self, obs):
        with torch.inference_mode():
            best = self.policy(obs).argmax(dim=1).flatten()
        return {actions}


def rollout(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(torch.as_tensor(obs)))
"""


class ElementLoopOverTensor(Rule):
    """A loop reads the elements of a tensor back as Python numbers, one by one.

    ## What it does
    Finds `int(v)`, `float(v)` and `v.item()` in loops and comprehensions over a tensor in hot code, and
    `t[i].item()` in loops that count `i`; `torch.ones(v)`, `torch.arange(t[i], t[i + 1])`, `x.topk(v)` and `names[v]`
    of a list, which read the numbers that they take, and `row.tolist()`; also what a round computes of one row,
    `(row != 0).sum().item()`, which one reduction over an axis computes of all rows.

    ## Why is this slow
    Every round makes a 0-d tensor for the element and reads it back; on an accelerator each reading waits for the
    device. `tolist()` reads everything in one go.

    ## Example
    ```python
    actions = [int(v) for v in logits.argmax(dim=1)]
    ```

    ## Use instead
    ```python
    actions = logits.argmax(dim=1).tolist()
    ```

    ## What the fix may change
    Nothing: it is offered for lists of `int(v)` or `v.item()` over a tensor that is proven to hold integers in one
    dimension. In other loops, call `tolist()` before the loop and go over the numbers.

    ## When to ignore it
    Where the loop ends early and reads a few elements of many.

    ## Measured
    The figures below read the actions of a batch.

    ## References
    - PyTorch documentation, `torch.Tensor.tolist`.
    """

    code = "TL611"
    name = "element-loop-over-tensor"
    summary = "the elements of a tensor are read back one by one"
    trigger = (
        Call(*_NUMBERS, *_SIZED, _RANGE, *(f"torch.{name}" for name in _PICKING))
        | Method("item", "tolist", *_PICKING)
        | Found(IndexReads)
    )
    least = Frequency.UPDATE
    fixable = True
    examples = (
        Example(
            name="actions-of-64",
            source=_SOURCE.format(actions="[int(action) for action in best]"),
            fixed=_SOURCE.format(actions="best.tolist()"),
            setup="torch.manual_seed(0)\nagent = Agent(device)\nobs = obs.to(device)",
            workload="agent.act(obs)",
            unit="loop",
            inputs=(Input("obs", Kind.TENSOR, (64, 17)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a reading of one element in each round of a loop."""
        node = site.node
        if not isinstance(node, cst.Call):
            loops = site.loops.around(node) if indexed_by(site, node) is not None else []
            if loops and not loops[0].few:
                yield Report(node, _MESSAGE)
            return
        if of_ended_text(site, node):
            return
        for element in (*_reads(site, node), *_picks(site, node)):
            loops = site.loops.around(element)
            found = _part_of(site, node, element) if loops and not loops[0].few else None
            if found is not None and (_is_number(site, node) or found[1].device is not Device.CPU):
                yield Report(node, _MESSAGE, _fix(site, node, *found))
                return


def _part_of(site: Site, call: cst.Call, element: cst.BaseExpression) -> tuple[cst.BaseExpression, Value] | None:
    """The element of a tensor that an expression is or has a number of, ``row`` of ``row[0]``, with the tensor."""
    tensor = element_of(site, element) or (unknown_element_of(site, element) if _is_item(call) else None)
    while tensor is None and isinstance(element, cst.Subscript) and _is_constant(element):
        element = element.value
        tensor = element_of(site, element)
    tensor = tensor if tensor is not None else row_of(site, element)
    return (element, tensor) if tensor is not None else None


def _is_constant(node: cst.Subscript) -> bool:
    """Whether a subscript picks one place that is a number: ``row[0]``."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]:
            return True
    return False


def _is_number(site: Site, call: cst.Call) -> bool:
    """Whether a call gives one number, ``int(x)`` or ``x.item()``, which takes long on the host, too."""
    return _is_item(call) or site.names.of(call.func) in _NUMBERS


def _is_item(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "item"


def _reads(site: Site, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """What a call reads back: ``x`` of ``int(x)``, ``x.cpu().item()``, ``x.tolist()`` and ``torch.ones(x)``."""
    name = site.names.of(call.func)
    if name == _RANGE or name in _SIZED:
        for arg in call.args[: 3 if name == _RANGE else 1]:
            if arg.keyword is None and not arg.star:
                sizes = arg.value.elements if isinstance(arg.value, (cst.Tuple, cst.List)) else [arg]
                yield from (each.value for each in sizes)
        return
    match call:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="tolist")), args=[]):
            yield inner
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="item")), args=[]):
            while isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and not inner.args:
                if inner.func.attr.value not in ("cpu", "detach"):
                    break
                inner = inner.func.value
            yield inner
        case cst.Call(args=[cst.Arg(value=inner, keyword=None, star="")]) if name in _NUMBERS:
            yield inner


def _picks(site: Site, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """How many elements a call picks: ``v`` of ``x.topk(v)`` and of ``torch.topk(x, k=v)``."""
    name = site.names.of(call.func) or ""
    method = call.func.attr.value if not name and isinstance(call.func, cst.Attribute) else ""
    keyword = _PICKING.get(method or name.removeprefix("torch."))
    if keyword is not None:
        count = site.calls.argument(call, 0 if method else 1, keyword)
        yield from () if count is None else (count,)


def _fix(site: Site, call: cst.Call, element: cst.BaseExpression, tensor: Value) -> Fix | None:
    """``t.tolist()`` for ``[int(v) for v in t]`` with integers in one dimension."""
    whole = site.parent(call)
    if (
        tensor.rank != 1
        or tensor.dtype not in _INTEGERS
        or not isinstance(whole, cst.ListComp)
        or site.compiling.scripted()
    ):
        return None
    integer = _is_item(call) or site.names.of(call.func) == "builtins.int"
    match whole:
        case cst.ListComp(
            elt=elt,
            for_in=cst.CompFor(target=cst.Name(value=bound), iter=over, ifs=[], inner_for_in=None, asynchronous=None),
        ) if elt is call and integer:
            same = isinstance(element, cst.Name) and element.value == bound
            plain = isinstance(over, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or over.lpar
            if same and plain and site.values.of(over).kind is Kind.TENSOR:
                return Fix("read all of it at once", ((whole, cst.Call(cst.Attribute(over, cst.Name("tolist")))),))
    return None
