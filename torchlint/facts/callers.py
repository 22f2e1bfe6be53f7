"""Calls of project functions: what they pass for a parameter, and where attributes are set."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.facts.model import FileFacts, Scope, Store
from torchlint.facts.project import Project


@dataclass(frozen=True, slots=True)
class Caller:
    """A call of a project function: where, and how many leading parameters the call itself fills (``self``)."""

    facts: FileFacts
    call: ast.Call
    skip: int


def passed(function: Scope, name: str, caller: Caller) -> ast.expr | None:
    """The argument expression that a call passes for a parameter, ``None`` when the call leaves it out."""
    for keyword in caller.call.keywords:
        if keyword.arg == name:
            return keyword.value
    position = function.params.index(name) - caller.skip if name in function.params else -1
    args = caller.call.args
    if 0 <= position < len(args) and not any(isinstance(a, ast.Starred) for a in args[: position + 1]):
        return args[position]
    return None


def opaque(call: ast.Call) -> bool:
    """Whether star arguments hide what a call passes."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def stores_of(project: Project, cls: str, name: str) -> Iterator[Store]:
    """All assignments to an attribute in a class, its ancestors and its descendants."""
    for scope in [*project.family(cls), *project.descendants(cls)]:
        yield from scope.stores.get(name, ())


def methods(cls: Scope) -> Iterator[Scope]:
    """The functions in a class's body."""
    return (inner for inner in cls.inner if inner.kind == "function")
