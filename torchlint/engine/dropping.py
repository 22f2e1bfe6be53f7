"""A statement taken out with its rows, or replaced by ``pass`` where its block would have no other."""

from __future__ import annotations

import ast

from torchlint.engine.rows import SourceRows
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Edit
from torchlint.sources.lines import LineTable


def dropped(facts: FileFacts, table: LineTable, node: ast.AST) -> list[Edit] | None:
    """Return the edit that removes a statement that is only this node, and a blank row that would be left twice.

    ``None`` where the statement does more, shares a row with another, or has a comment on one of its rows.
    """
    stmt = facts.parent.get(node)
    rows = SourceRows(facts.source.utf8, table)
    if not isinstance(stmt, ast.Expr) or rows.indent(stmt) is None or not rows.ends(stmt):
        return None
    first, last = stmt.lineno, stmt.end_lineno or stmt.lineno
    behind = rows.text(last)[stmt.end_col_offset or 0 :]
    if any("#" in text for text in (*map(rows.text, range(first, last)), behind)):
        return None
    block = _block(facts, stmt)
    if len(block) < 2:
        return [Edit(table.offset(first, stmt.col_offset), table.offset(last, stmt.end_col_offset or 0), "pass")]
    if _is_blank(rows, last + 1) or last == rows.count:
        while first > 1 and _is_blank(rows, first - 1):
            first -= 1
    if stmt is block[0] and isinstance(facts.parent.get(stmt), (ast.stmt, ast.ExceptHandler)):
        while _is_blank(rows, last + 1):
            last += 1
    return [Edit(table.offset(first, 0), rows.after(last), "")]


def _block(facts: FileFacts, stmt: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that a statement is one of."""
    holder = facts.parent.get(stmt) or facts.tree
    for name in ("body", "orelse", "finalbody"):
        block = getattr(holder, name, None)
        if isinstance(block, list) and stmt in block:
            return block
    return [stmt]


def _is_blank(rows: SourceRows, row: int) -> bool:
    return row <= rows.count and not rows.text(row).strip()
