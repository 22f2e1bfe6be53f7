"""Where a LibCST node stands in its file, and the text edit that puts another in its place."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator

import libcst as cst

from torchlint.engine.pair import Pairs
from torchlint.engine.snippets import COMPOUND, Cut, cut_of, newline_of
from torchlint.rule import Edit
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

_FSTRING_POSITIONS = sys.version_info >= (3, 12)
_UNSAFE_IN_FSTRING = frozenset("'\"\\\r\n#{}")
_FIELDS: tuple[type[cst.CSTNode], ...] = tuple(
    getattr(cst, name) for name in ("FormattedStringExpression", "TemplatedStringExpression") if hasattr(cst, name)
)
_TREE_FAILURES = (SyntaxError, RecursionError, MemoryError, ValueError)


def span_of(node: ast.AST, table: LineTable) -> tuple[int, int]:
    """First byte and the byte after the last of an ``ast`` node, without parentheses around it.

    Raises:
        ValueError: nodes of this type have no position (``comprehension``, ``arguments``, ``withitem``, ...).
    """
    row, end_row = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    column, end_column = getattr(node, "col_offset", None), getattr(node, "end_col_offset", None)
    if row is None or column is None or end_row is None or end_column is None:
        raise ValueError(f"{type(node).__name__} has no position")
    return table.offset(row, column), table.offset(end_row, end_column)


def span(node: cst.CSTNode, pairs: Pairs, source: Source, table: LineTable) -> tuple[int, int]:
    """The bytes that a finding about a node points at.

    Of a compound statement these are its header up to the colon, decorators left out. A node without a position of its
    own answers for the node that holds it. Before Python 3.12 positions inside f-strings are wrong, and a node there
    answers for the whole string.

    Raises:
        TypeError: the node is of another tree.
    """
    current = node if _FSTRING_POSITIONS else enclosing_fstring(node, pairs) or node
    while True:
        twin = pairs.ast_of(current)
        if isinstance(twin, COMPOUND):
            return _header_span(twin, source, table)
        if twin is not None and hasattr(twin, "lineno"):
            return span_of(twin, table)
        holder = pairs.parent(current) or pairs.statement(current)
        if holder is current:
            raise TypeError(f"{type(node).__name__} has no place in a file")
        current = holder


def enclosing_fstring(node: cst.CSTNode, pairs: Pairs) -> cst.CSTNode | None:
    """The outermost f-string that a node stands in as a part of an expression, ``None`` if there is none."""
    found: cst.CSTNode | None = None
    for field in _enclosing_fields(node, pairs):
        string = pairs.parent(field)
        while string is not None and pairs.ast_of(string) is None:
            string = pairs.parent(string)
        found = string or found
    return found


def edit_for(old: cst.CSTNode, new: cst.CSTNode | str, pairs: Pairs, source: Source, table: LineTable) -> Edit | None:
    """The edit that replaces a node by another or by source text, touching nothing outside of the old one.

    Parentheses around the old node stay. Parentheses are added where the new text would otherwise mean something else
    in its place, and those around the new node are left out where they are not needed. ``old`` may be an expression,
    an argument, the name after a dot, or a small statement.

    ``None`` where no edit can be offered: inside f-strings before Python 3.12 and where the new text would not be
    valid there in older versions, in ``f'{x=}'``, for nodes that have no place of their own, and where neither form
    of the new text gives a statement that parses.

    Raises:
        TypeError: ``old`` is of another tree.
    """
    statement = pairs.ast_of(pairs.statement(old))
    if not isinstance(statement, ast.stmt):
        raise TypeError(f"{type(old).__name__} stands in no statement")
    old, new = _unwrapped(old), _unwrapped(new) if isinstance(new, cst.CSTNode) else new
    if not _editable(old, pairs):
        return None
    try:
        place = _place(old, pairs, source, table)
        forms = (new, f"({new})") if isinstance(new, str) else _forms(new, source)
    except RecursionError:
        return None
    if place is None:
        return None
    start, end = place
    text = _fitting(forms, start, end, source, cut_of(source, table, statement))
    if text is None or (_UNSAFE_IN_FSTRING.intersection(text) and enclosing_fstring(old, pairs)):
        return None
    return Edit(start, end, text)


def comments_in(text: str) -> list[str]:
    """The comments in a piece of source, which may be any part of a statement, in order.

    In text that is no sequence of tokens everything after a ``#`` counts as a comment.
    """
    if "#" not in text:
        return []
    try:
        return [token.string for token in _tokens(text) if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return [line[line.index("#") :] for line in text.splitlines() if "#" in line]


def loses_comment(source: Source, edit: Edit) -> bool:
    """Whether an edit takes away a comment that its new text does not carry."""
    before = comments_in(source.utf8[edit.start : edit.end].decode("utf-8"))
    return bool(before) and bool(Counter(before) - Counter(comments_in(edit.text)))


def _enclosing_fields(node: cst.CSTNode, pairs: Pairs) -> Iterator[cst.CSTNode]:
    current: cst.CSTNode | None = node
    while current is not None:
        if isinstance(current, _FIELDS):
            yield current
        current = pairs.parent(current)


def _editable(node: cst.CSTNode, pairs: Pairs) -> bool:
    """Whether the node's position can be trusted and its source text is not itself part of a string's value."""
    fields = list(_enclosing_fields(node, pairs))
    if not fields:
        return True
    return _FSTRING_POSITIONS and not any(getattr(field, "equal", None) for field in fields)


def _unwrapped(node: cst.CSTNode) -> cst.CSTNode:
    """A plain argument is its value; a keyword argument goes without the comma after it."""
    if not isinstance(node, cst.Arg):
        return node
    return node.value if node.keyword is None and not node.star else node


def _place(node: cst.CSTNode, pairs: Pairs, source: Source, table: LineTable) -> tuple[int, int] | None:
    """The bytes of a node inside its parentheses, ``None`` if unknown or not what LibCST takes them for."""
    place = _range(node, pairs, source, table)
    if place is None:
        return None
    start, end = place
    return place if source.utf8[start:end] == _core(node, source).encode("utf-8") else None


def _range(node: cst.CSTNode, pairs: Pairs, source: Source, table: LineTable) -> tuple[int, int] | None:
    if isinstance(node, cst.BooleanOperation):
        left, right = _outer(node.left, pairs, source, table), _outer(node.right, pairs, source, table)
        return None if left is None or right is None else (left[0], right[1])
    twin = pairs.ast_of(node)
    if twin is None:
        return _after_dot(node, pairs, table)
    if isinstance(twin, COMPOUND) or not hasattr(twin, "lineno"):
        return None
    start, end = span_of(twin, table)
    if isinstance(node, cst.GeneratorExp) and not node.lpar:
        return _in_call(node, start, pairs, source)
    return start, end


def _in_call(node: cst.GeneratorExp, opening: int, pairs: Pairs, source: Source) -> tuple[int, int] | None:
    """The bytes of a call's only argument, to which ``ast`` counts the parentheses of the call."""
    call = pairs.parent(node)
    if not isinstance(call, cst.Call):
        return None
    start = opening + 1 + len(_code(call.whitespace_before_args, source).encode("utf-8"))
    return start, start + len(_core(node, source).encode("utf-8"))


def _outer(node: cst.BaseExpression, pairs: Pairs, source: Source, table: LineTable) -> tuple[int, int] | None:
    """The bytes of an expression with all parentheses around it."""
    place = _range(node, pairs, source, table)
    if place is None:
        return None
    before, _, after = _split(node, source)
    return place[0] - len(before.encode("utf-8")), place[1] + len(after.encode("utf-8"))


def _after_dot(node: cst.CSTNode, pairs: Pairs, table: LineTable) -> tuple[int, int] | None:
    holder = pairs.parent(node)
    if not isinstance(holder, cst.Attribute) or holder.attr is not node:
        return None
    twin = pairs.ast_of(holder)
    if twin is None:
        return None
    end = span_of(twin, table)[1]
    return end - len(holder.attr.value.encode("utf-8")), end


def _split(node: cst.CSTNode, source: Source) -> tuple[str, str, str]:
    """A node's code as its opening parentheses, itself, and its closing ones.

    The parentheses of a tuple or generator are part of itself, as for ``ast``.
    """
    if isinstance(node, cst.Arg):
        node = node.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))
    if isinstance(node, cst.BaseSmallStatement):
        node = node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    code = _code(node, source)
    if not isinstance(node, cst.BaseExpression) or not node.lpar:
        return "", code, ""
    own = 1 if isinstance(node, (cst.Tuple, cst.GeneratorExp)) else 0
    before = "".join(_code(part, source) for part in node.lpar[: len(node.lpar) - own])
    after = "".join(_code(part, source) for part in node.rpar[own:])
    return before, code[len(before) : len(code) - len(after)], after


def _core(node: cst.CSTNode, source: Source) -> str:
    return _split(node, source)[1]


def _code(node: cst.CSTNode, source: Source) -> str:
    return cst.Module(body=(), default_newline=newline_of(source.utf8)).code_for_node(node)


def _forms(new: cst.CSTNode, source: Source) -> tuple[str, str]:
    """The new node without and with parentheses; comments in its parentheses are kept."""
    before, core, after = _split(new, source)
    if "#" in before + after:
        return before + core + after, before + core + after
    return core, before + core + after if before else f"({core})"


def _fitting(forms: tuple[str, str], start: int, end: int, source: Source, cut: Cut) -> str | None:
    """The form to take: the bare one if it means the same as the parenthesised one in this place."""
    bare, safe = forms
    newline = newline_of(source.utf8).encode()
    head, tail = source.utf8[cut.start : start], source.utf8[end : cut.end]
    bare_tree, safe_tree = (_dump(cut.program(head + form.encode("utf-8") + tail, newline)) for form in (bare, safe))
    if safe_tree is None:
        return None if bare_tree is None else bare
    return bare if bare_tree == safe_tree else safe


def _dump(program: bytes) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(program.decode("utf-8")))
    except _TREE_FAILURES:
        return None


def _header_span(statement: ast.stmt, source: Source, table: LineTable) -> tuple[int, int]:
    """From the keyword to the colon."""
    start = span_of(statement, table)[0]
    text = source.utf8[start : cut_of(source, table, statement).end].decode("utf-8")
    try:
        colons = [token.end for token in _tokens(text) if token.string == ":" and token.type == tokenize.OP]
    except (tokenize.TokenError, SyntaxError):
        return start, start + len(text.rstrip().encode("utf-8"))
    row, column = colons[-1]
    rows = LineTable(text.encode("utf-8"))
    last = rows.line(row)[: column - (row == 1)]
    return start, start + rows.offset(row, 0) + len(last.encode("utf-8"))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a part of a statement, in parentheses so that its newlines and indentation do not matter."""
    rows = text.replace("\r\n", "\n").replace("\r", "\n")
    return tokenize.generate_tokens(io.StringIO(f"({rows}\n)").readline)
