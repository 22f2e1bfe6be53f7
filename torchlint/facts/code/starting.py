"""Which files start nothing: they define classes and helpers."""

from __future__ import annotations

import ast

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import is_docstring, walk

_ENTRIES = frozenset({"main", "cli", "run", "train", "launch"})


def only_defines(facts: FileFacts) -> bool:
    """Return whether a file defines classes and helpers, and nothing that a command line would start."""
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)
    body = facts.tree.body
    return all(isinstance(stmt, definitions) or is_docstring(stmt) for stmt in body) and not any(map(_starts, body))


def _starts(stmt: ast.stmt) -> bool:
    """Whether a statement defines a program: ``main``, a command, or a function that steps environments or learns."""
    if not isinstance(stmt, ast.FunctionDef):
        return False
    calls = (part.func for part in walk(stmt) if isinstance(part, ast.Call))
    steps = any(isinstance(func, ast.Attribute) and func.attr in ("step", "backward") for func in calls)
    return stmt.name in _ENTRIES or bool(stmt.decorator_list) or steps
