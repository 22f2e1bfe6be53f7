"""Fills: the creators that make a tensor of equal numbers where it is needed, without a copy from the host."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.models import function_names, last_names
from torchlint.rule import Device
from torchlint.rule.build import expression, keyword_of, module_for, source, with_keyword
from torchlint.rule.convert import device_named, move_after

if TYPE_CHECKING:
    from torchlint.rule import Site

COPIES = function_names("torch", makes="data")
_KEPT = frozenset({"dtype", "device", "requires_grad"})
_INFINITE = function_names(constant=True)
_SPELLED = frozenset({"inf", "-inf", "nan", "+inf", "infinity", "-infinity"})
_FLOATING = last_names(dtype="floating")
_INTEGRAL = frozenset({"int32", "int64"})
_MOST = 60_000
"""The largest number that all floating dtypes hold; beyond, creators differ in which ones they refuse."""

Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Filled:
    """A call of ``torch.zeros``, ``ones``, ``full`` or ``empty`` that makes what ``torch.tensor`` copies.

    ``old``: what it replaces: that call, or the move right on top of it. ``text``: the new call without its layout.
    ``assumes``: what is not proven, empty: nothing.
    """

    old: cst.BaseExpression
    node: cst.Call
    text: str
    assumes: str
    imports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Uniform:
    """Equal numbers: their shape, the expression of one of them (``None``: there is none), and its value."""

    shape: tuple[int, ...]
    node: cst.BaseExpression | None
    number: Number
    proven: bool


def filled(site: Site, call: cst.Call) -> Filled | None:
    """Return the fill in place of a call of ``torch.tensor`` or ``torch.as_tensor`` with equal literal numbers.

    Values, dtype, shape and device are those of the call, for any default dtype and default device. What is moved at
    once is made there, since a fill on the host would have to be copied as well: ``torch.tensor(0.5).to(device)``.
    """
    if (site.names.of(call.func) or "") not in COPIES or not call.args or not site.calls.is_plain(call):
        return None
    first, *others = call.args
    if first.keyword is not None and first.keyword.value != "data":
        return None
    if any(other.keyword is None or other.keyword.value not in _KEPT for other in others):
        return None
    data = _uniform(site, first.value)
    dtype = keyword_of(call, "dtype")
    known = None if dtype is None else site.values.of(dtype).dtype
    doubt = None if data is None else _doubt(data, dtype, known)
    if data is None or doubt is None:
        return None
    torch, imports = module_for(site, "torch", "torch")
    creator, arguments = _creator(data, typed=known is not None)
    head = expression(f"{torch}.{creator}({', '.join(arguments)})")
    assert isinstance(head, cst.Call)
    given = [*head.args[:-1], head.args[-1].with_changes(comma=first.comma)]
    made = call.with_changes(func=head.func, args=[*given, *others])
    words = [*arguments, *(source(_bare(other)) for other in others)]
    move = move_after(site, site.calls.chain(call), torch) if keyword_of(call, "device") is None else None
    if move is None or move.views or device_named(site, move.device) is Device.CPU:
        return Filled(call, made, f"torch.{creator}({', '.join(words)})", doubt, imports)
    words.append(f"device={source(move.device)}")
    there = with_keyword(made, "device", move.device)
    return Filled(move.end, there, f"torch.{creator}({', '.join(words)})", doubt, imports)


def _bare(argument: cst.Arg) -> cst.Arg:
    return argument.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))


def _creator(data: _Uniform, *, typed: bool) -> tuple[str, list[str]]:
    """The creator and its arguments; only of a float ``zeros`` and ``ones`` have the dtype also where none is given.

    A dtype that is not known may be ``None``.
    """
    sizes = [str(size) for size in data.shape] or ["()"]
    if data.node is None:
        return "empty", sizes
    if typed or isinstance(data.number, float):
        if data.number == 0 and math.copysign(1, data.number) > 0:
            return "zeros", sizes
        if data.number == 1:
            return "ones", sizes
    shape = f"({sizes[0]},)" if len(data.shape) == 1 else f"({', '.join(map(str, data.shape))})"
    return "full", [shape, source(data.node)]


def _uniform(site: Site, node: cst.BaseExpression) -> _Uniform | None:
    """The equal numbers that a literal is or holds; ``None`` where they are not equal, or not known."""
    if not isinstance(node, (cst.List, cst.Tuple)):
        return _number(site, node)
    if not node.elements:
        return _Uniform((0,), None, 0.0, proven=True)
    inner = [_uniform(site, element.value) for element in node.elements if isinstance(element, cst.Element)]
    first = inner[0] if inner else None
    if first is None or len(inner) < len(node.elements) or first.node is None:
        return None
    text = source(first.node)
    if any(o is None or o.node is None or o.shape != first.shape or source(o.node) != text for o in inner):
        return None
    return _Uniform((len(inner), *first.shape), first.node, first.number, first.proven)


def _number(site: Site, node: cst.BaseExpression) -> _Uniform | None:
    """A number by itself: a literal, an infinity, or what is known to hold a literal."""
    found = _literal(node)
    if found is None and _is_nonfinite(site, node):
        found = math.inf
    if found is not None:
        return _Uniform((), node, found, proven=True)
    known = site.values.of(node).literal
    return None if known is None or isinstance(known, str) else _Uniform((), node, known, proven=False)


def _literal(node: cst.BaseExpression) -> Number | None:
    match node:
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float() as number):
            return -number.evaluated_value
        case cst.UnaryOperation(operator=cst.Plus(), expression=cst.Integer() | cst.Float() as number):
            return number.evaluated_value
        case cst.Integer() | cst.Float():
            return node.evaluated_value
        case cst.Name(value="True" | "False" as word):
            return word == "True"
    return None


def _is_nonfinite(site: Site, node: cst.BaseExpression) -> bool:
    match node:
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            return _is_nonfinite(site, inner)
        case cst.Call(func=func, args=[cst.Arg(keyword=None, star="", value=cst.SimpleString() as word)]):
            return site.names.of(func) in ("float", "builtins.float") and word.evaluated_value in _SPELLED
    return site.names.of(node) in _INFINITE


def _doubt(data: _Uniform, dtype: cst.BaseExpression | None, known: str | None) -> str | None:
    """What must hold for the fill to be equal, empty: nothing; ``None`` where it differs or may."""
    if data.node is None:
        return ""
    doubts = [] if data.proven else [f"`{source(data.node)}` is a Python number"]
    number = data.number
    if isinstance(number, float):
        fits = math.isinf(number) or abs(number) <= _MOST
        if dtype is not None and known not in _FLOATING:
            if known is not None or not math.isfinite(number):
                return None
            doubts.append(f"`{source(dtype)}` is a floating dtype")
    elif dtype is None or known in _INTEGRAL:
        fits = abs(number) < 2**31
    else:
        fits = 0 <= number <= (_MOST if known in _FLOATING else 1)
    return " and ".join(doubts) if fits else None
