"""Texts of two or four bytes a character, in which no word is found by its bytes."""

from __future__ import annotations

_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def is_wide(raw: bytes) -> bool:
    """Return whether bytes look like UTF-16 or UTF-32; Python does not read these, and that is to be told."""
    return raw.startswith(_MARKS) or b"\0" in raw[:2]
