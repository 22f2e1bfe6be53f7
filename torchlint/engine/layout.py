"""Rows that a fix made too long, split at their brackets as the usual formatters do."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise

from torchlint.engine.snippets import Cut, cut_of, newline_of
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import FileFacts
from torchlint.late import dataclass
from torchlint.rule import Edit
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

USUAL = 88
_UNIT = "    "
_Break = tuple[int, int, str]
_OPENING = {"(": ")", "[": "]", "{": "}"}
_BEGINNING = " \t)]}"
_DEEPEST = 8
_UNBROKEN = frozenset("#\"'")
_WHOLE = frozenset({"for", "lambda", "yield"})  # commas beside them are no commas between elements


@dataclass(eq=False, slots=True)
class Layouts(Fact):
    """Lays out the rows of fixes, with a memory: findings that share a fix have the same edits."""

    _widths: dict[FileFacts, int] = field(default_factory=dict)
    _known: dict[tuple[FileFacts, int, tuple[Edit, ...]], list[Edit] | None] = field(default_factory=dict)

    def width_in(self, file: FileFacts, stated: int | None) -> int:
        """Return how long a row of a file may become: as the project states, else its longest row, at least 88.

        Rows with comments and texts do not count: formatters leave those as long as they are.
        """
        if stated:
            return stated
        if file not in self._widths:
            rows = (row for row in file.source.text.splitlines() if _UNBROKEN.isdisjoint(row))
            self._widths[file] = max([USUAL, *map(len, rows)])
        return self._widths[file]

    def fitted(
        self, file: FileFacts, edits: Sequence[Edit], width: int, statement: ast.AST | None = None
    ) -> list[Edit]:
        """Return the edits; rows that become longer than ``width`` are split where brackets allow it.

        A row that was as long before stays as it is, and so does one that would mean something else. A ``statement`` of
        which more than one row was replaced is put on one row where it fits there.
        """
        found: list[Edit] = []
        source, table = file.source, file.table
        for group in _groups(edits, table):
            span = _rows_of(source, table, group, statement)
            if span is not None:
                indent = getattr(statement, "col_offset", 0)
                breaks = _one_row(_text(_pieces(source, group, *span)), width - indent)
                made = _laid_out(file, group, span, breaks) if breaks else None
                if made is not None:
                    found.extend(made)
                    continue
            key = file, width, tuple(group)
            if key not in self._known:
                self._known[key] = _split(file, group, width)
            found.extend(self._known[key] or group)
        return sorted(found)


def _groups(edits: Sequence[Edit], table: LineTable) -> Iterator[list[Edit]]:
    """Edits that touch the same rows, together."""
    group: list[Edit] = []
    for edit in sorted(edits):
        if group and table.position(edit.start).row > table.position(group[-1].end).row:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _rows_of(
    source: Source, table: LineTable, group: Sequence[Edit], statement: ast.AST | None
) -> tuple[int, int] | None:
    """The bytes of a simple statement of which edits replace more than one row, ``None`` where they do not."""
    if not isinstance(statement, ast.stmt) or hasattr(statement, "body") or hasattr(statement, "cases"):
        return None
    begin = table.offset(statement.lineno, statement.col_offset)
    end = table.offset(statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    inside = all(begin <= edit.start and edit.end <= end for edit in group)
    rows = any("\n" in edit.text or b"\n" in source.utf8[edit.start : edit.end] for edit in group)
    return (begin, end) if inside and rows and statement.end_lineno != statement.lineno else None


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of the new text: from the source (``edit`` is -1; ``at``: its offset there), or of an edit."""

    text: str
    edit: int
    at: int


def _pieces(source: Source, group: Sequence[Edit], begin: int, end: int) -> list[_Stretch]:
    """The text between two offsets after some edits."""
    pieces, done = [], begin
    for index, edit in enumerate(group):
        pieces += [_Stretch(source.utf8[done : edit.start].decode("utf-8"), -1, done), _Stretch(edit.text, index, 0)]
        done = edit.end
    return [*pieces, _Stretch(source.utf8[done:end].decode("utf-8"), -1, done)]


def _text(pieces: Iterable[_Stretch]) -> str:
    return "".join(piece.text for piece in pieces)


def _split(file: FileFacts, group: Sequence[Edit], width: int) -> list[Edit] | None:
    """The edits of a group with the breaks that its rows need, ``None`` where none is needed or possible."""
    source, table, utf8 = file.source, file.table, file.source.utf8
    first, last = table.position(group[0].start).row, table.position(max(edit.end for edit in group)).row
    span = table.offset(first, 0), table.offset(last + 1, 0) if last < table.rows else len(utf8)
    longest = max([width, *(len(row) for row in utf8[slice(*span)].decode("utf-8").splitlines())])
    breaks: list[_Break] = []
    at = 0
    for row in _text(_pieces(source, group, *span)).splitlines(keepends=True):
        bare = row.rstrip("\r\n")
        if len(bare) > longest:
            breaks += _moved(_breaks(bare, width, _DEEPEST) or (), at)
        at += len(row)
    return _laid_out(file, group, span, breaks) if breaks else None


def _laid_out(
    file: FileFacts, group: Sequence[Edit], span: tuple[int, int], breaks: Sequence[_Break]
) -> list[Edit] | None:
    """The edits with breaks put in: into their texts, or as edits of their own where the source stays.

    ``None`` where the program would not be the same.
    """
    if any(one.end > other.start for one, other in pairwise(group)):
        return None
    pieces = _pieces(file.source, group, *span)
    texts = [edit.text for edit in group]
    own: list[Edit] = []
    for start, stop, new in sorted(breaks, reverse=True):
        place = _place(pieces, start, stop)
        if place is None:
            return None
        piece, low = place
        if piece.edit >= 0:
            old = texts[piece.edit]
            texts[piece.edit] = f"{old[:low]}{new}{old[low + stop - start :]}"
        else:
            at = piece.at + len(piece.text[:low].encode("utf-8"))
            own.append(Edit(at, at + len(piece.text[low : low + stop - start].encode("utf-8")), new))
    made = sorted([*own, *(Edit(edit.start, edit.end, text) for edit, text in zip(group, texts, strict=True))])
    return made if _same(file, group, made) else None


def _place(pieces: Sequence[_Stretch], start: int, stop: int) -> tuple[_Stretch, int] | None:
    """The piece that holds a stretch of the text, one of an edit first, and where in it the stretch begins."""
    found: tuple[_Stretch, int] | None = None
    at = 0
    for piece in pieces:
        inside = at <= start and stop <= at + len(piece.text)
        if inside and (piece.edit >= 0 or (found is None and piece.text)):
            found = piece, start - at
        at += len(piece.text)
    return found


def _same(file: FileFacts, before: Sequence[Edit], after: Sequence[Edit]) -> bool:
    """Whether the breaks leave the program, or the statement around them, as it is without them."""
    both = (*before, *after)
    cut = _cut_around(file, min(edit.start for edit in both), max(edit.end for edit in both))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one, other = (ast.parse(_program(file.source, cut, edits)) for edits in (before, after))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return alike(one, other)


def _program(source: Source, cut: Cut | None, edits: Sequence[Edit]) -> bytes:
    """The file after some edits, or the statement that holds them all."""
    if cut is None:
        return apply_edits(source, list(edits)).utf8
    text = _text(_pieces(source, edits, cut.start, cut.end))
    return cut.program(text.encode("utf-8"), newline_of(source.utf8).encode())


def _cut_around(file: FileFacts, begin: int, end: int) -> Cut | None:
    """The innermost statement, whole, that holds a stretch of bytes; ``None`` where there is none."""
    block: Iterable[ast.AST] = file.tree.body
    found: Cut | None = None
    while True:
        inner = next((cut for cut in _cuts(file, block) if cut[1].start <= begin and end <= cut[1].end), None)
        if inner is None:
            return found
        block, found = ast.iter_child_nodes(inner[0]), inner[1]


def _cuts(file: FileFacts, nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.stmt, Cut]]:
    """The statements among nodes and below clauses, each cut out whole."""
    for node in nodes:
        if isinstance(node, (ast.ExceptHandler, ast.match_case)):
            yield from _cuts(file, node.body)
        elif isinstance(node, ast.stmt):
            end = file.table.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
            yield node, replace(cut_of(file.source, file.table, node), end=end, tail=b"")


def _one_row(text: str, width: int) -> list[_Break] | None:
    """The breaks that put a statement on one row, without parentheses around all of what it assigns or returns.

    ``None`` where it does not fit there, has a comment, a string over several rows, or a last comma that keeps rows.
    """
    if "#" in text or "\\\n" in text:
        return None
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    rows = [0]
    for row in text.splitlines(keepends=True):
        rows.append(rows[-1] + len(row))
    breaks: list[_Break] = []
    for before, here, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if here.type == tokenize.NL:
            if before.string == "," and after.string in _OPENING.values():
                return None
            tight = before.string in _OPENING or after.string in (*_OPENING.values(), ".")
            start, stop = (rows[row - 1] + column for row, column in (before.end, after.start))
            breaks.append((start, stop, "" if tight else " "))
        elif before.start[0] != before.end[0]:
            return None
    around = _parentheses(tokens, rows)
    length = len(text) + sum(len(new) - (stop - start) for start, stop, new in breaks) - len(around)
    breaks = _without(breaks, around)
    return breaks if length <= width else None


def _parentheses(tokens: Sequence[tokenize.TokenInfo], rows: Sequence[int]) -> list[int]:
    """The places of parentheses around all that a statement assigns or returns, over several rows."""
    code = [token for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)]
    starts = [index for index, token in enumerate(code) if token.string in ("=", "return")]
    first = starts[0] + 1 if starts else len(code)
    if first >= len(code) or code[first].string != "(" or code[-1].string != ")":
        return []
    depth = 0
    for token in code[first:-1]:
        depth += (token.string in _OPENING) - (token.string in _OPENING.values())
        if depth == 0 or (depth == 1 and token.string == ","):
            return []
    return [rows[token.start[0] - 1] + token.start[1] for token in (code[first], code[-1])]


def _without(breaks: Sequence[_Break], places: Sequence[int]) -> list[_Break]:
    """The breaks that also take out the characters at some places."""
    return [*breaks, *((place, place + 1, "") for place in places)]


# one row -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Brackets:
    """A pair of brackets in a row: where they stand, the commas between them, and whether a clause stands there."""

    start: int
    end: int
    commas: tuple[int, ...]
    whole: bool


def _breaks(row: str, width: int, depth: int) -> list[_Break] | None:
    """Where to break a row, as stretches and what takes their place; ``None`` where it does not come to fit."""
    indent = row[: len(row) - len(row.lstrip(" \t"))]
    inner = indent + ("\t" if indent.startswith("\t") else _UNIT)
    for pair in reversed(_outer_pairs(row)) if depth else ():
        head, body, tail = row[: pair.start + 1], row[pair.start + 1 : pair.end], row[pair.end :]
        if not body.strip() or len(head) > width or len(indent) + len(tail) > width:
            continue
        breaks = _of_body(body, pair, inner, width, depth)
        if breaks is not None:
            one_each = bool(pair.commas) and not pair.whole and len(breaks) > 1
            comma = "," if one_each and not body.rstrip().endswith(",") else ""
            end = pair.end - len(body) + len(body.rstrip())
            return [*_moved(breaks, pair.start + 1), (end, pair.end, f"{comma}\n{indent}")]
    return None


def _of_body(body: str, pair: _Brackets, inner: str, width: int, depth: int) -> list[_Break] | None:
    """The breaks of what is in brackets: on a row of its own, else each element on one, with a last comma."""
    magic = body.rstrip().endswith(",")
    lead = len(body) - len(body.lstrip())
    if len(inner) + len(body.strip()) <= width and not magic:
        return [(0, lead, f"\n{inner}")]
    commas = [comma - pair.start - 1 for comma in pair.commas]
    if pair.whole or not commas:
        found = _breaks(inner + body.strip(), width, depth - 1) if len(inner) + len(body.strip()) > width else []
        return None if found is None else [(0, lead, f"\n{inner}"), *_moved(found, lead - len(inner))]
    breaks: list[_Break] = []
    start = 0
    for comma in [*commas, len(body)]:
        part = body[start:comma]
        if not part.strip():
            break
        blanks = len(part) - len(part.lstrip())
        breaks.append((start, start + blanks, f"\n{inner}"))
        line = f"{inner}{part.strip()},"
        if len(line) > width:
            found = _breaks(line, width, depth - 1)
            if found is None:
                return None
            breaks += _moved(found, start + blanks - len(inner))
        start = comma + 1
    return breaks


def _moved(breaks: Sequence[_Break], by: int) -> list[_Break]:
    return [(start + by, stop + by, text) for start, stop, text in breaks]


def _outer_pairs(row: str) -> list[_Brackets]:
    """The outermost pairs of brackets of a row that has both of each; none where it cannot be read or has a comment.

    Brackets that close at its beginning what a row above has opened do not count.
    """
    lead = len(row) - len(row.lstrip(_BEGINNING))
    found: list[_Brackets] = []
    stack: list[tuple[str, int]] = []
    commas: list[int] = []
    whole = False
    try:
        for token in tokenize.generate_tokens(io.StringIO(row[lead:]).readline):
            at = lead + token.start[1]
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.start[0] != token.end[0]):
                return []
            if token.type == tokenize.OP and token.string in _OPENING:
                if not stack:
                    commas, whole = [], False
                stack.append((_OPENING[token.string], at))
            elif token.type == tokenize.OP and token.string in _OPENING.values():
                closing, start = stack.pop() if stack else ("", 0)
                if closing != token.string:
                    return []
                if not stack:
                    found.append(_Brackets(start, at, tuple(commas), whole))
            elif len(stack) == 1 and token.string == ",":
                commas.append(at)
            elif len(stack) == 1 and token.string in _WHOLE:
                whole = True
    except (tokenize.TokenError, SyntaxError):
        return []
    return [] if stack else found
