"""Where the items of a dict go that a loop puts into another one under names made of their keys."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.dataflow.spots import Label, Spot, key_of
from torchlint.facts.flow.carriers import Next
from torchlint.facts.flow.store import Ground


def renamed_items(ground: Ground, spot: Spot, call: ast.Call) -> Next | None:
    """Yield where a loop reads a value of which the key in its dict is known, ``None`` where no loop takes both.

    What the loop puts into another dict has a key there that is made of the one here: ``"loss"`` becomes
    ``"train/loss"`` by ``logs[f"train/{key}"] = value``, and is nothing that is read as ``logs["steps"]``.
    """
    facts, text = spot.facts, spot.path[0]
    over = facts.parent.get(call)
    if not isinstance(over, (ast.For, ast.comprehension)) or over.iter is not call or not isinstance(text, str):
        return None
    match over.target:
        case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=name)]):
            stmt = over if isinstance(over, ast.For) else facts.parent[over]
            inner = replace(spot.same(call, Label.ELEMENT), path=spot.path[1:])
            return (_put(inner, read, key, text) for read in ground.mentions.of_binding(facts, name, stmt))
    return None


def _put(spot: Spot, read: ast.Name, name: str, text: str) -> Spot:
    """The dict that a statement or a display puts the value into under its new key, else where it is read."""
    above = spot.facts.parent.get(read)
    match above:
        case ast.Assign(targets=[ast.Subscript(value=other, slice=index)], value=value) if value is read:
            return spot.inside(other, key_of(index, name, text), *spot.path)
        case ast.DictComp(key=index, value=value) if value is read:
            return spot.at(above, key_of(index, name, text), *spot.path, label=Label.ELEMENT)
    return spot.same(read)
