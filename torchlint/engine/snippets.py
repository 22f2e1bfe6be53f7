"""Turns the statements of a file that matter into LibCST nodes without parsing the file.

LibCST parses fifty times as slowly as ``ast``, so only the statements that a rule wants to see are cut out, joined into
one text, and parsed at once. Of a compound statement that is its header with ``pass`` for a body.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from torchlint.late import dataclass
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

_MOST_ROWS = 500
_MOST_BYTES = 20_000
_MOST_DEPTH = 200
_BODIES = ("body", "orelse")
_FAILURES = (cst.ParserSyntaxError, RecursionError, MemoryError, ValueError, LookupError)

COMPOUND = (
    ast.If,
    ast.While,
    ast.For,
    ast.AsyncFor,
    ast.With,
    ast.AsyncWith,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """One statement as LibCST: small, or compound with a mere ``pass`` for its body if ``header_only``."""

    statement: ast.stmt
    node: cst.BaseSmallStatement | cst.BaseCompoundStatement
    header_only: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """One statement, cut out of its file: the bytes from ``start`` to ``end``.

    ``indent`` goes before them. Of a compound statement they are the header (of an ``elif`` from its ``if`` on), and
    ``tail`` goes after them to make it a statement.
    """

    start: int
    end: int
    indent: bytes
    tail: bytes

    @property
    def header_only(self) -> bool:
        """Whether the body was left out."""
        return bool(self.tail)

    def program(self, text: bytes, newline: bytes) -> bytes:
        """Return a program of one top-level statement with ``text`` in it, the file's own bytes or their replacement.

        Rows keep their indentation, which strings and continuation lines need: below an ``if 1:`` if there is any.
        """
        before = b"if 1:" + newline if self.indent else b""
        return before + self.indent + text + self.tail + newline


def parse_statements(source: Source, table: LineTable, statements: Sequence[ast.stmt]) -> list[Snippet | None]:
    """Parse statements of a file with LibCST, in one go.

    The result has an entry for each statement: ``None`` where it is too large or too deep for LibCST (500 rows, 20 kB,
    200 levels), or LibCST does not understand it. Of ``try`` and ``match`` statements the bodies are parsed too.
    """
    cuts = [_small_enough(source, statement, cut_of(source, table, statement)) for statement in statements]
    wanted = [cut for cut in cuts if cut is not None]
    nodes = _parse(source, wanted)
    if nodes is None:
        nodes = [node for cut in wanted for node in _parse(source, [cut]) or [None]]
    found = iter(nodes)
    snippets: list[Snippet | None] = []
    for statement, cut in zip(statements, cuts, strict=True):
        node = None if cut is None else next(found)
        snippets.append(None if cut is None or node is None else Snippet(statement, node, cut.header_only))
    return snippets


def cut_of(source: Source, table: LineTable, statement: ast.stmt) -> Cut:
    """Cut a statement out of its file.

    Raises:
        ValueError: the statement has no position, or not one in this file.
    """
    start = start_of(source, table, statement)
    indent = _indent(source, table, start)
    if not isinstance(statement, COMPOUND):
        return Cut(start, _offset(table, statement.end_lineno, statement.end_col_offset), indent, b"")
    if isinstance(statement, ast.If) and source.utf8.startswith(b"elif", start):
        start += len(b"el")
    body = start_of(source, table, statement.body[0])
    row_start = table.offset(table.row(body), 0)
    if source.utf8[row_start:body].strip():
        return Cut(start, body, indent, b"pass")
    return Cut(start, row_start, indent, _indent(source, table, body) + b"pass")


def start_of(source: Source, table: LineTable, statement: ast.stmt) -> int:
    """Return the byte offset where a statement starts, with its decorators."""
    start = _offset(table, statement.lineno, statement.col_offset)
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or not statement.decorator_list:
        return start
    row = statement.decorator_list[0].lineno
    while row > 1 and not _line(source, table, row).lstrip(b" \t\f").startswith(b"@"):
        row -= 1
    return source.utf8.index(b"@", table.offset(row, 0))


def newline_of(utf8: bytes) -> str:
    """Return the first newline of a text, which LibCST takes for its default."""
    found = min((utf8.find(end) for end in (b"\r", b"\n") if end in utf8), default=-1)
    if found < 0:
        return "\n"
    return "\r\n" if utf8.startswith(b"\r\n", found) else chr(utf8[found])


def _small_enough(source: Source, statement: ast.stmt, cut: Cut) -> Cut | None:
    text = source.utf8[cut.start : cut.end]
    if len(text) <= _MOST_DEPTH:
        return cut
    if len(text) > _MOST_BYTES or text.count(b"\n") + text.count(b"\r") >= _MOST_ROWS:
        return None
    return None if _too_deep(statement, cut.header_only) else cut


def _too_deep(statement: ast.stmt, header_only: bool) -> bool:
    """Whether LibCST's tree would be too deep for its recursive methods; a chain of ``and`` is deep there."""
    stack: list[tuple[ast.AST, int]] = [(statement, 0)]
    push = stack.append
    while stack:
        node, depth = stack.pop()
        if isinstance(node, ast.BoolOp):
            depth += len(node.values)
        if depth > _MOST_DEPTH:
            return True
        for name in node._fields:
            if node is statement and header_only and name in _BODIES:
                continue
            value = getattr(node, name)
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.AST):
                    push((part, depth + 1))
    return False


def _parse(
    source: Source, cuts: Sequence[Cut]
) -> list[cst.BaseSmallStatement | cst.BaseCompoundStatement | None] | None:
    """One node for each cut, or ``None`` if the text made of all of them does not parse."""
    if not cuts:
        return []
    newline = newline_of(source.utf8).encode()
    programs = [cut.program(source.utf8[cut.start : cut.end], newline) for cut in cuts]
    try:
        body = cst.parse_module((newline + b"".join(programs)).decode("utf-8")).body
    except _FAILURES:
        return None
    if len(body) != len(cuts):
        return None
    return [_unwrapped(node, bool(cut.indent)) for node, cut in zip(body, cuts, strict=True)]


def _unwrapped(node: cst.CSTNode, nested: bool) -> cst.BaseSmallStatement | cst.BaseCompoundStatement | None:
    """The statement itself: without the ``if 1:`` around it and without its line."""
    inner = node
    if nested:
        if not isinstance(node, cst.If) or len(node.body.body) != 1:
            return None
        inner = node.body.body[0]
    if isinstance(inner, cst.SimpleStatementLine):
        return inner.body[0] if len(inner.body) == 1 else None
    return inner if isinstance(inner, cst.BaseCompoundStatement) else None


def _indent(source: Source, table: LineTable, start: int) -> bytes:
    """The indentation of a row. A form feed starts the count of columns again."""
    before = source.utf8[table.offset(table.row(start), 0) : start]
    blank = before[: len(before) - len(before.lstrip(b" \t\f"))]
    return blank.rpartition(b"\f")[2]


def _line(source: Source, table: LineTable, row: int) -> bytes:
    start = table.offset(row, 0)
    return source.utf8[start : table.offset(row + 1, 0)] if row < table.rows else source.utf8[start:]


def _offset(table: LineTable, row: int | None, column: int | None) -> int:
    if row is None or column is None:
        raise ValueError("a node without a position")
    return table.offset(row, column)
