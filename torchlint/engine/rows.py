"""The rows that statements stand on: their indentation, and whether they share their rows with anything."""

from __future__ import annotations

import ast

from torchlint.late import dataclass
from torchlint.sources.lines import LineTable


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows of a file."""

    utf8: bytes
    table: LineTable

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.table.rows

    def text(self, row: int) -> str:
        """Return a 1-based row without its newline."""
        return self.table.line(row)

    def after(self, row: int) -> int:
        """Return the offset where the next row starts, or the end of the text."""
        return self.table.offset(row + 1, 0) if row < self.count else len(self.utf8)

    def indent(self, stmt: ast.stmt) -> str | None:
        """Return the indentation of a statement, ``None`` if it is not alone at the beginning of its row."""
        row = min([stmt.lineno, *(decorator.lineno for decorator in getattr(stmt, "decorator_list", []))])
        text = self.text(row)
        blanks = text[: len(text) - len(text.lstrip(" \t"))]
        first = len(blanks) == stmt.col_offset or row < stmt.lineno
        continued = row > 1 and self.text(row - 1).endswith("\\")
        return blanks if first and not continued else None

    def ends(self, stmt: ast.stmt) -> bool:
        """Return whether nothing but a comment follows a statement on its last row."""
        row = stmt.end_lineno or stmt.lineno
        end = self.table.offset(row, stmt.end_col_offset or 0)
        rest = self.utf8[end : self.after(row)].strip()
        return not rest or rest.startswith(b"#")
