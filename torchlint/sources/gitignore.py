"""What ``.gitignore`` files leave out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from torchlint.late import dataclass
from torchlint.sources.wildcards import Part, Patterns, Wild

MOST_BYTES = 1_000_000
MOST_PATTERNS = 10_000
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\0-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


class TooLargeError(Exception):
    """A ``.gitignore`` is beyond a limit; the message says which."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern: what it stands for, the last component of a path or all of it, and what follows if it does."""

    patterns: Patterns
    whole: bool
    folders_only: bool
    ignores: bool


@dataclass(frozen=True, slots=True)
class Ignores:
    """The patterns that hold in one folder: those of its own ``.gitignore``, then those of the folders above."""

    folder: str
    patterns: tuple[Pattern, ...]
    above: Ignores | None = None

    def match(self, path: str, folder: bool) -> bool:
        """Return whether a path below is ignored: the nearest file with a pattern for it decides, in it the last one.

        Of what lies in an ignored folder it is not asked.
        """
        name = path.rpartition(os.sep)[2]
        level: Ignores | None = self
        while level is not None:
            relative = path[len(level.folder) + 1 :].replace(os.sep, "/")
            for pattern in reversed(level.patterns):
                if (folder or not pattern.folders_only) and pattern.patterns.match(relative if pattern.whole else name):
                    return pattern.ignores
            level = level.above
        return False


def ignores_in(folder: str, above: Ignores | None) -> Ignores | None:
    """Return the patterns that hold in a folder, given those that hold around it.

    A ``.gitignore`` that cannot be read counts as absent, and so does a pattern that means nothing to git.

    Raises:
        TooLargeError: it has too many bytes or patterns.
    """
    path = os.path.join(folder, ".gitignore")
    if not os.path.isfile(path):  # reading a pipe would wait for ever
        return above
    try:
        with open(path, "rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except OSError:
        return above
    if len(raw) > MOST_BYTES:
        raise TooLargeError(f"has more than {MOST_BYTES:,} bytes")
    lines = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n")
    patterns = tuple(pattern for line in lines if (pattern := _pattern(line)) is not None)
    if len(patterns) > MOST_PATTERNS:
        raise TooLargeError(f"has {len(patterns):,} patterns, more than {MOST_PATTERNS:,}")
    return Ignores(folder.rstrip(os.sep), patterns, above)


def ignores_above(folder: Path, root: Path) -> Ignores | None:
    """Return the patterns that hold around a folder, from the repository it lies in, or else from the project root.

    ``None`` also when they leave the folder itself out: whoever names such a folder means its files.

    Raises:
        TooLargeError: a ``.gitignore`` has too many bytes or patterns.
    """
    around = (folder, *folder.parents)
    top = next((place for place in around if os.path.exists(place / ".git")), root)
    if top not in around:
        return None
    ignores: Ignores | None = None
    for parent, child in pairwise(reversed(around[: around.index(top) + 1])):
        ignores = ignores_in(str(parent), ignores)
        if ignores is not None and ignores.match(str(child), folder=True):
            return None
    return ignores


def _pattern(line: str) -> Pattern | None:
    """The pattern of a line; ``None``: it holds none, or one that stands for nothing."""
    line = _without_blanks(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    text = line if ignores else line[1:]
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    whole = "/" in text
    text = text.removeprefix("/")
    parts = _parts(text) if text else None
    return Pattern(Patterns([parts]), whole, folders_only, ignores) if parts is not None else None


def _without_blanks(line: str) -> str:
    """A line without the blanks at its end, but for one behind a backslash."""
    end = len(line)
    while end and line[end - 1] == " ":
        before = line[: end - 1]
        if (len(before) - len(before.rstrip("\\"))) % 2:
            break
        end -= 1
    return line[:end]


def _parts(text: str) -> list[Part] | None:
    """What a pattern is made of, ``None`` where git gives it up."""
    parts: list[Part] = []
    place = 0
    while place < len(text):
        character = text[place]
        if character == "*":
            end = place + len(text[place:]) - len(text[place:].lstrip("*"))
            parts += _stars(text, place, end)
            place = end + (parts[-1] is Wild.FOLDERS)
            continue
        if character == "[":
            found = _bracket(text, place)
            if found is None:
                return None
            part, place = found
            parts.append(part)
            continue
        if character == "\\":
            place += 1
            if place == len(text):
                return None
            character = text[place]
            parts.append(re.escape(character))
        else:
            parts.append("[^/]" if character == "?" else re.escape(character))
        place += 1
    return parts


def _stars(text: str, start: int, end: int) -> Iterator[Part]:
    """What asterisks side by side stand for: two that are a whole component for any number of folders."""
    if end - start < 2 or (start and text[start - 1] != "/") or (end < len(text) and text[end] != "/"):
        yield Wild.NAME
    elif end < len(text):
        yield Wild.FOLDERS
    else:
        yield "."
        yield Wild.PATH


def _bracket(text: str, start: int) -> tuple[str, int] | None:
    """The expression for a set of characters, and where the text goes on behind it; ``None``: it is not closed."""
    place = start + 1
    no = text[place : place + 1] in ("!", "^")
    place += no
    first, found = place, ""
    while place < len(text) and (text[place] != "]" or place == first):
        if text.startswith("[:", place) and (end := text.find(":]", place)) > 0:
            if text[place + 2 : end] not in _CLASSES:
                return None
            found += _CLASSES[text[place + 2 : end]]
            place = end + 2
            continue
        place += text[place] == "\\"
        low = high = text[place : place + 1]
        if text[place + 1 : place + 2] == "-" and text[place + 2 : place + 3] not in ("", "]"):
            place += 2
            place += text[place] == "\\"
            high = text[place : place + 1]
        found += re.escape(low)  # also where the range it begins is none
        found += f"-{re.escape(high)}" if low < high else ""
        place += 1
    if place >= len(text):
        return None
    if not found:
        return ("[^/]" if no else "(?!)."), place + 1
    return f"(?!/)[{'^' if no else ''}{found}]", place + 1
