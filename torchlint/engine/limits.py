"""How much of one file is looked at: code beyond these limits is generated, and following it would take minutes.

The largest of 1,658 files in real projects have 1,831 rows, 10,055 nodes, 111 functions, 299 statements in one of them,
and 20 levels; every limit is several times that.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.settings.defaults import MOST_BYTES

if TYPE_CHECKING:
    from torchlint.facts.code.model import FileFacts

MOST_NOTEBOOK_BYTES = 100_000_000
MOST_ROWS = 30_000
MOST_NODES = 100_000
MOST_FUNCTIONS = 1_000
MOST_STATEMENTS = 1_000
MOST_DEPTH = 200
_CHAINS: dict[type, str] = {ast.BoolOp: "values", ast.With: "items", ast.AsyncWith: "items"}


def too_many_bytes(size: int, most: int = MOST_BYTES) -> str:
    """Return why a file of so many bytes is skipped; empty if it is not."""
    return f"{size:,} bytes are more than {most:,}" if size > most else ""


def too_large(path: Path) -> str:
    """Return why a file is not even read; empty if it is.

    Raises:
        OSError: its size cannot be told.
    """
    return too_many_bytes(path.stat().st_size, MOST_NOTEBOOK_BYTES if path.suffix == ".ipynb" else MOST_BYTES)


def too_long_to_parse(utf8: bytes) -> str:
    """Return why a text is not even parsed; empty if it is."""
    rows = utf8.count(b"\n") + 1
    return too_many_bytes(len(utf8)) or (f"{rows:,} rows are more than {MOST_ROWS:,}" if rows > MOST_ROWS else "")


def too_much(facts: FileFacts) -> str:
    """Return why a parsed file is skipped; empty if it is not."""
    functions = sum(scope.kind == "function" for scope in facts.scopes)
    if len(facts.parent) > MOST_NODES:
        return f"{len(facts.parent):,} parts of expressions and statements are more than {MOST_NODES:,}"
    if functions > MOST_FUNCTIONS:
        return f"{functions:,} functions are more than {MOST_FUNCTIONS:,}"
    return _too_long(facts) or _too_deep(facts)


def _too_long(facts: FileFacts) -> str:
    if len(facts.places) <= MOST_STATEMENTS:
        return ""
    counts: dict[str, int] = {}
    for stmt in facts.places:
        name = facts.scope_of(stmt).function.qualname
        counts[name] = counts.get(name, 0) + 1
    longest = max(counts, key=lambda name: counts[name])
    if counts[longest] <= MOST_STATEMENTS:
        return ""
    return f"{counts[longest]:,} statements of {longest or 'the module'} are more than {MOST_STATEMENTS:,}"


def _too_deep(facts: FileFacts) -> str:
    """Depth is counted as LibCST and a reader meet it: ``a and b and c`` and ``with a, b, c`` are chains."""
    depths: dict[ast.AST, int] = {facts.tree: 0}
    for node, parent in facts.parent.items():  # a node's parent stands before it
        depth = depths.get(parent, 0) + 1
        links = _CHAINS.get(node.__class__)
        if links is not None:
            depth += len(getattr(node, links))
        depths[node] = depth
    deepest = max(depths.values())
    return f"{deepest:,} levels of code in code are more than {MOST_DEPTH:,}" if deepest > MOST_DEPTH else ""
