"""The same program under other names, for rules must not depend on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.tree import walk

Rename = tuple[int, int, str, str]


def renamed(text: str) -> str:
    """Return the same program with ``import torch as th`` and with ``my_`` before the names that functions bind."""
    tree = ast.parse(text)
    edits = [*_torch_as_th(tree), *_renamed_locals(tree)]
    lines = text.split("\n")
    for row, column, old, new in sorted(edits, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}{new}{line[column + len(old) :]}"
    return "\n".join(lines)


def _torch_as_th(tree: ast.Module) -> Iterator[Rename]:
    """Row, column, old and new text of each mention of torch, where a plain ``import torch`` alone binds it."""
    aliases = [alias for node in walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names]
    binders = [alias for alias in aliases if (alias.asname or alias.name).split(".")[0] == "torch"]
    parameters = {node.arg for node in walk(tree) if isinstance(node, ast.arg)}
    mentions = [node for node in walk(tree) if isinstance(node, ast.Name) and node.id == "torch"]
    if [alias.name for alias in binders] != ["torch"] or "torch" in parameters | _in_strings(tree):
        return
    for node in mentions:
        yield node.lineno, node.col_offset, "torch", "th"
    yield binders[0].lineno, binders[0].col_offset, "torch", "torch as th"


def _renamed_locals(tree: ast.Module) -> Iterator[Rename]:
    """The same for names that functions assign, where nothing else in the file binds or reads a name like it."""
    functions = [node for node in walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inner = {node for function in functions for node in walk(function) if isinstance(node, ast.Name)}
    outer = {node.id for node in walk(tree) if isinstance(node, ast.Name) and node not in inner}
    assigned = {node.id for node in inner if isinstance(node.ctx, ast.Store)}
    free = assigned - outer - _bound_by_statements(tree) - _in_strings(tree)
    for node in inner:
        if node.id in free:
            yield node.lineno, node.col_offset, node.id, f"my_{node.id}"


def _bound_by_statements(tree: ast.Module) -> set[str]:
    """Names that are bound without a name node of their own: parameters, imports, definitions, handlers."""
    found: set[str] = set()
    for node in walk(tree):
        match node:
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.split(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
    return found


def _in_strings(tree: ast.Module) -> set[str]:
    """Names inside f-strings, whose columns Python 3.11 and older do not tell."""
    strings = [node for node in walk(tree) if isinstance(node, ast.JoinedStr)]
    return {node.id for string in strings for node in walk(string) if isinstance(node, ast.Name)}
