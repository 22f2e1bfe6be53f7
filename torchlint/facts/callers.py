"""Calls of project functions: what they pass for a parameter, and where attributes are set."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.facts.model import FileFacts, Scope, Store
from torchlint.facts.project import Project


@dataclass(frozen=True, slots=True)
class Caller:
    """A call of a project function: where, and how many leading parameters the call itself fills (``self``).

    ``starts``: the call makes a process or thread that runs the function, and holds its arguments in ``args``.
    """

    facts: FileFacts
    call: ast.Call
    skip: int
    starts: bool = False


def passed(function: Scope, name: str, caller: Caller) -> ast.expr | None:
    """The argument expression that a call passes for a parameter, ``None`` when the call leaves it out."""
    args, named = _handed_over(caller.call) if caller.starts else (caller.call.args, _named(caller.call))
    if name in named:
        return named[name]
    position = function.params.index(name) - caller.skip if name in function.params else -1
    if 0 <= position < len(args) and not any(isinstance(a, ast.Starred) for a in args[: position + 1]):
        return args[position]
    return None


def _named(call: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}


def _handed_over(call: ast.Call) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """The arguments in ``Process(target=f, args=(x, y), kwargs={"z": z})`` and ``spawn(f, args=(x, y))``."""
    given = _named(call)
    args, kwargs = given.get("args"), given.get("kwargs")
    found: dict[str, ast.expr] = {}
    if isinstance(kwargs, ast.Dict):
        for key, value in zip(kwargs.keys, kwargs.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found[key.value] = value
    return args.elts if isinstance(args, (ast.Tuple, ast.List)) else [], found


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
