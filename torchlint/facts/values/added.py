"""What the rows of models that a project adds say of a call: by the qualified name, or by the class of the receiver."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.models import Row
from torchlint.rule import Kind, Value

RETURNED: Mapping[object, Value] = {
    "array": Value(Kind.NDARRAY),
    "bool": Value(Kind.NUMBER, dtype="bool"),
    "list": Value(Kind.LIST),
    "number": Value(Kind.NUMBER),
    "tensor": Value(Kind.TENSOR),
}


def row_of(project: Project, facts: FileFacts, call: ast.Call, of: Callable[[ast.expr], Value]) -> Row:
    """Return the row of what a call runs, empty where there is none; several classes must have the same row."""
    models = project.models
    if not models:
        return {}
    name = project.qualified(facts, call.func)
    row = models.function(name) if name else {}
    if row or not isinstance(call.func, ast.Attribute):
        return row
    classes = of(call.func.value).name.split("|")
    rows = [models.method(project.ancestry(cls), call.func.attr) for cls in classes if cls]
    return rows[0] if rows and all(row == rows[0] for row in rows) else {}
