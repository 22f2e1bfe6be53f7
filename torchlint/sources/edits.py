"""Text edits: which of them go together, and what they make of a text."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from torchlint.late import regex
from torchlint.rule import Edit
from torchlint.sources.text import Source

_BARE_LF = regex(r"(?<!\r)\n")


def apply_edits(source: Source, edits: Sequence[Edit]) -> Source:
    r"""Return the source with all edits made; ``raw`` stays what is on disk.

    Equal edits count once. ``\n`` in an edit's text becomes the newline that the file mostly uses.

    Raises:
        ValueError: edits overlap, lie outside the text or inside a character.
    """
    newline = dominant_newline(source.text)
    pieces: list[bytes] = []
    done = 0
    last: Edit | None = None
    for edit in sorted(set(edits)):
        if not 0 <= edit.start <= edit.end <= len(source.utf8):
            raise ValueError(f"{edit} lies outside a text of {len(source.utf8)} bytes")
        if last is not None and _overlap(last, edit):
            raise ValueError(f"{last} and {edit} overlap")
        pieces += [source.utf8[done : edit.start], _apart(source.utf8, edit, inserted(edit, newline))]
        done = edit.end
        last = edit
    utf8 = b"".join([*pieces, source.utf8[done:]])
    return replace(source, text=utf8.decode(), utf8=utf8)


def _apart(utf8: bytes, edit: Edit, text: bytes) -> bytes:
    r"""What an edit puts in, so that where rows end in ``\r`` alone no ``\n`` beside one makes one end of two."""
    if utf8.endswith(b"\r", 0, edit.start) and text.startswith(b"\n"):
        text = b"\r" + text[1:]
    if text.endswith(b"\r") and utf8.startswith(b"\n", edit.end):
        text = text[:-1] + b"\n"
    return text


def inserted(edit: Edit, newline: str) -> bytes:
    """Return the bytes that an edit puts into a text whose rows end in ``newline``."""
    return _BARE_LF.sub(newline, edit.text).encode()


def choose_edits(groups: Sequence[tuple[Edit, ...]]) -> list[int]:
    """Return the indices of the groups that can be applied together, in the order of their first edits.

    A group is taken whole or not at all. Groups may share an equal insertion, and all edits with one that is taken; any
    other overlap leaves the later group out, and so does one inside a group.
    """
    return choose_in_files([{"": group} for group in groups])


def choose_in_files(groups: Sequence[Mapping[str, tuple[Edit, ...]]]) -> list[int]:
    """Return the same for groups of edits in several files, by file name: a group is applied whole or not at all."""
    taken: dict[str, list[Edit]] = {}
    wholes: set[frozenset[tuple[str, Edit]]] = set()
    chosen = []
    named = [sorted((name, edit) for name, edits in group.items() for edit in edits) for group in groups]
    order = sorted((pairs[0], index) for index, pairs in enumerate(named) if pairs)
    for _, index in order:
        whole = frozenset(named[index])
        added = {} if whole in wholes else _added_in_files(groups[index], taken)
        if added is not None:
            chosen.append(index)
            wholes.add(whole)
            for name, edits in added.items():
                for edit in edits:
                    insort(taken.setdefault(name, []), edit)
    return chosen


def dominant_newline(text: str) -> str:
    r"""Return the newline that ends most rows of a text, ``\n`` when there is none."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda newline: counts[newline])


def _added_in_files(
    group: Mapping[str, tuple[Edit, ...]], taken: Mapping[str, Sequence[Edit]]
) -> dict[str, list[Edit]] | None:
    """What a group adds in each file, ``None`` when it cannot be added in one of them."""
    added: dict[str, list[Edit]] = {}
    for name, edits in group.items():
        new = _added(edits, taken.get(name, ()))
        if new is None:
            return None
        added[name] = new
    return added


def _added(group: Iterable[Edit], taken: Sequence[Edit]) -> list[Edit] | None:
    """The edits that a group adds to the taken ones, ``None`` when it cannot be added."""
    added: list[Edit] = []
    for edit in sorted(set(group)):
        if added and _overlap(added[-1], edit):
            return None
        place = bisect_left(taken, edit)
        # The taken edits do not overlap each other, so only the neighbours can be in the way.
        neighbours = taken[max(place - 1, 0) : place + 1]
        if edit.start == edit.end and edit in neighbours:
            continue
        if any(_overlap(neighbour, edit) for neighbour in neighbours):
            return None
        added.append(edit)
    return added


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same bytes, or insert at the same place, where their order would be a guess."""
    if one.start == one.end == other.start == other.end:
        return True
    return one.start < other.end and other.start < one.end
