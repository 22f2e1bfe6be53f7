"""TensorDicts, and the specs that say what stands under their keys."""

from __future__ import annotations

import ast

from torchlint.facts.values.signatures import Of, dtype_of, keyword, table
from torchlint.rule import UNKNOWN, Kind, Value

TENSORDICT = Value(Kind.INSTANCE, name="tensordict.TensorDict")


def is_class(name: str) -> bool:
    """Return whether a qualified name outside the project is a TensorDict class."""
    return "tensordict" in name and name.rpartition(".")[2] in table()["tensordict"]["classes"]


def made(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return a TensorDict, or a spec of one of its entries with the dtype it promises; ``None`` for other calls."""
    if is_class(name):
        return TENSORDICT
    last = name.rpartition(".")[2]
    if name.startswith("torchrl.") and last in table()["tensordict"]["specs"]:
        dtype = keyword(call, "dtype")
        known = dtype_of(of(dtype)) if dtype is not None else "bool" if last.startswith("Binary") else None
        return Value(Kind.INSTANCE, dtype=known, name=f"torchrl.data.{last}")
    return None


def method(name: str) -> Value:
    """Return what a method of a TensorDict gives that takes no key."""
    names = table()["tensordict"]
    return TENSORDICT if name in names["same"] or name in names["only"] else UNKNOWN


def untyped_method(name: str) -> Value:
    """Return the TensorDict that a method gives which nothing else has: ``x.rename_key_("a", "b")``."""
    return TENSORDICT if name in table()["tensordict"]["only"] else UNKNOWN


def is_composite(name: str) -> bool:
    """Return whether a qualified name is that of a spec with entries by keyword."""
    return name.startswith("torchrl.") and name.rpartition(".")[2] in table()["tensordict"]["composites"]


def promised(spec: Value) -> Value | None:
    """Return the tensor that a spec promises, ``None`` where it is none or its dtype is not known."""
    if spec.kind is Kind.INSTANCE and spec.name.startswith("torchrl.data.") and spec.dtype is not None:
        return Value(Kind.TENSOR, dtype=spec.dtype)
    return None
