"""Which fix is which, whatever else was fixed before it: where each byte of a fixed text comes from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from torchlint.cache.digest import digest
from torchlint.late import dataclass
from torchlint.rule import Edit, Finding, Position
from torchlint.sources.edits import dominant_newline, inserted
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source


@dataclass(frozen=True, slots=True)
class ByteOrigin:
    """A byte of a fixed text: its offset in the text before all fixes, or in what a fix put there.

    ``maker`` is the key of that fix, empty where no fix had a hand in it.
    """

    offset: int
    maker: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a fix is about: the file, the code of the rule, and where the first and the last byte come from.

    It is the same in every run over the same texts, whichever other fixes are applied before, and so names the fix.
    """

    path: str
    code: str
    first: ByteOrigin
    last: ByteOrigin

    @property
    def key(self) -> str:
        """The whole of it in a word."""
        ends = [(place.offset, place.maker) for place in (self.first, self.last)]
        return digest(repr((self.path, self.code, ends)).encode())

    @property
    def makers(self) -> frozenset[str]:
        """The keys of the fixes that made what this one changes; without them there is no such fix."""
        return frozenset(place.maker for place in (self.first, self.last) if place.maker)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bytes that come from the same text, one after the other: where the first is from, and how many."""

    place: ByteOrigin
    length: int

    def part(self, start: int, end: int) -> _Piece:
        """Return some of the bytes."""
        return _Piece(ByteOrigin(self.place.offset + start, self.place.maker), end - start)


@dataclass(frozen=True, slots=True)
class Lineage:
    """A text as pieces, in order: what is left of the text before all fixes, and what they made."""

    pieces: tuple[_Piece, ...]

    @classmethod
    def of(cls, source: Source) -> Lineage:
        """Return a text before all fixes."""
        return cls((_Piece(ByteOrigin(0), len(source.utf8)),))

    def origin(self, finding: Finding, table: LineTable) -> Origin:
        """Return the origin of a finding in this text; ``table`` holds the rows of the text."""
        start, end = _offset(table, finding.start), _offset(table, finding.end)
        return Origin(finding.path, finding.code, self._place(start), self._place(max(start, end - 1)))

    def after(self, source: Source, edits: Iterable[tuple[Edit, str]]) -> Lineage:
        """Return the text with edits made that do not overlap, each with the key of its fix.

        ``source`` is the text before.
        """
        newline = dominant_newline(source.text)
        makers: dict[Edit, str] = {}
        for edit, maker in edits:
            makers.setdefault(edit, maker)
        pieces: list[_Piece] = []
        done = 0
        for edit in sorted(makers):
            pieces += self._between(done, edit.start)
            made = len(inserted(edit, newline))
            pieces += [_Piece(ByteOrigin(0, makers[edit]), made)] if made else []
            done = edit.end
        return Lineage((*pieces, *self._between(done, len(source.utf8))))

    def _place(self, offset: int) -> ByteOrigin:
        for piece in self._between(offset, offset + 1):
            return piece.place
        return ByteOrigin(offset)  # the end of the text

    def _between(self, start: int, end: int) -> list[_Piece]:
        ends = list(accumulate(piece.length for piece in self.pieces))
        found: list[_Piece] = []
        for index in range(bisect_right(ends, start), len(self.pieces)):
            piece, before = self.pieces[index], ends[index] - self.pieces[index].length
            if before >= end:
                break
            found.append(piece.part(max(start - before, 0), min(end - before, piece.length)))
        return found


def _offset(table: LineTable, position: Position) -> int:
    return table.offset(position.row, len(table.line(position.row)[: position.column - 1].encode()))
