"""Columns in the units that formats ask for: UTF-16 code units, bytes of UTF-8."""

from __future__ import annotations

from torchlint.report.context import Context
from torchlint.rule import Position


def utf16_column(context: Context, path: str, position: Position) -> int:
    """Return the 1-based column of a position in UTF-16 code units."""
    return len(_before(context, path, position).encode("utf-16-le", "surrogatepass")) // 2 + 1


def utf8_column(context: Context, path: str, position: Position) -> int:
    """Return the 1-based column of a position in bytes of UTF-8."""
    return len(_before(context, path, position).encode("utf-8", "surrogatepass")) + 1


def _before(context: Context, path: str, position: Position) -> str:
    """What stands before a position in its row; of a text that is not known, as many ASCII characters."""
    table = context.tables.get(path)
    if table is None or position.row > table.rows:
        return " " * (position.column - 1)
    return table.line(position.row).ljust(position.column - 1)[: position.column - 1]
