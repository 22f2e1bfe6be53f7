"""The file of observations: what a run of the user's program showed of expressions, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torchlint.cache.world import open_file
from torchlint.rule import Device, Kind, Value
from torchlint.rule.sight import ExpressionKey, Sight

SCHEMA = 1
MOST_BYTES = 10_000_000
"""A larger file is not read."""
MOST_VALUES = 16
"""Of an expression with more different values nothing is kept but that there are more."""
_DEPTH = 6
_KINDS = {
    kind.name.lower(): kind
    for kind in (
        *(Kind.UNKNOWN, Kind.TENSOR, Kind.NDARRAY, Kind.SCALAR, Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.LIST),
        *(Kind.TUPLE, Kind.DICT, Kind.SIZE, Kind.DEVICE, Kind.DTYPE, Kind.MODULE, Kind.OPTIMIZER, Kind.INSTANCE),
        Kind.FUNCTION,
    )
}
_DEVICES = {device.value: device for device in (Device.CPU, Device.CUDA)}
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "complex64", "complex128"})
_DTYPES = _FLOATS | {"int8", "int16", "int32", "int64", "uint8", "bool"}
_NUMBERS = frozenset({"int", "float", "bool"})
_ROW = {"path": str, "function": str, "statement": str, "repeat": int, "expression": str, "nth": int, "saw": list}


class ObservationsError(Exception):
    """A file of observations that cannot be read; the message says why, and in which line."""


def to_text(sights: Iterable[Sight], version: str) -> str:
    """Return the text of a file of observations: sorted, one a line, so that git merges two of them line by line."""
    rows = [_row(sight) for sight in sorted(sights, key=lambda sight: sight.key)]
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    head = f'{{"schema": {SCHEMA}, "torchlint": {json.dumps(version)}, "observations": ['
    return f"{head}\n{lines}\n]}}\n" if rows else f"{head}]}}\n"


def read_observations(path: Path) -> tuple[Sight, ...]:
    """Return the observations of a file, sorted.

    Raises:
        ObservationsError: it is missing, too large, cannot be read, or holds something else.
    """
    try:
        with open_file(path) as stream:
            raw = stream.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise ObservationsError(f"{path}: no such file; write one with torchlint verify --observe") from error
    except OSError as error:
        raise ObservationsError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > MOST_BYTES:
        raise ObservationsError(f"{path}: larger than {MOST_BYTES:,} bytes, the limit of a file of observations")
    try:
        told = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ObservationsError(f"{path}: not a file of observations: not JSON in UTF-8") from error
    return tuple(sorted(_sights(path, told), key=lambda sight: sight.key))


def _sights(path: Path, told: object) -> list[Sight]:
    if not isinstance(told, dict) or not isinstance(told.get("observations"), list):
        raise ObservationsError(f"{path}: not a file of observations: it has no list of them")
    if told.get("schema") != SCHEMA:
        raise ObservationsError(
            f"{path}: of schema {told.get('schema')!r}, where this torchlint reads {SCHEMA}: "
            "write it again with torchlint verify --observe"
        )
    sights: dict[ExpressionKey, Sight] = {}
    for number, row in enumerate(told["observations"], 1):
        try:
            sight = _sight(row)
        except ValueError as error:
            raise ObservationsError(f"{path}: observation {number}: {error}") from error
        if sight.key in sights:
            raise ObservationsError(f"{path}: observation {number}: the expression has one already")
        sights[sight.key] = sight
    return list(sights.values())


def _row(sight: Sight) -> dict[str, object]:
    key = sight.key
    place = {"path": key.path, "function": key.function, "statement": key.statement, "repeat": key.repeat}
    return {**place, "expression": key.expression, "nth": key.nth, "saw": [_told(value) for value in sight.saw]}


def _sight(row: object) -> Sight:
    if not isinstance(row, dict) or row.keys() != _ROW.keys():
        raise ValueError(f"it has the keys {', '.join(_ROW)}")
    for name, kind in _ROW.items():
        if type(row[name]) is not kind:
            raise ValueError(f"{name} is of another type than {kind.__name__}")
    if len(row["saw"]) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES} values")
    *names, saw = (row[name] for name in _ROW)
    return Sight(ExpressionKey(*names), tuple(value_of(each) for each in saw))


def _told(value: Value) -> dict[str, object]:
    """A value as plain data, without what is not known."""
    told: dict[str, object] = {"kind": value.kind.name.lower()}
    if value.dtype is not None:
        told["dtype"] = value.dtype
    if value.rank is not None:
        told["rank"] = value.rank
    if value.device is not Device.UNKNOWN:
        told["device"] = value.device.value
    if value.name:
        told["name"] = value.name
    if value.keys:
        told["keys"] = list(value.keys)
    if value.items:
        told["items"] = [_told(item) for item in value.items]
    if value.nonempty:
        told["nonempty"] = True
    return told


def value_of(told: object, depth: int = _DEPTH) -> Value:
    """Return the value that plain data describe.

    Raises:
        ValueError: they say something else.
    """
    if not isinstance(told, dict) or depth == 0:
        raise ValueError("a value is an object, and holds values in few levels")
    for name in told:
        if name not in _READERS:
            raise ValueError(f"a value has no {name!r}")
    kind = _one_of(_KINDS, told.get("kind"))
    items = _list(told.get("items", []))
    value = Value(
        kind,
        dtype=_dtype(kind, told.get("dtype")),
        device=_one_of(_DEVICES, told["device"]) if "device" in told else Device.UNKNOWN,
        rank=_rank(told.get("rank")),
        items=tuple(value_of(item, depth - 1) for item in items),
        keys=tuple(_text(key) for key in _list(told.get("keys", []))),
        nonempty=told.get("nonempty", False) is True,
        name=_text(told.get("name", "")),
    )
    if value.keys and (kind is not Kind.DICT or len(value.keys) != len(value.items)):
        raise ValueError("keys belong to the items of a dict")
    if kind is Kind.LIST and len(items) > 1:
        raise ValueError("a list has one item, which stands for all of its elements")
    return value


_READERS = frozenset({"kind", "dtype", "rank", "device", "name", "keys", "items", "nonempty"})


def _one_of(known: Mapping[str, Any], word: object) -> Any:
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{word!r} is not one of {', '.join(known)}")
    return known[word]


def _dtype(kind: Kind, told: object) -> str | None:
    """A dtype that is known for the kind; others, such as those of NumPy alone, are not known."""
    if told is not None and not isinstance(told, str):
        raise ValueError("a dtype is a text")
    return told if told in (_NUMBERS if kind is Kind.NUMBER else _DTYPES) else None


def _rank(told: object) -> int | None:
    if told is not None and (type(told) is not int or not 0 <= told <= 64):
        raise ValueError("a rank is a number of dimensions")
    return told


def _list(told: object) -> list[object]:
    if not isinstance(told, list):
        raise ValueError("items and keys are lists")
    return told


def _text(told: object) -> str:
    if not isinstance(told, str):
        raise ValueError("names and keys are texts")
    return told
