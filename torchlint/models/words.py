"""What the names in a program say: a table of patterns, one row for each kind of name (``words.json``).

A row has what it says (``says``), its ``pattern`` (a regular expression that is searched for; ``case`` is ``any`` where
it heeds no case), and names that it recognises (``like``) and does not (``unlike``). A name is a guess, never a proof.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict


class _Needed(TypedDict):
    says: str
    pattern: str
    like: list[str]
    unlike: list[str]


class WordRow(_Needed, total=False):
    """A row of the table."""

    case: str


@cache
def word_rows() -> Mapping[str, WordRow]:
    """Read the table."""
    import json  # a run without a site needs no row, and so no reader

    found: Mapping[str, WordRow] = json.loads((Path(__file__).parent / "words.json").read_text(encoding="utf-8"))
    return found


class Word:
    """The names that one row recognises; the row is read when a name is first asked about."""

    __slots__ = ("_pattern", "row")

    def __init__(self, row: str) -> None:
        """Take the name of a row."""
        self.row = row
        self._pattern: re.Pattern[str] | None = None

    def fits(self, name: str) -> bool:
        """Return whether a name is of this kind."""
        if self._pattern is None:
            row = word_rows()[self.row]
            self._pattern = re.compile(row["pattern"], re.IGNORECASE if row.get("case") == "any" else 0)
        return self._pattern.search(name) is not None
