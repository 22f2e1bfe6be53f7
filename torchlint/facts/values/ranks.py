"""How many dimensions tensors have: by the sizes that make them, by what is reduced, and by what is broadcast."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint.facts.code.naming import last_name
from torchlint.facts.values.signatures import Of, starred
from torchlint.rule import Kind, Value


def shape_rank(rule: str, last: str, call: ast.Call, of: Of) -> int | None:
    """Return the rank that the size arguments of a creator give."""
    if starred(call):
        return None
    if rule == "arange" or last in ("linspace", "logspace", "randperm") or last.endswith("_window"):
        return 1
    if last in ("eye", "tril_indices", "triu_indices"):
        return 2
    if last == "randint":
        size = next((arg for arg in reversed(call.args) if isinstance(arg, ast.Tuple)), None)
        return rank_of_sizes([size], of) if size is not None and len(call.args) > 1 else None
    return rank_of_sizes(call.args[:1] if last == "full" else call.args, of)


def rank_of_sizes(sizes: Sequence[ast.expr], of: Of) -> int | None:
    """Return how many dimensions sizes name, given one by one or as one tuple."""
    values = [of(size) for size in sizes]
    if len(values) == 1 and values[0].kind is Kind.TUPLE and not values[0].keys:
        return len(values[0].items)
    if len(values) == 1 and isinstance(sizes[0], ast.List):
        return len(sizes[0].elts)
    numbers = all(v.kind is Kind.NUMBER and v.dtype == "int" for v in values)
    return len(values) if values and (numbers or len(values) > 1) else None


def nested(source: Value) -> int | None:
    """Return the rank of nested lists of numbers as a tensor."""
    rank = 0
    while source.kind in (Kind.LIST, Kind.TUPLE):
        rank += 1
        source = source.element
    if source.kind in (Kind.NUMBER, Kind.SCALAR):
        return rank
    known = source.kind in (Kind.NDARRAY, Kind.TENSOR) and source.rank is not None
    return rank + source.rank if known and source.rank is not None else None


def broadcast(values: Sequence[Value]) -> int | None:
    """Return the rank of an elementwise result, ``None`` when that of an operand is not known."""
    ranks = [v.rank if v.kind is Kind.TENSOR else 0 for v in values if v.kind is not Kind.NONE]
    scalars = all(v.kind in (Kind.TENSOR, Kind.NUMBER, Kind.SCALAR, Kind.NONE) for v in values)
    known = [rank for rank in ranks if rank is not None]
    return max(known) if known and scalars and len(known) == len(ranks) else None


def lists_places(call: ast.Call) -> bool:
    """Return whether a call makes a list of places in one dimension, which are rows: ``x.nonzero().squeeze(-1)``.

    Whoever takes the second dimension away expects one number in each row, as there is where ``x`` has one dimension.
    """
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call() as found, attr="squeeze")) if call.args or call.keywords:
            return last_name(found.func) in ("nonzero", "argwhere")
    return False


def rank_without(rank: int | None, dim: Value, kept: bool, whole: bool) -> int | None:
    """Return the rank of what is reduced over a dimension, or over all of them."""
    if whole or rank == 0:
        return 0
    if dim.kind is Kind.NONE:
        return 0 if not kept else None
    if kept:
        return rank
    if rank is None:
        return None
    if dim.kind is Kind.NUMBER:
        return rank - 1
    return rank - len(dim.items) if dim.kind is Kind.TUPLE and len(dim.items) <= rank else None
