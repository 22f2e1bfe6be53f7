import ast
from pathlib import Path

import pytest

from torchlint.sources.decode import UndecodableError, decode, read_source

pytestmark = pytest.mark.versions

PATH = Path("/project/agent.py")


def text_of(raw):
    return decode(raw, PATH, "agent.py")


def test_utf8_is_the_default_and_newlines_stay():
    raw = "x = 'é'\r\ny = 1\rz = 2\n\f".encode()
    source = text_of(raw)
    assert source.text == "x = 'é'\r\ny = 1\rz = 2\n\f"
    assert (source.encoding, source.bom, source.raw, source.utf8) == ("utf-8", False, raw, raw)


def test_a_byte_order_mark_is_no_text():
    source = text_of(b"\xef\xbb\xbfx = 1\n")
    assert source.text == "x = 1\n"
    assert source.bom
    assert source.utf8 == b"x = 1\n"
    assert source.raw == b"\xef\xbb\xbfx = 1\n"


def test_encodings_that_packages_add_are_utf8():
    assert text_of("# -*- coding: future_fstrings -*-\nx = 'é'\n".encode()).text.endswith("x = 'é'\n")


@pytest.mark.parametrize(
    ("cookie", "codec"),
    [
        ("latin-1", "latin-1"),
        ("iso-8859-1", "latin-1"),
        ("latin-1-unix", "latin-1"),
        ("utf8", "utf-8"),
        ("utf-8-dos", "utf-8"),
        ("UTF_8", "utf-8"),
        ("cp1252", "cp1252"),
    ],
)
def test_declared_encodings(cookie, codec):
    raw = f"#!/usr/bin/python\n# -*- coding: {cookie} -*-\nx = 'é'\n".encode(codec)
    source = text_of(raw)
    assert source.text.endswith("x = 'é'\n")
    assert source.utf8 == source.text.encode()
    assert ast.dump(ast.parse(raw)) == ast.dump(ast.parse(source.text))


def test_gbk():
    raw = "# vim: set fileencoding=gbk :\nx = '速度'\n".encode("gbk")
    assert "速度" in text_of(raw).text


@pytest.mark.parametrize("newline", [b"\r", b"\r\n", b"\n"])
def test_the_cookie_may_stand_in_the_first_two_lines_only(newline):
    second = newline.join([b"# a", b"# coding: latin-1", b"x = '\xe9'"])
    assert text_of(second).encoding == "iso8859-1"
    third = newline.join([b"# a", b"# b", b"# coding: latin-1", b"x = '\xe9'"])
    with pytest.raises(UndecodableError):
        text_of(third)
    after_code = newline.join([b"x = 1", b"# coding: latin-1", b"x = '\xe9'"])
    with pytest.raises(UndecodableError):
        text_of(after_code)


def test_a_declaration_may_hold_bytes_of_its_own_encoding():
    assert text_of(b"# coding: latin-1 \xe9\nx = 1\n").text.startswith("# coding: latin-1 é")


def test_the_place_of_a_bad_byte():
    with pytest.raises(UndecodableError, match="byte 0xff is not UTF-8") as caught:
        text_of("a = 1\r\n🚀 = ".encode() + b"\xff\n")
    assert (caught.value.row, caught.value.column) == (2, 5)


@pytest.mark.parametrize(
    ("raw", "message", "row"),
    [
        (b"# coding: rot13\n", "unknown encoding 'rot13'", 1),
        (b"# coding: hex\n", "unknown encoding 'hex'", 1),
        (b"# a\n# coding: no-such-thing\n", "unknown encoding 'no-such-thing'", 2),
        (b"# coding: utf-16\nx = 1\n", "not written in it", 1),
        (b"# coding: undefined\nx = 1\n", "unknown encoding 'undefined'", 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", "byte order mark", 1),
        ("x = 1\n".encode("utf-16"), "the file is UTF-16", 1),
        (b"\xfe\xff\x00x", "the file is UTF-16", 1),
        ("x = 1\n".encode("utf-32"), "the file is UTF-32", 1),
        (b"x = 1\ny\0 = 2\n", "NUL", 2),
        (b"# coding: cp1252\nx = '\x81'\n", "byte 0x81 is not valid in the encoding cp1252", 2),
        (b"# coding: raw_unicode_escape\nx = '\\ud800'\n", "lone surrogate", 1),
    ],
)
def test_what_python_would_not_read_is_one_clear_error(raw, message, row):
    with pytest.raises(UndecodableError, match=message) as caught:
        text_of(raw)
    assert caught.value.row == row
    with pytest.raises((SyntaxError, ValueError, LookupError)):
        compile(raw, "agent.py", "exec")


def test_reading_lets_the_systems_errors_through(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_source(tmp_path / "gone.py", "gone.py")
    (tmp_path / "there.py").write_bytes(b"x = 1")
    source = read_source(tmp_path / "there.py", "there.py")
    assert source.path == tmp_path / "there.py"
    assert source.text == "x = 1"


def test_an_empty_file_is_fine():
    assert text_of(b"").text == ""
