"""Reads the part of Python's marshal format that cProfile writes: dicts, tuples, numbers and text.

``marshal.loads`` is not meant for files from others: it builds code objects, and broken input can crash the
interpreter. This reader knows no code objects, believes no length that the file cannot hold, and nests to a fixed
depth.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | dict[Value, Value] | None"

_DEEPEST = 20
_REFERENCED = 0x80
_LONG_DIGIT = 15
_MOST_DIGITS = 100
_UNFIT: tuple[Value, ...] = ("unfit",)


class MarshalError(ValueError):
    """Not marshalled data, or of a kind that cProfile does not write."""


def loads(data: bytes) -> Value:
    """Return the value that the bytes start with.

    Raises:
        MarshalError: it is cut, or holds something else than dicts, tuples, numbers and text.
    """
    return _Reader(data).value(0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._seen: list[Value] = []
        """What may be referred to later, ``_UNFIT`` for what may not."""

    def value(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise MarshalError("nested too deeply")
        code = self._take(1)[0]
        kind = chr(code & ~_REFERENCED)
        if kind in "({)":
            return self._container(kind, depth, bool(code & _REFERENCED))
        if kind == "r":
            return self._reference()
        found = self._plain(kind)
        if code & _REFERENCED:
            self._seen.append(found)
        return found

    def _container(self, kind: str, depth: int, referenced: bool) -> Value:
        place = len(self._seen)
        if referenced:
            # A container is numbered before its elements.
            self._seen.append(_UNFIT)
        if kind == "{":
            return self._dict(depth)
        found = self._tuple(kind, depth)
        # Tuples of tuples that are referred to again and again would take for ever to hash.
        if referenced and not any(isinstance(one, tuple) for one in found):
            self._seen[place] = found
        return found

    def _dict(self, depth: int) -> dict[Value, Value]:
        found: dict[Value, Value] = {}
        while self._data[self._at : self._at + 1] != b"0":
            key = self.value(depth + 1)
            try:
                found[key] = self.value(depth + 1)
            except TypeError as error:
                raise MarshalError("a key that is not valid") from error
        self._at += 1
        return found

    def _tuple(self, kind: str, depth: int) -> tuple[Value, ...]:
        size = self._take(1)[0] if kind == ")" else self._size()
        if size > len(self._data) - self._at:
            raise MarshalError("cut short")
        return tuple([self.value(depth + 1) for _ in range(size)])

    def _reference(self) -> Value:
        place = self._size()
        if place >= len(self._seen):
            raise MarshalError("a reference to nothing")
        found = self._seen[place]
        if found is _UNFIT:
            raise MarshalError("a reference to a container of containers")
        return found

    def _plain(self, kind: str) -> Value:
        if kind in "NFT":
            return {"N": None, "F": False, "T": True}[kind]
        if kind == "i":
            return int.from_bytes(self._take(4), "little", signed=True)
        if kind == "l":
            return self._long()
        if kind == "g":
            return float(struct.unpack("<d", self._take(8))[0])
        if kind in "zZ":
            return self._take(self._take(1)[0]).decode("latin-1")
        if kind in "aA":
            return self._take(self._size()).decode("latin-1")
        if kind in "ut":
            return self._take(self._size()).decode("utf-8", "replace")
        raise MarshalError(f"a value of kind {kind!r}")

    def _long(self) -> int:
        digits = int.from_bytes(self._take(4), "little", signed=True)
        if abs(digits) > _MOST_DIGITS:
            raise MarshalError("an endless number")
        raw = self._take(2 * abs(digits))
        places = range(0, len(raw), 2)
        size = sum(int.from_bytes(raw[at : at + 2], "little") << (_LONG_DIGIT * (at // 2)) for at in places)
        return -size if digits < 0 else size

    def _size(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise MarshalError("cut short")
        self._at += count
        return found
