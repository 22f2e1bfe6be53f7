"""The code frame: the line of a finding, numbered, with its exact span underlined, below it or in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.text import Text

from torchlint.late import dataclass
from torchlint.report.cells import fit
from torchlint.report.style import QUIET, Signs
from torchlint.rule import Finding
from torchlint.sources.lines import LineTable

DIGITS = 4
# A span over more rows than this shows its first row alone.
_ROWS = 2


@dataclass(frozen=True, slots=True)
class Canvas:
    """How to draw: signs, width in cells, a function that colours a line of Python, whether lines are cut, and whether
    a span is underlined in its own line, which only a terminal with styles can show."""

    signs: Signs
    width: int
    paint: Callable[[str], Text]
    cuts: bool = True
    inline: bool = False

    def room(self, line: str, beside: int = 0) -> int:
        """Return the cells that a line may take beside others; as many as it needs where nothing is cut."""
        # A tab takes four cells at most, and an escaped character ten.
        return self.width - beside if self.cuts else max(self.width, 10 * len(line))


def frame(finding: Finding, table: LineTable, canvas: Canvas, underline: str) -> list[Text]:
    """Return the lines of the frame, none wider than the canvas; empty when the finding points outside of the text.

    A span that is all of its only row has no underline, and of a long one the first row is shown.
    """
    if finding.start.row > table.rows:
        return []
    spans = _spans(finding, table)
    shown = dict(list(spans.items())[: _ROWS if len(spans) <= _ROWS else 1])
    texts = {row: table.line(row) for row in shown}
    indent = min(
        [
            *(len(text) - len(text.lstrip(" \t")) for text in texts.values() if text.strip()),
            *(first for first, stop in shown.values() if stop > first),
        ],
        default=0,
    )
    digits = max(DIGITS, len(str(max(shown))))
    lines: list[Text] = []
    for row, (first, stop) in shown.items():
        span = max(0, first - indent), max(0, stop - indent)
        text = texts[row][indent:]
        whole = len(spans) == 1 and span == (0, len(text.rstrip()))
        lines += _row(row, text, span, digits, canvas, "" if whole else underline)
    if len(shown) < len(spans) and not canvas.inline:
        # In the place of the last sign of the underline, so that no line gets wider.
        lines[-1].right_crop(1)
        lines[-1].append(canvas.signs.dots[:1], underline)
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


def _row(row: int, line: str, span: tuple[int, int], digits: int, canvas: Canvas, underline: str) -> Iterator[Text]:
    signs = canvas.signs
    piece = fit(line, *span, canvas.room(line, digits + 3), signs.dots)
    code = canvas.paint(piece.text)
    if underline and canvas.inline:
        code.stylize(f"{underline} bold underline", piece.start, max(piece.end, piece.start + 1))
    yield _joined(Text(f"{row:>{digits}}", "bold"), Text(f" {signs.bar} ", QUIET), code)
    if underline and line.strip() and not canvas.inline:
        mark = Text(" " * piece.before + signs.under * piece.marked, underline)
        yield _joined(Text(" " * digits), Text(f" {signs.bar} ", QUIET), mark)


def _joined(*parts: Text) -> Text:
    line = Text.assemble(*parts)
    line.rstrip()
    return line
