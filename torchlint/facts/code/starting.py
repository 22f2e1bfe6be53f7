"""Which files start something, and which only define classes and helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from torchlint.facts.code.linking import Modules
from torchlint.facts.code.model import FUNCTIONS, LOOPS, FileFacts, Scope
from torchlint.facts.code.tree import is_docstring, walk

if TYPE_CHECKING:
    from torchlint.facts.code.project import Project

_ENTRIES = frozenset({"main", "cli", "run", "train", "launch"})
# What a script calls on an object that it has made.
_STARTS = _ENTRIES | {"evaluate", "fit", "learn", "start"}


def imported_by_others(files: Mapping[str, FileFacts], names: Modules[FileFacts]) -> frozenset[str]:
    """Return the paths of the files that other files import."""
    targets = (
        (facts, target)
        for facts in files.values()
        for dotted in (*facts.imports, *facts.star_imports)
        for target in names.meant(facts.path, dotted)
    )
    return frozenset(target.path for facts, target in targets if target is not facts)


def only_defines(facts: FileFacts) -> bool:
    """Return whether a file defines classes and helpers, and nothing that a command line would start."""
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)
    body = facts.tree.body
    return all(isinstance(stmt, definitions) or is_docstring(stmt) for stmt in body) and not any(map(_begins, body))


def commands_of(facts: FileFacts, *, helpers: bool) -> Iterator[Scope]:
    """Yield the functions of a file that a command line may start; ``helpers``: other files import the file."""
    tops = (scope for scope in facts.scopes if scope.parent is facts.top)
    begins = _is_command if helpers else _begins
    yield from (scope for scope in tops if isinstance(scope.node, FUNCTIONS) and begins(scope.node))


def _is_command(stmt: ast.stmt) -> bool:
    """Whether a statement defines ``main`` or its like, or a function that a decorator may make a command."""
    return isinstance(stmt, ast.FunctionDef) and (stmt.name in _ENTRIES or bool(stmt.decorator_list))


def _begins(stmt: ast.stmt) -> bool:
    """Whether a statement defines a program: a command, or a function that steps environments or learns."""
    if not isinstance(stmt, ast.FunctionDef):
        return False
    calls = (part.func for part in walk(stmt) if isinstance(part, ast.Call))
    steps = any(isinstance(func, ast.Attribute) and func.attr in ("step", "backward") for func in calls)
    return _is_command(stmt) or steps


def starts(project: Project, facts: FileFacts) -> bool:
    """Return whether a file does more than define when it runs: a notebook, a program, a loop outside of functions."""
    return is_notebook(facts) or any(_runs(project, facts, stmt) for stmt in _outside(facts.tree.body))


def is_notebook(facts: FileFacts) -> bool:
    """Return whether a file is a notebook."""
    return facts.path.endswith(".ipynb")


def _outside(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a file does, also those in blocks."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, (ast.If, ast.Try, ast.With)):
            handlers = (handler.body for handler in getattr(stmt, "handlers", ()))
            blocks = (stmt.body, getattr(stmt, "orelse", ()), getattr(stmt, "finalbody", ()), *handlers)
            yield from (inner for block in blocks for inner in _outside(block))


def _runs(project: Project, facts: FileFacts, stmt: ast.stmt) -> bool:
    """Whether a statement outside of functions belongs to a program."""
    match stmt:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in _STARTS:
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return project.qualified(facts, func) in project.functions
    return isinstance(stmt, LOOPS)
