"""Patterns with wildcards over texts, in time that grows with the text and not with what a pattern could stand for.

A regular expression tries one way after another: of fifteen ``*`` more ways than anyone can wait for. So it serves
patterns with few wildcards, which are nearly all, and the others follow all ways at once, character by character.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence

_FEW = 2
"""Wildcards of any length that a regular expression may try one by one: a name of 255 characters splits so often."""


class Wild(enum.Enum):
    """What stands for text of any length."""

    NAME = "[^/]*"
    PATH = ".*"
    FOLDERS = "(?:.*/)?"


Part = str | Wild
"""A regular expression for exactly one character, or a wildcard."""


class Patterns:
    """Texts match if one of some patterns stands for all of the text."""

    __slots__ = ("_every", "_few")

    def __init__(self, patterns: Iterable[Sequence[Part]]) -> None:
        """Take patterns as their parts."""
        given = list(patterns)
        few = [parts for parts in given if _wild(parts) <= _FEW]
        self._few = re.compile("|".join(map(_expression, few)), re.DOTALL) if few else None
        self._every = [_Ways(parts) for parts in given if _wild(parts) > _FEW]

    def match(self, text: str) -> bool:
        """Return whether a pattern stands for a text."""
        if self._few is not None and self._few.fullmatch(text):
            return True
        return any(ways.match(text) for ways in self._every)


def _wild(parts: Sequence[Part]) -> int:
    return sum(isinstance(part, Wild) for part in parts)


def _expression(parts: Sequence[Part]) -> str:
    return "".join(part.value if isinstance(part, Wild) else part for part in parts)


class _Ways:
    """All ways through a pattern at once: a bit for each place in it, set where the text so far may lead to.

    ``FOLDERS`` takes two places, as it is left at once or behind a ``/``.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._single: list[tuple[int, re.Pattern[str]]] = []
        self._names = self._paths = self._first = self._inside = 0
        place = 1
        for part in parts:
            if part is Wild.NAME:
                self._names |= place
            elif part is Wild.PATH:
                self._paths |= place
            elif part is Wild.FOLDERS:
                self._first |= place
                place <<= 1
                self._inside |= place
            elif isinstance(part, str):
                self._single.append((place, re.compile(part, re.DOTALL)))
            place <<= 1
        self._end = place
        self._moves: dict[str, tuple[int, int, int]] = {}

    def match(self, text: str) -> bool:
        """Return whether a way through the pattern takes the whole text."""
        places = self._skipped(1)
        for character in text:
            one, two, stay = self._moved(character)
            places = self._skipped((places & one) << 1 | (places & two) << 2 | places & stay)
            if not places:
                return False
        return bool(places & self._end)

    def _moved(self, character: str) -> tuple[int, int, int]:
        """The places that a character leads one on, two on, and nowhere else."""
        found = self._moves.get(character)
        if found is None:
            one, two, stay = self._first, 0, self._paths | self._inside
            if character == "/":
                one, two = one | self._inside, self._first
            else:
                stay |= self._names
            for place, single in self._single:
                one |= place if single.fullmatch(character) else 0
            found = self._moves[character] = one, two, stay
        return found

    def _skipped(self, places: int) -> int:
        """These places and those behind wildcards that stand for nothing."""
        before = 0
        while places != before:
            before = places
            places |= (places & (self._names | self._paths)) << 1 | (places & self._first) << 2
        return places
