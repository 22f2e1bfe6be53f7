"""What the methods on top of a tensor do to its dtype, its device and its shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule.build import expression
from torchlint.rule.site import Link
from torchlint.rule.value import PYTHON_DTYPES, Device, Kind

if TYPE_CHECKING:
    from torchlint.rule.site import Site

LEGACY_DTYPES = {
    "Tensor": "",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
LEGACY_CONSTRUCTORS = {
    **{f"torch.{name}": dtype for name, dtype in LEGACY_DTYPES.items()},
    **{f"torch.cuda.{name}": dtype for name, dtype in LEGACY_DTYPES.items() if dtype},
}
"""Qualified names of the legacy constructors and the dtype of what they make; empty: the default dtype."""

CAST_DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
CONVERSIONS = frozenset({"to", "cuda", "cpu", "type", "type_as", *CAST_DTYPES})
_TOLD = frozenset({"dtype", "device"})
WIDTHS = {
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 2),
    **dict.fromkeys(("float32", "int32"), 4),
    **dict.fromkeys(("float64", "int64"), 8),
}
"""Bytes of one element by dtype."""
FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})

_VIEWS = method_names("torch.Tensor torch", shapes=True)


@dataclass(frozen=True, slots=True)
class Conversion:
    """One ``.to(...)``, ``.cuda()``, ``.float()``, ... of a chain.

    Attributes:
        device: where the tensor is moved to, ``None`` when it is not moved.
        dtype: what it is cast to, ``None`` when it is not cast. dtype_name: that dtype's name where it is known.
        proven: false when an argument may be anything; then the other fields say nothing.
        asynchronous: whether it says ``non_blocking=``.
    """

    device: cst.BaseExpression | None = None
    dtype: cst.BaseExpression | None = None
    dtype_name: str | None = None
    proven: bool = True
    asynchronous: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A move to a proven device on top of an expression: ``end`` is the node that moves, ``views`` lie between."""

    end: cst.BaseExpression
    views: tuple[Link, ...]
    device: cst.BaseExpression


_UNPROVEN = Conversion(proven=False)


def conversion(site: Site, link: Link, torch: str) -> Conversion | None:
    """Return what a link of a chain converts to, ``None`` when to nothing. ``torch`` is the module's name there."""
    if not isinstance(link.node, cst.Call):
        return None
    if link.name == "to":
        return _to(site, link.node)
    if link.name == "cuda":
        return _cuda(site, link.node)
    if link.name == "cpu" and not link.node.args:
        return Conversion(device=expression('"cpu"'))
    if link.name in CAST_DTYPES and not link.node.args:
        name = CAST_DTYPES[link.name]
        return Conversion(dtype=expression(f"{torch}.{name}"), dtype_name=name)
    match link:
        case Link("type", cst.Call(args=[cst.Arg(keyword=None, star="", value=kind)])):
            return _type(site, kind, torch)
        case Link("type_as", cst.Call(args=[cst.Arg(keyword=None, star="", value=other)])):
            return _like(site, other)
    return None


def made_like(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the tensor that a call makes another one like, of its dtype and where it lies: ``torch.zeros_like(x)``."""
    match node:
        case cst.Call(
            func=cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)),
            args=[cst.Arg(value=other, keyword=None, star=""), *rest],
        ) if name.endswith("_like"):
            told = any(arg.star or (arg.keyword is not None and arg.keyword.value in _TOLD) for arg in rest)
            return None if told else other
    return None


def asks_for(call: cst.Call, other: cst.BaseExpression) -> bool:
    """Return whether a conversion is to a tensor, its dtype or its device alone: ``.to(x)``, ``.to(x.dtype)``."""
    match call.args:
        case [cst.Arg(value=cst.Attribute(value=asked, attr=cst.Name(value="dtype" | "device")))]:
            return asked.deep_equals(other)
        case [cst.Arg(value=asked)]:
            return asked.deep_equals(other)
    return False


def _type(site: Site, kind: cst.BaseExpression, torch: str) -> Conversion:
    """The conversion of ``.type(torch.float32)``, or of ``.type(torch.cuda.FloatTensor)``, which may move as well."""
    value = site.values.of(kind)
    if value.kind is Kind.DTYPE:
        return Conversion(dtype=kind, dtype_name=value.dtype)
    name = site.names.of(kind) or ""
    if not LEGACY_CONSTRUCTORS.get(name):
        return _UNPROVEN
    return Conversion(legacy_device(name), legacy_dtype(name, torch), LEGACY_CONSTRUCTORS[name])


def _like(site: Site, other: cst.BaseExpression) -> Conversion:
    """The conversion of ``.type_as(x)``: to the dtype and the device of a tensor that has a name."""
    value = site.values.of(other)
    if value.kind is not Kind.TENSOR or not isinstance(other, cst.Name):
        return _UNPROVEN
    there, dtype = (cst.Attribute(other, cst.Name(word)) for word in ("device", "dtype"))
    return Conversion(there, dtype, value.dtype)


def _to(site: Site, call: cst.Call) -> Conversion:
    """The conversion of ``.to(...)`` from its arguments."""
    if not site.calls.is_plain(call) or not call.args:
        return _UNPROVEN
    device, dtype, asynchronous = None, None, False
    for argument in call.args:
        word = argument.keyword.value if argument.keyword is not None else _meaning(site, argument.value)
        if word == "device":
            device = argument.value
        elif word == "dtype":
            dtype = argument.value
        elif word == "non_blocking":
            asynchronous = True
        else:
            return _UNPROVEN
    if device is not None and _computes(site, device):
        return _UNPROVEN
    name = _dtype_name(site, dtype) if dtype is not None else None
    return Conversion(device, dtype, name, proven=True, asynchronous=asynchronous)


def _dtype_name(site: Site, dtype: cst.BaseExpression) -> str | None:
    """The name of a dtype, which may be a type of Python: ``.to(bool)``."""
    return PYTHON_DTYPES.get(site.names.of(dtype) or "") or site.values.of(dtype).dtype


def _computes(site: Site, device: cst.BaseExpression) -> bool:
    """Whether a tensor is computed to say where to move: a fix would do that earlier, and it may raise."""
    match device:
        case cst.Attribute(value=cst.Call(func=func) as made):
            return site.values.of(made).kind is Kind.TENSOR and site.names.of(func) != "builtins.next"
        case cst.Attribute(value=cst.BinaryOperation() | cst.UnaryOperation() | cst.Comparison()):
            return True
    return False


def _meaning(site: Site, node: cst.BaseExpression) -> str:
    """Which parameter of ``.to`` a positional argument is for, empty when its kind is not known."""
    if site.values.of(node).kind is Kind.DTYPE or site.names.of(node) in PYTHON_DTYPES:
        return "dtype"
    return "device" if _names_device(site, node) else ""


def _cuda(site: Site, call: cst.Call) -> Conversion:
    """The conversion of ``.cuda()`` or ``.cuda(device)``."""
    match call.args:
        case []:
            return Conversion(device=expression('"cuda"'))
        case [cst.Arg(keyword=None, star="", value=device)] if _names_device(site, device):
            return Conversion(device=device)
        case [cst.Arg(keyword=cst.Name(value="non_blocking"))]:
            return Conversion(device=expression('"cuda"'), asynchronous=True)
    return _UNPROVEN


def is_int(site: Site, node: cst.BaseExpression) -> bool:
    """Return whether an expression is proven an int.

    A literal, ``len(x)``, or a length: ``x.shape[0]``, ``x.size(0)``.
    """
    value = site.values.of(node)
    if value.known:
        return value.kind is Kind.NUMBER and value.dtype == "int"
    match node:
        case cst.Subscript(
            value=cst.Attribute(attr=cst.Name(value="shape")), slice=[cst.SubscriptElement(slice=index)]
        ):
            return isinstance(index, cst.Index)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="size")), args=[cst.Arg(keyword=None, star="")]):
            return True
    return False


def _names_device(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is proven a device: a device object, a string, or an index."""
    value = site.values.of(node)
    return value.kind in (Kind.DEVICE, Kind.STRING) or (value.kind is Kind.NUMBER and value.dtype == "int")


def legacy_dtype(name: str, torch: str, default: str = "get_default_dtype()") -> cst.BaseExpression:
    """Return the dtype of what a legacy constructor makes; ``default``: the default dtype, in words of the module."""
    return expression(f"{torch}.{LEGACY_CONSTRUCTORS[name] or default}")


def legacy_device(name: str) -> cst.BaseExpression:
    """Return the device on which a legacy constructor makes its tensors."""
    return expression('"cuda"' if name.startswith("torch.cuda.") else '"cpu"')


def is_view(site: Site, link: Link) -> bool:
    """Return whether a link only reshapes all of a tensor, so that a conversion may as well come before it."""
    if isinstance(link.node, cst.Subscript):
        return all(keeps_everything(site, element.slice) for element in link.node.slice)
    return link.name in _VIEWS and site.calls.is_plain(link.node)


def keeps_everything(site: Site, index: cst.BaseSlice) -> bool:
    """Return whether one place of a subscript is ``:``, ``...``, ``None`` or ``np.newaxis``."""
    match index:
        case cst.Slice(lower=None, upper=None, step=None) | cst.Index(star=None, value=cst.Ellipsis()):
            return True
        case cst.Index(star=None, value=value):
            new_axis = isinstance(value, cst.Name) and value.value == "None"
            return new_axis or site.names.of(value) == "numpy.newaxis"
    return False


def move_after(site: Site, links: Sequence[Link], torch: str) -> Move | None:
    """Return the first conversion of a chain, if it only moves the tensor to a proven device, after views at most."""
    for count, link in enumerate(links):
        step = conversion(site, link, torch)
        if step is None and is_view(site, link):
            continue
        if step is None or not step.proven or step.asynchronous or step.dtype is not None or step.device is None:
            return None
        return Move(link.node, tuple(links[:count]), step.device)
    return None


def beneath(node: cst.BaseExpression) -> tuple[cst.BaseExpression, list[Link]]:
    """Return what a chain of method calls and subscripts stands on, and its links, innermost first."""
    links: list[Link] = []
    while True:
        match node:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))):
                links.append(Link(name, node))
            case cst.Subscript(value=inner):
                links.append(Link("[]", node))
            case _:
                break
        node = inner
    links.reverse()
    return node, links


def device_named(site: Site, node: cst.BaseExpression) -> Device:
    """Return the device that an expression names, also one that ``conversion`` wrote: ``"cuda"``, ``x.device``."""
    match node:
        case cst.Attribute(value=tensor, attr=cst.Name(value="device")) if site.values.of(tensor).kind is Kind.TENSOR:
            return site.values.of(tensor).device
        case cst.SimpleString(value='"cuda"'):
            return Device.CUDA
        case cst.SimpleString(value='"cpu"'):
            return Device.CPU
    return site.values.of(node).device
