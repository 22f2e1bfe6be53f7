"""The functions that a file of the project defines, and which of them a profile means."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from torchlint.late import dataclass
from torchlint.sources.decode import UndecodableError, read_source

MODULE = "<module>"
# Where several functions of a file share a name, one this many rows away from the recorded line may still be meant.
_FARTHEST = 25


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, or a file's own code: its qualified name and its rows, the first with its decorators.

    The body of a class, ``of_class``, runs as part of the function or file that ``name`` names.
    """

    name: str
    line: int
    end: int
    of_class: str = ""

    @property
    def short(self) -> str:
        """The name without classes and functions around it."""
        return self.of_class or self.name.rpartition(".")[2]

    def holds(self, line: int) -> bool:
        """Return whether a row is in it."""
        return self.line <= line <= self.end


def definitions(path: Path, name: str) -> tuple[Definition, ...]:
    """Return all functions and bodies of classes of a file, outer ones before inner ones, first its own code.

    None where it cannot be read.
    """
    try:
        tree = ast.parse(read_source(path, name).text)
    except (OSError, UndecodableError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    last = max((node.end_lineno or 1 for node in tree.body), default=1)
    return (Definition(MODULE, 1, last), *_inside(tree))


def _inside(tree: ast.Module) -> Iterator[Definition]:
    waiting: list[tuple[ast.AST, str, str]] = [(tree, "", MODULE)]
    while waiting:
        parent, prefix, home = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{node.name}"
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                last = node.end_lineno or node.lineno
                if isinstance(node, ast.ClassDef):
                    yield Definition(home, first, last, of_class=node.name)
                else:
                    yield Definition(name, first, last)
                waiting.append((node, f"{name}.", home if isinstance(node, ast.ClassDef) else name))
            elif not isinstance(node, ast.expr):
                waiting.append((node, prefix, home))


def is_nameless(name: str) -> bool:
    """Return whether a recorded name is that of a lambda or a comprehension, whose cost is its function's."""
    return name.startswith("<") and name.endswith(">") and name != MODULE


def meant(known: tuple[Definition, ...], name: str, line: int) -> Definition | None:
    """Return the definition that a recorded name and line mean; a line of 0 is unknown.

    The line may be any of the function. Where the file has changed since, the name decides. What a profile says of the
    body of a class is that of the function or file it is in.
    """
    found = _recorded(known, name, line) if known else None
    if found is None or not found.of_class:
        return found
    return next(one for one in known if one.name == found.name and not one.of_class)


def _recorded(known: tuple[Definition, ...], name: str, line: int) -> Definition | None:
    if is_nameless(name):
        around = [one for one in known if one.holds(line)]
        return around[-1] if around and line else None
    named = _named(known, name)
    around = [one for one in named if one.holds(line)]
    if around:
        return around[-1]
    if len(named) == 1:
        return named[0]
    near = sorted(named, key=lambda one: abs(one.line - line))
    if not line or not near or abs(near[0].line - line) > _FARTHEST:
        return None
    return near[0] if abs(near[0].line - line) < abs(near[1].line - line) else None


def _named(known: tuple[Definition, ...], name: str) -> list[Definition]:
    """The definitions of a name, which may be qualified."""
    qualified = name.replace("<locals>.", "")
    short = qualified.rpartition(".")[2]
    named = [one for one in known if one.short == short]
    return [one for one in named if one.name == qualified] or named
