"""Patterns over paths, as in ``exclude`` and ``per-file-ignores``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from torchlint.late import regex


class Globs:
    """Patterns that a path may match, with Ruff's meaning.

    A pattern is tried on the last component of a path and on the whole path relative to the root; one that begins with
    ``/`` on the absolute path. ``*`` and ``?`` also stand for ``/``, ``**/`` for any number of folders or none,
    ``[ab]`` for one of the characters.
    """

    __slots__ = ("_names", "_paths", "_root")

    def __init__(self, patterns: Iterable[str], root: Path) -> None:
        """Compile the patterns; ``root`` is what relative ones are relative to."""
        cleaned = [_clean(pattern) for pattern in patterns]
        self._root = f"{root.absolute().as_posix().rstrip('/')}/"
        self._names = _union([pattern for pattern in cleaned if "/" not in pattern])
        self._paths = _union([pattern for pattern in cleaned if "/" in pattern])

    def match(self, path: str | os.PathLike[str]) -> bool:
        """Whether an absolute path itself matches one of the patterns."""
        posix = os.fspath(path).replace(os.sep, "/")
        if self._names and self._names.fullmatch(posix.rpartition("/")[2]):
            return True
        if not self._paths:
            return False
        if self._paths.fullmatch(posix):
            return True
        return posix.startswith(self._root) and self._paths.fullmatch(posix[len(self._root) :]) is not None

    def covers(self, path: Path) -> bool:
        """Whether an absolute path matches, or a folder between the root and it."""
        if self.match(path):
            return True
        inside = (folder for folder in path.parents if folder.as_posix().startswith(self._root))
        return any(self.match(folder) for folder in inside)


def _clean(pattern: str) -> str:
    pattern = pattern.replace(os.sep, "/")
    while pattern.startswith("./"):
        pattern = pattern[2:]
    return pattern.rstrip("/")


def _union(patterns: Sequence[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(_translate(pattern) for pattern in patterns), re.DOTALL)


_PART = regex(r"(?P<folders>\*\*/)|(?P<many>\*+)|(?P<one>\?)|\[(?P<no>[!^]?)(?P<set>\]?[^]]+)\]", re.DOTALL)


def _translate(pattern: str) -> str:
    """The regular expression that stands for a glob; a broken bracket stands for itself."""
    parts = []
    done = 0
    for part in _PART.finditer(pattern):
        parts.append(re.escape(pattern[done : part.start()]))
        if part["folders"]:
            parts.append("(?:.*/)?")
        elif part["many"]:
            parts.append(".*")
        elif part["one"]:
            parts.append(".")
        else:
            parts.append(_one_of(part))
        done = part.end()
    parts.append(re.escape(pattern[done:]))
    return "".join(parts)


def _one_of(part: re.Match[str]) -> str:
    characters = re.sub(r"([\\\[\]^&~|])", r"\\\1", part["set"])
    expression = f"[{'^' if part['no'] else ''}{characters}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(part[0])
    return expression
