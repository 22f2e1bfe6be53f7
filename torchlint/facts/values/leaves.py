"""Functions that move all tensors of a structure: they call themselves for the elements of dicts and lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchlint.facts.code.callers import Caller, passing
from torchlint.facts.code.model import Bind, Scope
from torchlint.facts.code.tree import receiver_of
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import TENSOR, dict_of
from torchlint.models import method_names
from torchlint.rule import UNKNOWN, Kind, Value

_MOVES = method_names("torch.Tensor", moves=("device", "given"))
_ELEMENTS = method_names("torch.Tensor torch", elements="all", casts=False, shapes=False)
_NESTED = frozenset({Kind.DICT, Kind.LIST, Kind.TUPLE})
_DEEPEST = 4


def moved_leaves(ask: Ask, function: Scope, caller: Caller) -> Value | None:
    """Return what a function gives a call that moves the tensors of what it is given; unknown for other functions.

    ``if isinstance(x, Tensor): return x.to(device)`` and ``if isinstance(x, dict): return {k: f(v) for k, v in x}``. A
    batch that a loop gives is taken for a dict of tensors.
    """
    taken = function.positional[caller.skip :]
    moved = _moved(function, taken[0]) if taken else None
    given = dict(passing(function, caller)).get(taken[0]) if moved is not None else None
    if moved is None or given is None:
        return UNKNOWN
    leaf, value = ask.value(function.file, moved), ask.value(caller.facts, given)
    if leaf is None or value is None:
        return None
    leaf = leaf if leaf.kind is Kind.TENSOR else TENSOR
    if value.known:
        return _mapped(value, leaf, 0)
    only = ask.project.reaching(caller.facts, given).only
    return ask.guess(dict_of(leaf)) if only is not None and only.how is Bind.ELEMENT else UNKNOWN


def _mapped(value: Value, leaf: Value, depth: int) -> Value:
    """A structure with its tensors where the function puts them."""
    if value.kind is Kind.TENSOR:
        return replace(value, device=leaf.device, pinned=None)
    if value.kind not in _NESTED or depth == _DEEPEST:
        return UNKNOWN
    return replace(value, items=tuple(_mapped(item, leaf, depth + 1) for item in value.items))


def _moved(function: Scope, name: str) -> ast.expr | None:
    """The moved tensor that such a function returns, if all else that it returns is made of its own results."""
    found: ast.expr | None = None
    nested = False
    for node in function.results:
        stem = receiver_of(node, _ELEMENTS)
        if isinstance(node, ast.Call) and isinstance(stem, ast.Name) and stem.id == name:
            if not any(method in _MOVES for method in _methods(node)):
                return None
            found = node
        elif _rebuilds(function, node):
            nested = nested or isinstance(node, ast.DictComp)
        else:
            return None
    return found if nested else None


def _methods(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node.func.attr
        node = node.func.value


def _rebuilds(function: Scope, node: ast.expr) -> bool:
    """Whether an expression makes a dict, list or tuple of what the function gives for its elements."""
    if isinstance(node, ast.Call) and len(node.args) == 1:  # ``tuple(f(x) for x in xs)``, ``type(xs)([...])``
        node = node.args[0]
    match node:
        case ast.DictComp(value=ast.Call(func=func)) | ast.ListComp(elt=ast.Call(func=func)):
            return _names(function, func)
        case ast.GeneratorExp(elt=ast.Call(func=func)):
            return _names(function, func)
    return False


def _names(function: Scope, func: ast.expr) -> bool:
    """Whether a callee is the function itself: by its name, or as a method of the same object."""
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return func.attr == function.name and function.method_of is not None and func.value.id == function.self_name
    return isinstance(func, ast.Name) and func.id == function.name and function.method_of is None
