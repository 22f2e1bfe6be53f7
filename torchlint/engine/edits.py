"""Where a LibCST node is in its file, and the text edit that puts another in its place."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.engine.pair import Pairs
from torchlint.engine.snippets import COMPOUND, cut_of, newline_of
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Edit
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

_FSTRING_POSITIONS = sys.version_info >= (3, 12)
_DEFAULT_INDENT = " " * 4
_UNSAFE_IN_FSTRING = frozenset("'\"\\\r\n#{}")
_FIELDS: tuple[type[cst.CSTNode], ...] = tuple(
    getattr(cst, name) for name in ("FormattedStringExpression", "TemplatedStringExpression") if hasattr(cst, name)
)
_TREE_FAILURES = (SyntaxError, RecursionError, MemoryError, ValueError)


def span_of(node: ast.AST, table: LineTable) -> tuple[int, int]:
    """Return the first byte of an ``ast`` node and the byte after its last, without parentheses around it.

    Raises:
        ValueError: nodes of this type have no position (``comprehension``, ``arguments``, ``withitem``, ...).
    """
    row, end_row = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    column, end_column = getattr(node, "col_offset", None), getattr(node, "end_col_offset", None)
    if row is None or column is None or end_row is None or end_column is None:
        raise ValueError(f"{type(node).__name__} has no position")
    return table.offset(row, column), table.offset(end_row, end_column)


def span(node: cst.CSTNode, pairs: Pairs, source: Source, table: LineTable) -> tuple[int, int]:
    """Return the bytes that a finding about a node points at.

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
    """Return the outermost f-string that a node is in as a part of an expression, ``None`` if there is none."""
    found: cst.CSTNode | None = None
    for field in _enclosing_fields(node, pairs):
        string = pairs.parent(field)
        while string is not None and pairs.ast_of(string) is None:
            string = pairs.parent(string)
        found = string or found
    return found


def edit_for(old: cst.CSTNode, new: cst.CSTNode | str, pairs: Pairs, source: Source, table: LineTable) -> Edit | None:
    """Return the edit that replaces a node by another or by source text, touching nothing outside of the old one.

    Parentheses around the old node stay. Parentheses are added where the new text would otherwise mean something else
    in its place, and those around the new node are left out where they are not needed. ``old`` may be an expression,
    an argument, the name after a dot, or a small statement.

    ``None`` where no edit can be offered: inside f-strings before Python 3.12 and where the new text would not be
    valid there in older versions, in ``f'{x=}'``, for nodes that have no place of their own, and where neither form
    of the new text gives a statement that parses.

    Raises:
        TypeError: ``old`` is of another tree.
    """
    editor = _Editor(pairs, source, table, old)
    old, new = _unwrapped(old), _unwrapped(new) if isinstance(new, cst.CSTNode) else new
    if not _editable(old, pairs):
        return None
    try:
        place = editor.place(old)
        forms = (new, f"({new})") if isinstance(new, str) else editor.forms(new, old)
    except RecursionError:
        return None
    text = None if place is None else editor.fitting(forms, *place)
    if place is None or text is None or (_UNSAFE_IN_FSTRING.intersection(text) and enclosing_fstring(old, pairs)):
        return None
    return Edit(*place, text)


def edit_elsewhere(old: ast.expr | ast.stmt, new: str, facts: FileFacts, table: LineTable) -> Edit | None:
    """Return the edit that replaces any small statement, or any expression by the text of one that binds like a name.

    ``None`` in f-strings before Python 3.12, and in ``f'{x=}'``.
    """
    start, end = span_of(old, table)
    if any(isinstance(node, ast.JoinedStr) for node in facts.ancestors(old)):
        behind = facts.source.utf8[end:].lstrip()
        shown = behind.startswith(b"=") and not behind.startswith(b"==")
        if not _FSTRING_POSITIONS or shown or _UNSAFE_IN_FSTRING.intersection(new):
            return None
    return Edit(start, end, new)


def comments_in(text: str) -> list[str]:
    """Return the comments in a piece of source, which may be any part of a statement, in order.

    In text that is not a sequence of tokens everything after a ``#`` counts as a comment.
    """
    if "#" not in text:
        return []
    try:
        return [token.string for token in _tokens(text) if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return [line[line.index("#") :] for line in text.splitlines() if "#" in line]


def loses_comment(source: Source, edit: Edit) -> bool:
    """Return whether an edit removes a comment that its new text does not contain."""
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


class _Editor:
    """What is needed to know where the nodes of one statement stand and how they read there."""

    def __init__(self, pairs: Pairs, source: Source, table: LineTable, node: cst.CSTNode) -> None:
        statement = pairs.ast_of(pairs.statement(node))
        if not isinstance(statement, ast.stmt):
            raise TypeError(f"{type(node).__name__} is in no statement")
        self._pairs = pairs
        self._source = source
        self._table = table
        self._cut = cut_of(source, table, statement)
        self._newline = newline_of(source.utf8)

    def place(self, node: cst.CSTNode) -> tuple[int, int] | None:
        """Return the bytes of a node inside its parentheses, ``None`` if unknown or not what LibCST takes them for."""
        place = self._range(node)
        if place is None or self._source.utf8[slice(*place)] != self._split(node)[1].encode("utf-8"):
            return None
        return place

    def forms(self, new: cst.CSTNode, old: cst.CSTNode) -> tuple[str, str]:
        """Return a new node without and with parentheses; comments in its parentheses are kept.

        A new node made from the old one may carry the old one's parentheses, which stay anyway.
        """
        before, core, after = self._split(new)
        whole = before + core + after
        if "#" in before + after and (before, after) != self._split(old)[::2]:
            return whole, whole
        return core, whole if before else f"({core})"

    def fitting(self, forms: tuple[str, str], start: int, end: int) -> str | None:
        """Return the first form that means the same in this place as the expression in two pairs of parentheses.

        One pair is not enough to be sure: in ``with (a, b):`` it belongs to the statement.
        """
        bare = forms[0]
        surest = f"(({bare}))"
        meant = self._tree(surest, start, end)
        if meant is None:
            return None if self._tree(bare, start, end) is None else bare
        return next((form for form in forms if self._tree(form, start, end) == meant), surest)

    def _tree(self, text: str, start: int, end: int) -> str | None:
        """The statement with ``text`` in place of some bytes, parsed; ``None`` if it does not parse."""
        utf8, cut = self._source.utf8, self._cut
        statement = utf8[cut.start : start] + text.encode("utf-8") + utf8[end : cut.end]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.dump(ast.parse(cut.program(statement, self._newline.encode())))
        except _TREE_FAILURES:
            return None

    def _range(self, node: cst.CSTNode) -> tuple[int, int] | None:
        if isinstance(node, cst.BooleanOperation):
            left, right = self._outer(node.left), self._outer(node.right)
            return None if left is None or right is None else (left[0], right[1])
        twin = self._pairs.ast_of(node)
        if twin is None:
            return self._after_dot(node)
        if isinstance(twin, COMPOUND) or not hasattr(twin, "lineno"):
            return None
        start, end = span_of(twin, self._table)
        if isinstance(node, cst.GeneratorExp) and not node.lpar:
            return self._in_call(node, start)
        return start, end

    def _outer(self, node: cst.BaseExpression) -> tuple[int, int] | None:
        """The bytes of an expression with all parentheses around it."""
        place = self._range(node)
        if place is None:
            return None
        before, _, after = self._split(node)
        return place[0] - len(before.encode("utf-8")), place[1] + len(after.encode("utf-8"))

    def _in_call(self, node: cst.GeneratorExp, opening: int) -> tuple[int, int] | None:
        """The bytes of a call's only argument, to which ``ast`` counts the parentheses of the call."""
        call = self._pairs.parent(node)
        if not isinstance(call, cst.Call):
            return None
        start = opening + 1 + len(self._code(call.whitespace_before_args).encode("utf-8"))
        return start, start + len(self._code(node).encode("utf-8"))

    def _after_dot(self, node: cst.CSTNode) -> tuple[int, int] | None:
        holder = self._pairs.parent(node)
        if not isinstance(holder, cst.Attribute) or holder.attr is not node:
            return None
        twin = self._pairs.ast_of(holder)
        if twin is None:
            return None
        end = span_of(twin, self._table)[1]
        return end - len(holder.attr.value.encode("utf-8")), end

    def _split(self, node: cst.CSTNode) -> tuple[str, str, str]:
        """A node's code as its opening parentheses, itself, and its closing ones.

        The parentheses of a tuple or generator are part of itself, as for ``ast``.
        """
        if isinstance(node, cst.Arg):
            node = node.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))
        elif isinstance(node, cst.BaseSmallStatement):
            node = node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        code = self._code(node)
        if not isinstance(node, cst.BaseExpression) or not node.lpar:
            return "", code, ""
        own = 1 if isinstance(node, (cst.Tuple, cst.GeneratorExp)) else 0
        before = "".join(map(self._code, node.lpar[: len(node.lpar) - own]))
        after = "".join(map(self._code, node.rpar[own:]))
        return before, code[len(before) : len(code) - len(after)], after

    def _code(self, node: cst.CSTNode) -> str:
        """The code of a node of this statement.

        Not ``Module.code_for_node``: LibCST takes the indentation of the block off continuation lines and puts it back
        when the whole block is written, so a single node reads right only with the block's indentation given.
        """
        state = CodegenState(default_indent=_DEFAULT_INDENT, default_newline=self._newline)
        state.increase_indent(self._cut.indent.decode("utf-8"))
        node._codegen(state)
        return "".join(state.tokens)
