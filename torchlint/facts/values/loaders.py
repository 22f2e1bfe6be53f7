"""What data loaders of torch give: batches on the host, unless a dataset or a ``collate_fn`` puts them elsewhere."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.code.model import FileFacts
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import HOST, list_of
from torchlint.facts.values.signatures import is_true, keyword
from torchlint.rule import UNKNOWN, Device, Kind, Value

_DTYPES = {"float": "float64", "int": "int64", "bool": "bool"}


def loader(ask: Ask, facts: FileFacts, name: str, call: ast.Call) -> Value | None:
    """The value of ``DataLoader(...)``; ``None`` where nothing is known yet of what its dataset gives.

    A dataset that the project does not show may keep its data on an accelerator. Worker processes and pinned memory
    rule that out: neither takes what lies there.
    """
    made = Value(Kind.INSTANCE, name=name)
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords):
        return made
    dataset = keyword(call, "dataset") or (call.args[0] if call.args else None)
    source = ask.known(facts, dataset) if dataset is not None else UNKNOWN
    element = UNKNOWN
    if len(call.args) < 7 and keyword(call, "collate_fn") is None:
        rows = ask.project.implementations(source.name, "__getitem__") if source.kind is Kind.INSTANCE else []
        row = ask.returned(rows) if rows else UNKNOWN
        if row is None:
            return None
        element = _collated(row)
    workers = keyword(call, "num_workers")
    apart = workers is not None and ask.known(facts, workers).literal != 0
    if element == UNKNOWN and (apart or is_true(keyword(call, "pin_memory"))):
        element = HOST
    return replace(made, items=(element,)) if element != UNKNOWN else made


def _collated(row: Value) -> Value:
    """The batch that ``default_collate`` makes of rows: tensors of numbers and arrays, in the containers of a row."""
    if row.kind is Kind.TENSOR:
        return replace(row, rank=row.rank + 1 if row.rank is not None else None, pinned=None, widened="", literal=None)
    if row.kind in (Kind.NDARRAY, Kind.SCALAR, Kind.NUMBER):
        dtype = _DTYPES.get(row.dtype or "") if row.kind is Kind.NUMBER else row.dtype
        rank = row.rank if row.kind is Kind.NDARRAY else 0
        return Value(Kind.TENSOR, dtype, Device.CPU, rank + 1 if rank is not None else None)
    if row.kind is Kind.STRING:
        return list_of(Value(Kind.STRING))
    if row.kind in (Kind.TUPLE, Kind.DICT):
        return replace(row, items=tuple(map(_collated, row.items)))
    return UNKNOWN
