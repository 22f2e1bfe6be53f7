import ast

import pytest

from torchlint.rule import Position
from torchlint.sources.lines import LineTable


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_offsets_agree_with_ast_whatever_the_newline(newline):
    text = newline.join(["x = 1", 'é = "🚀🚀"; y = 2', "", 'z = """a\f', ' b"""; w = 3', ""])
    utf8 = text.encode()
    table = LineTable(utf8)
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            start = table.offset(node.lineno, node.col_offset)
            end = table.offset(node.end_lineno, node.end_col_offset)
            found.append(utf8[start:end].decode())
    assert sorted(found) == sorted(["x", "é", "y", "z", "w"])


def test_columns_count_code_points():
    text = 'é = "🚀"; y = 2\n'
    table = LineTable(text.encode())
    assert table.position(text.encode().index(b"y")) == Position(1, text.index("y") + 1)


def test_form_feed_and_unicode_separators_end_no_row():
    text = "a\f\v\x1c\x85\u2028b\nc"
    table = LineTable(text.encode())
    assert table.rows == 2
    assert table.position(text.encode().index(b"b")) == Position(1, text.index("b") + 1)
    assert table.line(1) == "a\f\v\x1c\x85\u2028b"
    assert table.line(2) == "c"


def test_the_row_after_a_last_newline_exists():
    table = LineTable(b"a\r\n")
    assert table.rows == 2
    assert table.position(3) == Position(2, 1)
    assert table.line(1) == "a"
    assert table.line(2) == ""


def test_every_offset_survives_the_way_there_and_back():
    utf8 = "a\r\n\rbé\n\nc".encode()
    table = LineTable(utf8)
    for offset in range(len(utf8) + 1):
        row = table.row(offset)
        assert table.offset(row, 0) <= offset
        assert row == table.rows or offset < table.offset(row + 1, 0)


def test_rows_outside_the_text_are_an_error():
    with pytest.raises(IndexError, match="no row 2"):
        LineTable(b"a").offset(2, 0)
    with pytest.raises(IndexError, match="no row 0"):
        LineTable(b"a").offset(0, 0)
