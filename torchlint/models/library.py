"""The rows about libraries, read when they are first asked for, and sets of names that queries over them give."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

Row = Mapping[str, object]
"""The attributes of one name, by ``torchlint.models.schema.ATTRIBUTES``."""
Rows = Mapping[str, Mapping[str, Mapping[str, Row]]]
"""Rows by section, owner and name."""


@cache
def shipped() -> Rows:
    """The rows that torchlint brings along."""
    found: Rows = json.loads((Path(__file__).parent / "library.json").read_text(encoding="utf-8"))
    return found


class Names:
    """The names of the rows that a query selects, found when first asked for: ``name in Names(...)``.

    Methods are selected by their names alone, functions by qualified names.
    """

    __slots__ = ("_found", "_of", "_section", "_where")

    def __init__(self, section: str, of: str, where: Mapping[str, object]) -> None:
        """Select from a section the rows of some owners (all, if none is named) whose attributes are as given."""
        self._section = section
        self._of = frozenset(of.split())
        self._where = where
        self._found: Mapping[str, Row] | None = None

    def __contains__(self, name: object) -> bool:
        """Whether a row of that name is selected."""
        return name in (self._rows if self._found is None else self._found)

    def __iter__(self) -> Iterator[str]:
        """Give the names in the order of the table."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Count the names."""
        return len(self._rows)

    def __getitem__(self, name: str) -> Row:
        """Get the row of a name; where several owners have one, the first."""
        return self._rows[name]

    @property
    def _rows(self) -> Mapping[str, Row]:
        if self._found is None:
            found: dict[str, Row] = {}
            for name, row in self._selected():
                found.setdefault(name, row)
            self._found = found
        return self._found

    def _selected(self) -> Iterator[tuple[str, Row]]:
        for section, qualified in _SECTIONS[self._section]:
            for owner, names in shipped().get(section, {}).items():
                if not self._of or owner in self._of or owner.rpartition(".")[2] in self._of:
                    for name, row in names.items():
                        if all(_fits(row.get(attribute), value) for attribute, value in self._where.items()):
                            yield f"{owner}.{name}" if qualified else name, row


# An operation is a function of a library and a method of its arrays at once.
_SECTIONS: Mapping[str, tuple[tuple[str, bool], ...]] = {
    "methods": (("methods", False), ("operations", False)),
    "functions": (("functions", True), ("operations", True)),
}


def _fits(value: object, asked: object) -> bool:
    """Whether an attribute is as asked: ``True`` any value, ``False`` none, a tuple one of its values."""
    if isinstance(asked, bool):
        return (value is not None) is asked
    return value in asked if isinstance(asked, tuple) else value == asked


def method_names(of: str = "", **where: object) -> Names:
    """Select methods, of the classes in ``of`` or of all: ``method_names("list deque", adds="element")``."""
    return Names("methods", of, where)


def function_names(of: str = "", **where: object) -> Names:
    """Select functions by qualified name, of the modules in ``of`` or of all."""
    return Names("functions", of, where)
