"""The files of a run: which there are, which pass the gate, and what is known of them without reading them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cache.digest import digest
from torchlint.cache.world import ABSENT, DIRTY, stamp
from torchlint.cache.world import content as content_of
from torchlint.engine.gate import imported, spread
from torchlint.engine.limits import too_large
from torchlint.engine.notebooks import notebook_code
from torchlint.engine.record import FileRecord
from torchlint.engine.syntax import Unparsed, begins_too_deep, is_sound
from torchlint.late import dataclass
from torchlint.sources.decode import UndecodableError, read_any
from torchlint.sources.wide import is_wide

if TYPE_CHECKING:
    from torchlint.engine.memory import Memory
    from torchlint.sources.text import Source


class ChangedWhileReadError(Exception):
    """A file is no longer what it was when this run first looked at it."""


@dataclass(slots=True)
class File:
    """A file of the project: ``raw`` are its bytes, ``None`` if memory knows enough of it."""

    name: str
    path: Path
    known: FileRecord
    raw: bytes | None

    @property
    def size(self) -> int:
        """Its bytes; none where it is gone."""
        if self.raw is not None:
            return len(self.raw)
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def source(self) -> Source:
        """Return the text of the file.

        Raises:
            UndecodableError: its bytes are no text.
            ChangedWhileReadError: it changed, or cannot be read any more.
        """
        if self.raw is None:
            try:
                self.raw = self.path.read_bytes()
            except OSError as error:
                raise ChangedWhileReadError(self.name) from error
            if digest(self.raw) != self.known.digest:
                raise ChangedWhileReadError(self.name)
        return read_any(self.raw, self.path, self.name)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files as the gate needs them; what ``memory`` knows of a file is not found out again."""

    words: Sequence[str]
    memory: Memory | None

    def read_all(
        self, paths: Mapping[str, Path]
    ) -> tuple[dict[str, File], dict[str, str], dict[str, str], dict[str, Unparsed]]:
        """Return all readable files by name, why others cannot be read or are skipped, and what Python cannot parse."""
        files: dict[str, File] = {}
        problems: dict[str, str] = {}
        skipped: dict[str, str] = {}
        broken: dict[str, Unparsed] = {}
        for name, path in paths.items():
            try:
                reason = too_large(path)
                if reason:
                    deep = begins_too_deep(path) if path.suffix != ".ipynb" else None
                    if deep is None:
                        skipped[name] = reason
                    else:
                        broken[name] = deep
                    self._note_size(path)
                else:
                    files[name] = self.read(name, path)
            except OSError as error:  # noqa: PERF203  each file may fail by itself
                problems[name] = f"cannot be read: {error.strerror or type(error).__name__}"
        return files, problems, skipped, broken

    def _note_size(self, path: Path) -> None:
        """A file that is not read counts by its size."""
        if self.memory is not None:
            entry = f"s{path}"
            self.memory.seen[entry] = stamp(entry, self.memory.started), content_of(entry) or ABSENT

    def read(self, name: str, path: Path) -> File:
        """Return one file.

        Raises:
            OSError: it cannot be read.
        """
        if self.memory is None:
            raw = path.read_bytes()
            return File(name, path, self._look(name, path, raw, "", ""), raw)
        entry = f"f{path}"
        mark = stamp(entry, self.memory.started)
        old = self.memory.files.get(name)
        raw_: bytes | None = None
        if old is not None and old.stamp == mark and mark not in (DIRTY, ABSENT):
            known = old
        else:
            raw_ = path.read_bytes()
            content = digest(raw_)
            same = old is not None and old.digest == content
            known = replace(old, stamp=mark) if old and same else self._look(name, path, raw_, mark, content)
        self.memory.met[name] = known
        self.memory.seen[entry] = known.stamp, known.digest
        return File(name, path, known, raw_)

    def is_sound(self, file: File) -> bool:
        """Return whether Python can parse a file; report a problem if not, whatever the file is about.

        Raises:
            ChangedWhileReadError: the file changed since this run first looked at it.
        """
        if file.known.sound is None:
            try:
                sound = is_sound(file.source())
            except UndecodableError:
                sound = False
            file.known = replace(file.known, sound=sound)
            if self.memory is not None and file.name in self.memory.met:
                self.memory.met[file.name] = file.known
        return bool(file.known.sound)

    def given(self, source: Source) -> File:
        """Return a text that is not in a file."""
        return File(source.name, source.path, self._look(source.name, source.path, source.utf8, "", ""), source.raw)

    def _look(self, name: str, path: Path, raw: bytes, mark: str, content: str) -> FileRecord:
        code = notebook_code(raw, path, name)
        spoken = tuple(word for word in self.words if is_wide(raw) or word.encode() in code)
        return FileRecord(mark, content, spoken, tuple(sorted(imported(code))))


def passing(files: Iterable[File], words: Set[str]) -> frozenset[str]:
    """Return the names of the files that pass the gate of these words."""
    listed = list(files)
    imports: Mapping[str, Iterable[str]] = {file.name: file.known.words for file in listed}
    return spread([file.name for file in listed if not words.isdisjoint(file.known.spoken)], imports)
