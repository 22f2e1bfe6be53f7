"""From the bytes of a file to its text: byte order mark, declared encoding (PEP 263), UTF-8 by default."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from torchlint.late import regex
from torchlint.sources.text import Source

_NEWLINE = regex(rb"\r\n|\r|\n")
_COOKIE = regex(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.DOTALL)
_BLANK = regex(rb"[ \t\f]*(?:#.*)?", re.DOTALL)
# Encodings that packages add: UTF-8 whose newer syntax they translate for an old Python.
_TRANSLATING = frozenset({"future-fstrings", "future-annotations", "future-typing"})
_OTHER_MARKS = ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))


class UndecodableError(Exception):
    """The bytes of a file are no Python text.

    Attributes:
        message: what is wrong, in one line.
        row, column: where, 1-based, the column in code points.
    """

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        """Say what is wrong and where."""
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def read_source(path: Path, name: str) -> Source:
    """Read a file as Python would.

    Raises:
        OSError: it cannot be read.
        UndecodableError: its bytes are no text in its encoding.
    """
    return decode(path.read_bytes(), path, name)


def decode(raw: bytes, path: Path, name: str) -> Source:
    """Return the text of a file's bytes, newlines as they are.

    Raises:
        UndecodableError: the bytes are no text in the encoding that the file declares, or in UTF-8.
    """
    bom = raw.startswith(codecs.BOM_UTF8)
    body = raw[len(codecs.BOM_UTF8) :] if bom else raw
    encoding = _encoding(body, bom)
    text = _text(body, encoding)
    nul = body.find(b"\0")
    if nul >= 0:
        raise _at("the file holds a NUL byte", body, nul)
    try:
        utf8 = body if encoding == "utf-8" else text.encode()
    except UnicodeEncodeError as error:
        raise UndecodableError(f"the file holds a lone surrogate in its encoding {encoding}") from error
    return Source(path.absolute(), name, text, utf8, encoding, bom, raw)


def read_any(raw: bytes, path: Path, name: str) -> Source:
    """Return the text of a file's bytes, of a notebook that of its code cells.

    Raises:
        UndecodableError: the bytes are no text, or no notebook.
    """
    if not name.endswith(".ipynb"):
        if _is_notebook(raw):
            raise UndecodableError("this is a notebook, not Python: its name has to end in .ipynb")
        return decode(raw, path, name)
    from torchlint.sources.notebook import NotebookError, read_notebook

    try:
        return read_notebook(raw, path, name)
    except NotebookError as error:
        raise UndecodableError(str(error)) from error


def _is_notebook(raw: bytes) -> bool:
    """Whether a file that is called Python holds a notebook, which may well be a Python expression, too."""
    if not (raw[:1] == b"{" or raw.lstrip().startswith(b"{")) or b'"nbformat"' not in raw or b'"cells"' not in raw:
        return False
    import json

    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("cells"), list) and "nbformat" in found


def to_bytes(source: Source) -> bytes:
    """Return the bytes of a text as its file has them, of a notebook the whole notebook.

    Raises:
        UnicodeError: the encoding has no bytes for the text.
        ValueError: the text has not the cells of its notebook.
    """
    mark = codecs.BOM_UTF8 if source.bom else b""
    if source.notebook is None:
        return mark + source.text.encode(source.encoding)
    from torchlint.sources.notebook import NotebookError

    try:
        return mark + source.notebook.with_text(source.text).json_text.encode("utf-8", "surrogatepass")
    except NotebookError as error:
        raise ValueError(str(error)) from error


def _encoding(body: bytes, bom: bool) -> str:
    """The normalised name of the encoding that the first two lines declare, ``utf-8`` where they declare none."""
    for mark, kind in _OTHER_MARKS:
        if not bom and body.startswith(mark):
            raise UndecodableError(f"the file is {kind}, which Python cannot read: save it as UTF-8")
    for row, line in enumerate(_NEWLINE.split(body, maxsplit=2)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie:
            return _declared(cookie[1].decode("ascii"), row, bom)
        if not _BLANK.fullmatch(line):
            break
    return "utf-8"


def _declared(cookie: str, row: int, bom: bool) -> str:
    name = cookie.lower().replace("_", "-")
    if name == "utf-8" or name.startswith("utf-8-"):
        return "utf-8"
    if name in _TRANSLATING:
        return "utf-8"
    # Editors append the kind of newline: latin-1-unix.
    if name.startswith(("latin-1-", "iso-8859-1-", "iso-latin-1-")):
        name = "latin-1"
    try:
        codec = codecs.lookup(name)
        reads_ascii = b"# coding".decode(codec.name) == "# coding"
    except (LookupError, UnicodeError) as error:
        raise UndecodableError(f"unknown encoding {cookie!r}", row) from error
    if codec.name == "utf-8":
        return "utf-8"
    if not reads_ascii:
        raise UndecodableError(f"the file declares the encoding {cookie!r} but is not written in it", row)
    if bom:
        raise UndecodableError(
            f"the file declares the encoding {cookie!r} but starts with a UTF-8 byte order mark", row
        )
    return codec.name


def _text(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        byte = body[error.start : error.start + 1].hex()
        raise _at(f"byte 0x{byte} is not {_shown(encoding)}", body, error.start) from error
    except UnicodeError as error:
        raise UndecodableError(f"the file is not {_shown(encoding)}") from error


def _shown(encoding: str) -> str:
    return "UTF-8, and no encoding is declared" if encoding == "utf-8" else f"valid in the encoding {encoding}"


def _at(message: str, body: bytes, offset: int) -> UndecodableError:
    from torchlint.sources.lines import LineTable  # few files cannot be decoded

    place = LineTable(body).position(offset)
    return UndecodableError(message, place.row, place.column)
