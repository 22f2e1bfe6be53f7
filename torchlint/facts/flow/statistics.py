"""Arrays that numbers are written into one by one, and of which code asks nothing but statistics."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.flow.store import Ground
from torchlint.models import function_names, last_names

_MAKING = function_names("numpy", makes="filled")
_REDUCING = last_names(reduces=True)
_ABOUT = last_names("Tensor torch", about=True)


def statistics_of(ground: Ground, spot: Spot, target: ast.Subscript) -> Sequence[ast.expr]:
    """Return the statistics of an array that a value is written into, ``losses[i] = loss``; nothing if more is made.

    Such an array, which its function makes, is a record: ``losses.mean()``, ``np.std(losses[:n])``, or one number of it
    in a text.
    """
    name = target.value
    if spot.path or not isinstance(name, ast.Name):
        return ()
    binding = ground.project.reaching(spot.facts, name).only
    if binding is None or binding.how is not Bind.ASSIGN or binding.path or not isinstance(binding.value, ast.Call):
        return ()
    if ground.project.qualified(spot.facts, binding.value.func) not in _MAKING:
        return ()
    found: list[ast.expr] = []
    for read in ground.mentions.of_binding(spot.facts, name.id, binding.stmt):
        made = _statistic(ground, spot.facts, read)
        if made is None:
            return ()
        found += made
    return found


def _statistic(ground: Ground, facts: FileFacts, read: ast.Name) -> list[ast.expr] | None:
    """The statistic that is made where an array is read; an empty list where it is filled, ``None`` for other uses."""
    node: ast.expr = read
    parent = facts.parent.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        if isinstance(parent.ctx, ast.Store):
            return []
        node, parent = parent, facts.parent.get(parent)
    match parent:
        case ast.Attribute(attr=attr) if attr in _ABOUT:
            return []
        case ast.Attribute(attr=attr):
            call = facts.parent.get(parent)
            return [call] if attr in _REDUCING and isinstance(call, ast.Call) and call.func is parent else None
        case ast.FormattedValue():
            return [node]
        case ast.Call(args=[first, *_]) if first is node:
            function = ground.project.qualified(facts, parent.func) or ""
            if function == "builtins.len":
                return []
            module, _, last = function.rpartition(".")
            return [parent] if module == "numpy" and last in _REDUCING else None
    return None
