"""What earlier runs found out: of single files, and of units of files that are connected.

Findings of a file depend on its own text, on the texts of all files of its unit, on the settings, and on torchlint; so
a unit is known by a digest of all of these, and findings are taken from memory for exactly the same unit alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.cache.digest import digest
from torchlint.cache.pack import pack, unpack
from torchlint.engine.record import FileRecord
from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.rule import Finding

# Findings of so many bytes of units that the last run did not meet are kept: other settings, other branches.
_SPARE = 16 << 20


@dataclass(eq=False, slots=True)
class Memory:
    """What earlier runs know, and what this run adds.

    Attributes:
        tool: stands for the code of torchlint and its rules. started: when this run began to read, in nanoseconds.
        files: by name, what earlier runs know. met: the same for the files that this run met.
        gate: the words that files were searched for.
        units: by digest, findings by file as JSON. used: the digests of those that this run met or added.
        seen: what this run read, as entries of a world with stamps and digests.
        whole: whether this run met all files of the project, so that others are gone.
    """

    tool: str
    started: int
    files: dict[str, FileRecord] = field(default_factory=dict)
    met: dict[str, FileRecord] = field(default_factory=dict)
    gate: str = ""
    units: dict[str, bytes] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)
    whole: bool = False

    @classmethod
    def of(cls, tool: str, started: int, data: bytes) -> Memory:
        """Read what was kept, without anything that is wrong."""
        memory = cls(tool, started)
        try:
            parts = unpack(data)
            if not parts or parts[0].decode("utf-8", "replace") != tool:
                return memory
            _, gate, listed, *units = parts
            memory.gate = gate.decode()
            table = json.loads(listed)
            memory.files = {str(name): _known(row) for name, row in table.items()}
            memory.units = {key.decode("ascii"): rows for key, rows in zip(units[::2], units[1::2], strict=True)}
        except (ValueError, TypeError, AttributeError, RecursionError):
            return cls(tool, started)
        return memory

    def look_for(self, words: Iterable[str]) -> None:
        """Drop what is known of other words in files than these."""
        gate = " ".join(words)
        if gate != self.gate:
            self.gate, self.files = gate, {}

    def to_bytes(self) -> bytes:
        """Return the bytes to keep: the files met, their units, and some older ones."""
        files = {
            name: [
                each.stamp,
                each.digest,
                " ".join(each.spoken),
                " ".join(each.words),
                each.links,
                each.broken,
                each.sound,
            ]
            for name, each in (self.met if self.whole else {**self.files, **self.met}).items()
        }
        parts = [self.tool.encode(), self.gate.encode(), json.dumps(files, separators=(",", ":")).encode()]
        room = _SPARE
        for key, rows in self.units.items():
            if key not in self.used:
                room -= len(rows)
                if room < 0:
                    continue
            parts += [key.encode(), rows]
        return pack(parts)

    def found(self, key: str, names: Iterable[str]) -> dict[str, list[Finding]] | None:
        """Return the findings of files of a unit, if they are known for all of them."""
        rows = self.units.get(key)
        if rows is None:
            return None
        from torchlint.engine.codec import from_row

        try:
            table = json.loads(rows)
            known = {name: [from_row(row) for row in table[name]] for name in names}
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        self.used.add(key)
        return known

    def add(self, key: str, findings: Mapping[str, Sequence[Finding]]) -> None:
        """Remember the findings of files of a unit, besides those that are known already."""
        from torchlint.engine.codec import to_row

        table = {name: [to_row(finding) for finding in found] for name, found in findings.items()}
        before = self.units.get(key)
        if before is not None:
            try:
                table = {**json.loads(before), **table}
            except (ValueError, TypeError):
                before = None
        self.units[key] = json.dumps(table, separators=(",", ":")).encode("utf-8", "surrogatepass")
        self.used.add(key)


def key_of(*parts: str) -> str:
    """Return a digest of texts in their order."""
    return digest("\0".join(parts).encode("utf-8", "surrogateescape"))


def _known(row: object) -> FileRecord:
    if not isinstance(row, list):
        raise ValueError("no file")
    stamp, content, spoken, words, links, broken, sound = row
    strings = [stamp, content, spoken, words, *(links or ())]
    if not all(isinstance(text, str) for text in strings):
        raise ValueError("no file")
    if sound not in (None, True, False):
        raise ValueError("no answer")
    if broken is not None:
        message, line, column, large = broken
        if [type(part) for part in broken] != [str, int, int, bool]:
            raise ValueError("no place")
        broken = message, line, column, large
    listed = None if links is None else tuple(links)
    return FileRecord(stamp, content, tuple(spoken.split()), tuple(words.split()), listed, broken, sound)
