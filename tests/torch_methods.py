"""Write the table of the methods that classes of the installed torch have, with the arguments that they take.

Run it with a torch that knows more: ``python tests/torch_methods.py``.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent.parent / "torchlint" / "facts" / "tables" / "torch_methods.json"
ROOTS = (
    "torch.Tensor",
    "torch.Generator",
    "torch.nn.Module",
    "torch.nn.Parameter",
    "torch.optim.Optimizer",
    "torch.optim.lr_scheduler.LRScheduler",
    "torch.utils.data.DataLoader",
    "torch.utils.data.Dataset",
    "torch.utils.data.Sampler",
    "torch.distributions.Distribution",
    "torch.distributions.Transform",
    "torch.amp.GradScaler",
    "torch.autograd.Function",
    "torch.profiler.profile",
    "torch.cuda.Event",
    "torch.cuda.Stream",
    "torch.distributed.Work",
)
FAMILIES = ("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data", "torch.distributions")


def classes() -> Iterator[type]:
    """The root classes, and the classes below them that public modules of torch hand out."""
    roots = [_found(name) for name in ROOTS]
    yield from roots
    for family in FAMILIES:
        module = importlib.import_module(family)
        for name in sorted(dir(module)):
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, tuple(roots)):
                yield value


def _found(name: str) -> type:
    module, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(module), last)
    assert isinstance(value, type)
    return value


def methods() -> dict[str, list[object] | None]:
    """By name, the most positional arguments that a method takes and its keywords; ``None``: whatever it is given."""
    found: dict[str, list[object] | None] = {}
    for cls in classes():
        for name in dir(cls):
            value = getattr(cls, name, None)
            if name.startswith("_") or not callable(value) or isinstance(value, type):
                continue
            taken = _taken(cls, name)
            found[name] = _wider(found[name], taken) if name in found else taken
    return dict(sorted(found.items()))


def _taken(cls: type, name: str) -> list[object] | None:
    try:
        signature = inspect.signature(getattr(cls, name))
    except (ValueError, TypeError):
        return None
    parameters = list(signature.parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    bound = isinstance(inspect.getattr_static(cls, name), (classmethod, staticmethod))
    parameters = parameters if bound else parameters[1:]
    placed = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return [len(placed), sorted(p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY)]


def _wider(one: list[object] | None, other: list[object] | None) -> list[object] | None:
    if one is None or other is None:
        return None
    (most, names), (more, others) = one, other
    assert isinstance(most, int) and isinstance(more, int) and isinstance(names, list) and isinstance(others, list)
    return [max(most, more), sorted({*names, *others})]


def table(found: dict[str, list[object] | None]) -> str:
    """The table as it is stored: those that may take anything, and what the others take."""
    anything = sorted(name for name, taken in found.items() if taken is None)
    known = {name: taken for name, taken in found.items() if taken is not None}
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(taken)}" for name, taken in sorted(known.items()))
    return f'{{\n  "anything": {json.dumps(" ".join(anything))},\n  "known": {{\n{rows}\n  }}\n}}\n'


if __name__ == "__main__":
    TABLE.write_text(table(methods()), encoding="utf-8")
