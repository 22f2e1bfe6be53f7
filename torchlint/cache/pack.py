"""Lists of byte strings in one byte string: each with its length before it, so that nothing in it means anything."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Longer numbers are no lengths of anything that is kept.
_DIGITS = 12


def pack(parts: Iterable[bytes]) -> bytes:
    """Join the parts, each with its length before it: ``3:abc0:``."""
    return b"".join([b"%d:%b" % (len(part), part) for part in parts])


def unpack(data: bytes) -> list[bytes]:
    """Return the parts that were packed.

    Raises:
        ValueError: the data are something else.
    """
    parts = []
    place = 0
    while place < len(data):
        colon = data.find(b":", place, place + _DIGITS)
        if colon < 0 or not data[place:colon].isdigit():
            raise ValueError("a length is missing")
        end = colon + 1 + int(data[place:colon])
        if end > len(data):
            raise ValueError("the end is missing")
        parts.append(data[colon + 1 : end])
        place = end
    return parts
