"""Lines of source measured in terminal cells: wide characters take two, tabs up to four."""

from __future__ import annotations

from rich.cells import cell_len

from torchlint.late import dataclass
from torchlint.report.escape import visible

_TAB = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A line as it is shown, and where its marked part is, as indices of characters of ``text``."""

    text: str
    start: int
    end: int

    @property
    def before(self) -> int:
        """Cells before the marked part."""
        return cell_len(self.text[: self.start])

    @property
    def marked(self) -> int:
        """Cells of the marked part; an empty one still takes one, so that it can be seen."""
        return max(1, cell_len(self.text[: self.end]) - self.before)


def fit(line: str, start: int, end: int, width: int, dots: str) -> Piece:
    """Return a line of at most ``width`` cells, cropped around the code points start to end.

    Tabs are expanded and controls made visible.

    ``dots`` stand at an end where something was cut. A marked part wider than the line is shown from its start.
    """
    if len(line) <= 8 * width:
        text = shown(line)
        if cell_len(text) <= width:
            return Piece(text, len(shown(line[:start])), len(shown(line[:end])))
    return _crop(line, start, end, width, dots)


def shown(line: str) -> str:
    """Return a line as a terminal can show it: tabs as blanks up to the next multiple of four, controls as escapes."""
    first, *rest = line.split("\t")
    text = visible(first)
    for part in rest:
        text += " " * (_TAB - cell_len(text) % _TAB) + visible(part)
    return text


def _crop(line: str, start: int, end: int, width: int, dots: str) -> Piece:
    # A line may be a megabyte long: only what can be in sight is measured.
    reach = 2 * width
    ahead = shown(line[max(0, start - reach) : start])
    marked = shown(line[start : min(end, start + reach)])
    rest = marked + shown(line[end : end + reach])
    room = width - 2 * cell_len(dots)
    spare = max(0, room - cell_len(marked))
    whole = start <= reach and cell_len(ahead) <= spare
    # The beginning of a line says most. Where it is out of sight, two thirds go before the marked part all the same.
    head = ahead if whole else _tail(ahead, max(spare * 2 // 3, room - cell_len(rest)))
    kept = _head(rest, room - cell_len(head))
    before = dots if len(head) < len(ahead) or start > reach else ""
    after = dots if len(kept) < len(rest) or end + reach < len(line) else ""
    first = len(before) + len(head)
    return Piece(f"{before}{head}{kept}{after}", first, first + min(len(marked), len(kept)))


def _head(text: str, width: int) -> str:
    """The longest start of ``text`` that takes at most ``width`` cells."""
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    """The longest end of ``text`` that takes at most ``width`` cells."""
    used = 0
    for index in range(len(text) - 1, -1, -1):
        used += cell_len(text[index])
        if used > width:
            return text[index + 1 :]
    return text
