"""Reading TOML, and finding the line of a key in it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from torchlint.late import regex
from torchlint.settings.check import SettingsError

_MOST_CHARACTERS = 1_000_000
_LONGEST_ROW = 10_000
_MOST_NAMES = 50
# Names joined by dots, one more than a key may have. The parser looks through all of them for each key of a table.
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = regex(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_MOST_NAMES}}}")
_HEADER = regex(r"\s*\[\[?([^]]+)\]\]?\s*(#.*)?")
_KEY = regex(r"""\s*((?:"[^"]*"|'[^']*'|[\w.\s-])+?)\s*=""")
_NAME = regex(r"""\"([^"]*)\"|'([^']*)'|([\w-]+)""")


def read_toml(text: str, shown: str) -> dict[str, object]:
    """Return the tables of a TOML text.

    Raises:
        SettingsError: it is not TOML; the message begins with ``shown``, the name of the file.
    """
    if len(text) > _MOST_CHARACTERS:
        raise SettingsError(f"{shown}: {len(text):,} characters are more than {_MOST_CHARACTERS:,}")
    if max(map(len, text.split("\n"))) > _LONGEST_ROW:
        raise SettingsError(f"{shown}: a line is longer than {_LONGEST_ROW:,} characters")
    if found := _DOTTED.search(text):
        row = text.count("\n", 0, found.start()) + 1
        raise SettingsError(f"{shown}: a name on line {row} has more than {_MOST_NAMES} parts")
    # Loaded here, because most runs find no settings to read.
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, object] = parser.loads(text)
    except ValueError as error:
        raise SettingsError(f"{shown}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"{shown}: nested too deeply") from error
    return document


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the 1-based line of the key with this path of names, or of the innermost table around it, else 1."""
    best = (0, 1)
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.fullmatch(line)
        key = None if header else _KEY.match(line)
        if header:
            table = here = _names(header[1])
        elif key:
            here = (*table, *_names(key[1]))
        else:
            continue
        shared = _shared(here, path)
        # A longer name than the one looked for lies inside of it, and so do the keys of a table: the first line counts.
        if shared > best[0] and (shared == len(here) or shared == len(path)):
            best = (shared, number)
    return best[1]


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(match[1] or match[2] or match[3] or "" for match in _NAME.finditer(dotted))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of names that two paths have in common from their start."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
