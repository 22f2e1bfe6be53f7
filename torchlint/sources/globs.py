"""Patterns over paths, as in ``exclude`` and ``per-file-ignores``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from torchlint.late import regex
from torchlint.sources.wildcards import Part, Patterns, Wild


class Globs:
    """Patterns that a path may match, with Ruff's meaning.

    A pattern is tried on the last component of a path and on the whole path relative to the root; one that begins with
    ``/`` on the absolute path. ``*`` and ``?`` also stand for ``/``, ``**/`` for any number of folders or none,
    ``[ab]`` for one of the characters.
    """

    __slots__ = ("_names", "_paths", "_root")

    def __init__(self, patterns: Iterable[str], root: Path) -> None:
        """Compile the patterns; ``root`` is what relative ones are relative to."""
        self._root = f"{root.absolute().as_posix().rstrip('/')}/"
        self._names, self._paths = _compiled(tuple(patterns))

    def match(self, path: str | os.PathLike[str]) -> bool:
        """Return whether an absolute path itself matches one of the patterns."""
        posix = os.fspath(path).replace(os.sep, "/")
        if self._names.match(posix.rpartition("/")[2]) or self._paths.match(posix):
            return True
        return posix.startswith(self._root) and self._paths.match(posix[len(self._root) :])

    def covers(self, path: Path) -> bool:
        """Return whether an absolute path matches, or a folder between the root and it."""
        if self.match(path):
            return True
        inside = (folder for folder in path.parents if folder.as_posix().startswith(self._root))
        return any(self.match(folder) for folder in inside)


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> tuple[Patterns, Patterns]:
    """Patterns of names, and of paths; a run asks for the same ones again and again."""
    cleaned = [_clean(pattern) for pattern in patterns]
    names = Patterns(list(_parts(pattern)) for pattern in cleaned if "/" not in pattern)
    return names, Patterns(list(_parts(pattern)) for pattern in cleaned if "/" in pattern)


def _clean(pattern: str) -> str:
    pattern = pattern.replace(os.sep, "/")
    while pattern.startswith("./"):
        pattern = pattern[2:]
    return pattern.rstrip("/")


_PART = regex(r"(?P<folders>\*\*/)|(?P<many>\*+)|(?P<one>\?)|\[(?P<no>[!^]?)(?P<set>\]?[^]]+)\]", re.DOTALL)


def _parts(pattern: str) -> Iterator[Part]:
    """What a glob is made of; a broken bracket stands for itself."""
    done = 0
    for part in _PART.finditer(pattern):
        yield from map(re.escape, pattern[done : part.start()])
        if part["folders"]:
            yield Wild.FOLDERS
        elif part["many"]:
            yield Wild.PATH
        elif part["one"]:
            yield "."
        else:
            yield from _one_of(part)
        done = part.end()
    yield from map(re.escape, pattern[done:])


def _one_of(part: re.Match[str]) -> Iterator[str]:
    characters = re.sub(r"([\\\[\]^&~|])", r"\\\1", part["set"])
    expression = f"[{'^' if part['no'] else ''}{characters}]"
    try:
        re.compile(expression)
    except re.error:
        yield from map(re.escape, part[0])
    else:
        yield expression
