"""Text that comes from files and file names, made harmless for terminals and line-based formats."""

from __future__ import annotations

import re

from torchlint.late import regex

# Controls, invisible format characters (bidirectional overrides, zero-width joiners), lone surrogates, and the two
# Unicode line separators: each of them can move the cursor, end a line for some reader, or hide what is really there.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# GitHub passes over any white space before a command, and a carriage return alone ends a line, too.
_COLONS = regex(r"(^|\r)([^\S\r\n]*):(?=:)", re.MULTILINE)
_NUMBER_SIGNS = regex(r"##(?=\[|vso\[)", re.IGNORECASE)


def visible(text: str, keep: str = "") -> str:
    r"""Return ``text`` on one line, with escapes for unsafe characters but those in ``keep``: ``\n``, ``\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(char) if char not in keep else char for char in text)


def _show(char: str) -> str:
    import unicodedata  # most texts have no such character

    if unicodedata.category(char) not in _UNSAFE:
        return char
    return char.encode("unicode_escape").decode("ascii")


def defused(text: str) -> str:
    r"""Return lines for people, none of which is a command to the service that runs torchlint.

    GitHub takes a line that begins with ``::`` for a command, and it and Azure one with ``##[`` or ``##vso[`` anywhere;
    a file may be called so.
    """
    return _NUMBER_SIGNS.sub(r"#\\x23", _COLONS.sub(r"\1\2\\x3a", text))


def is_obeyed(text: str) -> bool:
    """Return whether a service that reads lines may take one of them for a command."""
    return bool(_NUMBER_SIGNS.search(text) or _COLONS.search(text))


def defused_json(text: str) -> str:
    """Return equal JSON, no part of which is a command to a service that reads its lines."""
    return _NUMBER_SIGNS.sub(r"#\\u0023", text)


def defused_xml(text: str) -> str:
    """Return equal XML, no part of which is a command to a service that reads its lines."""
    return _NUMBER_SIGNS.sub("#&#35;", _COLONS.sub(r"\1\2&#58;", text))


def encodable(text: str) -> str:
    r"""Return ``text`` with lone surrogates as escapes: ``\udcff``.

    They stand for bytes of a file name that is not UTF-8.

    JSON could carry them, but many of its readers refuse what they cannot write as UTF-8.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
