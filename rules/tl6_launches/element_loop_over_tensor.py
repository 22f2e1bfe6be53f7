"""TL611: the elements of a tensor are read back one by one."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.models import function_names, last_names
from torchlint.rule import Call, Example, Fix, Frequency, Input, Kind, Method, Report, Rule, Site, Value

from ._element_loop_over_tensor import element_of, row_of

_NUMBERS = function_names("builtins", number=True)
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
    `t[i].item()` in loops that count `i`; also what a round computes of one row, `(row != 0).sum().item()`, which one
    reduction over an axis computes of all rows.

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
    trigger = Call(*_NUMBERS) | Method("item")
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
        call = site.node
        if not isinstance(call, cst.Call):
            return
        element = _read(site, call)
        if element is None:
            return
        tensor = element_of(site, element)
        while tensor is None and isinstance(element, cst.Subscript) and _is_constant(element):
            element = element.value  # one of the numbers of a row: ``row[0]``
            tensor = element_of(site, element)
        if tensor is None and (tensor := row_of(site, element)) is None:
            return
        loops = site.loops.around(element)
        if not loops or loops[0].few:
            return
        yield Report(call, _MESSAGE, _fix(site, call, element, tensor))


def _is_constant(node: cst.Subscript) -> bool:
    """Whether a subscript picks one place that is a number: ``row[0]``."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Integer()))]:
            return True
    return False


def _read(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """What a call reads back: ``x`` of ``int(x)``, ``x.item()`` and ``x.cpu().item()``."""
    match call:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="item")), args=[]):
            while isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and not inner.args:
                if inner.func.attr.value not in ("cpu", "detach"):
                    break
                inner = inner.func.value
            return inner
        case cst.Call(args=[cst.Arg(value=inner, keyword=None, star="")]) if site.names.of(call.func) in _NUMBERS:
            return inner
    return None


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
    integer = site.names.of(call.func) == "builtins.int" or isinstance(call.func, cst.Attribute)
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
