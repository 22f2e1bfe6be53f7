# ruff: noqa: E501  (one case a row)
from __future__ import annotations

import ast
import sys

import libcst as cst
import pytest
from pairing import parse, read_source, source_of, stdlib_files, wrong_twins

from torchlint.engine import snippets
from torchlint.engine.pair import pair
from torchlint.engine.snippets import Snippet, cut_of, newline_of, parse_statements
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source

pytestmark = pytest.mark.versions


def statements_of(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def code_of(snippet: Snippet, source: Source, usual_indent: str) -> str:
    """The code of a snippet below the indentation that its statement has in the file."""
    newline = newline_of(source.utf8)
    cut = cut_of(source, LineTable(source.utf8), snippet.statement)
    small = isinstance(snippet.node, cst.BaseSmallStatement)
    body = [cst.SimpleStatementLine([snippet.node]) if small else snippet.node]
    if cut.indent:
        body = [cst.If(cst.Name("around"), cst.IndentedBlock(body, indent=cut.indent.decode()))]
    rows = cst.Module(body, default_newline=newline, default_indent=usual_indent).code
    code = rows.removeprefix(f"if around:{newline}").removeprefix(cut.indent.decode())
    return code.removesuffix(newline)


def default_indent(source: Source) -> str:
    """What LibCST takes for the usual indentation where all statements of a file are joined."""
    table = LineTable(source.utf8)
    cuts = [cut_of(source, table, statement) for statement in statements_of(parse(source.text))]
    programs = [cut.program(source.utf8[cut.start : cut.end], b"\n") for cut in cuts if cut.indent or cut.tail]
    return cst.parse_module(b"".join(programs)).default_indent


def codes(text: str) -> list[str]:
    """The code of the snippet of each statement, outer statements and earlier ones first."""
    source = source_of(text)
    found = parse_statements(source, LineTable(source.utf8), statements_of(parse(text)))
    assert None not in found
    return [code_of(snippet, source, default_indent(source)) for snippet in found if snippet is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x = 1\n", ["x = 1"], id="simple"),
        pytest.param("x = 1", ["x = 1"], id="no final newline"),
        pytest.param("x = 1; y = (\n2); z\n", ["x = 1", "y = (\n2)", "z"], id="semicolons"),
        pytest.param("if x: y = 1; z\n", ["if x: pass", "y = 1", "z"], id="one-line if"),
        pytest.param("if x: \\\n  y = 1\n", ["if x: \\\n  pass", "y = 1"], id="continued one-line if"),
        pytest.param("if x:\n    y\nelif z :\n    w\n", ["if x:\n    pass", "if z :\n    pass", "w", "y"], id="elif"),
        pytest.param("if x:\n y\nelif z: w\nelif v: u\n", ["if v: pass", "if x:\n pass", "if z: pass", *"uwy"], id="elifs"),
        pytest.param("def f(\n  a,  # b\n):\n\n  # c\n  'd'\n", ["'d'", "def f(\n  a,  # b\n):\n\n  # c\n  pass"], id="def"),
        pytest.param("@a\n@b(\n 1)\ndef f(): g\n", ["@a\n@b(\n 1)\ndef f(): pass", "g"], id="decorators"),
        pytest.param("@ ( # @x\n  a)\nclass A: g\n", ["@ ( # @x\n  a)\nclass A: pass", "g"], id="odd decorator"),
        pytest.param("class A:\n  @b\n  def c(): d\n", ["@b\n  def c(): pass", "class A:\n  pass", "d"], id="method"),
        pytest.param("async def f():\n\tawait g\n", ["async def f():\n\tpass", "await g"], id="tabs"),
        pytest.param("for x in (\n  y\n): z\n", ["for x in (\n  y\n): pass", "z"], id="multi-line header"),
        pytest.param("if a:\r\n  x = (b,\r\n  c)\r\n", ["if a:\r\n  pass", "x = (b,\r\n  c)"], id="crlf"),
        pytest.param("if a:\n  x = (b,\nc)\n", ["if a:\n  pass", "x = (b,\nc)"], id="less indented continuation"),
        pytest.param("if a:\n  x = '''b\nc\n   d'''\n", ["if a:\n  pass", "x = '''b\nc\n   d'''"], id="string"),
        pytest.param("if a:\n  x = b + \\\n c\n", ["if a:\n  pass", "x = b + \\\n c"], id="backslash"),
        pytest.param("\fif a:\n    \f  x\n", ["if a:\n  pass", "x"], id="form feeds"),
        pytest.param("if a:\n    x\n\f\nb\n", ["b", "if a:\n    pass", "x"], id="form feed between"),
        pytest.param("if 1:\n  try: a\n  finally: b\n", ["a", "b", "if 1:\n  pass", "try: a\n  finally: b"], id="try"),
        pytest.param("match a:\n  case b if c: d\n", ["d", "match a:\n  case b if c: d"], id="match"),
        pytest.param("def f():\n    return é, 'ü'; y\n", ["def f():\n    pass", "return é, 'ü'", "y"], id="not ascii"),
        pytest.param("# coding: latin-1\nx = 'é'\n", ["x = 'é'"], id="coding comment"),
        pytest.param("def f():\n  # coding: latin-1\n  'é'\n", ["'é'", "def f():\n  # coding: latin-1\n  pass"], id="coding"),
        pytest.param("x = (a\r\n+ b)\ny = (c\n+ d)\n", ["x = (a\r\n+ b)", "y = (c\n+ d)"], id="mixed newlines"),
    ],
)  # fmt: skip
def test_statement_keeps_its_text(text: str, expected: list[str]) -> None:
    assert sorted(codes(text)) == sorted(expected)


def test_no_statements_need_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snippets.cst, "parse_module", lambda text: pytest.fail("parsed"))
    source = source_of("x = 1\n")
    assert parse_statements(source, LineTable(source.utf8), []) == []


def test_one_parse_for_all_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    original = cst.parse_module
    monkeypatch.setattr(snippets.cst, "parse_module", lambda text: texts.append(text) or original(text))
    source = source_of("def f():\n    x = 1\n    return x\n")
    found = parse_statements(source, LineTable(source.utf8), statements_of(parse(source.text)))
    assert None not in found
    assert len(texts) == 1


class TestGuards:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("x = [\n" + "1,\n" * 500 + "]\n", id="rows"),
            pytest.param("x = '" + "a" * 20_000 + "'\n", id="bytes"),
            pytest.param("x = " + " + ".join(["a"] * 250) + "\n", id="operands"),
            pytest.param("x = " + " and ".join(["a"] * 250) + "\n", id="and"),
            pytest.param("x = a" + ".b" * 250 + "\n", id="attributes"),
            pytest.param("if a" + ".b" * 250 + ": pass\n", id="header"),
        ],
    )
    def test_too_large_or_too_deep_is_left_out(self, text: str) -> None:
        source = source_of(text + "y = 1\n")
        body = parse(source.text).body
        found = parse_statements(source, LineTable(source.utf8), body)
        assert found[0] is None
        assert found[1] is not None
        assert code_of(found[1], source, "") == "y = 1"

    def test_a_large_body_does_not_count(self) -> None:
        source = source_of("if a:\n" + "    b.c(d)\n" * 3000)
        [found] = parse_statements(source, LineTable(source.utf8), parse(source.text).body)
        assert found is not None
        assert found.header_only

    def test_one_statement_that_does_not_parse_spoils_no_other(self) -> None:
        source = source_of("x = 1\nclass A(m=1, *b): pass\ny = 2\n")
        found = parse_statements(source, LineTable(source.utf8), parse(source.text).body)
        assert [None if one is None else code_of(one, source, "") for one in found] == ["x = 1", None, "y = 2"]

    @pytest.mark.parametrize("error", [RecursionError, MemoryError, ValueError, LookupError])
    def test_a_parser_that_gives_up_gives_no_node(self, error, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(text: str) -> cst.Module:
            raise error

        monkeypatch.setattr(snippets.cst, "parse_module", refuse)
        source = source_of("x = 1\ny = 2\n")
        assert parse_statements(source, LineTable(source.utf8), parse(source.text).body) == [None, None]

    def test_no_position_is_an_error(self) -> None:
        source = source_of("pass\n")
        with pytest.raises((ValueError, AttributeError)):
            cut_of(source, LineTable(source.utf8), ast.Pass())


class TestNewline:
    @pytest.mark.parametrize(
        ("text", "newline"),
        [(b"", "\n"), (b"a", "\n"), (b"a\nb\r\n", "\n"), (b"a\r\nb\n", "\r\n"), (b"a\rb\n", "\r")],
    )
    def test_the_first_one_counts(self, text: bytes, newline: str) -> None:
        assert newline_of(text) == newline


@pytest.mark.third
@pytest.mark.once
@pytest.mark.parametrize("part", range(3))
def test_standard_library_round_trip(part: int) -> None:
    checked = lossy = 0
    for path in stdlib_files(40)[part::3]:
        read = read_source(path)
        if read is None or "\f" in read[0].text:
            continue
        source, tree = read
        table = LineTable(source.utf8)
        indent = default_indent(source)
        for snippet in parse_statements(source, table, statements_of(tree)):
            if snippet is not None:
                cut = cut_of(source, table, snippet.statement)
                text = source.utf8[cut.start : cut.end]
                program = cut.program(text, b"\n")
                if cst.parse_module(program).bytes != program:
                    lossy += 1  # LibCST itself loses a blank of it, as in ``except (A, B) :``
                    continue
                assert code_of(snippet, source, indent) == (text + cut.tail).decode()
                assert len(pair(snippet.statement, snippet.node, snippet.header_only)) > 0
                checked += 1
    assert checked > 1_000
    assert lossy <= 3


def test_twins_in_snippets_say_the_same() -> None:
    for path in stdlib_files(6):
        read = read_source(path)
        if read is None:
            continue
        source, tree = read
        statements = statements_of(tree)
        for statement, snippet in zip(
            statements, parse_statements(source, LineTable(source.utf8), statements), strict=True
        ):
            if snippet is None:
                assert (statement.end_lineno or 0) - statement.lineno >= snippets._MOST_ROWS
                continue
            pairs = pair(snippet.statement, snippet.node, snippet.header_only)
            assert wrong_twins(pairs, snippet.statement) == [], (path, snippet.statement.lineno)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs except*")
def test_except_star_is_whole() -> None:
    assert codes("try: a\nexcept* b: c\n") == ["try: a\nexcept* b: c", "a", "c"]
