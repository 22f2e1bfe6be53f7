"""Places in a document as editors count them: 0-based lines, columns in the units that were agreed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType

from torchlint.late import dataclass
from torchlint.rule import Position
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

Place = tuple[int, int]
"""A 0-based line and a 0-based column."""

_COUNT: Mapping[str, Callable[[str], int]] = MappingProxyType(
    {
        "utf-8": lambda text: len(text.encode()),
        "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
        "utf-32": len,
    }
)


@dataclass(frozen=True)
class Positions:
    r"""The places of one text; ``units`` are ``utf-8``, ``utf-16`` or ``utf-32``.

    A line ends at ``\n``, ``\r\n`` or ``\r``, for editors as for Python.
    """

    source: Source
    units: str = "utf-16"

    @cached_property
    def _table(self) -> LineTable:
        return LineTable(self.source.utf8)

    def place(self, position: Position) -> Place:
        """Return the editor's position of a row and column; one behind the text is at its end."""
        row = min(position.row, self._table.rows)
        before = self._table.line(row)[: position.column - 1] if row == position.row else self._table.line(row)
        return row - 1, _COUNT[self.units](before)

    def at(self, offset: int) -> Place:
        """Return the editor's position of a byte offset of the UTF-8 text."""
        return self.place(self._table.position(offset))

    def position(self, place: Place) -> Position:
        """Return the row and column of a place; what lies behind a line is at its end."""
        row = min(place[0] + 1, self._table.rows)
        line = self._table.line(row)
        count = _COUNT[self.units]
        if place[0] + 1 > row or place[1] >= count(line):
            return Position(row, len(line) + 1)
        column = 0
        while count(line[:column]) < place[1]:
            column += 1
        return Position(row, column + 1)

    def line(self, row: int) -> str:
        """Return the text of a 1-based row, empty where there is none."""
        return self._table.line(row) if 1 <= row <= self._table.rows else ""
