"""TL606: the logarithm of a softmax, a sigmoid or a sum is taken in two steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torchlint import cst
from torchlint.rule import Call, Change, Example, Fix, Frequency, Input, Kind, Level, Method, Report, Rule, Site
from torchlint.rule.build import call_of, in_place_of, module_for, on_top, with_keyword

_CHANGES = (Change.ROUNDING, Change.NONFINITE)
_FUNCTIONAL = "torch.nn.functional"
_PICKING = frozenset({"gather", "squeeze", "unsqueeze", "view", "reshape", "flatten", "[]"})
_INTEGERS = ("int64", "int32", "uint8", "bool", "0-d of integers", "large integers")  # as inputs of the suite
_BETTER = {"softmax": "log_softmax", "sigmoid": "logsigmoid"}
_UP_TO_FLOAT32 = frozenset({"float16", "bfloat16", "float32"})
_EXACT_THRESHOLD = "40"  # above it, exp(-x) is less than half a last bit of float64
_CROSS_ENTROPY = f"{_FUNCTIONAL}.cross_entropy"

_MADE = "the logarithm of a {made} in two steps; `{better}` does it in one, and its gradient stays finite"
_RETURNED = "; work with the logits"
_ONE_MINUS = "the logarithm of `1 - sigmoid(x)` in three steps; `logsigmoid(-x)` does it in one, and stays finite"
_ONE_PLUS = "`log(1 + x)` creates a tensor for the sum; `torch.log1p(x)` does it in one step and is exact for small x"
_SOFTPLUS = "`log(1 + exp(x))` overflows for large x and creates two more tensors; `softplus` does it in one step"
_SUM = "`log(sum(exp(x)))` overflows for large x; `torch.logsumexp` does not (it takes longer on the CPU)"
_DOUBLE = "`cross_entropy` takes logits: after this softmax it applies a second one; pass the logits"

_PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn


class Learner:
    def __init__(self, device):
        self.policy = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 18)).to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters())

    def log_probs(self, logits, actions):
        return {value}

    def update(self, obs, actions, advantages):
        log_probs = self.log_probs(self.policy(obs), actions)
        loss = -(log_probs * advantages).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def train(learner, replay, updates):
    for _ in range(updates):
        learner.update(*replay.sample(256))
"""


def _example(name: str, before: str, after: str) -> Example:
    return Example(
        name=name,
        source=_PROGRAM.format(value=before),
        fixed=_PROGRAM.format(value=after),
        setup="learner = Learner(device)\nlogits, actions = logits.to(device), actions.to(device) % 18",
        workload="learner.log_probs(logits, actions)",
        inputs=(Input("logits", Kind.TENSOR, (256, 18)), Input("actions", Kind.TENSOR, (256, 1), "int64")),
    )


@dataclass(frozen=True, slots=True)
class _Logarithm:
    """A logarithm: the expression it is taken of, and whether it is a method (`x.log()`) of it."""

    of: cst.BaseExpression
    method: bool


class LogOfSoftmax(Rule):
    """The logarithm of a softmax, a sigmoid, a sum of exponentials or `1 + x` is taken in two steps.

    ## What it does
    Finds `softmax(x).log()` and `torch.log` of a softmax in hot code, also where elements are picked in between and
    where a function or a network of the project returns the probabilities; the same with `sigmoid`, `log(1 + x)`,
    `log(1 + exp(x))` and `log(sum(exp(x)))`. It also finds `cross_entropy` of a softmax, which applies a second one.

    ## Why is this slow
    Every step is an operation of its own that writes a tensor, in the forward and again in the backward pass.
    `log_softmax` does both at once. Where a probability is rounded to zero the logarithm is `-inf` and the gradient
    NaN; the fused functions do not get there.

    ## Example
    ```python
    log_probs = F.softmax(logits, dim=-1).log()
    ```

    ## Use instead
    ```python
    log_probs = F.log_softmax(logits, dim=-1)
    ```

    ## What the fix may change
    The last bits (`rounding`), and results that were infinite or NaN because a probability was rounded to zero or an
    exponential overflowed (`nonfinite`). It is offered where the softmax is written inside the logarithm. Where the
    probabilities come from another function, that function should give logits, and no fix is offered. Of a sigmoid and
    in a softplus integers are refused, which are no logits, and of a sigmoid the result is contiguous whatever the
    layout of the logits. `softplus` gives back what is above its threshold: 20, and 40 where the numbers may be of
    float64, which would show the difference at 20.

    ## When to ignore it
    Where the probabilities are what is wanted and the logarithm is only read now and then. `softmax(x) + eps` is
    another function and is left alone, and so are a sum of exponentials that is shifted by hand (`(x - m).exp()`) and
    compiled code, which fuses the steps by itself.

    ## Measured
    On the log-probabilities of a batch with 18 actions; `torchlint rule TL606` prints the figures. On the CPU
    `logsumexp` takes longer than the three steps it replaces, for it looks for the maximum first: that one is a note.

    ## References
    - PyTorch documentation, `torch.nn.functional.log_softmax`, `torch.log1p`, `torch.logsumexp`.
    """

    code = "TL606"
    name = "log-of-softmax"
    summary = "the logarithm of a softmax, a sigmoid or a sum is taken in two steps"
    trigger = Call("torch.log", _CROSS_ENTROPY) | Method("log")
    least = Frequency.UPDATE
    fixable = True
    may_change = _CHANGES
    exceptions: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(_INTEGERS, "integers are refused"),
        "transposed twice": "the result is contiguous whatever the layout of the logits",
    }
    examples = (
        _example(
            "chosen-of-256x18",
            "torch.log(F.softmax(logits, dim=-1).gather(1, actions))",
            "F.log_softmax(logits, dim=-1).gather(1, actions)",
        ),
        _example("softmax-256x18", "logits.softmax(-1).log()", "logits.log_softmax(-1)"),
        _example("sigmoid-256x18", "torch.log(torch.sigmoid(logits))", "F.logsigmoid(logits)"),
        _example("sum-of-256x18", "torch.log(torch.exp(logits).sum(-1))", "torch.logsumexp(logits, -1)"),
        _example("one-plus-256x18", "torch.log(1 + logits.square())", "torch.log1p(logits.square())"),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a logarithm that a function of torch takes together with what is inside, and a double softmax."""
        call = site.node
        if not isinstance(call, cst.Call) or site.compiling.inside():
            return
        if site.names.of(call.func) == _CROSS_ENTROPY:
            first = site.calls.argument(call, 0, "input")
            if first is not None and site.values.maker(first) == "softmax":
                yield Report(call, _DOUBLE)
            return
        log = _logarithm(site, call)
        if log is not None:
            yield from _reports(site, call, log)


def _logarithm(site: Site, call: cst.Call) -> _Logarithm | None:
    """The logarithm that a call is: ``torch.log(x)``, or ``x.log()`` of a tensor."""
    match call:
        case cst.Call(args=[cst.Arg(value=inner, keyword=None, star="")]) if site.names.of(call.func) == "torch.log":
            return _Logarithm(inner, method=False)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="log")), args=[]):
            if site.values.of(inner).kind is Kind.TENSOR or site.values.maker(inner) in _BETTER:
                return _Logarithm(inner, method=True)
    return None


def _reports(site: Site, call: cst.Call, log: _Logarithm) -> Iterator[Report]:
    made = site.values.maker(log.of)
    if made in _BETTER:
        fix = _made_fix(site, call, log)
        message = _MADE.format(made=made, better=_BETTER[made])
        picked = _picked_from(site, log.of) is not None
        figure = "sigmoid-256x18" if made == "sigmoid" else "chosen-of-256x18" if picked else "softmax-256x18"
        yield Report(call, message if fix is not None else message + _RETURNED, fix, figure=figure)
        return
    match log.of:
        case cst.BinaryOperation(left=one, operator=cst.Subtract(), right=other) if _is_one(one):
            if site.values.maker(other) == "sigmoid":
                yield Report(call, _ONE_MINUS, figure="sigmoid-256x18")
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right) if _is_one(left) or _is_one(right):
            added = right if _is_one(left) else left
            if _exponent(site, added) is not None:
                yield Report(call, _SOFTPLUS, _softplus_fix(site, call, added), figure="one-plus-256x18")
                return
            function, imports = _function(site, call, log, "log1p")
            new = call_of(function, added)
            known = log.method or site.values.of(added).kind is Kind.TENSOR
            fix = _fix("take the sum and its logarithm at once", call, new, imports) if known else None
            yield Report(call, _ONE_PLUS, fix, figure="one-plus-256x18")
        case cst.Call() as total if (powers := _summed(site, total)) is not None and not _is_shifted(site, powers):
            fix = _sum_fix(site, call, log, total)
            yield Report(call, _SUM, fix, figure="sum-of-256x18", level=Level.NOTE)


def _softplus_fix(site: Site, call: cst.Call, exponential: cst.BaseExpression) -> Fix | None:
    """``F.softplus(x)``, which gives back ``x`` above a threshold of 20: float32 holds no other number there."""
    power = _exponent(site, exponential)
    if power is None or site.compiling.scripted():
        return None
    functional, imports = module_for(site, _FUNCTIONAL, "F")
    new = call_of(f"{functional}.softplus", power)
    if site.values.of(power).dtype not in _UP_TO_FLOAT32:
        new = with_keyword(new, "threshold", cst.Integer(_EXACT_THRESHOLD))
    return _fix("take all steps at once", call, new, imports)


def _is_one(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.Integer, cst.Float)) and node.evaluated_value == 1


def _fix(message: str, call: cst.Call, new: cst.BaseExpression, imports: tuple[str, ...]) -> Fix:
    return Fix(message, ((call, in_place_of(call, new)),), may_change=_CHANGES, imports=imports)


def _function(site: Site, call: cst.Call, log: _Logarithm, name: str) -> tuple[str, tuple[str, ...]]:
    """The function beside the ``log`` that is called (``torch.log1p`` for ``torch.log``), and imports that it needs."""
    if not log.method and isinstance(call.func, cst.Attribute):
        return f"{cst.Module([]).code_for_node(call.func.value)}.{name}", ()
    torch, imports = module_for(site, "torch", "torch")
    return f"{torch}.{name}", imports


def _made_fix(site: Site, call: cst.Call, log: _Logarithm) -> Fix | None:
    """``F.log_softmax(x, -1)`` with what picks elements on top; ``None`` where the softmax is not inside the log."""
    if site.compiling.scripted():
        return None
    base, picked = log.of, 0
    while (inner := _picked_from(site, base)) is not None:
        base, picked = inner, picked + 1
    if not isinstance(base, cst.Call):
        return None
    links = site.calls.chain(base)[:picked]
    twin, imports = _twin(site, base)
    return None if twin is None else _fix("take both steps at once", call, on_top(twin, links), imports)


def _picked_from(site: Site, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What elements are picked from by a method or an index on top of it."""
    match node:
        case cst.Subscript(value=inner):
            return inner
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if name in _PICKING:
            return None if (site.names.of(node.func) or "").startswith("torch.") else inner
    return None


def _twin(site: Site, made: cst.Call) -> tuple[cst.Call | None, tuple[str, ...]]:
    """The logarithm of a softmax or sigmoid in one call, and the imports that it needs."""
    name = site.names.of(made.func) or ""
    func = made.func
    if not name.startswith("torch.") and isinstance(func, cst.Attribute) and site.calls.is_plain(made):
        if func.attr.value == "softmax":
            return made.with_changes(func=func.with_changes(attr=cst.Name("log_softmax")), lpar=(), rpar=()), ()
        if func.attr.value == "sigmoid" and not made.args:
            functional, imports = module_for(site, _FUNCTIONAL, "F")
            return call_of(f"{functional}.logsigmoid", func.value), imports
    if name in ("torch.softmax", f"{_FUNCTIONAL}.softmax"):
        if isinstance(func, cst.Attribute):
            return made.with_changes(func=func.with_changes(attr=cst.Name("log_softmax")), lpar=(), rpar=()), ()
        functional, imports = module_for(site, _FUNCTIONAL, "F")
        return call_of(f"{functional}.log_softmax").with_changes(args=made.args), imports
    if name in ("torch.sigmoid", f"{_FUNCTIONAL}.sigmoid") and len(made.args) == 1 and not made.args[0].star:
        functional, imports = module_for(site, _FUNCTIONAL, "F")
        return call_of(f"{functional}.logsigmoid", made.args[0].value), imports
    return None, ()


def _summed(site: Site, total: cst.Call) -> cst.BaseExpression | None:
    """``x`` of ``torch.exp(x).sum(...)`` and ``torch.sum(x.exp(), ...)``."""
    match total:
        case cst.Call(args=[cst.Arg(value=inner), *_]) if site.names.of(total.func) == "torch.sum":
            return _exponent(site, inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="sum"))):
            return _exponent(site, inner)
    return None


def _exponent(site: Site, node: cst.BaseExpression) -> cst.BaseExpression | None:
    match node:
        case cst.Call(args=[cst.Arg(value=inner, keyword=None, star="")]) if site.names.of(node.func) == "torch.exp":
            return inner
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="exp")), args=[]):
            return inner
    return None


def _is_shifted(site: Site, powers: cst.BaseExpression) -> bool:
    """Whether something was taken off what is exponentiated, as the maximum is so that nothing overflows."""
    return site.values.maker(powers) == "sub"


def _sum_fix(site: Site, call: cst.Call, log: _Logarithm, total: cst.Call) -> Fix | None:
    """``torch.logsumexp(x, dim)``; ``None`` where the sum is over everything, or has a dtype."""
    summed = _summed(site, total)
    rest = list(total.args[1:] if site.names.of(total.func) == "torch.sum" else total.args)
    words = {argument.keyword.value for argument in rest if argument.keyword is not None}
    if (
        summed is None
        or not rest
        or words - {"dim", "keepdim"}
        or not site.calls.is_plain(total)
        or words == {"keepdim"}
    ):
        return None
    function, imports = _function(site, call, log, "logsumexp")
    new = call_of(function, summed)
    return _fix("take all steps at once", call, new.with_changes(args=[*new.args, *rest]), imports)
