"""Byte offsets of a file's UTF-8 text, and the rows and columns that stand for them."""

from __future__ import annotations

from bisect import bisect_right

from torchlint.late import regex
from torchlint.rule import Position

_NEWLINE = regex(rb"\r\n|\r|\n")


class LineTable:
    r"""Where each row of a text starts, to go between offsets and rows.

    A row ends at ``\n``, ``\r\n`` or ``\r`` and nowhere else, as for Python itself: a form feed or a Unicode line
    separator belongs to its row.
    """

    __slots__ = ("_starts", "_utf8")

    def __init__(self, utf8: bytes) -> None:
        """Find the rows of a UTF-8 text."""
        self._utf8 = utf8
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(utf8))]

    @property
    def rows(self) -> int:
        """The number of rows; a text that ends in a newline has an empty row after it."""
        return len(self._starts)

    def offset(self, row: int, byte_column: int) -> int:
        """Return the byte offset of a 1-based row and a 0-based column in UTF-8 bytes, as ``ast`` gives them.

        Raises:
            IndexError: there is no such row.
        """
        if not 1 <= row <= len(self._starts):
            raise IndexError(f"no row {row} in a text of {len(self._starts)} rows")
        return self._starts[row - 1] + byte_column

    def row(self, offset: int) -> int:
        """Return the 1-based row that holds a byte offset."""
        return bisect_right(self._starts, offset)

    def position(self, offset: int) -> Position:
        """Return the 1-based row and 1-based column in code points of a byte offset."""
        row = self.row(offset)
        before = self._utf8[self._starts[row - 1] : offset]
        return Position(row, len(before.decode("utf-8", errors="replace")) + 1)

    def line(self, row: int) -> str:
        """Return the text of a 1-based row without its newline."""
        start = self.offset(row, 0)
        end = self._starts[row] if row < len(self._starts) else len(self._utf8)
        return self._utf8[start:end].rstrip(b"\r\n").decode("utf-8")
