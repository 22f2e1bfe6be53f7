"""What TL102 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.movers import Movers
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import HANDING
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.state.sequel import Sequel, is_move, is_target
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Device, Kind, Value
from torchlint.rule.build import keyword_of
from torchlint.rule.convert import CONVERSIONS, Conversion, asks_for, is_view, made_like
from torchlint.rule.site import Link, Site

# What names a place as an argument of ``to``.
_PLACES = frozenset({Kind.DEVICE, Kind.TENSOR})
_ACCELERATORS = frozenset({Device.CUDA, Device.EITHER})
_MERGING = frozenset({"update", "setdefault"})
_PATTERNS = function_names("torch", makes="pattern")
FILLING = frozenset({"fill_", "zero_"})
"""Methods that fill a tensor with one number."""
REPEATING = method_names("torch.Tensor", elements="repeated")
"""Methods that give a tensor with its elements several times."""


@dataclass(eq=False, slots=True)
class PlacementOptions(Fact):
    """Answers whether mappings of a dtype and a device, as ``.to(**options)`` takes them, hold nothing else."""

    project: Project
    values: Values
    _merged: bool | None = field(default=None)

    def hold(self, value: Value) -> bool:
        """Return whether a mapping is proven to hold nothing but a dtype and a device.

        What is stored under literal keys is part of its value; into no such mapping another one is merged.
        """
        if self._merged is None:
            self._merged = any(
                isinstance(call.func, ast.Attribute)
                and call.func.attr in _MERGING
                and _is_placement(self.values.of(facts, call.func.value))
                for facts in self.project.files.values()
                for scope in facts.scopes
                for call in scope.calls
            )
        return _is_placement(value) and not self._merged


_FULL, _OF_NUMBERS = "torch.full", frozenset({"bool", "int64", "float32"})
"""What fills a tensor with one number, and the dtypes that it has without ``dtype=``."""


def _is_placement(value: Value) -> bool:
    return value.kind is Kind.DICT and bool(value.keys) and set(value.keys) <= {"dtype", "device"}


def moved_by_helper(site: Site, node: cst.CSTNode) -> str | None:
    """Return the function that a fresh tensor is handed to, and that only moves it: ``to_cuda``; else ``None``.

    Also the method that moves what a function gives on as it is: ``cuda`` of ``Variable(torch.zeros(4)).cuda()``, and
    what is computed with numbers at once: ``to`` of ``(torch.ones(4) * 0.5).to(device)``.
    """
    twin = site.expression(node)
    if twin is None:
        return None
    made, twin = twin, _computed(site, twin)
    if made is not twin and (moved := _moved_on(site, twin)):
        return moved
    call = _handed_to(site.file, twin)
    while call is not None and site.fact(Project).qualified(site.file, call.func) in HANDING:
        moved = _moved_on(site, call)
        if moved:
            return moved
        call = _handed_to(site.file, call)
    return last_name(call.func) if call is not None and site.fact(Movers).called(call) else None


def _computed(site: Site, node: ast.expr) -> ast.expr:
    """What is computed from a tensor on the CPU and from numbers, as far as one expression goes."""
    values = site.fact(Values)
    for part, above in site.file.climb(node):
        if not isinstance(part, ast.expr) or values.of(site.file, part).device is not Device.CPU:
            break
        match above:
            case ast.UnaryOp(op=ast.USub()):
                node = above
            case ast.BinOp(left=left, right=right):
                other = values.of(site.file, right if left is part else left)
                if other.kind is not Kind.NUMBER:
                    break
                node = above
            case _:
                break
    return node


def _handed_to(facts: FileFacts, node: ast.expr) -> ast.Call | None:
    """The call that has an expression for its first argument."""
    call = facts.parent.get(node)
    return call if isinstance(call, ast.Call) and call.args[:1] == [node] else None


def _moved_on(site: Site, node: ast.expr) -> str:
    """The method that moves the value of an expression at once to a device, or to where a tensor is; else empty."""
    func = site.file.parent.get(node)
    call = site.file.parent.get(func) if isinstance(func, ast.Attribute) else None
    if not isinstance(func, ast.Attribute) or not isinstance(call, ast.Call) or not is_move(call):
        return ""
    values = site.fact(Values)
    told = [values.of(site.file, argument) for argument in arguments_of(call)]
    there = values.of(site.file, call).device
    away = func.attr == "cuda" or any(each.kind in _PLACES or each.device in _ACCELERATORS for each in told)
    return func.attr if there in _ACCELERATORS or (away and there is not Device.CPU) else ""


def moved_later(site: Site, node: cst.CSTNode) -> str | None:
    """Return the move of a fresh tensor in the next statement that mentions it, as source: ``x.cuda()``; else ``None``.

    ``x = x.to(device)`` or ``return x.to(device)`` right after it, also under an ``if use_cuda:``; also
    ``x = to_device(x)`` with a function that only moves. A function that gives the tensor on as it is may hold it:
    ``x = Variable(torch.zeros(4))``. Numbers may be added and multiplied: ``x = torch.ones(4) * 0.5``.
    """
    twin = site.expression(node)
    if twin is None:
        return None
    twin = _computed(site, twin)
    while (call := _handed_to(site.file, twin)) and site.fact(Project).qualified(site.file, call.func) in HANDING:
        twin = call
    sequel = site.fact(Sequel)
    if move := sequel.moved(site.file, twin):
        return move
    call = sequel.replaced(site.file, twin)
    helped = call is not None and len(call.args) > 0 and is_target(site.file, twin, call.args[0])
    return ast.unparse(call) if call is not None and helped and site.fact(Movers).called(call) else None


def gives_itself(call: cst.Call, links: Sequence[Link]) -> bool:
    """Return whether a tensor like another one is only asked for the dtype and the device of that other one.

    ``torch.zeros_like(x).to(x.dtype).to(x.device)`` makes one tensor: each conversion gives back what it is given.
    """
    other = made_like(call)
    return other is not None and all(
        link.name not in CONVERSIONS or (isinstance(link.node, cst.Call) and asks_for(link.node, other))
        for link in links
    )


def casts_nothing(site: Site, call: cst.Call, steps: Sequence[Conversion]) -> bool:
    """Return whether conversions are casts to the dtype that a fresh tensor has, which give the tensor itself.

    What is filled with a number that is not known may have any dtype that a number of Python gives.
    """
    dtype = site.values.of(call).dtype
    filled = dtype is None and site.names.of(call.func) == _FULL and keyword_of(call, "dtype") is None
    dtypes = _OF_NUMBERS if filled else frozenset({dtype} if dtype is not None else ())
    return all(step.device is None and step.dtype_name in dtypes for step in steps)


def is_kept(site: Site, call: cst.Call, creator: str) -> bool:
    """Return whether a pattern of constants is made, which is to be kept (TL401)."""
    return f"torch.{creator}" in _PATTERNS and all(site.values.is_constant(arg.value) for arg in call.args)


def may_follow(site: Site, link: Link) -> bool:
    """Return whether a link does on the device as well what it does on the host: fill, repeat or reshape."""
    return link.name in FILLING or link.name in REPEATING or is_view(site, link)


def reads_known_dtype(site: Site, call: cst.Call) -> bool:
    """Return whether reading ``dtype=x.dtype`` raises nothing, if a creator has one: ``x`` is known, or torch."""
    node = keyword_of(call, "dtype")
    return not isinstance(node, cst.Attribute) or site.names.of(node) is not None or site.values.of(node.value).known


def takes_sizes(site: Site, call: cst.Call) -> bool:
    """Return whether a legacy constructor is given sizes, of which it makes a tensor without reading any data."""
    if not call.args or any(arg.keyword is not None for arg in call.args):
        return False
    if len(call.args) > 1:
        return not any(arg.star for arg in call.args)
    size = site.values.of(call.args[0].value)
    return bool(call.args[0].star) or size.kind is Kind.SIZE or (size.kind is Kind.NUMBER and size.dtype == "int")
