"""Comments that silence findings or correct hotness.

``# noqa`` follows Ruff: bare it silences everything on its line, with a list only these exact codes, and of several in
one comment the first counts. Codes may be in lower case, too. Marks of our own, ``# torchlint: ignore[...]``
and ``# torchlint: ignore-file[...]``, take prefixes and rule names as well.
"""

from __future__ import annotations

import re
import tokenize
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache

from torchlint.late import dataclass, regex
from torchlint.rule import Finding
from torchlint.sources.text import Source
from torchlint.sources.tokens import read_tokens

_NOQA = regex(r"#\s*(?P<file>torchlint:\s*)?noqa(?P<rest>.*)", re.IGNORECASE)
_IGNORE = regex(r"#\s*torchlint:\s*ignore(?P<file>-file)?(?P<rest>.*)", re.IGNORECASE)
_LIST = regex(r"\s*\[([^][]*)\]")
_CODE = regex(r"[\s,]*([A-Z]+[0-9]+)(?=[\s,A-Z]|$)")
_LOWERED = regex(r"[\s,]*([A-Za-z]+[0-9]{3,4})(?=[\s,]|$)", re.ASCII)
_HOTNESS = regex(r"#\s*torchlint:\s*(hot|cold)\b", re.IGNORECASE)
# What a row has to hold if a string or a statement on it is to end on another row.
_GOING_ON = ("\\", '"""', "'''")
_NEWLINE = regex(r"\r\n|\r|\n")
_TRIVIA = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})


@dataclass(frozen=True, slots=True)
class Mark:
    """What one comment silences: ``selectors``, or everything when they are ``None``.

    Attributes:
        selectors: codes; where the mark is one of ours (not ``exact``) also prefixes and names.
        exact: a ``noqa``, which other tools read, too.
        row, start, end: where it stands: 1-based row, 0-based columns in code points, without the blanks behind it.
        comment: the column where the comment begins that it is in, perhaps behind others.
        whole_file: whether it is about the whole file.
    """

    selectors: tuple[str, ...] | None
    exact: bool
    row: int
    start: int
    end: int
    comment: int
    whole_file: bool

    def covers(self, finding: Finding) -> bool:
        """Return whether it silences a finding at its place."""
        return self.selectors is None or any(self.means(selector, finding) for selector in self.selectors)

    def means(self, selector: str, finding: Finding) -> bool:
        """Return whether one of its selectors names a finding."""
        if self.exact or selector == finding.code:
            return selector.upper() == finding.code
        return selector in ("ALL", finding.name) or (selector.isupper() and finding.code.startswith(selector))


@dataclass(frozen=True, slots=True)
class Suppressions:
    """The marks of one file, in their order."""

    marks: Sequence[Mark] = ()
    _rows: Mapping[int, Sequence[Mark]] = field(default_factory=dict)
    _open_rows: Sequence[int] = ()

    def covers(self, finding: Finding) -> bool:
        """Return whether a mark silences a finding: one of the file, on its row, or on an end of its statement."""
        return any(True for _ in self.covering(finding))

    def covering(self, finding: Finding) -> Iterator[Mark]:
        """Yield the marks that silence a finding."""
        yield from (mark for mark in self.marks if mark.whole_file and mark.covers(finding))
        rows = {finding.start.row, *finding.rows}
        rows.update([self._open_row(row) for row in rows])
        for row in sorted(rows):
            yield from (mark for mark in self._rows.get(row, ()) if mark.covers(finding))

    def _open_row(self, row: int) -> int:
        """The first row from ``row`` on that can hold a comment: not inside a string, no backslash at its end."""
        place = bisect_left(self._open_rows, row)
        return self._open_rows[place] if place < len(self._open_rows) else row


@dataclass(frozen=True, slots=True)
class _Line:
    """A logical line: its tokens (comments above it included) and the rows of its code."""

    tokens: Sequence[tokenize.TokenInfo]

    @property
    def code(self) -> list[tokenize.TokenInfo]:
        return [token for token in self.tokens if token.type not in _TRIVIA]

    @property
    def rows(self) -> range:
        code = self.code
        return range(code[0].start[0], code[-1].end[0] + 1)


def suppressions(source: Source) -> Suppressions:
    """Return the marks in a file's comments; none when the text is broken."""
    lowered = source.text.lower()
    if "noqa" not in lowered and "torchlint:" not in lowered:
        return Suppressions()
    tokens = read_tokens(source.text)
    if tokens is None:
        return Suppressions()
    found: list[Mark] = []
    rows: dict[int, list[Mark]] = {}
    lines = list(_logical_lines(tokens))
    for index, line in enumerate(lines):
        for place, token in enumerate(line.tokens):
            if token.type != tokenize.COMMENT:
                continue
            alone = place == 0 or line.tokens[place - 1].end[0] < token.start[0]
            for mark in _marks_in(token, alone):
                found.append(mark)
                if mark.whole_file:
                    continue
                # A noqa is about its own row only.
                covered = _below(lines, index, place) if alone and not mark.exact else [mark.row]
                for row in covered:
                    rows.setdefault(row, []).append(mark)
    open_rows = sorted({token.start[0] for token in tokens if token.type in (tokenize.NEWLINE, tokenize.NL)})
    return Suppressions(found, rows, open_rows)


def silencing(source: Source) -> Callable[[Finding], bool]:
    """Return a function that tells whether the comments of a file silence a finding, as ``suppressions`` does.

    To read the comments takes all tokens of the file, so that waits for a finding that stands near one.
    """
    lowered = source.text.lower()
    if "noqa" not in lowered and "torchlint:" not in lowered:
        return lambda _: False
    rows = _NEWLINE.split(lowered) if "torchlint:" not in lowered else []
    read = cache(lambda: suppressions(source))
    return lambda finding: _is_near(finding, rows) and read().covers(finding)


def _is_near(finding: Finding, rows: Sequence[str]) -> bool:
    """Whether a noqa may silence a finding; without ``rows`` nothing can be said.

    It does on the rows of the finding's statement, and behind its last where this one ends in a string or a backslash.
    """
    over = rows[min(finding.start.row, finding.rows[0]) - 1 : max(finding.start.row, finding.rows[1])]
    return not over or any("noqa" in row for row in over) or any(end in over[-1] for end in _GOING_ON)


def marks(source: Source) -> dict[int, str]:
    """Return the rows of ``def`` that a ``# torchlint:`` comment in the header marks ``hot`` or ``cold``.

    The row is that of the ``def`` or ``async`` keyword, as ``ast`` gives it.
    """
    if "torchlint:" not in source.text.lower():
        return {}
    found = {}
    for line in _logical_lines(read_tokens(source.text) or ()):
        code = line.code
        if not code or not _is_def(code):
            continue
        for token in line.tokens:
            hotness = _HOTNESS.search(token.string) if token.type == tokenize.COMMENT else None
            if hotness and token.start[0] in line.rows:
                found[code[0].start[0]] = hotness[1].lower()
    return found


def _is_def(code: Sequence[tokenize.TokenInfo]) -> bool:
    words = [token.string for token in code[:2]]
    return words[0] == "def" or words == ["async", "def"]


def _logical_lines(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[_Line]:
    """The logical lines; what follows the last of them is a line without code."""
    line: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.ENDMARKER:
            break
        line.append(token)
        if token.type == tokenize.NEWLINE:
            yield _Line(line)
            line = []
    yield _Line(line)


def _marks_in(token: tokenize.TokenInfo, alone: bool) -> Iterator[Mark]:
    """The marks in one comment; ``alone``: no code stands on its row."""
    row, start = token.start
    first = True
    for part in re.split(r"(?<!^)(?=#)", token.string):
        end = start + len(part.rstrip())
        noqa = _NOQA.match(part)
        if noqa and (first or noqa["file"]):
            first = bool(noqa["file"]) and first
            codes = _noqa_codes(noqa["rest"])
            if (codes is None or codes) and (alone or not noqa["file"]):
                yield Mark(codes, True, row, start, end, token.start[1], bool(noqa["file"]))
        ignore = _IGNORE.match(part)
        if ignore:
            selectors = _ignore_selectors(ignore["rest"])
            if selectors is None or selectors:
                yield Mark(selectors, False, row, start, end, token.start[1], bool(ignore["file"]))
        start += len(part)


def _noqa_codes(rest: str) -> tuple[str, ...] | None:
    """The codes after ``noqa``; ``None``: it is bare, empty: it is neither bare nor a list."""
    if not rest.strip() or (rest[0].isspace() and not rest.lstrip().startswith(":")):
        return None
    rest = rest.lstrip()
    if not rest.startswith(":"):
        return ()
    codes = []
    place = 1
    while code := _CODE.match(rest, place) or _LOWERED.match(rest, place):
        codes.append(code[1])
        place = code.end()
    return tuple(codes)


def _ignore_selectors(rest: str) -> tuple[str, ...] | None:
    """The selectors in brackets; ``None``: there are no brackets, empty: they are broken or hold nothing."""
    listed = _LIST.match(rest)
    if listed:
        return tuple(listed[1].replace(",", " ").split())
    if not rest.strip() or (rest[0].isspace() and not rest.lstrip().startswith(("[", ":"))):
        return None
    return ()


def _below(lines: Sequence[_Line], index: int, place: int) -> Sequence[int]:
    """The rows that a mark on a row of its own covers: the logical line below, decorators with their function.

    Inside brackets it is the next row of code. A blank row ends the reach of a mark.
    """
    line = lines[index]
    rest = line.tokens[place + 1 :]
    following = next((token for token in rest if token.type not in _TRIVIA), None)
    if following is None or any(
        token.type == tokenize.NL and not token.line.strip() for token in _until(rest, following)
    ):
        return ()
    if following is not line.code[0]:
        return [following.start[0]]
    last = index
    while lines[last].code[0].string == "@" and lines[last + 1].code:
        last += 1
    return range(line.rows.start, lines[last].rows.stop)


def _until(tokens: Sequence[tokenize.TokenInfo], stop: tokenize.TokenInfo) -> Iterator[tokenize.TokenInfo]:
    for token in tokens:
        if token is stop:
            return
        yield token
