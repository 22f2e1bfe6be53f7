"""Reads large files piece by piece: bytes, unpacked where gzipped, and JSON values out of their text.

JSON is cut into values by the decoder of the standard library on a sliding window of the text: one call for a whole
event, in C. ijson with its C library took a fifth less time for the same events, and without it sixteen times as much;
that is not worth something more to install.
"""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from torchlint.late import regex
from torchlint.profile.errors import ProfileError

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes of the file that were read, and with its size."""

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

_CHUNK = 1 << 19
# No value that is read in one piece is larger, in characters: an event of a trace has a few hundred.
_LARGEST = 1 << 24
_DEEPEST = 100
_SPACE = regex(r"[ \t\n\r]*")
_COMMA = regex(r"[ \t\n\r]*,[ \t\n\r]*")
# What may follow a number that the end of the window cuts, be it nothing.
_GOES_ON = "0123456789.eE+-"
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
CUT = "is cut short: it ends in the middle"
_DEEP = "is not a profile: its JSON is nested too deeply"
_OPENED = {"[": "a list", "{": "an object"}
_SHOWN = 40


class ByteStream:
    """The bytes of a file from start to end, unpacked where they are gzipped."""

    def __init__(self, path: Path, progress: Progress | None = None) -> None:
        """Open a file.

        Raises:
            OSError: it cannot be opened or read.
        """
        self._size = path.stat().st_size
        self._progress = progress
        self._file = path.open("rb")
        self._pieces = self._gunzipped() if self._file.peek(len(_GZIP)).startswith(_GZIP) else self._raw()
        self._next = b""

    def __enter__(self) -> ByteStream:
        """Itself; the file is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def peek(self) -> bytes:
        """Return the next bytes, which the next ``read`` gives again."""
        self._next = self._next or next(self._pieces, b"")
        return self._next

    def read(self) -> bytes:
        """Return the next bytes, empty at the end.

        Raises:
            OSError: the file cannot be read.
            ProfileError: it is gzipped, and broken or cut.
        """
        found, self._next = self.peek(), b""
        return found

    def _raw(self) -> Iterator[bytes]:
        while piece := self._file.read(_CHUNK):
            yield piece
            if self._progress is not None:
                self._progress(self._file.tell(), self._size)

    def _gunzipped(self) -> Iterator[bytes]:
        unpacking = zlib.decompressobj(_GZIP_WINDOW)
        try:
            for packed in self._raw():
                while packed:
                    if unpacking.eof:  # A gzip file may have several parts, one after the other.
                        unpacking = zlib.decompressobj(_GZIP_WINDOW)
                    # At most so much at once: a few kilobytes may unpack to gigabytes.
                    piece = unpacking.decompress(packed, _CHUNK)
                    packed = unpacking.unconsumed_tail or unpacking.unused_data
                    if piece:
                        yield piece
        except zlib.error as error:
            raise ProfileError("is gzipped and broken") from error
        if not unpacking.eof:
            raise ProfileError("is cut short: its gzip data ends in the middle")


class JsonStream:
    """One JSON document, walked from start to end: a container is opened, or its value is taken in one piece.

    Every method raises ``ProfileError`` where the document is cut or broken.
    """

    def __init__(self, read: Callable[[], bytes]) -> None:
        """Take what gives the next bytes, empty at the end."""
        self._read = read
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._scan = json.JSONDecoder(strict=False).raw_decode
        self._text = ""
        self._at = 0
        self._over = False

    def peek(self) -> str:
        """Return the next character that is not a space, empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def value(self) -> Json:
        """Return the next value, whole."""
        if not self.peek():
            raise ProfileError(CUT)
        while (taken := self._scanned()) is None or self._goes_on(taken[1]):
            if not self._more() and taken is None:
                raise self._broken()
        found, self._at = taken
        return found

    def end(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise self._broken()

    def items(self) -> Iterator[None]:
        """Open a list and stop before each of its elements, which has to be read."""
        return self._parts("[", "]")

    def members(self) -> Iterator[str]:
        """Open an object and yield each of its keys; the value has to be read."""
        for _ in self._parts("{", "}"):
            key = self.value()
            if not isinstance(key, str):
                raise self._broken()
            self._take(":")
            yield key

    def values(self) -> Iterator[Json]:
        """Yield the elements of a list."""
        for _ in self.items():
            yield self.value()
            yield from self._values_in_window()

    def _values_in_window(self) -> Iterator[Json]:
        """The following elements of a list as far as the window has them whole: the quick way, nearly always taken."""
        scan, comma = self._scan, _COMMA.match
        text, end = self._text, self._at
        while match := comma(text, end):
            try:
                found, end = scan(text, match.end())
            except (ValueError, RecursionError):
                return
            if text[end : end + 1] in _GOES_ON:
                return
            self._at = end
            yield found

    def skip(self, depth: int = 0) -> None:
        """Skip the next value, however large."""
        if depth > _DEEPEST:
            raise ProfileError(_DEEP)
        following = self.peek()
        if following == "[":
            for _ in self.items():
                self.skip(depth + 1)
        elif following == "{":
            for _ in self.members():
                self.skip(depth + 1)
        else:
            self.value()

    def _scanned(self) -> tuple[Json, int] | None:
        """The value at this place with its end in the window; ``None`` where it is not whole or not valid."""
        try:
            return self._scan(self._text, self._at)
        except ValueError:
            return None
        except RecursionError as error:
            raise ProfileError(_DEEP) from error

    def _goes_on(self, end: int) -> bool:
        """Whether a value that ends here may be a number with more digits, which are not in the window yet."""
        return not self._over and self._text[end : end + 1] in _GOES_ON

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        if self.peek() not in (opening, ""):
            raise ProfileError(f"is not a profile: {_OPENED[opening]} is missing at {self._shown()}")
        self._take(opening)
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            yield
            if self.peek() == closing:
                self._at += 1
                return
            self._take(",")

    def _take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self._broken()
        self._at += 1

    def _more(self) -> bool:
        """Move the window on, keeping what was not taken; whether there was more."""
        if self._over:
            return False
        if len(self._text) - self._at > _LARGEST:
            raise self._broken()
        piece = self._read()
        self._over = not piece
        self._text = self._text[self._at :] + self._decode(piece, self._over)
        self._at = 0
        return not self._over

    def _broken(self) -> ProfileError:
        """What is wrong at this place: the end where none should be, or something that is not JSON."""
        if self._over and not self._text.rstrip().endswith(("}", "]")):
            return ProfileError(CUT)
        return ProfileError(f"is not valid JSON at {self._shown()}")

    def _shown(self) -> str:
        return repr(self._text[self._at : self._at + _SHOWN])
