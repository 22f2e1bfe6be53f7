"""TL108: narrow data widened on the host and then moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from torchlint import cst
from torchlint.models import function_names
from torchlint.rule import Call, Change, Device, Example, Fix, Input, Kind, Method, Report, Rule
from torchlint.rule.build import call_of, expression, in_place_of, keyword_of, module_for, on_top, source, with_keyword
from torchlint.rule.convert import (
    CAST_DTYPES,
    FLOATING,
    LEGACY_CONSTRUCTORS,
    WIDTHS,
    beneath,
    conversion,
    device_named,
    is_view,
)

from ._upcast_before_transfer import is_upper_bound, listed, scaled

if TYPE_CHECKING:
    from torchlint.rule import Link, Site, Value
    from torchlint.rule.convert import Conversion

_CONSTRUCTORS = function_names("torch", makes="data")
_MAKERS = function_names("torch torch.cuda", makes=("data", "array", "legacy"))
_ARRAYS = frozenset({"numpy.array", "numpy.asarray", "numpy.ascontiguousarray", "numpy.float32", "numpy.float64"})
_KEYWORDS = frozenset({"dtype", "device", "data"})
_FILLED = function_names("torch", makes=("filled", "like"))
_LARGEST_BYTE = 255
_FLAGS = frozenset({"done", "dones", "end", "ends", "ended", "terminal", "terminals", "nonterminal", "mask", "masks"})
_DEFAULT = "get_default_dtype()"

_AGENT = """\
import numpy as np
import torch
from torch import nn


def observe(frames, device: torch.device):
    return {line}


def play(network, env, device: torch.device, steps):
    frames = np.zeros((32, 4, 84, 84), dtype=np.uint8)
    for _ in range(steps):
        action = network(observe(frames, device)).argmax(dim=1)
        frames[:], reward, terminated, truncated, info = env.step(action.tolist())
"""


@dataclass(frozen=True, slots=True)
class _Upcast:
    """Data that is widened and then moved.

    Attributes:
        narrow: the data before it is widened. widened: the same after all that the host does to it.
        device: where it is moved. dtype: the name of the dtype it arrives in.
        divisor: what the host divides it by, if it does. views: what stood between the tensor and its move.
        proven: whether the dtype of the data is known, and not only that its values are those of bytes.
        whole: whether all of it is one expression. tensor: whether the data are a tensor already.
    """

    narrow: cst.BaseExpression
    device: cst.BaseExpression
    dtype: str
    wide: str
    proven: bool
    divisor: cst.BaseExpression | None = None
    views: tuple[Link, ...] = ()
    whole: bool = True
    tensor: bool = False


class UpcastBeforeTransfer(Rule):
    """Narrow data, such as frames of bytes, that the host casts or divides before it is moved to a device.

    ## What it does
    Finds uint8, int8, int16, bool and half-precision data that is cast to a wider dtype, or divided, on the host and
    then moved: `torch.FloatTensor(frames).to(device)`, `torch.from_numpy(frames).float().to(device)`,
    `torch.tensor(frames, dtype=torch.float32, device=device)`, `torch.as_tensor(frames / 255.0, device=device)`. A
    blocking `.to(device, torch.float32)` counts too, for it casts before it copies. What is divided by 255 is taken
    for bytes, also where that happens further on: in a later statement, or in a network that the tensor is passed to.
    So are images that are divided by the upper bound of their space. Where nothing is known of a tensor that is cast,
    moved and divided by 255, the order of these says that it lies on the host: `torch.stack(rows).float().to(device)`.
    Flags and labels, one number for each of a batch, are left alone.

    ## Why is this slow
    The wide form has four or eight times the bytes: they are written on the host, and then cross the bus. `x / 255.0`
    in NumPy makes float64 of bytes. An accelerator casts and divides in next to no time.

    ## Example
    ```python
    state = torch.from_numpy(frames / 255.0).float().to(self.device)
    ```

    ## Use instead
    ```python
    state = torch.as_tensor(frames, device=self.device).float() / 255.0
    ```

    ## What the fix may change
    The last bit (`rounding`): a quotient that was rounded twice, in float64 and in float32, is rounded once. Where only
    the value 255 says that the data are bytes, the fix is unsafe. No fix is offered where cast and move are in
    different statements. A tensor cannot be made of a view that runs backwards (`frames[::-1]`) or of an array of
    objects, where a cast or a quotient of it was made first: views that run backwards are refused, and
    arrays of objects are refused.

    ## When to ignore it
    For a handful of numbers. Data that is float32 or wider already is never reported.

    ## Measured
    On a batch of 32 stacks of frames on the CPU; `torchlint rule TL108` prints the figures. The bytes saved on the bus
    of an accelerator come on top; they are counted, and printed there too.

    ## References
    PyTorch casts on the host before a blocking copy to CUDA (`aten/src/ATen/native/cuda/Copy.cu`).
    """

    code = "TL108"
    name = "upcast-before-transfer"
    summary = "narrow data is widened on the host and then moved to a device"
    trigger = Method("to", "cuda") | Call(*_CONSTRUCTORS)
    fixable = True
    may_change = (Change.ROUNDING,)
    exceptions: ClassVar[Mapping[str, str]] = {
        "negative strides": "views that run backwards are refused",
        "objects": "arrays of objects are refused",
    }
    examples = (
        Example(
            name="frames-32x4x84x84-divided",
            source=_AGENT.format(line="torch.FloatTensor(frames / 255.0).to(device)"),
            fixed=_AGENT.format(line="torch.as_tensor(frames, device=device).to(torch.float32) / 255.0"),
            setup="device = torch.device(device)",
            workload="observe(frames, device)",
            inputs=(Input("frames", Kind.NDARRAY, (32, 4, 84, 84), "uint8"),),
        ),
        Example(
            name="frames-32x4x84x84-cast",
            source=_AGENT.format(line="torch.from_numpy(frames.astype(np.float32) / 255).to(device)"),
            fixed=_AGENT.format(line="torch.as_tensor(frames, device=device).to(torch.float32) / 255"),
            setup="device = torch.device(device)",
            workload="observe(frames, device)",
            inputs=(Input("frames", Kind.NDARRAY, (32, 4, 84, 84), "uint8"),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report the call that moves what was widened."""
        call = site.node
        if not isinstance(call, cst.Call) or not site.device.may_be_cuda():
            return
        torch, imports = module_for(site, "torch", "torch")
        found = _made_there(site, call) if _is_constructor(site, call) else _moved(site, call, torch)
        if found is None:
            return
        fix = None
        if found.whole and not site.compiling.scripted():
            doubt = "" if found.proven else "the data are bytes"
            new = _enclosed(site, call, in_place_of(call, _moved_first(found, torch)))
            fix = Fix("Move first, cast there", ((call, new),), (Change.ROUNDING,), assumes=doubt, imports=imports)
        figure = "frames-32x4x84x84-divided" if found.wide == "float64" else "frames-32x4x84x84-cast"
        yield Report(call, _message(found), fix, figure=figure)


def _is_constructor(site: Site, call: cst.Call) -> bool:
    return site.names.of(call.func) in _CONSTRUCTORS


def _made_there(site: Site, call: cst.Call) -> _Upcast | None:
    """``torch.tensor(x, dtype=..., device=...)``: the host casts, then the result is moved."""
    match call.args:
        case [cst.Arg(keyword=None, star="", value=data), *_]:
            device, dtype = keyword_of(call, "device"), keyword_of(call, "dtype")
        case _:
            return None
    if device is None or device_named(site, device) is Device.CPU:
        return None
    target = site.values.of(dtype).dtype if dtype is not None else site.values.of(data).dtype
    whole = all(arg.keyword is None or arg.keyword.value in _KEYWORDS for arg in call.args)
    return _from_host(site, data, device, target or "", _divided_later(site, call), whole)


def _moved(site: Site, call: cst.Call, torch: str) -> _Upcast | None:
    """``.to(device)`` or ``.cuda()`` on a tensor that was widened before, or that the same call widens."""
    _, links = beneath(call)
    step = conversion(site, links[-1], torch) if links else None
    if step is None or not step.proven or step.device is None:
        return None
    there = device_named(site, step.device)
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    if there is Device.CPU or receiver is None:
        return None
    tensor = site.values.of(receiver)
    if tensor.kind not in (Kind.TENSOR, Kind.UNKNOWN) or tensor.device not in (Device.CPU, Device.UNKNOWN):
        return None
    if step.dtype is not None:
        proven = _is_narrower(tensor.dtype, step.dtype_name)
        if step.asynchronous or tensor.device is not Device.CPU:
            return None
        if not proven and not _may_be_bytes(site, call, tensor, step.dtype_name):
            return None
        name = step.dtype_name or ""
        return _Upcast(receiver, step.device, name, name, proven, tensor=True)
    return _peeled(site, call, receiver, tensor, step, torch)


def _peeled(
    site: Site, call: cst.Call, receiver: cst.BaseExpression, tensor: Value, move: Conversion, torch: str
) -> _Upcast | None:
    """What a tensor was before the host widened it, by the calls and quotients that it is written as.

    Where nothing says where a tensor lies, a cast before its move does: who writes that has it on the host.
    """
    device, here = move.device, tensor.device is Device.CPU
    if device is None:
        return None
    views: list[Link] = []
    node = receiver
    quotient = _quotient(site, node)
    divisor = quotient[1] if quotient else None
    node = quotient[0] if quotient else node
    while isinstance(node, (cst.Call, cst.Subscript)) and not _is_maker(site, node):
        _, links = beneath(node)
        if not links:
            break
        last, below = links[-1], _below(links[-1])
        if below is None:
            break
        if (step := conversion(site, last, torch)) is not None:
            if step.device is not None or step.dtype_name not in FLOATING:
                break
            narrow = site.values.of(below)
            proven = here and _is_narrower(narrow.dtype, step.dtype_name)
            if proven or (not _is_maker(site, below) and _may_be_bytes(site, call, narrow, step.dtype_name, divisor)):
                if divisor is None and _is_short(site, below):
                    return None
                dtype = tensor.dtype or step.dtype_name or ""
                found = _Upcast(below, device, dtype, step.dtype_name or "", proven, divisor, tuple(views))
                return replace(found, whole=not move.asynchronous, tensor=True)
        elif is_view(site, last) and divisor is None:
            views.insert(0, last)
        else:
            break
        node = below
    if not here:
        return None
    if isinstance(node, cst.Call) and _is_maker(site, node) and len(node.args) >= 1 and not node.args[0].star:
        if divisor is None and _is_short(site, node.args[0].value):
            return None
        name = site.names.of(node.func) or ""
        dtype = tensor.dtype or LEGACY_CONSTRUCTORS.get(name, "") or (_DEFAULT if name == "torch.Tensor" else "")
        in_bytes = (divisor is not None and _is_255(site, divisor)) or _divided_later(site, call)
        found_ = _from_host(site, node.args[0].value, device, dtype, in_bytes, not move.asynchronous)
        if found_ is not None:
            both = divisor is not None and found_.divisor is not None
            kept = found_.divisor if divisor is None else divisor
            return replace(found_, divisor=kept, views=tuple(views), whole=found_.whole and not both)
    if _is_narrower(tensor.widened, tensor.dtype) and not _is_filled(site, receiver):
        return _Upcast(receiver, device, tensor.dtype or "", tensor.dtype or "", proven=True, whole=False)
    return None


def _may_be_bytes(
    site: Site, call: cst.Call, narrow: Value, target: str | None, divisor: cst.BaseExpression | None = None
) -> bool:
    """Whether a tensor that a call moves may hold bytes that are cast before: only a division by 255 says so.

    That its dtype is known speaks against it, unless it is a narrow one.
    """
    if target not in FLOATING or not (narrow.dtype is None or _is_narrower(narrow.dtype, target)) or narrow.inexact:
        return False
    return _is_255(site, divisor) if divisor is not None else _divided_later(site, call)


def _is_filled(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a tensor is filled with one number, below casts and views of it: there are no data to move."""
    while isinstance(node, cst.Call):
        if site.names.of(node.func) in _FILLED:
            return True
        if not isinstance(node.func, cst.Attribute):
            return False
        node = node.func.value
    return False


def _is_maker(site: Site, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and site.names.of(node.func) in _MAKERS


def _below(link: Link) -> cst.BaseExpression | None:
    match link.node:
        case cst.Call(func=cst.Attribute(value=inner)) | cst.Subscript(value=inner):
            return inner
    return None


def _from_host(
    site: Site, data: cst.BaseExpression, device: cst.BaseExpression, target: str, bytes_: bool, whole: bool
) -> _Upcast | None:
    """The data of a constructor before the host casts or divides it, if that makes it wider."""
    node, divisor, wide = data, None, target
    while True:
        quotient = _quotient(site, node)
        if quotient is not None and divisor is None:
            node, divisor = quotient
            wide = site.values.of(data).dtype or "float64"
            continue
        inner = _array_below(site, node)
        if inner is None:
            break
        wide = site.values.of(node).dtype or wide
        node = inner
    value = site.values.of(node)
    if value.kind in (Kind.LIST, Kind.TUPLE, Kind.NUMBER, Kind.SCALAR, Kind.TENSOR, Kind.STRING):
        return None
    if target not in FLOATING and target != _DEFAULT:
        return None
    proven = value.kind is Kind.NDARRAY and _is_narrower(value.dtype, "float32" if target == _DEFAULT else target)
    in_bytes = bytes_ or (divisor is not None and _is_255(site, divisor))
    if divisor is None and _is_short(site, node):
        return None
    if not proven and not (in_bytes and value.dtype is None and _may_be_frames(site, node, value)):
        widened = site.values.of(data).widened
        if divisor is None and node is data and widened:
            return _Upcast(data, device, target, target, proven=True, whole=False)
        return None
    whole = whole and (divisor is None or not is_upper_bound(site, divisor))
    return _Upcast(node, device, target, wide, proven, divisor, whole=whole)


def _is_short(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an array has one number for each of a batch: a handful of bytes."""
    rank = site.values.of(node).rank
    return rank in (0, 1) or ((rank is None or isinstance(node, cst.Call)) and _sounds_like_flags(site, node))


def _sounds_like_flags(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an array is called flags or labels: ``dones``, ``ends[rows]``, ``np.vstack([e.done for e in rows])``.

    Such a column of one number for each of a batch has two dimensions where rows were put below each other.
    """
    match node:
        case cst.Name(value=word) | cst.Attribute(attr=cst.Name(value=word)):
            return not _FLAGS.isdisjoint(word.lower().split("_"))
        case (
            cst.Subscript(value=inner)
            | cst.ListComp(elt=inner)
            | cst.GeneratorExp(elt=inner)
            | cst.UnaryOperation(expression=inner)
        ):
            return _sounds_like_flags(site, inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="astype"))):
            return _sounds_like_flags(site, inner)
        case cst.Call(args=[cst.Arg(value=inner), *_]) if (site.names.of(node.func) or "").startswith(
            ("numpy.", "torch.")
        ):
            return _sounds_like_flags(site, inner)
    return False


def _may_be_frames(site: Site, node: cst.BaseExpression, value: Value) -> bool:
    """Whether data of unknown dtype may be an array: not an element of something, not a number."""
    if value.kind is Kind.NDARRAY:
        return True
    named = isinstance(node, (cst.Name, cst.Attribute, cst.Subscript))
    return value.kind is Kind.UNKNOWN and named and not listed(site, node)


def _array_below(site: Site, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What ``x.astype(dtype)`` or ``np.array(x, dtype=...)`` is made of."""
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="astype")), args=[cst.Arg(star="")]):
            return inner
        case cst.Call(args=[cst.Arg(keyword=None, star="", value=inner), *rest]) if site.names.of(node.func) in _ARRAYS:
            plain = all(arg.keyword is not None and arg.keyword.value == "dtype" for arg in rest)
            return inner if plain and site.values.of(inner).kind in (Kind.NDARRAY, Kind.UNKNOWN) else None
    return None


def _quotient(site: Site, node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two sides of a division by a literal number, or by the largest value of a byte under a name."""
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right):
            return (left, right) if isinstance(right, (cst.Integer, cst.Float)) or _is_255(site, right) else None
        case cst.Call(
            func=cst.Attribute(value=left, attr=cst.Name(value="div" | "true_divide" | "divide")),
            args=[cst.Arg(keyword=None, star="", value=right)],
        ):
            return (left, right) if _is_255(site, right) else None
    return None


def _is_255(site: Site, node: cst.BaseExpression) -> bool:
    return site.values.of(node).literal == _LARGEST_BYTE or is_upper_bound(site, node)


def _divided_later(site: Site, call: cst.Call) -> bool:
    """Whether the moved tensor is divided by 255, in the same expression or further on."""
    links = list(site.calls.chain(call))
    top: cst.CSTNode = call
    for link in links:
        if link.name in ("div", "div_", "true_divide") and isinstance(link.node, cst.Call) and link.node.args:
            return _is_255(site, link.node.args[0].value)
        if link.name not in CAST_DTYPES and not is_view(site, link):
            return False
        top = link.node
    match site.parent(top):
        case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right) if left is top:
            return _is_255(site, right)
    return scaled(site, top)


def _is_narrower(old: str | None, new: str | None) -> bool:
    """Whether both dtypes are known and the first takes less memory, and less than float32."""
    return WIDTHS.get(old or "", 8) < min(WIDTHS.get(new or "", 0), WIDTHS["float32"])


def _moved_first(found: _Upcast, torch: str) -> cst.BaseExpression:
    """The narrow data on the device, cast and divided there, with the views that stood before the move."""
    if found.tensor:
        method = cst.Attribute(value=found.narrow, attr=cst.Name("to"))
        new = call_of("to", found.device).with_changes(func=method)
    else:
        new = with_keyword(call_of(f"{torch}.as_tensor", found.narrow), "device", found.device)
    cast = call_of("to", expression(f"{torch}.{found.dtype}"))
    wide: cst.BaseExpression = on_top(
        cast.with_changes(func=cst.Attribute(value=new, attr=cst.Name("to"))), found.views
    )
    if found.divisor is None:
        return wide
    return cst.BinaryOperation(left=wide, operator=cst.Divide(), right=found.divisor)


def _enclosed(site: Site, old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
    """A quotient in parentheses where something stands on top of it or beside it."""
    around = site.parent(old)
    bound = (cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.UnaryOperation, cst.Await)
    if not isinstance(new, cst.BinaryOperation) or new.lpar or not isinstance(around, bound):
        return new
    return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _message(found: _Upcast) -> str:
    """The smell and the better form in one line."""
    data = f"`{source(found.narrow)}`" if isinstance(found.narrow, (cst.Name, cst.Attribute)) else "narrow data"
    done = "divided" if found.divisor is not None else f"cast to {found.wide.replace(_DEFAULT, 'the default dtype')}"
    if not found.whole:
        done = "widened"
    return f"{data} is {done} on the host and then moved: move the narrow data and convert it on the device"
