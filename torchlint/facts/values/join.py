"""Joining values at branches, and small values that are used everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torchlint.facts.values.dtypes import is_inexact, typed
from torchlint.rule import UNKNOWN, Device, Kind, Value

CALLABLE = frozenset({Kind.FUNCTION, Kind.CLASS, Kind.INSTANCE, Kind.MODULE})
"""What a value of several origins may be: their names are kept side by side."""
PARTIAL = "functools.partial"
"""Name of a function with arguments filled in: it is the first item of the value, the others and ``keys`` fill it."""
STARRED = "*"
"""Key of a partial whose arguments are not all written out."""

_MOST_OBJECTS = 8
_MOST_LISTED = 32  # a registry lists more functions or classes than a variable holds objects of different classes
_DEEPEST = 20
TENSOR = Value(Kind.TENSOR)
NDARRAY = Value(Kind.NDARRAY)
BOOL = Value(Kind.NUMBER, dtype="bool")
INT = Value(Kind.NUMBER, dtype="int")
FLOAT = Value(Kind.NUMBER, dtype="float")
NUMBER = Value(Kind.NUMBER)
STRING = Value(Kind.STRING)
NONE = Value(Kind.NONE)
SIZE = Value(Kind.SIZE, items=(INT,))
HOST = Value(device=Device.CPU)
"""Something of which only this is known: whatever tensors it holds, or is, lie on the host."""


def bounded(value: Value | None) -> Value | None:
    """Return a value, or an unknown one where containers are nested in more levels than code reads again."""
    if value is None or not value.items:
        return value
    level = [value]
    for _ in range(_DEEPEST):
        # Of equal parts, as in a pair of the same pair, one is looked into.
        level = list({id(part): part for whole in level for part in whole.items if part.items}.values())
        if not level:
            return value
    return UNKNOWN


def list_of(element: Value, *, nonempty: bool = False) -> Value:
    """Return a list whose elements are all alike; one of elements of unknown kind is not taken for an empty one."""
    return Value(Kind.LIST, items=(replace(element, literal=None),), nonempty=nonempty)


def nested_list(rank: int | None) -> Value:
    """Return what ``tolist()`` gives of a tensor or array of ``rank`` dimensions, at least one."""
    if rank is None:
        return list_of(UNKNOWN)
    return list_of(NUMBER if rank == 1 else nested_list(rank - 1))


def dict_of(element: Value) -> Value:
    """Return a dict under whose keys, which are not known, all values are alike."""
    return Value(Kind.DICT, items=(replace(element, literal=None),))


def tuple_of(*items: Value) -> Value:
    """Return a tuple of exactly these elements."""
    return Value(Kind.TUPLE, items=items, nonempty=bool(items))


def picked(values: Value, indices: Value) -> Value:
    """Return what ``max``, ``sort`` and the like return along an axis: elements, and their indices."""
    return Value(Kind.TUPLE, items=(values, indices), keys=("values", "indices"), nonempty=True)


def registry(values: Iterable[Value]) -> Value:
    """Return a dictionary of these values; they are remembered where all of them can be called."""
    element = join(values) or UNKNOWN
    return Value(Kind.DICT, items=(element,) if element.kind in CALLABLE and element.name else ())


def join(values: Iterable[Value | None]) -> Value | None:
    """Return what holds for all of the values; ``None`` (nothing known yet, in a cycle) does not count.

    Python's ``None`` does not count beside another kind: an attribute that starts as ``None`` is used once it is set.
    Values are not asked for after those that have nothing in common.
    """
    result: Value | None = None
    nothing: Value | None = None
    for value in values:
        if value is None:
            continue
        if value.kind is Kind.NONE:
            nothing = value
            continue
        result = value if result is None else _meet(result, value)
        if result.kind is Kind.UNKNOWN and result != HOST:
            return UNKNOWN
    return result if result is not None else nothing


def _meet(one: Value, other: Value) -> Value:
    if one == other:
        return one
    if PARTIAL in (one.name, other.name) and (one.keys, len(one.items)) != (other.keys, len(other.items)):
        return _either_filled(one, other)
    if one.kind is not other.kind:
        return _mixed(one, other)
    if one.kind is Kind.TUPLE and len(one.items) != len(other.items):
        return UNKNOWN
    keys, items = _elements(one, other)
    name = one.name if one.name == other.name else ""
    if not name and one.kind in CALLABLE and one.name and other.name:
        names = sorted({*one.name.split("|"), *other.name.split("|")})
        most = _MOST_LISTED if one.kind in (Kind.FUNCTION, Kind.CLASS) else _MOST_OBJECTS
        name = "|".join(names) if len(names) <= most else ""
    if not name and one.kind in (Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION, Kind.NAMESPACE):
        return UNKNOWN
    return Value(
        one.kind,
        dtype=one.dtype if one.dtype == other.dtype else None,
        device=_place(one.device, other.device),
        rank=one.rank if one.rank == other.rank else None,
        shaped=one.has_axes and other.has_axes and (one.rank is None or one.rank != other.rank),
        items=items,
        keys=keys,
        nonempty=one.nonempty and other.nonempty,
        name=name,
        pinned=one.pinned if one.pinned is other.pinned else None,
        widened=one.widened if one.widened == other.widened else "",
        derived=one.derived or other.derived,
        inexact=(one.dtype is None or one.dtype != other.dtype) and is_inexact(one) and is_inexact(other),
    )


def _either_filled(one: Value, other: Value) -> Value:
    """One of two functions of which at least one has arguments filled in, which ones is not known."""
    functions = [each.items[0] if each.name == PARTIAL and each.items else each for each in (one, other)]
    function = join(functions) or UNKNOWN
    filled = function.kind is Kind.FUNCTION
    return Value(Kind.INSTANCE, name=PARTIAL, items=(function,), keys=(STARRED,)) if filled else UNKNOWN


def _place(one: Device, other: Device) -> Device:
    """Where a value lies that lies in one of two places."""
    if one is other:
        return one
    return Device.UNKNOWN if Device.UNKNOWN in (one, other) else Device.EITHER


def _elements(one: Value, other: Value) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    """The keys and items of a container that is one of two."""
    if one.kind is not Kind.TUPLE and bool(one.items) != bool(other.items):
        filled = one if one.items else other  # an empty literal beside a filled one
        return filled.keys, filled.items
    if one.keys != other.keys and one.kind is Kind.DICT:
        return _united(one, other) if one.keys and other.keys else ((), ())
    if len(one.items) != len(other.items):
        return (), ()
    keys = one.keys if one.keys == other.keys else ()
    return keys, tuple(_part(mine, theirs) for mine, theirs in zip(one.items, other.items, strict=True))


def _united(one: Value, other: Value) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    """The keys and items of one of two dicts: who reads a key that one of them lacks is given the other, or raises."""
    mine, theirs = (dict(zip(each.keys, each.items, strict=True)) for each in (one, other))
    united = theirs | mine | {key: _part(mine[key], theirs[key]) for key in mine.keys() & theirs.keys()}
    keys = tuple(sorted(united))  # whichever of the two comes first
    return keys, tuple(united[key] for key in keys)


def _part(one: Value, other: Value) -> Value:
    """A part of a container that is one of two; as in ``join``, ``None`` does not count beside another kind."""
    if Kind.NONE in (one.kind, other.kind):
        return other if one.kind is Kind.NONE else one
    return _meet(one, other)


def _mixed(one: Value, other: Value) -> Value:
    kinds = {one.kind, other.kind}
    if kinds <= {Kind.NUMBER, Kind.SCALAR}:
        return Value(Kind.SCALAR)
    return Value(Kind.ITEM) if kinds <= {Kind.NUMBER, Kind.SCALAR, Kind.ITEM, Kind.NDARRAY} else UNKNOWN


def completed(known: Value | None, seen: Value) -> Value:
    """Return what is known of a value, with what a run showed of it where nothing is known; what is known wins."""
    if known is None or known == UNKNOWN:
        return seen
    if known == HOST:
        return replace(seen, device=Device.CPU)
    if known.kind is Kind.ITEM and seen.kind in (Kind.NDARRAY, Kind.SCALAR, Kind.NUMBER):
        return seen
    if known.kind is not seen.kind:
        return known
    rank = seen.rank if known.rank is None else known.rank
    exact = known.derived and bool(seen.name)
    return replace(
        known,
        dtype=known.dtype or seen.dtype,
        device=seen.device if known.device in (Device.UNKNOWN, Device.EITHER) else known.device,
        rank=rank,
        shaped=known.shaped and rank is None,
        items=contents(known, seen),
        keys=known.keys if known.items else seen.keys,
        nonempty=known.nonempty or seen.nonempty,
        name=seen.name if exact else known.name or seen.name,
        derived=known.derived and not exact,
        inexact=known.inexact and seen.dtype is None,
    )


def contents(known: Value, promised: Value) -> tuple[Value, ...]:
    """Return the items of a container.

    Promised items count where it shows none, or is a list of elements of unknown kind, or of ``None`` alone.
    """
    element = known.element
    shown = element.known and element.kind is not Kind.NONE if known.kind is Kind.LIST else bool(known.items)
    return known.items if shown or promised.kind is not known.kind else promised.items or known.items


def as_annotated(given: Value, promised: Value) -> Value:
    """Return what callers give a parameter, with what its annotation says where they show nothing.

    A tensor that is said to hold truth values does, for it is a mask; other dtypes are often said wrongly.
    """
    truths = given.kind is promised.kind is Kind.TENSOR and given.dtype is None and promised.dtype == "bool"
    dtype = promised.dtype if truths else given.dtype
    return replace(given, literal=None, items=contents(given, promised), dtype=dtype)


def told_more(promised: Value, given: Value | None) -> Value:
    """Return what an annotation promises, with what is known of the value itself where that is of the promised kind.

    In a circle, where nothing is known of the value yet, the promise alone counts.
    """
    if given is None or given.kind is not promised.kind:
        return promised
    return typed(given, given.dtype or promised.dtype, inexact=given.inexact)


def summed(values: list[Value | None], sums: Iterable[Value | None]) -> list[Value | None]:
    """Return values of which some are sums, without the numbers that sums of tensors start from."""
    if not any(each is not None and each.kind is Kind.TENSOR for each in sums):
        return values
    return [each for each in values if each is None or each.kind is not Kind.NUMBER or each.literal is None]
