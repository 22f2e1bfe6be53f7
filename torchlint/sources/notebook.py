"""Notebooks: their code cells as one Python text, and the text back into the cells."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from torchlint.late import dataclass, regex
from torchlint.sources.text import Source

_MARK = "# %% torchlint cell "
_MARKED = regex(rf"^{_MARK}(\d+)$", re.MULTILINE)
_BLANK = regex(r"[ \t\r\n]*")
# Cell magics whose body is Python that runs in the notebook's own names.
_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun"})
_MAGICS = r"[ \t]*(?:[%!?]|[^#'\"\n]*[\w)\]]\?{1,2}[ \t]*$|[\w.,\[\] \t]+=[ \t]*[%!])"
_MAGIC = regex(_MAGICS)
# What IPython runs without a percent sign where no variable has the name.
_AUTOMAGIC = regex(rf"{_MAGICS}|(?:cat|cd|conda|cp|ls|mkdir|mv|pip|rm|rmdir|run)[ \t]+\S")
_MASKED = "pass  # "
_CONTINUED = "pass  #: "
_UNREADABLE = "pass  #! "


class NotebookError(Exception):
    """The bytes of a file are no notebook with Python cells; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why Python cannot read a cell, and the 1-based row and column in the one text of the notebook."""

    message: str
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class _Cell:
    """A code cell: its number among all cells, and where the value of its ``source`` is in the JSON text."""

    number: int
    start: int
    end: int
    pieces: tuple[tuple[int, int], ...]

    def lines(self, json_text: str) -> list[str]:
        """Return the strings of the value: the lines of the cell, newlines kept."""
        return [json.loads(json_text[start:end]) for start, end in self.pieces]

    def source(self, json_text: str) -> str:
        """Return the cell as its notebook has it."""
        return "".join(self.lines(json_text))


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook as it lies on disk: its JSON text, and its code cells in order."""

    json_text: str
    cells: tuple[_Cell, ...]

    @property
    def text(self) -> str:
        """The code cells as one text, each under a comment that marks it; what is not Python is masked."""
        return "".join(f"{_MARK}{cell.number}\n{_python(cell.source(self.json_text))}\n" for cell in self.cells)

    def faults(self) -> Iterator[tuple[int, Fault]]:
        """Yield the cells that IPython cannot read, by number.

        In the text they are masked, so that the others are linted, and so are cells that begin indented, whose
        indentation IPython takes away.
        """
        above = 0
        for cell in self.cells:
            source = cell.source(self.json_text)
            error = _error(_without_magics(source.split("\n")))
            if error is not None and not any(map(_readings, (source, _dedented(source)))):
                yield cell.number, Fault(error.msg, above + 1 + (error.lineno or 1), error.offset or 1)
            above += source.count("\n") + 2

    def cell(self, number: int) -> str:
        """Return the source of a code cell, with nothing masked.

        Raises:
            KeyError: there is no code cell of that number.
        """
        return {cell.number: cell.source(self.json_text) for cell in self.cells}[number]

    def with_text(self, text: str) -> Notebook:
        """Return the notebook with the cells of another text; what did not change keeps every byte.

        Raises:
            NotebookError: the text has not the same cells.
        """
        after = dict(split_cells(text))
        if list(after) != [cell.number for cell in self.cells]:
            raise NotebookError("a fix moved code out of its cell")
        json_text, shift = self.json_text, 0
        for cell in self.cells:
            source = cell.source(self.json_text)
            if _python(source) == after[cell.number]:
                continue
            value = self._value(cell, _unmasked(source, after[cell.number]))
            json_text = json_text[: cell.start + shift] + value + json_text[cell.end + shift :]
            shift += len(value) - (cell.end - cell.start)
        return parse_notebook(json_text)

    def _value(self, cell: _Cell, source: str) -> str:
        """The JSON of a cell's new source, in the form of the old one; lines that stay keep their bytes."""
        known = {json.loads(self.json_text[start:end]): self.json_text[start:end] for start, end in cell.pieces}
        ascii_only = self.json_text.isascii()
        if self.json_text[cell.start] != "[":
            return json.dumps(source, ensure_ascii=ascii_only)
        rows = re.split(r"(?<=\n)(?!$)", source)
        parts = [known.get(row) or json.dumps(row, ensure_ascii=ascii_only) for row in rows]
        first, last = cell.pieces[0], cell.pieces[-1]
        between = self.json_text[first[1] : cell.pieces[1][0]] if len(cell.pieces) > 1 else ", "
        if len(cell.pieces) == 1 and "\n" in self.json_text[cell.start : first[0]]:
            between = "," + self.json_text[cell.start + 1 : first[0]]
        return self.json_text[cell.start : first[0]] + between.join(parts) + self.json_text[last[1] : cell.end]

    def row_on_disk(self, text: str, row: int) -> int:
        """Return the 1-based row of the file where a row of the text stands: that of its string, or of its cell."""
        number, inside = place_in_cells(text, row)
        cell = next((cell for cell in self.cells if cell.number == number), None)
        if cell is None:
            return 1
        start = cell.start if not 1 <= inside <= len(cell.pieces) else cell.pieces[inside - 1][0]
        return self.json_text.count("\n", 0, start) + 1


def read_notebook(raw: bytes, path: Path, name: str) -> Source:
    """Return the code cells of a notebook as one source; a notebook of another language has none.

    Raises:
        NotebookError: the bytes are no notebook.
    """
    try:
        json_text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotebookError("the notebook is not UTF-8") from error
    notebook = parse_notebook(json_text)
    text = notebook.text
    try:
        utf8 = text.encode()
    except UnicodeEncodeError as error:
        raise NotebookError("a cell holds a lone surrogate") from error
    return Source(path.absolute(), name, text, utf8, bom=raw.startswith(b"\xef\xbb\xbf"), raw=raw, notebook=notebook)


def parse_notebook(json_text: str) -> Notebook:
    """Return the cells of a notebook's JSON.

    Raises:
        NotebookError: it is not a notebook, or a cell holds what would be taken for a mark.
    """
    try:
        document = json.loads(json_text)
        cells = tuple(_cells(json_text)) if _is_python(document) else ()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotebookError(f"not a notebook: {error}") from error
    if any(_MARKED.search(cell.source(json_text)) for cell in cells):
        raise NotebookError(f"a cell holds the comment {_MARK!r}, which separates cells here")
    return Notebook(json_text, cells)


def split_cells(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each cell in the one text of a notebook."""
    marks = list(_MARKED.finditer(text))
    for index, mark in enumerate(marks):
        end = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        # What a fix puts above the first mark belongs to the first cell.
        above = text[: mark.start()] if index == 0 else ""
        yield int(mark[1]), above + text[mark.end() + 1 : max(mark.end() + 1, end - 1)]


def place_in_cells(text: str, row: int) -> tuple[int, int]:
    """Return the number of the cell that holds a 1-based row of the text, and the row in it."""
    number, first = 0, 0
    for index, line in enumerate(text.split("\n")[:row], 1):
        if mark := _MARKED.fullmatch(line):
            number, first = int(mark[1]), index
    return number, row - first


def row_in_text(text: str, number: int, row: int) -> int | None:
    """Return the row of the text for a 1-based row of a cell, ``None`` if the cell is missing or shorter."""
    lines = text.split("\n")
    if f"{_MARK}{number}" not in lines:
        return None
    found = lines.index(f"{_MARK}{number}") + 1 + row
    return found if row >= 1 and place_in_cells(text, found) == (number, row) and found < len(lines) else None


def _is_python(document: dict[str, dict[str, dict[str, str]]]) -> bool:
    if not isinstance(document["cells"], list):
        raise TypeError("its cells are not a list")
    metadata = document.get("metadata", {})
    language = metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name")
    return language in (None, "python", "ipython")


def _cells(text: str) -> Iterator[_Cell]:
    """The code cells with their places; the JSON is known to be valid."""
    for key, start, _ in _members(text, _skip(text, 0)):
        if key != "cells":
            continue
        for number, (begin, _) in enumerate(_items(text, start), 1):
            fields = {name: (value, stop) for name, value, stop in _members(text, begin)}
            if json.loads(text[slice(*fields["cell_type"])]) != "code" or "source" not in fields:
                continue
            first, last = fields["source"]
            pieces = tuple(_items(text, first)) if text[first] == "[" else ((first, last),)
            cell = _Cell(number, first, last, pieces)
            if cell.pieces and not _is_foreign(cell.source(text)):
                yield cell


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The keys of the object at a place, each with the place of its value."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        stop = _end(text, at)
        key = json.loads(text[at:stop])
        start = _skip(text, _skip(text, stop) + 1)
        end = _end(text, start)
        yield key, start, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The places of the values in the array at a place."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _end(text, at)
        yield at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _end(text: str, start: int) -> int:
    """Where the value at a place ends."""
    return json.JSONDecoder().raw_decode(text, start)[1]


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _is_foreign(source: str) -> bool:
    """Whether a cell magic makes a cell something else than Python, below the comments that Colab makes a form of."""
    first = next((line for line in source.splitlines() if line.strip() and not line.startswith("#@")), "")
    return first.startswith("%%") and first[2:].split(" ")[0].strip() not in _PYTHON_MAGICS


def _python(source: str) -> str:
    """The source of a cell with what Python cannot read made into ``pass`` with a comment: magics, or all of it."""
    return "\n".join(_masked(source))


def _masked(source: str) -> list[str]:
    """The lines of a cell, what is masked of them each differently, so that each comes back as it was."""
    return _readings(source) or [f"{_UNREADABLE}{line}" for line in source.split("\n")]


def _readings(source: str) -> list[str]:
    """The lines of a cell with magics masked, those without a percent sign where it takes that; none: no Python."""
    lines = source.split("\n")
    for magic in (_MAGIC, _AUTOMAGIC):
        masked = list(_without_magics(lines, magic))
        if _error(masked) is None:
            return masked
    return []


def _dedented(source: str) -> str:
    """A cell without the indentation of its first row of code, as IPython runs it."""
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return "\n".join(line.removeprefix(indent) for line in lines)


def _error(lines: Iterable[str]) -> SyntaxError | None:
    """Why Python cannot read a cell that is not nested deeper than Python can read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(lines))
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def _without_magics(lines: Sequence[str], magic: re.Pattern[str] = _MAGIC) -> Iterator[str]:
    """The lines with magics masked."""
    continued, indent = False, ""
    for line in lines:
        if continued:
            yield f"{indent}{_CONTINUED}{line}"
        elif magic.match(line):
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            yield f"{indent}{_MASKED}{line[len(indent) :]}"
        else:
            yield line
            continue
        continued = line.rstrip("\r").endswith("\\")


def _unmasked(before: str, after: str) -> str:
    """A changed cell with its masked lines as they were."""
    lines = before.split("\n")
    originals = {mask: line for mask, line in zip(_masked(before), lines, strict=True) if mask != line}
    return "\n".join(originals.get(line, line) for line in after.split("\n"))
