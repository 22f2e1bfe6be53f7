from __future__ import annotations

import ast
import sys
from collections.abc import Callable

import libcst as cst
import pytest
from pairing import parse, read_source, source_of, stdlib_files

from torchlint.engine.edits import comments_in, edit_for, enclosing_fstring, loses_comment, span, span_of
from torchlint.engine.pair import Pairs, pair
from torchlint.engine.reference import whole_file
from torchlint.engine.snippets import parse_statements
from torchlint.rule import Edit
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

fstrings_have_positions = pytest.mark.skipif(sys.version_info < (3, 12), reason="positions in f-strings are wrong")
fstrings_have_none = pytest.mark.skipif(sys.version_info >= (3, 12), reason="positions in f-strings are right")


class Code:
    """One statement of a text, the last one if not given, and edits of its nodes."""

    def __init__(self, text: str, statement: ast.stmt | None = None) -> None:
        self.source = source_of(text)
        self.table = LineTable(self.source.utf8)
        statement = statement or [node for node in ast.walk(parse(text)) if isinstance(node, ast.stmt)][-1]
        [snippet] = parse_statements(self.source, self.table, [statement])
        assert snippet is not None
        self.pairs = pair(statement, snippet.node, snippet.header_only)

    def node(self, code: str) -> cst.CSTNode:
        """The first node with a twin, or before a dot, that reads ``code`` without its parentheses."""
        stack: list[cst.CSTNode] = [self.pairs.root]
        while stack:
            node = stack.pop()
            if isinstance(node, cst.BaseExpression) and reads(node) == code:
                return node
            stack.extend(reversed(node.children))
        raise AssertionError(f"no node reads {code}")

    def edit(self, old: str | cst.CSTNode, new: str | cst.CSTNode) -> Edit | None:
        node = self.node(old) if isinstance(old, str) else old
        return edit_for(node, new, self.pairs, self.source, self.table)

    def after(self, old: str | cst.CSTNode, new: str | cst.CSTNode) -> str:
        edit = self.edit(old, new)
        assert edit is not None
        utf8 = self.source.utf8
        return (utf8[: edit.start] + edit.text.encode() + utf8[edit.end :]).decode()


def header(text: str) -> Code:
    """The first compound statement of a text, or else the last statement."""
    first = parse(text).body[0]
    return Code(text, first if hasattr(first, "body") else None)


def reads(node: cst.BaseExpression) -> str:
    own = 1 if isinstance(node, cst.Tuple | cst.GeneratorExp) else 0
    count = max(len(node.lpar) - own, 0)
    bare = node.with_changes(lpar=node.lpar[count:], rpar=node.rpar[: len(node.rpar) - count])
    return cst.Module(body=()).code_for_node(bare)


def expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        pytest.param("x = a.b(c)  # d\n", "a.b(c)", "e", "x = e  # d\n", id="name"),
        pytest.param("x = (a).b\n", "a", "c", "x = (c).b\n", id="parentheses stay"),
        pytest.param("x = (a).b\n", "(a).b", "c", "x = c\n", id="parentheses inside go"),
        pytest.param("x = ((a).b)\n", "(a).b", "c", "x = (c)\n", id="outer parentheses stay"),
        pytest.param("x = a\n", "a", "b or c", "x = b or c\n", id="or"),
        pytest.param("x = a and d\n", "a", "b or c", "x = (b or c) and d\n", id="or in and"),
        pytest.param("x = a or d\n", "a", "b and c", "x = b and c or d\n", id="and in or"),
        pytest.param("x = a and d\n", "a", "b and c", "x = (b and c) and d\n", id="and in and"),
        pytest.param("x = not a\n", "a", "b or c", "x = not (b or c)\n", id="or in not"),
        pytest.param("x = a < d\n", "a", "b or c", "x = (b or c) < d\n", id="or in comparison"),
        pytest.param("x = a < d\n", "a", "b < c", "x = (b < c) < d\n", id="comparison in comparison"),
        pytest.param("x = a.d\n", "a", "b + c", "x = (b + c).d\n", id="sum in attribute"),
        pytest.param("x = a.d\n", "a", "1", "x = (1).d\n", id="number in attribute"),
        pytest.param("x = a.d\n", "a", "b.c()[0]", "x = b.c()[0].d\n", id="call in attribute"),
        pytest.param("x = a(d)\n", "a", "lambda e: f", "x = (lambda e: f)(d)\n", id="lambda called"),
        pytest.param("x = d(a)\n", "a", "lambda e: f", "x = d(lambda e: f)\n", id="lambda as argument"),
        pytest.param("x = d(a)\n", "a", "(b, c)", "x = d((b, c))\n", id="tuple as argument"),
        pytest.param("x = d[a]\n", "a", "b, c", "x = d[b, c]\n", id="tuple as index"),
        pytest.param("x = d(a)\n", "a", "b, c", "x = d((b, c))\n", id="tuple text as argument"),
        pytest.param("x = d(k=a)\n", "a", "(b for b in c)", "x = d(k=(b for b in c))\n", id="generator as keyword"),
        pytest.param("x = a * b\n", "a", "c + d", "x = (c + d) * b\n", id="sum in product"),
        pytest.param("x = a + b\n", "a", "c * d", "x = c * d + b\n", id="product in sum"),
        pytest.param("x = a ** b\n", "a", "-c", "x = (-c) ** b\n", id="minus in power"),
        pytest.param("x = a - b\n", "b", "c - d", "x = a - (c - d)\n", id="right operand"),
        pytest.param("x = await a\n", "a", "b + c", "x = await (b + c)\n", id="await"),
        pytest.param("x = [*a]\n", "a", "b or c", "x = [*(b or c)]\n", id="starred"),
        pytest.param("x = [*a]\n", "a", "b if c else d", "x = [*(b if c else d)]\n", id="starred conditional"),
        pytest.param("x = (1, 2)\n", "(1, 2)", "a", "x = a\n", id="tuple with its parentheses"),
        pytest.param("x = f((1, 2))\n", "(1, 2)", "a", "x = f(a)\n", id="tuple argument"),
        pytest.param("x = 1, 2\n", "1, 2", "a", "x = a\n", id="tuple without parentheses"),
        pytest.param("x = ((1, 2))\n", "(1, 2)", "a", "x = (a)\n", id="tuple with more parentheses"),
        pytest.param("x = f(a for a in b)\n", "a for a in b", "c", "x = f(c)\n", id="only generator"),
        pytest.param(
            "x = f( # a for\n a for a in b )\n", "a for a in b", "c", "x = f( # a for\n c )\n", id="generator"
        ),
        pytest.param("x = f((a for a in b))\n", "(a for a in b)", "c", "x = f(c)\n", id="generator with parentheses"),
        pytest.param("x = a and b and c\n", "a and b", "d", "x = d and c\n", id="inner node of a chain"),
        pytest.param("x = (a) and (b) and c\n", "(a) and (b)", "d", "x = d and c\n", id="inner node with parentheses"),
        pytest.param("x = (a) and b\n", "(a) and b", "d", "x = d\n", id="chain that starts with a parenthesis"),
        pytest.param("x = a.b(c)\n", "b", "d", "x = a.d(c)\n", id="name after a dot"),
        pytest.param("x = é.ü(ö) + ä\n", "ä", "ß", "x = é.ü(ö) + ß\n", id="not ascii"),
        pytest.param("x = (\n    a +\n    b)\n", "a +\n    b", "c", "x = (\n    c)\n", id="rows"),
        pytest.param("x = a\n", "a", "b +\\\n c", "x = b +\\\n c\n", id="continued rows"),
        pytest.param("if a: pass\n", "a", "b", "if b: pass\n", id="one-line if"),
        pytest.param("if (a):\n    pass\n", "a", "b", "if (b):\n    pass\n", id="if in parentheses"),
        pytest.param("with a.b(): pass\n", "a.b()", "c", "with c: pass\n", id="with"),
        pytest.param("with a: pass\n", "a", "b, c", "with ((b, c)): pass\n", id="tuple in with"),
        pytest.param("with (a): pass\n", "a", "b, c", "with ((b, c)): pass\n", id="tuple in with in parentheses"),
        pytest.param("del a\n", "a", "b, c", "del (b, c)\n", id="tuple in del"),
        pytest.param("x; y = a; z = b\n", "b", "c", "x; y = a; z = c\n", id="semicolons"),
        pytest.param("x = a\r\n", "a", "b", "x = b\r\n", id="crlf"),
        pytest.param("@a.b\nclass A: pass\n", "a.b", "c", "@c\nclass A: pass\n", id="decorator"),
        pytest.param("assert a, b\n", "a", "c", "assert c, b\n", id="assert"),
    ],
)
def test_replacement(text: str, old: str, new: str, expected: str) -> None:
    code = header(text)
    assert code.after(old, new) == expected
    assert code.after(old, expression(new)) == expected


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("x = ( a )\n", "a", "(b)", "x = ( b )\n"),
        ("x = ((a))\n", "a", "((b))", "x = ((b))\n"),
        ("x = a\n", "a", "(b)", "x = b\n"),
        ("x = a\n", "a", "(b := c)", "x = (b := c)\n"),
        ("x = d(a)\n", "a", "(b := c)", "x = d(b := c)\n"),
        ("x = a.c\n", "a", "( b + d )", "x = ( b + d ).c\n"),
        ("x = (a)\n", "a", "(b, c)", "x = ((b, c))\n"),
        ("x = (a)\n", "a", "((b, c))", "x = ((b, c))\n"),
    ],
)
def test_parentheses_of_the_new_node(text: str, old: str, new: str, expected: str) -> None:
    assert header(text).after(old, expression(new)) == expected


class TestRows:
    TEXT = "def f():\n    return g(\n        a +\n  b, '''c\n  d''').h\n"

    def test_parts_that_are_kept_keep_their_rows(self) -> None:
        code = Code(self.TEXT)
        call = code.pairs.root.value.value
        new = cst.Call(cst.Name("n"), call.args)
        assert code.after(code.pairs.root.value, new) == self.TEXT.replace("g(\n        a", "n(a").replace(".h", "")

    def test_rows_without_brackets_get_parentheses(self) -> None:
        code = Code(self.TEXT)
        first = code.pairs.root.value.value.args[0].value
        assert code.after(code.pairs.root.value, first) == "def f():\n    return (a +\n  b)\n"

    def test_rows_in_brackets_need_none(self) -> None:
        code = Code("if x:\n    y = [f(a +\n      b)]\n")
        call = code.pairs.root.value.elements[0].value
        assert code.after(call, call.args[0].value) == "if x:\n    y = [a +\n      b]\n"

    def test_elif_keeps_its_keyword(self) -> None:
        text = "if x:\n    pass\nelif a and b:\n    c\n"
        code = Code(text, parse(text).body[0].orelse[0])
        assert code.after("a", expression("d or e")) == text.replace("a and", "(d or e) and")
        start, end = span(code.pairs.root, code.pairs, code.source, code.table)
        assert text[start:end] == "elif a and b:"

    def test_comments_in_parentheses_of_the_new_node_stay(self) -> None:
        code = Code("x = (  # why\n    a\n).b\n")
        inner = code.pairs.root.value.value
        assert code.after(code.pairs.root.value, inner) == "x = (  # why\n    a\n)\n"

    def test_parentheses_and_comments_of_the_old_node_are_not_doubled(self) -> None:
        code = Code("x = (  # why\n    a + b  # c\n)\n")
        old = code.pairs.root.value
        new = old.with_changes(right=cst.Name("d"))
        assert code.after(old, new) == "x = (  # why\n    a + d  # c\n)\n"


class TestArguments:
    def test_plain_argument_is_its_value(self) -> None:
        code = Code("f(a, b)\n")
        assert code.after(code.pairs.root.value.args[0], cst.Arg(cst.Name("c"))) == "f(c, b)\n"

    def test_keyword_argument_keeps_its_comma(self) -> None:
        code = Code("f(a, k = (b) , c=d)\n")
        new = cst.Arg(cst.Name("e"), cst.Name("m"), equal=cst.AssignEqual())
        assert code.after(code.pairs.root.value.args[1], new) == "f(a, m = e , c=d)\n"

    def test_star_argument(self) -> None:
        code = Code("f(*a, **b)\n")
        assert code.after(code.pairs.root.value.args[0], "c") == "f(c, **b)\n"
        assert code.after(code.pairs.root.value.args[1], "k=c") == "f(*a, k=c)\n"


class TestStatements:
    def test_small_statement(self) -> None:
        code = Code("if x:\n    y; z = 1; w\n")
        assert code.after(code.pairs.root, "pass") == "if x:\n    y; z = 1; pass\n"
        assert code.after(code.pairs.root, cst.Pass()) == "if x:\n    y; z = 1; pass\n"

    def test_compound_statement_has_no_place(self) -> None:
        code = header("if x:\n    y\n")
        assert code.edit(code.pairs.root, "pass") is None


class TestRefusals:
    def test_text_that_fits_nowhere(self) -> None:
        code = Code("x = a\n")
        assert code.edit("a", "b c") is None
        assert code.edit("a", "(") is None

    def test_wrapper_with_its_comma_has_no_place(self) -> None:
        code = Code("x = a[b, c]\n")
        assert code.edit(code.pairs.root.value.slice[0], "d") is None

    def test_node_of_another_tree(self) -> None:
        code = Code("x = a\n")
        with pytest.raises(TypeError, match="is in no statement"):
            code.edit(cst.Name("a"), "b")

    def test_new_node_too_deep_to_write(self) -> None:
        code = Code("x = a\n")
        new: cst.BaseExpression = cst.Name("b")
        for _ in range(2000):
            new = cst.Attribute(new, cst.Name("c"))
        assert code.edit("a", new) is None


class TestFstrings:
    @fstrings_have_none
    def test_no_edit_and_the_whole_string_without_positions(self) -> None:
        code = Code("x = f(1, f'{a.b(c)}' f'{d}')\n")
        assert code.edit("a.b(c)", "e") is None
        start, end = span(code.node("a.b(c)"), code.pairs, code.source, code.table)
        assert code.source.text[start:end] == "f'{a.b(c)}' f'{d}'"

    @fstrings_have_positions
    def test_edit_with_positions(self) -> None:
        code = Code("x = f(1, f'{a.b(c)}' f'{d}')\n")
        assert code.after("a.b(c)", "e") == "x = f(1, f'{e}' f'{d}')\n"
        assert code.after("a.b(c)", "lambda: e") == "x = f(1, f'{(lambda: e)}' f'{d}')\n"
        start, end = span(code.node("a.b(c)"), code.pairs, code.source, code.table)
        assert code.source.text[start:end] == "a.b(c)"

    @pytest.mark.parametrize("new", ["e['f']", 'e["f"]', "e({})", "{e}", "(e\n)[0]"])
    def test_text_that_older_versions_do_not_take(self, new: str) -> None:
        assert Code("x = f'{a}'\n").edit("a", new) is None

    def test_text_that_is_printed_stays(self) -> None:
        assert Code("x = f'{a.b=}'\n").edit("a.b", "c") is None

    def test_outermost_string(self) -> None:
        code = Code("x = f'{g(f\"{a}\")}'\n")
        assert enclosing_fstring(code.node("a"), code.pairs) is code.pairs.root.value
        assert enclosing_fstring(code.pairs.root.value, code.pairs) is None

    def test_a_whole_string_can_be_replaced(self) -> None:
        assert Code("x = f(f'{a}' 'b')\n").after("f'{a}' 'b'", "'c'") == "x = f('c')\n"


class TestSpan:
    @pytest.mark.parametrize(
        ("text", "node", "expected"),
        [
            ("x = (a.b)\n", lambda s: s.value, "a.b"),
            ("x = f(k=a)\n", lambda s: s.value.args[0], "k=a"),
            ("x = f(a)\n", lambda s: s.value.args[0], "a"),
            ("x = a.b\n", lambda s: s.value.attr, "a.b"),
            ("x = a and b and c\n", lambda s: s.value.left, "a and b and c"),
            ("x = [a for a in b]\n", lambda s: s.value.for_in, "[a for a in b]"),
            ("x = lambda a: b\n", lambda s: s.value.params, "lambda a: b"),
            ("x = 1\n", lambda s: s, "x = 1"),
            ("if a(b): pass\n", lambda s: s, "if a(b):"),
            ("while a[b:c] :  # d: e\n    pass\n", lambda s: s, "while a[b:c] :"),
            ("@a\ndef f(\n  b: c = 'é:',\n) -> d :\n    pass\n", lambda s: s, "def f(\n  b: c = 'é:',\n) -> d :"),
            ("with (a as b,\r\n  c as d): pass\r\n", lambda s: s, "with (a as b,\r\n  c as d):"),
            ("with a as b: pass\n", lambda s: s.items[0], "with a as b:"),
        ],
    )
    def test_bytes_of_a_node(self, text: str, node: Callable, expected: str) -> None:
        code = header(text)
        start, end = span(node(code.pairs.root), code.pairs, code.source, code.table)
        assert code.source.utf8[start:end].decode() == expected

    def test_ast_node_without_position(self) -> None:
        with pytest.raises(ValueError, match="arguments has no position"):
            span_of(ast.parse("lambda: 0").body[0].value.args, LineTable(b"lambda: 0"))


class TestComments:
    @pytest.mark.parametrize(
        ("text", "comments"),
        [
            ("a", []),
            ("'#'", []),
            ("f(a,  # b\n  c)", ["# b"]),
            ("f(a,  # b\r\n  '#')  # c", ["# b", "# c"]),
            ("'''\n# a\n'''", []),
            ("f'{a:#x}'", []),
            ("# a\n# a\nb", ["# a", "# a"]),
            ("if a:  # b\n        # c\n  d", ["# b", "# c"]),
            ("a ' # b", ["# b"]),
        ],
    )
    def test_found(self, text: str, comments: list[str]) -> None:
        assert comments_in(text) == comments

    def test_edit_that_loses_one(self) -> None:
        source = source_of("f(a,  # b\n  c)\n")
        assert loses_comment(source, Edit(0, 14, "g(a, c)"))
        assert not loses_comment(source, Edit(0, 14, "g(a,  # b\nc)"))
        assert not loses_comment(source, Edit(2, 3, "d"))


def replaceable(pairs: Pairs) -> list[cst.BaseExpression]:
    return [node for node, twin in pairs if isinstance(twin, ast.Call | ast.BinOp | ast.BoolOp | ast.Subscript)]


@pytest.mark.parametrize("way", ["whole file", "statements"])
def test_replacing_nodes_by_themselves_changes_nothing_but_parentheses(way: str) -> None:
    checked = 0
    for path in stdlib_files(15):
        found = read_source(path)
        if found is None:
            continue
        source, tree = found
        table = LineTable(source.utf8)
        for pairs in pairs_of(source, tree, table, way):
            for node in replaceable(pairs):
                if enclosing_fstring(node, pairs) is None:
                    edit = edit_for(node, node, pairs, source, table)
                    assert edit is not None, (path, pairs.ast_of(node).lineno)
                    assert source.utf8[edit.start : edit.end].decode() == edit.text
                    checked += 1
    assert checked > 500


def pairs_of(source: Source, tree: ast.Module, table: LineTable, way: str) -> list[Pairs]:
    if way == "whole file":
        return [whole_file(source, tree)]
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not isinstance(node, ast.Try)]
    found = parse_statements(source, table, statements)
    return [pair(one.statement, one.node, one.header_only) for one in found if one is not None]


def substituted(tree: ast.Module, call: ast.Call, new: str) -> ast.Module:
    """A tree with an expression in the place of the call that stands where ``call`` is in its own."""
    value = ast.parse(f"({new})", mode="eval").body
    where = (call.lineno, call.col_offset, call.end_lineno, call.end_col_offset)
    for node in ast.walk(tree):
        for name, field in ast.iter_fields(node):
            if position(field) == where:
                setattr(node, name, value)
            elif isinstance(field, list):
                setattr(node, name, [value if position(part) == where else part for part in field])
    return tree


def position(node: object) -> tuple[int, int, int, int] | None:
    if not isinstance(node, ast.Call):
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


@pytest.mark.parametrize("new", ["p or q", "lambda: p", "p if q else r", "-p", "p, q", "yield p", "p(q)"])
def test_replaced_calls_mean_what_they_should_wherever_they_stand(new: str) -> None:
    checked = 0
    for path in stdlib_files(30)[18:]:
        found = read_source(path)
        if found is None or len(found[0].utf8) > 15_000:
            continue
        source, tree = found
        table = LineTable(source.utf8)
        places = [
            (node, twin, pairs)
            for pairs in pairs_of(source, tree, table, "statements")
            for node, twin in pairs
            if isinstance(twin, ast.Call) and enclosing_fstring(node, pairs) is None
        ]
        for node, twin, pairs in places[:: max(1, len(places) // 8)]:
            edit = edit_for(node, new, pairs, source, table)
            assert edit is not None
            utf8 = source.utf8[: edit.start] + edit.text.encode() + source.utf8[edit.end :]
            expected = ast.dump(substituted(parse(source.text), twin, new))
            assert ast.dump(parse(utf8.decode())) == expected, (path, twin.lineno)
            checked += 1
    assert checked > 30
