"""The items of a dict that a loop takes with their keys, and may put into another one under names made of these."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.flow.carriers import Next
from torchlint.facts.flow.store import Ground


def items_taken(ground: Ground, spot: Spot, call: ast.Call) -> Next | None:
    """Yield where a loop reads a value of which the key in its dict is known, ``None`` where no loop takes both.

    What it puts into another dict has a key there that is made of the one here: ``"loss"`` becomes ``"train/loss"`` by
    ``logs[f"train/{key}"] = value``, and is nothing that is read as ``logs["steps"]``.
    """
    facts, text = spot.facts, spot.path[0]
    over = facts.parent.get(call)
    if not isinstance(over, (ast.For, ast.comprehension)) or over.iter is not call or not isinstance(text, str):
        return None
    match over.target:
        case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=name)]):
            stmt = over if isinstance(over, ast.For) else facts.parent[over]
            inner = replace(spot.same(call), path=spot.path[1:], named=(key, text))
            reads = ground.mentions.of_binding(facts, name, stmt)
            return (inner.same(read, Label.ELEMENT) for read in reads)
    return None
