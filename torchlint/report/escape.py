"""Text that comes from files and file names, made harmless for terminals and line-based formats."""

from __future__ import annotations

import unicodedata

# Controls, invisible format characters (bidirectional overrides, zero-width joiners), lone surrogates, and the two
# Unicode line separators: each of them can move the cursor, end a line for some reader, or hide what is really there.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_COMMANDS = ("::", "##")


def visible(text: str, keep: str = "") -> str:
    r"""``text`` on one line, unsafe characters but those in ``keep`` as escapes: ``\n``, ``\x1b``, ``\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(char) if char not in keep else char for char in text)


def visible_path(path: str) -> str:
    """The name of a file for the start of a line, where services that run builds look for commands (``::error::``)."""
    return visible(f"./{path}" if path.lstrip().startswith(_COMMANDS) else path)


def _show(char: str) -> str:
    if unicodedata.category(char) not in _UNSAFE:
        return char
    return char.encode("unicode_escape").decode("ascii")


def encodable(text: str) -> str:
    r"""``text`` with lone surrogates, which stand for bytes of a file name that is no UTF-8, as escapes: ``\udcff``.

    JSON could carry them, but many of its readers refuse what they cannot write as UTF-8.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
