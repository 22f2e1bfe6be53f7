"""Facts about torch from the table in ``tables/torch.json``: knobs of backends, what loads it, what starts CUDA."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TypedDict


class _Table(TypedDict):
    """Attributes of ``torch.backends`` by module, packages that import torch, functions that start CUDA."""

    versions: list[str]
    backends: dict[str, list[str]]
    loading: list[str]
    starting_cuda: list[str]


@lru_cache(maxsize=1)
def _table() -> _Table:
    text = (Path(__file__).parent.parent / "tables" / "torch.json").read_text(encoding="utf-8")
    table: _Table = json.loads(text)
    return table


def backend_has(name: str) -> bool | None:
    """Whether a supported torch has an attribute of a backend, by qualified name; ``None``: the module is unknown."""
    module, _, attribute = name.rpartition(".")
    known = _table()["backends"].get(module)
    return None if known is None else attribute.startswith("_") or attribute in known


@lru_cache(maxsize=1)
def loading() -> frozenset[str]:
    """Packages that import torch as soon as they are imported, torch itself among them."""
    return frozenset(_table()["loading"])


@lru_cache(maxsize=1)
def starting_cuda() -> frozenset[str]:
    """Qualified names of functions that start CUDA in the process."""
    return frozenset(_table()["starting_cuda"])
