"""Facts about torch: knobs of backends, what loads it, what starts CUDA, the methods of its classes.

They are in ``tables/torch.json`` and, made from the installed torch, in ``tables/torch_methods.json``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypedDict


class _TorchTable(TypedDict):
    """Attributes of ``torch.backends`` by module, packages that import torch, functions that start CUDA."""

    versions: list[str]
    backends: dict[str, list[str]]
    loading: list[str]
    starting_cuda: list[str]


class _Methods(TypedDict):
    """Methods that may take anything, and of the others how many arguments they take and under which keywords."""

    anything: str
    known: dict[str, tuple[int, list[str]]]


@lru_cache(maxsize=1)
def _table() -> _TorchTable:
    text = (Path(__file__).parent.parent / "tables" / "torch.json").read_text(encoding="utf-8")
    table: _TorchTable = json.loads(text)
    return table


def backend_has(name: str) -> bool | None:
    """Return whether a supported torch has an attribute of a backend, by qualified name.

    ``None`` means that the module is unknown.
    """
    module, _, attribute = name.rpartition(".")
    known = _table()["backends"].get(module)
    return None if known is None else attribute.startswith("_") or attribute in known


@lru_cache(maxsize=1)
def loading() -> frozenset[str]:
    """Return the packages that import torch when they are imported, torch itself among them."""
    return frozenset(_table()["loading"])


@lru_cache(maxsize=1)
def starting_cuda() -> frozenset[str]:
    """Return the qualified names of functions that start CUDA in the process."""
    return frozenset(_table()["starting_cuda"])


@lru_cache(maxsize=1)
def _methods() -> Mapping[str, tuple[int, list[str]] | None]:
    text = (Path(__file__).parent.parent / "tables" / "torch_methods.json").read_text(encoding="utf-8")
    table: _Methods = json.loads(text)
    return {**dict.fromkeys(table["anything"].split()), **table["known"]}


def is_method(name: str) -> bool:
    """Return whether a class of torch has a method of that name."""
    return name in _methods()


def may_call(name: str, call: ast.Call) -> bool:
    """Return whether the arguments of a call fit a method of that name of one of the classes of torch that have it."""
    if not is_method(name):
        return False
    taken = _methods()[name]
    if taken is None or any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    most, keywords = taken
    return len(call.args) <= most and all(each.arg is None or each.arg in keywords for each in call.keywords)
