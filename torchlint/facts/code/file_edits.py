"""Files before and after an edit inside of their functions: which scope of the new text is which of the old one.

What the rest of a project knows of a file outlives such an edit. The facts of the rest can be kept then, with each
scope of the old text replaced by its twin (``engine/preview.py``); they are as right as they were before the edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope
from torchlint.late import dataclass


@dataclass(eq=False, slots=True)
class FileEdits:
    """The edited files, old to new; ``scopes`` and ``calls`` are those of the old texts, ``classes`` by name."""

    files: Mapping[FileFacts, FileFacts]
    scopes: dict[Scope, Scope | None] = field(default_factory=dict)
    calls: set[ast.Call] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for old, new in self.files.items():
            waiting: dict[tuple[str, str], Iterator[Scope]] = {
                key: iter(scopes) for key, scopes in _by_name(new.scopes).items()
            }
            for scope in old.scopes:
                self.scopes[scope] = next(waiting.get((scope.kind, scope.qualname), iter(())), None)
                self.calls.update(scope.calls)
                if scope.kind == "class":
                    self.classes.add(scope.dotted)

    def scope(self, scope: Scope) -> Scope | None:
        """Return the scope in place of an old one, ``None`` if the edit removed it."""
        return self.scopes.get(scope, scope)

    def current(self, scopes: Iterable[Scope]) -> Iterator[Scope]:
        """Yield the scopes in place of old ones, without removed ones."""
        return (found for scope in scopes if (found := self.scope(scope)) is not None)

    def is_old(self, facts: FileFacts) -> bool:
        """Return whether a file is one before the edit."""
        return facts in self.files


def _by_name(scopes: Iterable[Scope]) -> dict[tuple[str, str], list[Scope]]:
    found: dict[tuple[str, str], list[Scope]] = {}
    for scope in scopes:
        found.setdefault((scope.kind, scope.qualname), []).append(scope)
    return found


def outline(facts: FileFacts) -> tuple[object, ...]:
    """Return what other files can see of a file without looking into its functions.

    Two texts with the same outline differ inside of functions alone, and bind, import and store under the same names.
    """
    rows = facts.source.utf8.splitlines(keepends=True)
    for scope in facts.scopes:
        if isinstance(scope.node, FUNCTIONS):
            first, last = scope.node.body[0].lineno, scope.node.body[-1].end_lineno or 0
            if first > scope.node.lineno:  # else a part of the header is in the same row
                rows[first - 1 : last] = [b""] * (last - first + 1)
    stored = tuple((scope.qualname, frozenset(scope.stores)) for scope in facts.scopes if scope.kind == "class")
    named = tuple((scope.qualname, tuple(scope.params)) for scope in facts.scopes if scope.kind == "function")
    declared = tuple(frozenset(scope.globals) for scope in facts.scopes if scope.globals)
    return (
        b"".join(rows),
        facts.links,
        stored,
        named,
        declared,
        frozenset(facts.outside),
        frozenset(facts.marks.values()),
    )
