"""Open notebooks: the cells that the editor has as one text, and answers about that text as answers about cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from lsprotocol import types

from torchlint.late import dataclass
from torchlint.rule import Edit
from torchlint.server.answers import Answers
from torchlint.sources.between import between
from torchlint.sources.edits import apply_edits
from torchlint.sources.notebook import NotebookError, split_cells
from torchlint.sources.text import Source

LANGUAGE = types.NotebookCellLanguage("python")
SYNCED = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells([LANGUAGE], types.NotebookDocumentFilterScheme("file"))]
)
"""Notebooks that are files, of which the editor tells the Python cells."""


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """A code cell as the editor has it."""

    uri: str
    version: int | None
    text: str


def as_json(cells: Iterable[NotebookCell]) -> str:
    """Return a notebook of these cells, as a file would have it."""
    made: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.text}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@dataclass(frozen=True)
class NotebookAnswers(Answers):
    """The answers about one notebook, whose cells are documents of their own to the editor."""

    cells: Sequence[NotebookCell] = field(default=())

    def published(self) -> Iterator[tuple[str, int | None, list[types.Diagnostic]]]:
        """Yield the diagnostics of each cell."""
        found: dict[str, list[types.Diagnostic]] = {cell.uri: [] for cell in self.cells}
        for uri, diagnostic in self.diagnostics():
            found.setdefault(uri, []).append(diagnostic)
        yield from ((cell.uri, cell.version, found[cell.uri]) for cell in self.cells)

    def inside(self, uri: str, place: types.Position) -> types.Position:
        """Return the place in the one text for a place of a cell."""
        for cell, first in self._firsts():
            if cell.uri == uri:
                return _on_line(place, place.line + first)
        return types.Position(0, 0)  # the mark above the first cell, of which nothing is ever found

    def cell_of(self, uri: str) -> int | None:
        """Return the number of a cell in the notebook."""
        return next((number for number, cell in enumerate(self.cells, 1) if cell.uri == uri), None)

    def _located(self, found: types.Range) -> tuple[str, types.Range]:
        for cell, first in reversed(list(self._firsts())):
            if first <= found.start.line:
                start, end = (_on_line(place, place.line - first) for place in (found.start, found.end))
                return cell.uri, types.Range(start, end)
        return self.uri, found

    def _edited(self, edits: Iterable[Edit], source: Source) -> list[types.TextDocumentEdit] | None:
        notebook = source.notebook
        assert notebook is not None  # else it would be no answer about a notebook
        try:
            after = notebook.with_text(apply_edits(source, list(edits)).text)
        except NotebookError:
            return None
        changed: list[types.TextDocumentEdit] = []
        for cell, number in zip(self._shown(), (each.number for each in notebook.cells), strict=True):
            before = _text(source, cell.text)
            new = _text(source, after.cell(number))
            if new.text != before.text:
                document = types.OptionalVersionedTextDocumentIdentifier(uri=cell.uri, version=cell.version)
                changed.append(self._edits(document, before, between(before, new)))
        return changed

    def _firsts(self) -> Iterator[tuple[NotebookCell, int]]:
        """The cells that are in the one text, each with the 0-based line at which it begins there."""
        line = 0
        for cell, (_, text) in zip(self._shown(), split_cells(self.linted.source.text), strict=True):
            yield cell, line + 1
            line += text.count("\n") + 2

    def _shown(self) -> list[NotebookCell]:
        """The cells that are in the one text: not those of other languages."""
        notebook = self.linted.source.notebook
        numbers = [cell.number for cell in notebook.cells] if notebook is not None else []
        return [self.cells[number - 1] for number in numbers]


def _on_line(place: types.Position, line: int) -> types.Position:
    """A place on another line."""
    return types.Position(line, place.character)


def _text(source: Source, text: str) -> Source:
    utf8 = text.encode("utf-8", "replace")
    return replace(source, text=utf8.decode(), utf8=utf8, raw=utf8, notebook=None)
