"""What data loaders of torch give: batches on the host, unless a dataset or a ``collate_fn`` puts them elsewhere."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.code.model import Binding, FileFacts
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.code.tree import names_in, walk
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.containers import LOADERS
from torchlint.facts.values.join import HOST, list_of
from torchlint.facts.values.libraries import reads_files
from torchlint.facts.values.signatures import is_true, keyword
from torchlint.late import regex
from torchlint.models import method_names
from torchlint.rule import UNKNOWN, Device, Kind, Value

_DEVICE = regex(r"cuda|gpu|device|accelerator|^to$")
_MOVES = method_names("torch.Tensor", moves=("device", "given"))
_DTYPES = {"float": "float64", "int": "int64", "bool": "bool"}


def loader(ask: Ask, facts: FileFacts, name: str, call: ast.Call) -> Value | None:
    """Return the value of ``DataLoader(...)``; ``None`` where nothing is known yet of what its dataset gives.

    A dataset whose rows are not known may keep its data on an accelerator. Worker processes and pinned memory rule that
    out, since neither takes what lies there, and so does a dataset that opens files and names no device.
    """
    made = Value(Kind.INSTANCE, name=name)
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords):
        return made
    dataset = keyword(call, "dataset") or (call.args[0] if call.args else None)
    source = ask.known(facts, dataset) if dataset is not None else UNKNOWN
    collate = call.args[6] if len(call.args) > 6 else keyword(call, "collate_fn")
    size = keyword(call, "batch_size")
    element: Value | None = UNKNOWN
    if collate is not None:
        function = ask.project.functions.get(ask.known(facts, collate).name)
        element = ask.solver.ask(function) if function is not None else UNKNOWN
    elif source.kind is Kind.INSTANCE and (size is None or ask.known(facts, size).kind is not Kind.NONE):
        element = ask.item(source.name)
    if element is None:
        return None
    element = _collated(element) if collate is None else element
    if _apart(ask, facts, call, collate) or (collate is None and _from_files(ask, source)):
        element = _on_host(element)
    return replace(made, items=(element,)) if element != UNKNOWN else made


def moves_itself(ask: Ask, facts: FileFacts, binding: Binding) -> bool:
    """Return whether a loop over a loader of torch moves its batches to a device, so that they come from the host."""
    loop, source = binding.stmt, binding.value
    while isinstance(source, ast.Call) and rightmost_name(source.func) in ("enumerate", "tqdm") and source.args:
        source = source.args[0]
    if source is None or not isinstance(loop, ast.For) or ask.known(facts, source).name not in LOADERS:
        return False
    batch: ast.expr = loop.target
    for step in binding.path:
        if not isinstance(batch, ast.Tuple) or not 0 <= step < len(batch.elts):
            return False
        batch = batch.elts[step]
    return isinstance(batch, ast.Name) and any(
        isinstance(stmt, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == batch.id for target in stmt.targets)
        and any(isinstance(node, ast.Attribute) and node.attr in _MOVES for node in walk(stmt.value))
        and batch.id in names_in(stmt.value)
        for stmt in walk(loop)
    )


def _apart(ask: Ask, facts: FileFacts, call: ast.Call, collate: ast.expr | None) -> bool:
    """Whether a loader pins its batches, or has worker processes; a function that collates may run without these."""
    workers = keyword(call, "num_workers")
    count = ask.known(facts, workers).literal if workers is not None else 0
    return is_true(keyword(call, "pin_memory")) or (count != 0 and (collate is None or count is not None))


def _from_files(ask: Ask, dataset: Value) -> bool:
    """Whether a dataset of the project reads its rows from files, and puts nothing onto a device."""
    if dataset.kind is not Kind.INSTANCE or dataset.name not in ask.project.classes:
        return False
    family = list(ask.project.family(dataset.name))
    if any(_DEVICE.search(name) for scope in family for name in names_in(scope.node)):
        return False
    calls = ((scope.file, node) for scope in family for node in walk(scope.node) if isinstance(node, ast.Call))
    names = {ask.project.qualified(file, call.func) or "" for file, call in calls}
    return "torch.load" not in names and any(map(reads_files, names))


def _on_host(element: Value) -> Value:
    """What is known of a batch that lies on the host, of which it is not known yet where it lies."""
    if element == UNKNOWN:
        return HOST
    if element.kind is Kind.TENSOR and element.device is Device.UNKNOWN:
        return replace(element, device=Device.CPU)
    if element.kind in (Kind.TUPLE, Kind.DICT):
        return replace(element, items=tuple(map(_on_host, element.items)))
    return element


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
