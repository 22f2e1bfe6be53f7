"""Notebooks among the files of a run: their code, and the names they go by among the facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.engine.result import NoCodeError
from torchlint.late import regex
from torchlint.sources.decode import UndecodableError, read_any

if TYPE_CHECKING:
    from torchlint.rule import Finding, Hop
    from torchlint.rule.frequency import Why
    from torchlint.sources.text import Source

_SUFFIX = ".ipynb"
# The name of a notebook among the facts, in a text, and perhaps a row.
_PLACE = regex(r"(\S+\.ipynb\.ipynb)(?::(\d+))?")


def notebook_code(raw: bytes, path: Path, name: str) -> bytes:
    """Return the code of a file, of a notebook that of its cells.

    In the JSON of a notebook no line begins with an import.
    """
    if not name.endswith(_SUFFIX) or b"import" not in raw:
        return raw
    try:
        return read_any(raw, path, name).utf8
    except UndecodableError:
        return raw  # told when it is read for good


def inner_name(name: str) -> str:
    """Return the name of a file among the facts; that of a notebook is not the name of any module."""
    return f"{name}{_SUFFIX}" if name.endswith(_SUFFIX) else name


def outside(finding: Finding) -> Finding:
    """Return a finding with the files' own names."""
    moved = finding.with_hops(lambda hop: replace(hop, path=outer_name(hop.path)))
    return replace(moved, path=outer_name(finding.path))


def row_of_cell(source: Source, name: str, cell: int, row: int) -> int:
    """Return the row in the text of a notebook where a row of a cell stands.

    Raises:
        NoCodeError: there is no such row.
    """
    from torchlint.sources.notebook import row_in_text

    found = row_in_text(source.text, cell, row)
    if found is None:
        raise NoCodeError(f"{name} has no line {row} in a code cell {cell}")
    return found


def by_cells(why: Why, sources: Mapping[str, Source]) -> Why:
    """Return the same answer with places in notebooks given by cell; ``sources`` by their names among the facts."""

    from torchlint.rule import Hop

    def told(hop: Hop) -> Hop:
        if not hop.path.endswith(2 * _SUFFIX):
            return hop
        from torchlint.sources.notebook import place_in_cells

        number, row = place_in_cells(sources[hop.path].text, hop.row)
        return Hop(f"{outer_name(hop.path)}:cell {number}", row, hop.name)

    def place(match: re.Match[str]) -> str:
        hop = told(Hop(match[1], int(match[2] or 1), ""))
        return f"{hop.path}:{hop.row}" if match[2] else outer_name(match[1])

    ways = tuple(
        replace(
            way,
            hot=replace(way.hot, path=tuple(map(told, way.hot.path))),
            limits=tuple(replace(limit, place=told(limit.place)) for limit in way.limits),
        )
        for way in why.ways
    )
    return replace(why, ways=ways, reasons=tuple(_PLACE.sub(place, reason) for reason in why.reasons))


def outer_name(name: str) -> str:
    """Return the name of a file by its name among the facts."""
    return name.removesuffix(_SUFFIX) if name.endswith(2 * _SUFFIX) else name
