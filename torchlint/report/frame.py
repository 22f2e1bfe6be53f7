"""The code frame: the lines around a finding, numbered, with its exact span underlined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from rich.text import Text

from torchlint.late import dataclass
from torchlint.report.cells import fit
from torchlint.report.style import QUIET, Signs
from torchlint.rule import Finding
from torchlint.sources.lines import LineTable

# A span over more rows than this shows its first rows and its last one.
_ROWS = 6
_HEAD = 3


@dataclass(frozen=True, slots=True)
class Canvas:
    """How to draw: signs, width in cells, a function that colours a line of Python, and whether lines are cut."""

    signs: Signs
    width: int
    paint: Callable[[str], Text]
    cuts: bool = True

    def room(self, line: str, beside: int = 0) -> int:
        """The cells that a line may take beside others; as many as it needs where nothing is cut."""
        # A tab takes four cells at most, and an escaped character ten.
        return self.width - beside if self.cuts else max(self.width, 10 * len(line))


def frame(finding: Finding, table: LineTable, canvas: Canvas, underline: str) -> list[Text]:
    """The lines of the frame, none wider than the canvas; empty when the finding points outside of the text."""
    if finding.start.row > table.rows:
        return []
    spans = _spans(finding, table)
    shown = [row for row in _rows(spans, table) if row is None or row not in spans or row <= table.rows]
    digits = max(4, len(str(max(row for row in shown if row is not None))))
    indent = _indent([table.line(row) for row in shown if row is not None], spans)
    lines: list[Text] = []
    for row in shown:
        if row is None:
            lines.append(Text(f"{canvas.signs.gap:>{digits}}", QUIET))
        else:
            lines += _row(row, table.line(row)[indent:], _shift(spans.get(row), indent), digits, canvas, underline)
    if canvas.signs.foot:
        lines.append(Text(f"{'':{digits}} {canvas.signs.foot}", QUIET))
    return lines


def _spans(finding: Finding, table: LineTable) -> dict[int, tuple[int, int]]:
    """For each row of the finding the code points it covers, 0-based, without the indentation of later rows."""
    start, end = finding.start, finding.end
    last = end.row if end.column > 1 or end.row == start.row else end.row - 1
    spans = {}
    for row in range(start.row, min(last, table.rows) + 1):
        line = table.line(row)
        first = start.column - 1 if row == start.row else len(line) - len(line.lstrip())
        stop = end.column - 1 if row == end.row else len(line.rstrip())
        spans[row] = (first, max(first, stop))
    return spans


def _rows(spans: dict[int, tuple[int, int]], table: LineTable) -> list[int | None]:
    """The rows to show, with one row of context on both sides unless it is blank; ``None`` where rows are left out."""
    rows: list[int | None] = list(spans)
    if len(rows) > _ROWS:
        rows = [*rows[:_HEAD], None, rows[-1]]
    before, after = min(spans) - 1, max(spans) + 1
    if before >= 1 and table.line(before).strip():
        rows.insert(0, before)
    if after <= table.rows and table.line(after).strip():
        rows.append(after)
    return rows


def _indent(lines: list[str], spans: dict[int, tuple[int, int]]) -> int:
    """How many characters of common indentation can be left out."""
    written = [line for line in lines if line.strip()]
    blanks = [line[: len(line) - len(line.lstrip(" \t"))] for line in written]
    # What the first and the last of a sorted list share, all of them share.
    pairs = zip(min(blanks, default=""), max(blanks, default=""), strict=False)
    indent = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return min([indent, *(first for first, stop in spans.values() if stop > first)])


def _shift(span: tuple[int, int] | None, indent: int) -> tuple[int, int] | None:
    return None if span is None else (max(0, span[0] - indent), max(0, span[1] - indent))


def _row(
    row: int, line: str, span: tuple[int, int] | None, digits: int, canvas: Canvas, underline: str
) -> Iterator[Text]:
    signs = canvas.signs
    start, end = span or (0, 0)
    piece = fit(line, start, end, canvas.room(line, digits + 3), signs.dots)
    number = Text(f"{row:>{digits}}", "bold" if span else QUIET)
    yield _joined(number, Text(f" {signs.bar} ", QUIET), canvas.paint(piece.text))
    if span and line.strip():
        mark = Text(" " * piece.before + signs.under * piece.marked, underline)
        yield _joined(Text(" " * digits), Text(f" {signs.bar} ", QUIET), mark)


def _joined(*parts: Text) -> Text:
    line = Text.assemble(*parts)
    line.rstrip()
    return line
