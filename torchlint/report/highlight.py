"""Python code as HTML: coloured, with the span of a finding marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchlint.report.page import text
from torchlint.sources.lines import LineTable

Token = tuple[str, str]
"""A class of the style sheet, empty for code without colour, and a piece of code."""

_CLASSES = (
    ("Token.Comment", "c"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Decorator", "f"),
)


def highlighted(table: LineTable) -> list[list[Token]]:
    """Return the tokens of each line of a text; a line that the lexer reads otherwise has no colours."""
    from pygments.lexers.python import PythonLexer

    whole = "\n".join(table.line(row) for row in range(1, table.rows + 1))
    lines: list[list[Token]] = [[]]
    for kind, piece in PythonLexer(stripnl=False, ensurenl=False).get_tokens(whole):
        name = next((name for prefix, name in _CLASSES if str(kind).startswith(prefix)), "")
        for index, part in enumerate(piece.split("\n")):
            if index:
                lines.append([])
            if part:
                lines[-1].append((name, part))
    plain = [[("", line)] for line in whole.split("\n")]
    if len(lines) != len(plain):
        return plain
    return [
        tokens if "".join(part for _, part in tokens) == line[0][1] else line
        for tokens, line in zip(lines, plain, strict=True)
    ]


def as_html(tokens: Sequence[Token], start: int = 0, end: int = 0) -> str:
    """Return a line as HTML; the code points from ``start`` to ``end`` are marked."""
    marked = [False, True, False]
    parts = []
    for place, piece in zip(marked, _cut(tokens, start, end), strict=True):
        html = "".join(
            f'<i class="{name}">{text(part, keep=chr(9))}</i>' if name else text(part, keep=chr(9))
            for name, part in piece
        )
        parts.append(f"<mark>{html}</mark>" if place and html else html)
    return "".join(parts)


def _cut(tokens: Sequence[Token], start: int, end: int) -> Iterator[list[Token]]:
    """The tokens before, in and after a span; one that reaches over an end of it is cut there."""
    for first, last in ((0, start), (start, max(start, end)), (max(start, end), None)):
        piece: list[Token] = []
        at = 0
        for name, part in tokens:
            low = max(first - at, 0)
            high = len(part) if last is None else min(max(last - at, 0), len(part))
            if low < high:
                piece.append((name, part[low:high]))
            at += len(part)
        yield piece
