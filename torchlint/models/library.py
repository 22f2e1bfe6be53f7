"""The rows about libraries, read when they are first asked for: sets of names by queries, and rows of single names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torchlint.late import dataclass

Row = Mapping[str, object]
"""The attributes of one name, by ``torchlint.models.schema.ATTRIBUTES``."""
Rows = Mapping[str, Mapping[str, Mapping[str, Row]]]
"""Rows by section, owner and name."""


@cache
def shipped() -> Rows:
    """Read the rows that torchlint brings along."""
    import json  # a run without a site needs no row, and so no reader

    found: Rows = json.loads((Path(__file__).parent / "library.json").read_text(encoding="utf-8"))
    return found


class Names:
    """The names of the rows that a query selects, found when first asked for: ``name in method_names(adds=True)``."""

    __slots__ = ("_found", "_queries")

    def __init__(self, *queries: Query) -> None:
        """Select what any of some queries selects."""
        self._queries = queries
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

    def __or__(self, other: Names) -> Names:
        """Select what one of two selects."""
        return Names(*self._queries, *other._queries)

    def isdisjoint(self, others: Iterable[str]) -> bool:
        """Return whether none of some names is selected."""
        return not any(name in self for name in others)

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries, of which one suffices."""
        return self._queries

    @property
    def all(self) -> frozenset[str]:
        """The names as a set."""
        return frozenset(self._rows)

    @property
    def _rows(self) -> Mapping[str, Row]:
        if self._found is None:
            found: dict[str, Row] = {}
            for query in self._queries:
                for name, row in query.rows():
                    found.setdefault(name, row)
            self._found = found
        return self._found


@dataclass(frozen=True, slots=True)
class Query:
    """Which rows are selected: the kind of their names, their owners (all, if none is given), their attributes."""

    kind: str
    owners: str
    where: Mapping[str, object]

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield the selected rows with their names, in the order of the table."""
        owners = self.owners.split()
        needed = next((attribute for attribute, asked in self.where.items() if not _fits(None, asked)), "")
        for section, name_of in _KINDS[self.kind]:
            for owner, name, row in _rows_with().get((section, needed), ()):
                if not owners or owner in owners or owner.rpartition(".")[2] in owners:
                    if all(_fits(row.get(attribute), asked) for attribute, asked in self.where.items()):
                        yield name_of(owner, name), row


@cache
def _rows_with() -> Mapping[tuple[str, str], Sequence[tuple[str, str, Row]]]:
    """Owner, name and row of the rows of each section that have an attribute; under an empty one all."""
    found: dict[tuple[str, str], list[tuple[str, str, Row]]] = {}
    for section, owners in shipped().items():
        for owner, names in owners.items():
            for name, row in names.items():
                for attribute in ("", *row):
                    found.setdefault((section, attribute), []).append((owner, name, row))
    return found


def _bare(_owner: str, name: str) -> str:
    return name


def _qualified(owner: str, name: str) -> str:
    return f"{owner}.{name}"


# An operation is a function of a library and a method of its arrays at once.
_KINDS: Mapping[str, tuple[tuple[str, Callable[[str, str], str]], ...]] = {
    "methods": (("methods", _bare), ("operations", _bare)),
    "functions": (("functions", _qualified), ("operations", _qualified)),
    "names": (("methods", _bare), ("functions", _qualified), ("operations", _bare), ("operations", _qualified)),
    "last": (("methods", _bare), ("functions", _bare), ("operations", _bare)),
}


def _fits(value: object, asked: object) -> bool:
    """Whether an attribute is as asked: ``True`` any value, ``False`` none, a tuple one of its values."""
    if isinstance(asked, bool):
        return (value is not None) is asked
    return value in asked if isinstance(asked, tuple) else value == asked


def method_names(of: str = "", **where: object) -> Names:
    """Select methods by name, of the classes in ``of`` or of all: ``method_names("list deque", adds="element")``."""
    return Names(Query("methods", of, where))


def function_names(of: str = "", **where: object) -> Names:
    """Select functions by qualified name, of the modules in ``of`` or of all."""
    return Names(Query("functions", of, where))


def names(of: str = "", **where: object) -> Names:
    """Select methods by name, and functions by qualified name."""
    return Names(Query("names", of, where))


def last_names(of: str = "", **where: object) -> Names:
    """Select methods and functions by the last component of their names."""
    return Names(Query("last", of, where))


def merged(*tables: Rows) -> Rows:
    """Merge tables of rows; of two rows with one name, what the later one states wins."""
    found: dict[str, dict[str, dict[str, Row]]] = {}
    for table in tables:
        for section, owners in table.items():
            for owner, names in owners.items():
                rows = found.setdefault(section, {}).setdefault(owner, {})
                for name, row in names.items():
                    rows[name] = {**rows.get(name, {}), **row}
    return found


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Models:
    """The rows of single names that a project or a rule package adds."""

    __slots__ = ("added",)

    def __init__(self, added: Rows = _NOTHING) -> None:
        """Take the added rows."""
        self.added = added

    def __bool__(self) -> bool:
        """Whether any row is added."""
        return bool(self.added)

    def function(self, qualified: str) -> Row:
        """Return the row of a function, empty where there is none."""
        owner, _, name = qualified.rpartition(".")
        return self.added.get("functions", {}).get(owner, {}).get(name, _NOTHING)

    def method(self, classes: Iterable[str], name: str) -> Row:
        """Return the row of a method, from the first of a class and its bases that has one; empty where none has."""
        owners = self.added.get("methods", {})
        return next((owners[cls][name] for cls in classes if name in owners.get(cls, ())), _NOTHING)

    def called(self, cls: str) -> Iterator[tuple[str, str]]:
        """Return the methods of a class that a framework calls, with how often it does."""
        for name, row in self.added.get("methods", {}).get(cls, {}).items():
            often = row.get("called")
            if isinstance(often, str):
                yield name, often
