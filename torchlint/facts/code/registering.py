"""Registries: decorators that note a function or a class somewhere, and give it back as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.facts.code.model import FileFacts, Scope, decorators
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.late import dataclass


@dataclass(frozen=True, slots=True)
class Decorated:
    """A function or class, and one of its decorators; ``configured``: the decorator is what a call gives."""

    scope: Scope
    facts: FileFacts
    decorator: ast.expr
    configured: bool


@dataclass(eq=False, slots=True)
class Registering:
    """Finds what decorators take that give it back."""

    project: Project
    _named: dict[str, list[Decorated]] | None = None

    def taken(self, decorator: Scope, name: str) -> Iterator[tuple[Decorated, Scope]]:
        """Yield what a parameter of a decorator may receive, each with the function that decorators name.

        Nothing comes to a parameter that the function does not give back: what it makes of it is not one of a registry,
        unless it hands a wrapper of it to something that keeps it.
        """
        position = 1 if decorator.method_of is not None else 0
        if decorator.positional[position : position + 1] != [name]:
            return
        if not _gives_back(decorator, name) and not _keeps_wrapper(decorator, name):
            return
        maker = _maker(decorator)
        for each in self._of_name(maker.name):
            if each.configured is (maker is not decorator):
                yield each, maker

    def _of_name(self, name: str) -> Sequence[Decorated]:
        if self._named is None:
            self._named = {}
            for found in (each for facts in self.project.files.values() for each in decorated(facts)):
                self._named.setdefault(last_name(found.decorator), []).append(found)
        return self._named.get(name, ())


def decorated(facts: FileFacts) -> Iterator[Decorated]:
    """Yield the functions and classes of a file with each of their decorators."""
    for scope in facts.scopes:
        written = getattr(scope.node, "decorator_list", [])
        for plain, whole in zip(decorators(scope.node), written, strict=True):
            yield Decorated(scope, facts, plain, plain is not whole)


def _gives_back(decorator: Scope, name: str) -> bool:
    """Whether a function returns what it takes under a name, as it is."""
    given = [each.value for each in decorator.returns]
    return bool(given) and all(isinstance(node, ast.Name) and node.id == name for node in given)


def _keeps_wrapper(decorator: Scope, name: str) -> bool:
    """Whether a function puts a wrapper of what it takes into a table, or hands it to a call that may."""
    wrappers = {inner.name for inner in decorator.inner if _wraps(inner, name)}
    if not wrappers:
        return False
    kept = (node for node in _kept(decorator) if isinstance(node, ast.Name))
    return any(node.id in wrappers for node in kept)


def _kept(function: Scope) -> Iterator[ast.expr]:
    """What a function stores under a key, and the arguments of its calls."""
    for call in function.calls:
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)
    for node in walk(function.node):
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Subscript) for target in node.targets):
            yield node.value


def _wraps(inner: Scope, name: str) -> bool:
    """Whether a function says that it wraps another: ``@functools.wraps(function)``."""
    written = getattr(inner.node, "decorator_list", [])
    return any(
        isinstance(each, ast.Call)
        and bool(each.args)
        and isinstance(each.args[0], ast.Name)
        and each.args[0].id == name
        for each in written
    )


def _maker(decorator: Scope) -> Scope:
    """The function whose call gives a decorator: the function around it, where that returns it."""
    outer = decorator.parent
    if outer is None or outer.kind != "function":
        return decorator
    gives = [given.value for given in outer.returns]
    return outer if any(isinstance(node, ast.Name) and node.id == decorator.name for node in gives) else decorator
