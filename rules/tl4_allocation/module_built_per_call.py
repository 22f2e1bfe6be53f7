"""TL403: a module of torch.nn without parameters is built on every call."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TypedDict

from torchlint import cst
from torchlint.rule import Call, Example, Fix, Frequency, Input, Kind, Report, Rule, Site
from torchlint.rule.build import call_of, expression, in_place_of, keyword, keyword_of, module_for

from ._module_built_per_call import called_later, only_called


@dataclass(frozen=True, slots=True)
class Twin:
    """The function that does what a module does.

    Attributes:
        function: its qualified name.
        inputs: how many tensors both are given.
        settings: parameters of the module's constructor in order, each with the function's keyword (``None``: none).
        always: keywords with the value the function needs where the constructor was not given one, as source.
        buffers: parameters that make the module hold a buffer.
        bounds: numbers between which the constructor takes a parameter (``None``: no bound), where it refuses others.
        tuples: parameters for which the function takes a tuple alone, where the module takes a number as well.
    """

    function: str
    inputs: int
    settings: Mapping[str, str | None]
    always: Mapping[str, str]
    buffers: frozenset[str]
    bounds: Mapping[str, tuple[float | None, float | None]]
    tuples: frozenset[str]


class _Row(TypedDict, total=False):
    function: str
    inputs: int
    settings: dict[str, str | None]
    always: dict[str, str]
    buffers: list[str]
    bounds: dict[str, tuple[float | None, float | None]]
    tuples: list[str]


class _Table(TypedDict):
    torch: str
    modules: dict[str, _Row]
    torchrl: list[str]


@cache
def twins() -> Mapping[str, Twin]:
    """Return the table of modules and their functions, from ``functional_twins.json``."""
    return {name: _twin(row) for name, row in _table()["modules"].items()}


@cache
def torchrl_modules() -> frozenset[str]:
    """Return the loss modules and value estimators of TorchRL, which walk through networks when they are built."""
    return frozenset(_table()["torchrl"])


@cache
def _table() -> _Table:
    found: _Table = json.loads(pkgutil.get_data(__package__, "functional_twins.json") or b"")
    return found


def _twin(row: _Row) -> Twin:
    buffers = frozenset(row.get("buffers", ()))
    tuples = frozenset(row.get("tuples", ()))
    always, bounds = row.get("always", {}), row.get("bounds", {})
    return Twin(row["function"], row["inputs"], row["settings"], always, buffers, bounds, tuples)


_PROGRAM = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6))
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def loss(self, values, goal):
        return {line}

    def update(self, obs, goal):
        loss = self.loss(self.q(obs), goal).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(64))
"""


# Other modules are built in about the same time: any of these.
_FIGURES = MappingProxyType({"MSELoss": "mse-64x6", "Softmax": "softmax-64x6", "SmoothL1Loss": "smooth-l1-64x6"})


def _example(name: str, before: str, after: str) -> Example:
    return Example(
        name=name,
        source=_PROGRAM.format(line=before),
        fixed=_PROGRAM.format(line=after),
        setup="torch.manual_seed(0)\nlearner = Learner()",
        workload="learner.loss(values, goal)",
        inputs=(Input("values", Kind.TENSOR, (64, 6)), Input("goal", Kind.TENSOR, (64, 6))),
    )


class ModuleBuiltPerCall(Rule):
    """A module of `torch.nn` without parameters is built on every call.

    ## What it does
    Finds losses, activations and other modules without parameters and buffers that hot code builds and calls at once
    (`nn.MSELoss()(a, b)`) or under a local name, and loss modules of TorchRL that are built again for every update.

    ## Why is this slow
    The constructor of a module sets up about a dozen dictionaries, and the call goes through the machinery of hooks.
    The function of `torch.nn.functional` does neither.

    ## Example
    ```python
    loss = nn.MSELoss()(values, goal)
    ```

    ## Use instead
    ```python
    loss = nn.functional.mse_loss(values, goal)
    ```

    ## What the fix may change
    Nothing. It is offered where the module is called at once, or under a local name that is only called, with plain
    arguments, and its constructor is given literals; where the function has another default the fix writes the
    module's. A name then holds the function, or a `functools.partial` of it with the module's settings.

    ## When to ignore it
    Where the module is built once, ahead of the loop, or a few microseconds do not matter.

    ## Measured
    On 64 rows of 6 numbers; `torchlint rule TL403` prints the figures.

    ## References
    - PyTorch documentation, `torch.nn.functional`.
    """

    code = "TL403"
    name = "module-built-per-call"
    summary = "a module without parameters is built on every call"
    trigger = Call(*(twins()), *torchrl_modules())
    least = Frequency.UPDATE
    fixable = True
    examples = (
        _example("mse-64x6", "nn.MSELoss()(values, goal)", "nn.functional.mse_loss(values, goal)"),
        _example("softmax-64x6", "nn.Softmax(dim=1)(values)", "nn.functional.softmax(values, dim=1)"),
        _example(
            "smooth-l1-64x6",
            'nn.SmoothL1Loss(reduction="none")(values, goal)',
            'nn.functional.smooth_l1_loss(values, goal, reduction="none")',
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the construction of a module that is called where it is built."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        name = site.names.of(call.func) or ""
        short = name.rpartition(".")[2]
        twin = twins().get(name)
        if name in torchrl_modules():
            if _is_called(site, call):
                yield Report(
                    call,
                    f"`{short}` is built again on every call; build it once, where its networks are",
                    figure="none",
                )
        elif twin is not None and not any(keyword_of(call, word) for word in twin.buffers):
            outer = site.parent(call)
            at_once = outer if isinstance(outer, cst.Call) and outer.func is call else None
            if at_once is not None or _is_called(site, call):
                function = twin.function.replace("torch.nn.functional.", "F.")
                message = f"`{short}` is built again on every call; use `{function}`, or build it once"
                fix = _fix(site, at_once, call, twin) if at_once is not None else _named(site, call, twin)
                every = tuple(example.name for example in self.examples)
                yield Report(at_once or call, message, fix, figure=_FIGURES.get(short, every))


def _is_called(site: Site, call: cst.Call) -> bool:
    """Whether a module is called at once, or bound to a local name and called by it."""
    match site.parent(call):
        case cst.Call(func=func):
            return func is call
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())]) | cst.AnnAssign(target=cst.Name()):
            return called_later(site, call)
    return False


def _fix(site: Site, outer: cst.Call, built: cst.Call, twin: Twin) -> Fix | None:
    """The call of the function instead, with the module's settings as keywords."""
    if (
        site.compiling.scripted()
        or not site.calls.is_plain(built)
        or not site.calls.is_plain(outer)
        or len(outer.args) != twin.inputs
    ):
        return None
    if any(arg.keyword is not None for arg in outer.args):
        return None
    settings = _settings(built, twin)
    if settings is None:
        return None
    function, missing = _function(site, twin)
    new = outer.with_changes(func=expression(function))
    last = new.args[-1]
    added = [keyword(word, value) for word, value in settings]
    if added:
        row = [*new.args[:-1], last.with_changes(comma=cst.MaybeSentinel.DEFAULT), *added]
        row[-1] = row[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
        row[len(new.args) - 1] = row[len(new.args) - 1].with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
        new = new.with_changes(args=row)
    return Fix(f"call `{function}`", ((outer, new),), imports=missing)


def _named(site: Site, built: cst.Call, twin: Twin) -> Fix | None:
    """The function under the module's name, which is only called; with the module's settings where it has some."""
    if site.compiling.scripted() or not site.calls.is_plain(built) or not only_called(site, built, twin.inputs):
        return None
    settings = _settings(built, twin)
    if settings is None:
        return None
    function, missing = _function(site, twin)
    new = expression(function)
    if settings:
        functools, needed = module_for(site, "functools", "functools")
        words = [keyword(word, value) for word, value in settings]
        partial = call_of(f"{functools}.partial", new)
        new = partial.with_changes(args=[*partial.args, *words])
        missing = (*missing, *needed)
    return Fix(f"call `{function}`", ((built, in_place_of(built, new)),), imports=missing)


def _settings(built: cst.Call, twin: Twin) -> list[tuple[str, cst.BaseExpression]] | None:
    """The function's keywords and their values; ``None`` where the constructor is given anything but literals."""
    words = list(twin.settings)
    found: list[tuple[str, cst.BaseExpression]] = []
    for index, argument in enumerate(built.args):
        word = argument.keyword.value if argument.keyword is not None else words[index] if index < len(words) else ""
        meant = twin.settings.get(word)
        literal = _is_tuple(argument.value) if word in twin.tuples else _is_literal(argument.value)
        if meant is None or not literal or not _within(argument.value, twin.bounds.get(word)):
            return None
        found.append((meant, argument.value))
    given = {word for word, _ in found}
    found.extend((word, expression(value)) for word, value in twin.always.items() if word not in given)
    return found


def _is_literal(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Integer() | cst.Float() | cst.SimpleString():
            return True
        case cst.Name(value="True" | "False" | "None"):
            return True
        case cst.UnaryOperation(operator=cst.Minus(), expression=number):
            return isinstance(number, (cst.Integer, cst.Float))
    return False


def _is_tuple(node: cst.BaseExpression) -> bool:
    """Whether an expression is a tuple of literals, written out."""
    parts = node.elements if isinstance(node, cst.Tuple) else ()
    return bool(parts) and all(isinstance(part, cst.Element) and _is_literal(part.value) for part in parts)


def _within(node: cst.BaseExpression, bounds: tuple[float | None, float | None] | None) -> bool:
    """Whether a literal is a number that the constructor takes."""
    if bounds is None:
        return True
    low, high = bounds
    sign = -1 if isinstance(node, cst.UnaryOperation) else 1
    number = node.expression if isinstance(node, cst.UnaryOperation) else node
    if not isinstance(number, (cst.Integer, cst.Float)):
        return False
    value = sign * number.evaluated_value
    return (low is None or low <= value) and (high is None or value <= high)


def _function(site: Site, twin: Twin) -> tuple[str, tuple[str, ...]]:
    """The function as the file can name it, and the import that this needs."""
    module, _, function = twin.function.rpartition(".")
    for whole in (module, "torch.nn", "torch"):
        bound = site.names.module(whole)
        if bound is not None and module.startswith(whole):
            return f"{bound}{module.removeprefix(whole)}.{function}", ()
    bound, missing = module_for(site, module, "torch" if module == "torch" else "F")
    return f"{bound}.{function}", missing
