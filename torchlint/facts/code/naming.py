"""Where a piece of code mentions a name, looked up without going through the code each time, and last names."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.tree import names_among, walk
from torchlint.late import regex

_WORD = regex(r"\w+")
_BYTES = regex(rb"[\w\x80-\xff]+")


def mentions_of(facts: FileFacts, tree: ast.AST, name: str) -> Sequence[ast.Name]:
    """Return the places below a node of a file that mention a name."""
    found = facts.named.get(tree)
    if found is None:
        found = facts.named[tree] = _by_name(walk(tree))
    return found.get(name, ())


def own_mentions(function: Scope, code: Iterable[ast.AST], name: str) -> Sequence[ast.Name]:
    """Return the places in a function's own code that mention a name; ``code`` are all its nodes, always the same."""
    found = function.file.named.get(function)
    if found is None:
        found = function.file.named[function] = _by_name(code)
    return found.get(name, ())


def fresh_name(facts: FileFacts, node: ast.AST, stem: str, taken: Container[str] = ()) -> str:
    """Return a new name with this stem for the function around a node; nothing in its text has it."""
    words = _words_of(facts, facts.scope_of(node).function)
    name, number = stem, 1
    while name in words or name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def addable(facts: FileFacts, definition: str) -> str | None:
    """Return the source of a function as a file can be given it, ``None`` where it cannot.

    ``{torch}`` in the definition becomes the name under which the file imports ``torch`` at its top. Nothing else in
    the file may bind the name of the function.
    """
    torch = facts.top.imported.get("torch")
    if torch is None:
        return None
    text = definition.replace("{torch}", torch)
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    own = ast.dump(function)
    bound = (each for scope in facts.scopes for each in scope.bindings.get(function.name, ()))
    return text if all(each.stmt is not None and ast.dump(each.stmt) == own for each in bound) else None


def _words_of(facts: FileFacts, function: Scope) -> frozenset[str]:
    """The words of a function's text, or of its file's where rows cannot be told apart."""
    words = facts.words.get(function)
    if words is None:
        text, node = facts.source.text, function.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "\r" not in text.replace("\r\n", ""):
            text = "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])
        words = facts.words[function] = frozenset(_WORD.findall(text))
    return words


def names_read(facts: FileFacts, classes: frozenset[str]) -> frozenset[str]:
    """Return which names of classes the code of a file reads."""
    words = Counter(_BYTES.findall(facts.source.utf8))
    words.subtract(scope.name.encode() for scope in facts.scopes if scope.kind == "class")
    asked = classes.intersection(word.decode(errors="replace") for word, count in words.items() if count > 0)
    if not asked:
        return asked
    kinds: tuple[type[ast.expr], ...] = (ast.Name, ast.Attribute, ast.Constant)
    return asked.intersection(names_among(node for kind in kinds for node in facts.nodes(kind)))


def last_name(node: ast.AST | None) -> str:
    """Return the last component of a name or attribute chain, else empty."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def rightmost_name(node: ast.expr) -> str:
    """Return the last name that an expression reads, calls or indexes: ``env`` of ``self.envs[0].env(1)``."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return last_name(node)


def _by_name(nodes: Iterable[ast.AST]) -> dict[str, list[ast.Name]]:
    found: dict[str, list[ast.Name]] = {}
    for node in nodes:
        if isinstance(node, ast.Name):
            found.setdefault(node.id, []).append(node)
    return found
