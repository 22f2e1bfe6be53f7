"""Notes what the expressions of a user's program are while it runs: kinds, dtypes, ranks, devices, classes.

The text of the program calls ``look`` around the expressions in question. What is new is written down at once, so
nothing is lost in a process that is killed, and each process writes into a file of its own.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections import Counter
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any

ORDER = "TORCHLINT_OBSERVE"
"""The variable with the order: JSON with ``root``, the folder of the program, and ``reports``, where to write."""
NAME = "__torchlint_look__"
"""What the text of the program calls: with the number of an expression and its value, which it gives back."""
MOST = 16
"""How many different values of one expression are kept."""
SUFFIX = ".rows"
"""How the files end that processes write."""
# So often each value of an expression is looked at, then one of so many: a program must not become much slower.
_EVERY = 1000
_SELDOM = 32
_ELEMENTS = 4096
_DEPTH = 3
_KEYS = 32
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, MethodWrapperType)
_TYPES = {bool: "bool", int: "int", float: "float"}


class Looking:
    """What was seen in this process so far."""

    def __init__(self, order: dict[str, Any]) -> None:
        """Look at values of a program, and write into the folder that the order names."""
        self._folder: str = order["reports"]
        self._root = os.path.realpath(order["root"])
        self._seen: dict[int, set[str]] = {}
        self._looks: Counter[int] = Counter()
        self._classes: dict[type, str] = {}

    def look(self, number: int, value: Any) -> Any:
        """Record what a value is, and return it."""
        if _is_compiling():
            return value
        seen = self._seen.setdefault(number, set())
        self._looks[number] += 1
        often = self._looks[number] > _EVERY and self._looks[number] % _SELDOM
        if len(seen) <= MOST and not often:
            # torch may be half imported, or refuse to say something of a tensor; the program goes on as it would have.
            with suppress(AttributeError, RuntimeError, TypeError, ValueError):
                told = json.dumps(self._described(value, _DEPTH), sort_keys=True)
                if told not in seen:
                    seen.add(told)
                    self._write(f"[{number}, {told}]\n")
        return value

    def _write(self, row: str) -> None:
        """Add a row to the file of this process; a folder that is gone means that the observation has ended."""
        with (
            suppress(OSError),
            open(os.path.join(self._folder, f"{os.getpid()}{SUFFIX}"), "a", encoding="utf-8") as file,
        ):
            file.write(row)

    def _described(self, value: Any, depth: int) -> dict[str, Any]:
        """What a value is, as plain data; of what cannot be told, the kind ``unknown``."""
        kind = type(value)
        if value is None:
            return {"kind": "none"}
        if kind in _TYPES:
            return {"kind": "number", "dtype": _TYPES[kind]}
        if kind is str:
            return {"kind": "string"}
        if kind in _FUNCTIONS:
            return {"kind": "function"}
        if kind in (list, tuple, dict):
            return self._container(value, depth) if depth else {"kind": kind.__name__}
        return self._array(value) or self._of_torch(value) or self._object(value)

    def _container(self, value: Any, depth: int) -> dict[str, Any]:
        """A list of alike elements, a tuple, or a dictionary with texts for keys."""
        kind = type(value).__name__
        told: dict[str, Any] = {"kind": kind}
        if kind == "dict":
            if value and len(value) <= _KEYS and all(type(key) is str for key in value):
                keys = sorted(value)
                told |= {"keys": keys, "items": [self._described(value[key], depth - 1) for key in keys]}
            return told
        told["nonempty"] = bool(value)
        if len(value) <= _ELEMENTS:
            items = [self._described(item, depth - 1) for item in value]
            if kind == "tuple":
                told["items"] = items
            elif items and all(item == items[0] for item in items):
                told["items"] = items[:1]
        return told

    def _array(self, value: Any) -> dict[str, Any] | None:
        """An array or a number of NumPy."""
        numpy = sys.modules.get("numpy")
        kind = type(value)
        if numpy is None or not issubclass(kind, (numpy.ndarray, numpy.generic)):
            return None
        if kind is numpy.ndarray:
            told = {"kind": "ndarray", "rank": value.ndim}
        elif issubclass(kind, numpy.generic):
            told = {"kind": "scalar"}
        else:
            return {"kind": "unknown"}
        return told | ({"dtype": value.dtype.name} if value.dtype.isnative else {})

    def _of_torch(self, value: Any) -> dict[str, Any] | None:
        """A tensor, or another object of torch."""
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        kind = type(value)
        if issubclass(kind, torch.Tensor):
            if kind not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
                return {"kind": "unknown"}
            told = {"kind": "tensor", "dtype": _last(value.dtype), "rank": value.dim()}
            return told | self._place(torch, value.device)
        if kind is torch.Size:
            return {"kind": "size"}
        if kind is torch.device:
            return {"kind": "device"} | self._place(torch, value)
        if kind is torch.dtype:
            return {"kind": "dtype", "dtype": _last(value)}
        if issubclass(kind, torch.nn.Module):
            return self._named("module", kind)
        if issubclass(kind, torch.optim.Optimizer):
            return {"kind": "optimizer"}
        return None

    def _place(self, torch: Any, device: Any) -> dict[str, str]:
        """The device, where the program could have chosen another than the CPU; of several accelerators the first."""
        if device.type not in ("cpu", "cuda") or device.index or not torch.cuda.is_available():
            return {}
        return {"device": device.type}

    def _object(self, value: Any) -> dict[str, Any]:
        """An instance of a class of the program; of other classes nothing is told."""
        kind = type(value)
        if issubclass(kind, type) or not self._class(kind).count(":"):
            return {"kind": "unknown"}
        return self._named("instance", kind)

    def _named(self, kind: str, cls: type) -> dict[str, Any]:
        name = self._class(cls)
        return {"kind": kind, "name": name} if name else {"kind": kind}

    def _class(self, cls: type) -> str:
        """The name of a class: ``path:qualname`` in the program, ``torch.nn.Linear`` elsewhere; empty: a local one."""
        if cls not in self._classes:
            self._classes[cls] = "" if "<locals>" in cls.__qualname__ else self._class_name(cls)
        return self._classes[cls]

    def _class_name(self, cls: type) -> str:
        module = sys.modules.get(cls.__module__)
        file = os.path.realpath(getattr(module, "__file__", None) or "")
        inside = os.path.relpath(file, self._root) if file.startswith(self._root + os.sep) else ""
        if inside.endswith(".py"):
            return f"{inside.replace(os.sep, '/')}:{cls.__qualname__}"
        # The shortest module that offers the class is the one that programs name: ``torch.nn``.
        parts = cls.__module__.split(".")
        above = [".".join(parts[: number + 1]) for number in range(len(parts))]
        offering = [name for name in above if getattr(sys.modules.get(name), cls.__name__, None) is cls]
        return f"{offering[0]}.{cls.__name__}" if offering else ""


def _is_compiling() -> bool:
    """Whether torch traces the program just now; torch evaluates this itself, and leaves the looking out."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "compiler") and torch.compiler.is_compiling()


def _last(name: object) -> str:
    return str(name).rpartition(".")[2]


def start() -> None:
    """Add calls of ``look`` to the text of the program, if the environment orders it."""
    order = json.loads(os.environ.get(ORDER, "null"))
    if order is not None:
        setattr(builtins, NAME, Looking(order).look)
