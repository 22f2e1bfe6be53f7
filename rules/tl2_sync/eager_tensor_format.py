"""TL206: a tensor is formatted on every call, even if it is not printed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint import cst
from torchlint.models import method_names
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
    Method,
    Report,
    Rule,
    Site,
    Value,
)
from torchlint.rule.build import with_arguments
from torchlint.rule.formatting import formatted, lazy

from ._eager_tensor_format import Printing, printed

_LEVELS = method_names(says=True)
_BARS = method_names("tqdm.std.tqdm", logs=True)
_LOGGER_NAME = re.compile(r"_*(\w+_)?(logger|log|logging)_*", re.IGNORECASE)
_READS = method_names(waits="reads", returns=("number", "array", "list", "tensor"))

_PRINTED = "a tensor is formatted and printed on every call; print it at intervals"
_HANDED = "a tensor is formatted on every call, also where nothing prints it; print it at intervals"
_SHOWN = "a tensor is formatted for a progress bar on every call; show it at intervals"
_FORMATTED = "a tensor is formatted on every call, even if the logger's level is off"
_READ = "a tensor is read back for the message on every call, even if the logger's level is off"
_BETTER = {
    _FORMATTED: "; pass it as an argument of the logger call",
    _READ: "; ask `isEnabledFor` first, or log at intervals",
}

_PROGRAM = """\
import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Learner:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6))
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def loss(self, obs: torch.Tensor, goal: torch.Tensor):
        error = self.q(obs) - goal
        logger.debug({message})
        return error.square().mean()

    def update(self, obs, goal):
        loss = self.loss(obs, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


def _example(name: str, before: str, after: str, batch: int) -> Example:
    return Example(
        name=name,
        source=_PROGRAM.format(message=before),
        fixed=_PROGRAM.format(message=after),
        setup="torch.manual_seed(0)\nlearner = Learner()",
        workload="learner.loss(obs, goal)",
        inputs=(Input("obs", Kind.TENSOR, (batch, 17)), Input("goal", Kind.TENSOR, (batch, 6))),
    )


class EagerTensorFormat(Rule):
    """A message with a tensor in it is formatted in hot code before anyone asks for it.

    ## What it does
    Finds logger calls in hot code whose message formats a tensor (in an f-string, with `%`, `.format()` or `str()`) or
    reads one back there (`{loss.item()}`, `{x.cpu()}`), and `print` of a tensor, also by a function of the project
    that prints what it is given.

    ## Why is this slow
    The text is made before the logger looks at its level. Printing a tensor of a few numbers takes dozens of small
    operations, far more than a step of a small network; on an accelerator it first waits for all work queued so far.

    ## Example
    ```python
    logger.debug(f"advantages: {advantages}")
    ```

    ## Use instead
    ```python
    logger.debug("advantages: %s", advantages)
    ```

    ## What the fix may change
    Order: the text is made when a handler writes it, so a tensor that was changed in between prints its new values,
    and nothing is formatted, and nothing raises, while the level is off. The fix is offered for loggers of `logging`
    only. A 0-d tensor prints as a plain number in an f-string but as `tensor(...)` with `%s`, so where the number of
    dimensions is not known the fix says that it assumes one, and where there is none it offers nothing.

    ## When to ignore it
    In code that runs seldom. Shapes, dtypes and devices cost next to nothing and are not reported.

    ## Measured
    On a `debug` message that is never printed; `torchlint rule TL206` prints the figures.

    ## References
    - Python documentation, "Logging HOWTO": optimization.
    """

    code = "TL206"
    name = "eager-tensor-format"
    summary = "a tensor is formatted on every call, even if it is not printed"
    trigger = Call("builtins.print") | Method(*_LEVELS, *_BARS) | Found(Printing)
    least = Frequency.UPDATE
    fixable = True
    may_change = (Change.ORDER,)
    examples = (
        _example("error-256x6", 'f"error: {error}"', '"error: %s", error', 256),
        _example("loss", 'f"loss: {error.square().mean():g}"', '"loss: %g", error.square().mean().detach()', 256),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a logger call, ``print`` or a progress bar that makes text of a tensor."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        values = [argument.value for argument in call.args]
        of_bar = isinstance(call.func, cst.Attribute) and call.func.attr.value in _BARS
        if of_bar or site.names.of(call.func) == "builtins.print":
            values += [part for value in values for part in _entries(value)] if of_bar else []
            if any(_is_tensor(site.values.of(value)) or _formats(site, value) for value in values):
                yield Report(call, _SHOWN if of_bar else _PRINTED, figure=_figure(site, values))
        elif _is_logger_call(site, call):
            message = _cost(site, values)
            if message:
                fix = _fix(site, call) if message == _FORMATTED else None
                yield Report(call, message + ("" if fix else _BETTER[message]), fix, figure=_figure(site, values))
        elif values := [value for value in printed(site, call) if _formats(site, value)]:
            yield Report(call, _HANDED, figure=_figure(site, values))


def _entries(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values of a dict that is written out: ``{"loss": loss}``."""
    parts = node.elements if isinstance(node, cst.Dict) else ()
    return [part.value for part in parts if isinstance(part, cst.DictElement)]


def _is_logger_call(site: Site, call: cst.Call) -> bool:
    """Whether a call logs: a method of a logger that is known or called one, or a function of ``logging``."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in _LEVELS:
        return False
    value = site.values.of(func.value)
    if _is_proven(site, func.value):
        return True
    match func.value:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            held = value.kind in (Kind.UNKNOWN, Kind.INSTANCE, Kind.NAMESPACE)
            return held and _LOGGER_NAME.fullmatch(name) is not None
    return False


def _is_proven(site: Site, receiver: cst.BaseExpression) -> bool:
    """Whether the receiver of a logger call is proven one of ``logging``."""
    return site.values.of(receiver).name == "logging.Logger" or site.names.of(receiver) == "logging"


def _cost(site: Site, values: list[cst.BaseExpression]) -> str:
    """What is wrong with the arguments of a logger call, empty when nothing."""
    if any(_formats(site, value) for value in values):
        return _FORMATTED
    parts = (part for value in values for part in formatted(site, value))
    return _READ if site.device.may_be_cuda() and any(_reads_back(site, part) for part in parts) else ""


def _figure(site: Site, values: list[cst.BaseExpression]) -> str | tuple[str, ...]:
    """The example that fits: a number or two are printed in no time, many are not."""
    parts = [part for value in values for part in (value, *formatted(site, value))]
    ranks = [site.values.of(part).rank for part in parts if _is_tensor(site.values.of(part))]
    if any(ranks):
        return "error-256x6"
    return ("loss", "error-256x6") if None in ranks else "loss"


def _formats(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression makes text of a tensor."""
    return any(_may_be_tensor(site, part) for part in formatted(site, node))


def _may_be_tensor(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is a tensor, or is one of several of which one is."""
    if isinstance(node, cst.IfExp):
        return _may_be_tensor(site, node.body) or (not _excludes(node) and _may_be_tensor(site, node.orelse))
    return _is_tensor(site.values.of(node))


def _excludes(choice: cst.IfExp) -> bool:
    """Whether the test of ``f(x) if isinstance(x, Tensor) else x`` says that what else is left is not a tensor."""
    match choice:
        case cst.IfExp(
            test=cst.Call(func=cst.Name(value="isinstance"), args=[cst.Arg(value=cst.Name(value=tested)), _]),
            orelse=cst.Name(value=left),
        ):
            return tested == left
    return False


def _is_tensor(value: Value) -> bool:
    if value.kind is Kind.DICT:
        return any(item.kind is Kind.TENSOR for item in value.items)
    return value.kind is Kind.TENSOR or (value.kind in (Kind.LIST, Kind.TUPLE) and value.element.kind is Kind.TENSOR)


def _reads_back(site: Site, node: cst.CSTNode) -> bool:
    """Whether a tensor that may be on a device is read back anywhere in an expression."""
    match node:
        case cst.Call(func=cst.Attribute(value=source, attr=cst.Name(value=method))) if method in _READS:
            value = site.values.of(source)
            if value.kind is Kind.TENSOR and value.device is not Device.CPU:
                return True
    return any(_reads_back(site, child) for child in node.children)


def _fix(site: Site, call: cst.Call) -> Fix | None:
    """Hand the values to the logger, which formats them when it writes; only for loggers of ``logging``."""
    func = call.func
    if not isinstance(func, cst.Attribute) or not _is_proven(site, func.value) or site.compiling.scripted():
        return None
    index = 1 if func.attr.value == "log" else 0
    positional = [argument for argument in call.args if argument.keyword is None]
    if len(positional) != index + 1 or call.args[index].keyword is not None or not site.calls.is_plain(call):
        return None
    later = lazy(site, call.args[index].value)
    if later is None:
        return None
    arguments = [*call.args]
    arguments[index] = arguments[index].with_changes(value=later.format)
    message = call.with_changes(args=arguments)
    return Fix(
        message="let the logger format the values when it writes the message",
        replace=((call, with_arguments(message, index, [cst.Arg(value=value) for value in later.values])),),
        may_change=(Change.ORDER,),
        assumes=later.assumes,
    )
