"""Graphs of PyTorch Geometric: objects that have as attributes what their constructor is given by name."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.values.join import list_of
from torchlint.facts.values.signatures import Of, table
from torchlint.facts.values.torch_objects import module_moved
from torchlint.rule import UNKNOWN, Device, Kind, Value

GRAPH = Value(Kind.INSTANCE, name="torch_geometric.data.Data")
"""One graph, or several in one; where it was moved, it lies there with all its tensors."""


def is_class(name: str) -> bool:
    """Return whether a qualified name is that of a class of graphs."""
    return name in table()["graphs"]["classes"]


def is_graph(value: Value) -> bool:
    """Return whether a value is a graph."""
    return value.kind is Kind.INSTANCE and value.name == GRAPH.name


def made(name: str) -> Value | None:
    """Return the graph that a constructor makes, or a class method that joins others; ``None`` for other calls."""
    owner, _, method = name.rpartition(".")
    joins = method in table()["graphs"]["makers"] and is_class(owner)
    return GRAPH if joins or is_class(name) else None


def method(source: Value, name: str, call: ast.Call, of: Of) -> Value:
    """Return what a method of a graph gives: itself, moved or changed, or the graphs in it."""
    names = table()["graphs"]
    if name in names["same"]:
        return module_moved(name, source, call, of)
    return list_of(source) if name in names["parts"] else UNKNOWN


def placed(held: Value | None, graph: Value) -> Value | None:
    """Return what a graph holds where the graph lies; a tensor that was made on the host may lie anywhere by then."""
    if held is None or held.kind is not Kind.TENSOR:
        return held
    if graph.device is not Device.UNKNOWN:
        return replace(held, device=graph.device)
    return UNKNOWN if held.device is Device.CPU else held
