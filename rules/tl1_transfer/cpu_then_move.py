"""TL102: tensors filled on the CPU or in the default dtype, and converted right after."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.rule import Call, Change, Device, Example, Fix, Kind, Method, Report, Rule
from torchlint.rule.build import (
    in_place_of,
    keyword_of,
    module_for,
    on_top,
    only_reads,
    source,
    with_arguments,
    with_keyword,
)
from torchlint.rule.convert import (
    CAST_DTYPES,
    CONVERSIONS,
    LEGACY_CONSTRUCTORS,
    WIDTHS,
    conversion,
    device_named,
    is_int,
    is_view,
)

from ._cpu_then_move import (
    FILLING,
    REPEATING,
    PlacementOptions,
    casts_nothing,
    gives_itself,
    is_kept,
    may_follow,
    moved_by_helper,
    moved_later,
    reads_known_dtype,
    takes_sizes,
)

if TYPE_CHECKING:
    from torchlint.rule import Link, Site
    from torchlint.rule.convert import Conversion

# Methods that make a tensor where another one lies.
_BESIDE = frozenset({"new_zeros", "new_ones", "new_empty"})
_ANY_DTYPE = frozenset({"zeros", "ones", "empty", "eye", "zeros_like", "ones_like", "empty_like"}) | _BESIDE
# Any elements of these are alike, so they can be taken from one on the device as well.
_FILLED_ALIKE = frozenset({"zeros", "ones", "full", "empty"})
# What another device may round otherwise.
_SPACED = frozenset({"linspace", "logspace"})
_CREATORS = _ANY_DTYPE | _SPACED | {"full", "full_like", "arange"}
_STAR_IS_SIZE = frozenset({"zeros", "ones", "empty"}) | _BESIDE
_KEPT_OUT = frozenset({"out", "pin_memory", "layout", "requires_grad", "names"})
_ARANGE_DTYPES = frozenset({"int32", "int64", "float32", "float64"})
_LARGEST_EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}
_SMALL = 2**20
_LEGACY = sorted(name for name in LEGACY_CONSTRUCTORS if not name.startswith("torch.cuda."))
_LARGEST_INTEGER = {"int8": 2**7 - 1, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}

_SIZED = "torch.{name}(...) is made on the CPU and then moved: `{maker}(..., device=...)` makes it there"
_FILLED = "torch.{name}(...) is filled and then cast, which writes it twice: give dtype= to torch.full"

_UPDATE = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(17, 32)

    def forward(self, obs):
        return self.net(obs)


def targets(logits: torch.Tensor, device: torch.device):
    return {line}


def train(encoder, optimizer, batches, device: torch.device):
    for obs, other in batches:
        logits = encoder(obs) @ encoder(other).T
        loss = nn.functional.cross_entropy(logits, targets(logits, device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_MASKS = """\
import torch


def unmasked(device: torch.device):
    return {line}


def collect(policy, envs, steps, device: torch.device):
    obs, info = envs.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = envs.step(policy(obs, unmasked(device)))
"""


class CpuThenMove(Rule):
    """A constant tensor is created on the CPU, or in the default dtype, and converted at once.

    ## What it does
    Finds `zeros`, `ones`, `empty`, `full`, `eye`, `arange`, the `*_like` functions, and `x.new_zeros` and its like,
    whose result is moved or cast in the same expression: `.to(device)`, `.cuda()`, `.to(dtype)`, `.float()`, `.long()`,
    `.bool()` and so on, also several in a row and with `.unsqueeze(0)` or `[None]` between them; `linspace` and
    `logspace` that are moved. A move in the next statement that uses the tensor counts too, also under an `if`:
    `zeros = zeros.cuda()`, `return zeros.cuda()`; and a move of what is computed with numbers:
    `(torch.ones(n) * 0.5).to(device)`, or of elements of what is filled alike: `torch.ones(n)[reached].to(device)`. No
    fix is offered there.

    The legacy constructors count where they are given sizes, as in `torch.FloatTensor(n, 4).zero_().cuda()`, and so
    does a cast of what was filled with one number, as in `torch.Tensor(1).fill_(index).long()`.

    ## Why is this slow
    The first tensor is filled only to be copied. To an accelerator that copy blocks the program, where making the
    tensor there does not; on the CPU each cast writes all elements a second time.

    ## Example
    ```python
    labels = torch.arange(logits.shape[0]).long().to(self.device)
    ```

    ## Use instead
    ```python
    labels = torch.arange(logits.shape[0], dtype=torch.int64, device=self.device)
    ```

    ## What the fix may change
    Nothing. A dtype is folded in only where it leaves every element as it is: for zeros, ones, `eye` and `empty`; for
    `full` with a literal that the new dtype holds exactly; for `arange` over integers to int64, and to int32, float32
    and float64 where its limits are known to be small. Above 2**24 `arange` of float32 adds up rounded numbers where
    the cast rounds each one, so where only the end is not known the fix may change the rounding. Nothing is rewritten
    with `out=`, `pin_memory=`, `layout=` or `requires_grad=`, or when the argument of `.to` is not proven to be a
    device or a dtype. `.to(**options)` becomes `torch.zeros(n, **options)` for zeros, ones and `empty`: that `options`
    holds nothing but a dtype and a device is proven, or the fix says that it assumes it. `arange` over what is not
    proven to be integers, `linspace` and `logspace` are moved only as an unsafe fix, since an accelerator may round
    other numbers differently.

    ## When to ignore it
    In code that runs seldom. Random tensors (`torch.randn(...)`, `torch.rand_like(...)`) are left alone: another
    device or dtype draws other numbers, and drawing in float64 is slower than casting. So is a cast to the dtype that
    the tensor has, as in `torch.full((n,), 0).long()`, which gives the tensor itself.

    ## Measured
    On index vectors and masks of a minibatch; `torchlint rule TL102` prints the figures.

    ## References
    The `device=` and `dtype=` arguments of the creation functions in the documentation of PyTorch.
    """

    code = "TL102"
    name = "cpu-then-move"
    summary = "a constant tensor is made on the CPU or in the default dtype and converted right after"
    trigger = Call(*(f"torch.{name}" for name in _CREATORS), *_LEGACY) | Method(*_BESIDE)
    fixable = True
    may_change = (Change.ROUNDING,)
    examples = (
        Example(
            name="labels-256",
            source=_UPDATE.format(line="torch.arange(logits.shape[0]).long().to(device)"),
            fixed=_UPDATE.format(line="torch.arange(logits.shape[0], dtype=torch.int64, device=device)"),
            setup="logits = torch.zeros(256, 256)\ndevice = torch.device(device)",
            workload="targets(logits, device)",
        ),
        Example(
            name="mask-256x64",
            source=_MASKS.format(line="torch.ones(256, 64).bool().to(device)"),
            fixed=_MASKS.format(line="torch.ones(256, 64, dtype=torch.bool, device=device)"),
            setup="device = torch.device(device)",
            workload="unmasked(device)",
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a creator with conversions on top of it."""
        call = site.node
        if not isinstance(call, cst.Call):
            return
        creator = _creator(site, call)
        if f"torch.{creator}" in LEGACY_CONSTRUCTORS and takes_sizes(site, call):
            yield from _converted_as_made(site, call, creator)
            return
        if creator not in _CREATORS or not _spelled_out(call, creator):
            return
        torch, missing = module_for(site, "torch", "torch")
        links, steps = _converted(site, call, torch)
        if not steps:
            yield from _converted_as_made(site, call, creator) if creator not in _BESIDE else ()
            return
        if casts_nothing(site, call, steps):
            yield from _moved_elsewhere(site, links[-1].node, creator)
            return
        if gives_itself(call, links) or _left_alone(site, call, creator, steps):
            only_cast = creator in _SPACED and all(step.device is None for step in steps)
            yield from _converted_as_made(site, call, creator) if only_cast else ()
            return
        old = links[-1].node
        fix = None
        if not site.compiling.scripted() and (keywords := _keywords_handed(site, call, creator, links)) is not None:
            told = cst.Arg(star="**", value=keywords)
            new = in_place_of(old, with_arguments(call, len(call.args) - 1, [told]))
            fix = Fix(f"Give them to {_name(creator)}", ((old, new),), (), _keywords_doubt(site, keywords))
        elif not site.compiling.scripted() and _foldable(site, call, creator, steps):
            views = [link for link in links if conversion(site, link, torch) is None]
            new = in_place_of(old, on_top(_folded(call, steps), views))
            imports = missing if any(link.name in CAST_DTYPES for link in links) else ()
            message = f"Give {_keywords(steps)} to {_name(creator)}"
            rounds = creator in _SPACED or (creator == "arange" and _arange_rounds(site, call, steps))
            change = (Change.ROUNDING,) if rounds else ()
            fix = Fix(message, ((old, new),), change, _doubt(site, call, creator, steps), imports)
        cast = creator != "arange" and any(step.dtype is not None for step in steps)
        figure = "none" if creator in _BESIDE else "mask-256x64" if cast else "labels-256"
        says = _at_once if _may_be_idle(site, call, creator, steps) else _message
        yield Report(old, says(creator, links, steps), fix, figure=figure)


def _creator(site: Site, call: cst.Call) -> str:
    """The function of torch that a call names, or the method of a tensor that makes another one; else empty."""
    name = site.names.of(call.func)
    if name is None and isinstance(call.func, cst.Attribute):
        return call.func.attr.value if site.values.of(call.func.value).kind is Kind.TENSOR else ""
    return (name or "").removeprefix("torch.")


def _name(creator: str) -> str:
    """What a creator is called in a message."""
    return creator if creator in _BESIDE else f"torch.{creator}"


def _converted_as_made(site: Site, call: cst.Call, creator: str) -> Iterator[Report]:
    """Report a tensor that is moved or cast at once, perhaps after it was filled with one number."""
    torch, _ = module_for(site, "torch", "torch")
    filled, picks = False, creator in _FILLED_ALIKE and keyword_of(call, "device") is None
    for link in site.calls.chain(call):
        if link.name in REPEATING and is_kept(site, call, creator):
            return
        step = conversion(site, link, torch)
        if step is not None and step.device is not None and device_named(site, step.device) is not Device.CPU:
            yield Report(link.node, _SIZED.format(name=creator, maker=_maker(creator)), figure="labels-256")
            return
        if filled and step is not None and step.dtype_name not in (None, _dtype(site, call, creator)):
            yield Report(link.node, _FILLED.format(name=creator), figure="mask-256x64")
            return
        filled = filled or link.name in FILLING
        if step is None and not may_follow(site, link) and (link.name != "[]" or not picks):
            return
    yield from _moved_elsewhere(site, call, creator)


def _dtype(site: Site, call: cst.Call, creator: str) -> str | None:
    """The dtype of what a creator makes, ``None`` where it is not known."""
    legacy = f"torch.{creator}"
    return LEGACY_CONSTRUCTORS[legacy] or "float32" if legacy in LEGACY_CONSTRUCTORS else site.values.of(call).dtype


def _maker(creator: str) -> str:
    """The creator to use, which takes a device."""
    return "torch.empty" if f"torch.{creator}" in LEGACY_CONSTRUCTORS else f"torch.{creator}"


def _moved_elsewhere(site: Site, call: cst.BaseExpression, creator: str) -> Iterator[Report]:
    """Report a tensor that a function of the project or the next statement moves, filled or reshaped before at most."""
    made = call
    for link in site.calls.chain(call):
        if may_follow(site, link):
            made = link.node
        else:
            break
    if (helper := moved_by_helper(site, made)) is not None:
        yield Report(call, _handed(creator, helper), figure="labels-256")
    elif (move := moved_later(site, made)) is not None:
        yield Report(call, _later(creator, move), figure="labels-256")


def _keywords_handed(site: Site, call: cst.Call, creator: str, links: Sequence[Link]) -> cst.BaseExpression | None:
    """The mapping of ``.to(**options)``, where that alone converts, and the creator may as well take it."""
    told = any(keyword_of(call, word) is not None for word in (*_KEPT_OUT, "dtype", "device"))
    if creator not in _ANY_DTYPE or creator == "eye" or len(links) != 1 or told or not call.args:
        return None
    match links[0].node:
        case cst.Call(args=[cst.Arg(star="**", value=value)]) if only_reads(site, value):
            return value
    return None


def _keywords_doubt(site: Site, keywords: cst.BaseExpression) -> str:
    """What is not proven of a mapping of keywords; empty where it holds a device, a dtype, or both."""
    known = site.fact(PlacementOptions).hold(site.values.of(keywords))
    return "" if known else f"`{source(keywords)}` holds no more than a dtype and a device"


def _may_be_idle(site: Site, call: cst.Call, creator: str, steps: Sequence[Conversion]) -> bool:
    """Whether the conversions may give back what was made: a tensor like one of an unknown dtype or device."""
    value = site.values.of(call)
    cast = any(step.dtype is not None for step in steps)
    moved = any(step.device is not None for step in steps)
    if creator.endswith("_like") or creator in _BESIDE:
        return not (cast and value.dtype is not None) and not (moved and value.device is Device.CPU)
    return creator == "arange" and not moved and value.dtype is None


def _spelled_out(call: cst.Call, creator: str) -> bool:
    """Whether no star argument can hide a keyword."""
    return all(not arg.star or (arg.star == "*" and creator in _STAR_IS_SIZE) for arg in call.args)


def _converted(site: Site, call: cst.Call, torch: str) -> tuple[list[Link], list[Conversion]]:
    """The links up to the last conversion, with views in between at most, and the conversions among them."""
    links: list[Link] = []
    steps: list[Conversion] = []
    end = 0
    for link in site.calls.chain(call):
        step = conversion(site, link, torch)
        if step is None and not is_view(site, link):
            break
        links.append(link)
        if step is not None:
            steps.append(step)
            end = len(links)
    return links[:end], steps


def _left_alone(site: Site, call: cst.Call, creator: str, steps: Sequence[Conversion]) -> bool:
    """Whether there is no second creation to save, or another rule says more.

    A tensor like another one lies where that does, and is moved to no other place unless that is the host. What is cast
    to int64 is mostly like tokens, which have it, and a TensorDict takes no dtype. What a method makes has the dtype of
    that other one, which a dtype without a name may be. Evenly spaced numbers are to be kept (TL401), or only cast.
    """
    if creator in _BESIDE and not any(step.dtype_name for step in steps):
        return True
    if creator.endswith("_like") or creator in _BESIDE:
        made = site.values.of(call)
        tokens = made.dtype is None and creator not in _BESIDE
        idle = all(step.dtype is None or (tokens and step.dtype_name == "int64") for step in steps)
        return made.kind is not Kind.TENSOR or (idle and made.device is not Device.CPU)
    if creator not in _SPACED:
        return False
    return all(step.device is None for step in steps) or all(site.values.is_constant(arg.value) for arg in call.args)


def _foldable(site: Site, call: cst.Call, creator: str, steps: Sequence[Conversion]) -> bool:
    """Whether the creator can be told all that the conversions do, with the same elements as the result."""
    if not all(step.proven for step in steps) or any(keyword_of(call, word) is not None for word in _KEPT_OUT):
        return False
    if not all(only_reads(site, node) for node in _left_out(call, steps)) or not reads_known_dtype(site, call):
        return False
    casts = [step.dtype_name for step in steps if step.dtype is not None]
    if creator == "eye" and not all(name in WIDTHS for name in casts):
        return False
    if not casts or creator in _ANY_DTYPE:
        return True
    if creator in _SPACED:
        return False
    if len(casts) > 1 or keyword_of(call, "dtype") is not None or casts[0] is None:
        return False
    if creator == "arange":
        return casts[0] in _ARANGE_DTYPES and _over_integers(site, call) and _counts_alike(site, call, casts[0])
    value = site.calls.argument(call, 1, "fill_value")
    literal = None if value is None else site.values.of(value).literal
    if creator == "full_like":
        return literal in (0, 1)
    return isinstance(literal, (int, float)) and _holds(casts[0], literal)


def _left_out(call: cst.Call, steps: Sequence[Conversion]) -> Iterator[cst.BaseExpression]:
    """The dtypes and devices of which the last one alone stays."""
    for word, told in (("dtype", [step.dtype for step in steps]), ("device", [step.device for step in steps])):
        given = [node for node in (keyword_of(call, word), *told) if node is not None]
        yield from given[:-1]


def _over_integers(site: Site, call: cst.Call) -> bool:
    """Whether start, end and step of ``arange`` are proven integers."""
    limits = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value in ("start", "end", "step")]
    return all(is_int(site, limit) for limit in limits)


def _counts_alike(site: Site, call: cst.Call, dtype: str) -> bool:
    """Whether ``arange`` has as many elements in a dtype as in int64, and overflows in neither.

    With a small start and step a tensor of numbers that are too large for that has more elements than fit anywhere.
    """
    if dtype == "int64":
        return True
    start, _, step = _limits(site, call)
    small = all(value is not None and abs(value) <= _SMALL for value in (start, step))
    return small and (dtype != "int32" or step == 1 or _is_small(site, call))


def _arange_rounds(site: Site, call: cst.Call, steps: Sequence[Conversion]) -> bool:
    """Whether an element of ``arange`` over integers may be one that float32 does not hold."""
    return any(step.dtype_name == "float32" for step in steps) and not _is_small(site, call)


def _is_small(site: Site, call: cst.Call) -> bool:
    """Whether start, end and step of ``arange`` are known and small."""
    return all(value is not None and abs(value) <= _SMALL for value in _limits(site, call))


def _limits(site: Site, call: cst.Call) -> tuple[int | None, int | None, int | None]:
    """Start, end and step of ``arange``; ``None``: not known."""
    given = [argument.value for argument in call.args if argument.keyword is None]
    start, end = (given[0], given[1]) if len(given) > 1 else (None, given[0] if given else None)
    step = given[2] if len(given) > 2 else keyword_of(call, "step")
    start, end = start or keyword_of(call, "start"), end or keyword_of(call, "end")
    return _integer(site, start, 0), _integer(site, end, None), _integer(site, step, 1)


def _integer(site: Site, node: cst.BaseExpression | None, otherwise: int | None) -> int | None:
    literal = site.values.of(node).literal if node is not None else otherwise
    return literal if isinstance(literal, int) else None


def _holds(dtype: str, value: float) -> bool:
    """Whether a dtype holds a literal exactly, and the default dtype before it, however narrow that is, does too."""
    if isinstance(value, float) and not _is_short(value):
        return False
    if dtype == "bool":
        return True
    if dtype in _LARGEST_INTEGER:
        return value == int(value) and abs(value) <= _LARGEST_INTEGER[dtype]
    if dtype == "uint8":
        return value == int(value) and 0 <= value <= 2**8 - 1
    return dtype in _LARGEST_EXACT and abs(value) <= _LARGEST_EXACT[dtype]


def _is_short(value: float) -> bool:
    """Whether both bfloat16 and float16 hold a number: its digits fit the upper half of float32, and it is not tiny."""
    if value and not 2**-14 <= abs(value) <= _LARGEST_EXACT["bfloat16"]:
        return False
    packed = struct.pack(">f", value)
    return packed[2:] == b"\0\0" and struct.unpack(">f", packed)[0] == value


def _folded(call: cst.Call, steps: Sequence[Conversion]) -> cst.Call:
    """The creator with the last dtype and the last device of the conversions."""
    for word, values in (("dtype", [s.dtype for s in steps]), ("device", [s.device for s in steps])):
        last = next((value for value in reversed(values) if value is not None), None)
        if last is not None:
            call = with_keyword(call, word, last)
    return call


def _doubt(site: Site, call: cst.Call, creator: str, steps: Sequence[Conversion]) -> str:
    """What the fix has to assume, empty when all is proven."""
    if creator == "arange" and any(step.device is not None for step in steps) and not _over_integers(site, call):
        return "the arguments of torch.arange are integers"
    if creator.endswith("_like") and not (call.args and site.values.of(call.args[0].value).kind is Kind.TENSOR):
        return f"what {_name(creator)} is given is a tensor, not a mapping of tensors"
    return ""


def _keywords(steps: Sequence[Conversion]) -> str:
    """The keywords that replace the conversions, as far as they are proven."""
    cast = any(step.dtype is not None for step in steps)
    moved = any(step.device is not None for step in steps)
    if not all(step.proven for step in steps):
        return "device= or dtype="
    return "dtype= and device=" if cast and moved else "dtype=" if cast else "device="


def _method(link: Link) -> str:
    """A conversion for a message: ``.long()``, or ``.to(...)`` where it has arguments."""
    return f".{link.name}({'...' if isinstance(link.node, cst.Call) and link.node.args else ''})"


def _later(creator: str, move: str) -> str:
    """The smell where the move is in a statement of its own."""
    maker = _maker(creator)
    return f"torch.{creator}(...) is created on the CPU and moved by `{move}` right after: give device= to {maker}"


def _handed(creator: str, helper: str) -> str:
    """The smell where a function of the project moves the tensor."""
    return f"torch.{creator}(...) is created on the CPU and `{helper}` moves it: give device= to {_maker(creator)}"


def _at_once(creator: str, links: Sequence[Link], steps: Sequence[Conversion]) -> str:
    """The better form, where the conversions may find nothing to do."""
    made = f"{_name(creator)}(...)" + "".join(_method(link) for link in links if link.name in CONVERSIONS)
    return f"{made} converts the tensor that was just created: give {_keywords(steps)} to {_name(creator)}"


def _message(creator: str, links: Sequence[Link], steps: Sequence[Conversion]) -> str:
    """The smell and the better form in one line."""
    made = f"{_name(creator)}(...)" + "".join(_method(link) for link in links if link.name in CONVERSIONS)
    return f"{made} creates the tensor twice: give {_keywords(steps)} to {_name(creator)}"
