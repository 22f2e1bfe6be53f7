"""The table of signatures in ``tables/signatures.json``, and what the arguments of a call say."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import arguments_of
from torchlint.rule import Device, Kind, Value
from torchlint.rule.value import PYTHON_DTYPES

Of = Callable[[ast.expr], Value]
"""The value of an argument."""


@cache
def table() -> dict[str, Any]:
    """Return the signature table as stored: groups of function and method names by what they return."""
    text = (Path(__file__).parent.parent / "tables" / "signatures.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@cache
def rules(*path: str) -> dict[str, str]:
    """Return the rule of each name, from a group of the table that lists names by rule."""
    group: Any = table()
    for part in path:
        group = group[part]
    return {name: rule for rule, names in group.items() for name in names}


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return a keyword argument of a call."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return an argument by position or keyword; ``None`` when absent or behind a star."""
    if position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return call.args[position]
    return keyword(call, name)


def is_true(node: ast.expr | None) -> bool:
    """Return whether an option is given and may be on: anything but ``False``, ``0`` and ``None``."""
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def starred(call: ast.Call) -> bool:
    """Return whether star arguments hide what a call passes."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def operands(call: ast.Call, of: Of) -> list[Value]:
    """Return the values of all arguments that are not hidden behind a star."""
    return [of(arg) for arg in arguments_of(call) if not isinstance(arg, ast.Starred)]


def dtype_of(value: Value) -> str | None:
    """Return the dtype that a ``dtype=`` argument names."""
    if value.kind is Kind.DTYPE:
        return value.dtype
    if value.kind is Kind.STRING and isinstance(value.literal, str):
        named: str | None = table()["numpy_dtypes"].get(value.literal)
        return named
    if value.kind is Kind.CLASS:
        return PYTHON_DTYPES.get(value.name)
    return None


def names_objects(node: ast.expr, of: Of) -> bool:
    """Return whether a ``dtype=`` argument of NumPy makes an array of objects, which holds anything, as a list does."""
    name = last_name(node)
    return name in ("object", "object_") or of(node).literal in ("O", "object")


def device_of(value: Value) -> Device:
    """Return the device that a ``device=`` argument names."""
    return value.device if value.kind in (Kind.DEVICE, Kind.STRING) else Device.UNKNOWN


def device_called(name: str) -> Device:
    """Return the device that a string names: ``"cpu"``, ``"cuda:0"``, ``"mps"``."""
    if name == "cpu":
        return Device.CPU
    return Device.CUDA if name.partition(":")[0] in ("cuda", "mps", "xpu", "hpu", "npu") else Device.UNKNOWN
