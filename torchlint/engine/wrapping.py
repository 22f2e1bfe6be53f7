"""A statement put into a ``with`` or an ``if`` of its own: its rows indented, nothing else changed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from dataclasses import replace

from torchlint.engine.rows import SourceRows
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import walk
from torchlint.late import regex
from torchlint.rule import Edit
from torchlint.sources.lines import LineTable

_USUAL_INDENT = "    "
_ROW_START = regex(r"\n(?=[^\r\n])")


def wrapped(facts: FileFacts, table: LineTable, node: ast.AST, header: str, edits: Sequence[Edit]) -> list[Edit] | None:
    """Return these edits of the statement that holds a node, with edits that put the statement under ``header:``.

    ``None`` for statements with a body (but an ``if`` with one branch under another ``if``), that share a row with
    another, that hand over control (``yield``, ``await``) inside a ``with``, and where more rows would mean something
    else, as in a string over several rows.
    """
    stmt = facts.statement(node)
    if stmt is None or not _fits(facts, table, stmt, header):
        return None
    rows = SourceRows(facts.source.utf8, table)
    indent = rows.indent(stmt)
    unit = _unit(facts, rows, stmt, indent) if indent is not None and rows.ends(stmt) else None
    if indent is None or unit is None:
        return None
    start = table.offset(stmt.lineno, 0)
    made = [Edit(start, start, f"{indent}{header}:\n{unit}")]
    for row in range(stmt.lineno + 1, (stmt.end_lineno or stmt.lineno) + 1):
        at = table.offset(row, 0)
        if rows.text(row).strip() and not any(edit.start < at < edit.end for edit in edits):
            made.append(Edit(at, at, unit))
    made.extend(replace(edit, text=_ROW_START.sub(f"\n{unit}", edit.text)) for edit in edits)
    end = table.offset(stmt.end_lineno or stmt.lineno, stmt.end_col_offset or 0)
    before = _parsed(facts.source.utf8, start, end, edits, indent)
    after = _parsed(facts.source.utf8, start, end, made, indent)
    if not isinstance(after, (ast.With, ast.If)) or before is None or len(after.body) != 1:
        return None
    return made if ast.dump(after.body[0]) == ast.dump(before) else None


def _fits(facts: FileFacts, table: LineTable, stmt: ast.stmt, header: str) -> bool:
    """Whether a statement may stand under a header."""
    if not header.startswith("if "):
        return not hasattr(stmt, "body") and not hasattr(stmt, "cases") and not _hands_over(stmt)
    if not isinstance(stmt, ast.If):
        return not hasattr(stmt, "body") and not hasattr(stmt, "cases")
    at = table.offset(stmt.lineno, stmt.col_offset)
    return not stmt.orelse and not facts.source.utf8.startswith(b"elif", at)


def _hands_over(stmt: ast.stmt) -> bool:
    """Whether others run in the middle of a statement, who would run inside the ``with`` too."""
    return any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in walk(stmt))


def _unit(facts: FileFacts, rows: SourceRows, stmt: ast.stmt, indent: str) -> str | None:
    """What this file indents a body by: here, or at the top level in its first body."""
    outer: ast.AST | None = facts.parent.get(stmt)
    while outer is not None and _first_row(outer) is None:
        outer = facts.parent.get(outer)
    if outer is not None:
        return _difference(_blanks(rows.text(_first_row(outer) or 1)), indent)
    for compound in facts.compounds:
        body: Sequence[ast.AST] = getattr(compound, "body", ())
        inner = body[0] if body else None
        if isinstance(inner, ast.stmt) and inner.lineno > compound.lineno:
            return _difference(_blanks(rows.text(compound.lineno)), _blanks(rows.text(inner.lineno)))
    return _USUAL_INDENT


def _first_row(node: ast.AST) -> int | None:
    """The row that a block's header starts on."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    return getattr(node, "lineno", None)


def _blanks(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def _difference(outer: str, inner: str) -> str | None:
    """What an inner block adds to the indentation of the outer one."""
    return inner[len(outer) :] if inner.startswith(outer) and len(inner) > len(outer) else None


def _parsed(utf8: bytes, start: int, end: int, edits: Sequence[Edit], indent: str) -> ast.stmt | None:
    """The one statement between two offsets after some edits, ``None`` if it is none."""
    pieces: list[bytes] = []
    done = start
    for edit in sorted(edits):
        pieces += [utf8[done : edit.start], edit.text.encode()]
        done = edit.end
    text = b"".join([*pieces, utf8[done:end]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse((b"if 1:\n" if indent else b"") + text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    found = body[0].body if indent and isinstance(body[0], ast.If) else body
    return found[0] if len(found) == 1 else None
