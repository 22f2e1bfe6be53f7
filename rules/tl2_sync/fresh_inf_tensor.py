"""TL209: a constant built as a tensor only to be one side of ``torch.where``."""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Change, Example, Fix, Input, Kind, Report, Rule
from torchlint.rule.build import keyword_of, only_reads
from torchlint.rule.convert import CONVERSIONS, FLOATING, conversion

if TYPE_CHECKING:
    from torchlint.rule import Site

_POLICY = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(17, 18)

    def mask(self, logits: torch.Tensor, legal: torch.Tensor):
        return torch.where(legal, logits, {blocked})

    def forward(self, obs, legal):
        return self.mask(self.head(obs), legal)


def collect(policy: Policy, envs, steps):
    obs, info = envs.reset()
    for _ in range(steps):
        logits = policy(obs, info["legal"])
        obs, reward, terminated, truncated, info = envs.step(logits.argmax(dim=1))
"""


_CONSTRUCTORS = function_names("torch", makes="data")
_LEGACY = function_names("torch torch.cuda", makes="legacy")
_INFINITIES = function_names(constant="infinity")


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A tensor built from a number: the whole expression, the number in code and its value, and its dtype in code.

    ``dtype`` is ``None`` where none is said, ``dtype_name`` where it is not known which. ``defaulted`` is true where
    the number is rounded to the default dtype first, ``proven`` false where a conversion on top may do anything.
    """

    node: cst.BaseExpression
    literal: cst.BaseExpression
    number: float
    dtype: cst.BaseExpression | None
    dtype_name: str | None
    defaulted: bool
    proven: bool


class FreshInfTensor(Rule):
    """A number is wrapped in a tensor only to be an argument of `torch.where`.

    ## What it does
    Finds `torch.where(mask, x, torch.tensor(float("-inf")))`, with finite numbers and on either side as well, also with
    a number that is not always the same (`torch.tensor(length)`), or with `x.new_tensor(0.0)`.

    ## Why is this slow
    Each call allocates a tensor for one number; with `device=` of an accelerator it is also copied there while the
    program waits. `torch.where` takes the number itself.

    ## Example
    ```python
    logits = torch.where(legal, logits, torch.tensor(float("-inf")))
    ```

    ## Use instead
    ```python
    logits = torch.where(legal, logits, float("-inf"))
    ```

    ## What the fix may change
    Nothing, where the other side is proven a floating-point tensor and has a dimension or gives its own dtype to the
    constant. A finite number that float32 does not hold exactly may be rounded differently, and any
    number where the project sets another default dtype. Where the other side is
    not known, it may be of integers, and the number would make the result floating; then the fix is unsafe.

    ## When to ignore it
    In code that runs seldom. Masks and constants of full shape are not reported, nor is `masked_fill`, which is no
    faster than `torch.where` with a number.

    ## Measured
    On logits of a minibatch with 18 actions; `torchlint rule TL209` prints the figures.

    ## References
    `torch.where` in the documentation of PyTorch, on scalars as arguments.
    """

    code = "TL209"
    name = "fresh-inf-tensor"
    summary = "torch.where gets a constant that is built as a tensor on each call"
    trigger = Call("torch.where")
    torch = (1, 12)
    fixable = True
    may_change = (Change.ROUNDING,)
    examples = (
        Example(
            name="logits-256x18",
            source=_POLICY.format(
                blocked='torch.tensor(float("-inf"), dtype=logits.dtype, device=logits.device)',
            ),
            fixed=_POLICY.format(blocked='float("-inf")'),
            setup="policy = Policy()",
            workload="policy.mask(logits, legal)",
            inputs=(
                Input("logits", Kind.TENSOR, (256, 18)),
                Input("legal", Kind.TENSOR, (256, 18), "bool"),
            ),
        ),
        Example(
            name="logits-1x18",
            source=_POLICY.format(blocked="torch.tensor(-1e8)"),
            fixed=_POLICY.format(blocked="-1e8"),
            setup="policy = Policy()",
            workload="policy.mask(logits, legal)",
            inputs=(
                Input("logits", Kind.TENSOR, (1, 18)),
                Input("legal", Kind.TENSOR, (1, 18), "bool"),
            ),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a side of ``torch.where`` that is a number in a tensor."""
        call = site.node
        if not isinstance(call, cst.Call) or site.names.of(call.func) != "torch.where" or not site.calls.is_plain(call):
            return
        chosen, other = site.calls.argument(call, 1, "input"), site.calls.argument(call, 2, "other")
        if chosen is None or other is None:
            return
        for side, opposite in ((other, chosen), (chosen, other)):
            fresh = _fresh(site, side)
            held = fresh is not None or _holds_number(site, side) or _lists_number(site, side)
            if not held or site.values.of(opposite).kind is Kind.NUMBER:
                continue
            fix = None if fresh is None or site.compiling.scripted() else _fix(site, fresh, opposite)
            message = _NUMBER if fresh is None else _MESSAGE
            yield Report(call, message, fix, figure=tuple(example.name for example in self.examples))
            return


_MESSAGE = "torch.where(...) gets a new constant tensor on each call: pass the number itself"

_NUMBER = "torch.where(...) gets a number in a new tensor on each call: pass the number itself"


def _holds_number(site: Site, side: cst.BaseExpression) -> bool:
    """Whether one side of the call is a Python number that is made a tensor on the spot: ``torch.tensor(length)``.

    A number that is always the same is another rule's, which has a fix for it.
    """
    call = _constructor(site, side)
    if call is None or not site.calls.is_plain(call) or not _is_plain(call):
        return False
    given = site.calls.argument(call, 0, "data")
    if given is None or site.values.is_constant(given):
        return False
    return site.values.of(given).kind is Kind.NUMBER


def _lists_number(site: Site, side: cst.BaseExpression) -> bool:
    """Whether one side of the call is a list of one number that is made a tensor: ``torch.FloatTensor([1]).to(d)``."""
    call = _constructor(site, side, _CONSTRUCTORS | _LEGACY)
    if call is None or not site.calls.is_plain(call) or not _is_plain(call):
        return False
    match site.calls.argument(call, 0, "data"):
        case cst.List(elements=[cst.Element(value=only)]):
            return _number(site, only) is not None
    return False


def _is_plain(call: cst.Call) -> bool:
    """Whether nothing but a dtype and a device is said of a new tensor."""
    return {arg.keyword.value for arg in call.args if arg.keyword is not None} <= {"data", "dtype", "device"}


def _fresh(site: Site, side: cst.BaseExpression) -> _Fresh | None:
    """The number in a tensor that one side of the call builds, ``None`` when it is something else."""
    call = _constructor(site, side)
    if call is None or not site.calls.is_plain(call):
        return None
    literal = site.calls.argument(call, 0, "data")
    number = None if literal is None else _number(site, literal)
    if literal is None or number is None or not _is_plain(call):
        return None
    links = site.calls.chain(call)
    steps = [step for step in (conversion(site, link, "torch") for link in links) if step is not None]
    like, own = _made_like(site, call), keyword_of(call, "dtype")
    dropped = [like, own, keyword_of(call, "device"), *(each for step in steps for each in (step.dtype, step.device))]
    idle = all(node is None or only_reads(site, node) for node in dropped)
    names = [step.dtype_name for step in steps if step.dtype is not None]
    if own is not None:
        names = [site.values.of(own).dtype]
    elif like is not None:
        names, own = [site.values.of(like).dtype], cst.Attribute(like, cst.Name("dtype"))
    said = [dtype for dtype in (own, *(step.dtype for step in steps)) if dtype is not None]
    proven = all(step.proven for step in steps) and len(said) <= 1 and idle
    return _Fresh(side, literal, number, said[0] if said else None, names[0] if names else None, own is None, proven)


def _constructor(site: Site, node: cst.BaseExpression, names: Container[object] = _CONSTRUCTORS) -> cst.Call | None:
    """The ``torch.tensor(...)`` or ``x.new_tensor(...)`` call under the conversions of an expression."""
    match node:
        case cst.Call() if site.names.of(node.func) in names or _made_like(site, node) is not None:
            return node
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in CONVERSIONS:
            return _constructor(site, inner, names)
    return None


def _made_like(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """The tensor that gives a new one its dtype and device: ``x`` of ``x.new_tensor(0.0)``."""
    match call.func:
        case cst.Attribute(value=like, attr=cst.Name(value="new_tensor")):
            return like if site.values.of(like).kind is Kind.TENSOR else None
    return None


def _number(site: Site, node: cst.BaseExpression) -> float | None:
    """The number an expression spells out: a literal, or an infinity in one of its spellings."""
    literal = site.values.of(node).literal
    if isinstance(literal, (int, float)) and not isinstance(literal, bool):
        return literal
    match node:
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            number = _number(site, inner)
            return None if number is None else -number
        case cst.Call(func=cst.Name(value="float"), args=[cst.Arg(value=cst.SimpleString() as text)]):
            return _INFINITE_TEXTS.get(str(text.evaluated_value).lower())
    return math.inf if site.names.of(node) in _INFINITIES else None


_INFINITE_TEXTS = {"inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}


def _fix(site: Site, fresh: _Fresh, opposite: cst.BaseExpression) -> Fix | None:
    """Give the number itself, unless the constant has a dtype that may not be that of the other side."""
    value = site.values.of(opposite)
    own = fresh.dtype is not None and _is_dtype_of(site, fresh.dtype, fresh.dtype_name, opposite)
    if not fresh.proven or (fresh.dtype is not None and not own):
        return None
    floating = value.kind is Kind.TENSOR and value.dtype in FLOATING
    # A tensor without dimensions has no say in the dtype of the result, unless the other side has none either.
    known = floating and (own or bool(value.rank))
    exact = (value.dtype == "float32" or _in_float32(fresh.number)) and not (fresh.defaulted and _default_is_set(site))
    return Fix(
        "Give torch.where the number itself",
        ((fresh.node, fresh.literal),),
        may_change=() if exact else (Change.ROUNDING,),
        assumes="" if known else f"the other side is a floating-point tensor{'' if own else ' with a dimension'}",
    )


def _default_is_set(site: Site) -> bool:
    """Whether the project sets a default dtype, to which a number may be rounded first."""
    return bool(
        site.calls.arguments("torch.set_default_dtype") or site.calls.arguments("torch.set_default_tensor_type")
    )


def _is_dtype_of(site: Site, dtype: cst.BaseExpression, name: str | None, tensor: cst.BaseExpression) -> bool:
    """Whether a dtype is that of a tensor: spelled ``tensor.dtype``, or both known and equal."""
    match dtype:
        case cst.Attribute(value=owner, attr=cst.Name(value="dtype")) if owner.deep_equals(tensor):
            return True
    return name is not None and name == site.values.of(tensor).dtype


def _in_float32(number: float) -> bool:
    """Whether float32 holds a number exactly."""
    if math.isinf(number):
        return True
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", number))
        return bool(rounded == number)
    except OverflowError:
        return False
