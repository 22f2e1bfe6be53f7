"""Putting a changed text in the place of a file, whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from torchlint.cache import strays
from torchlint.late import dataclass, regex
from torchlint.sources.decode import UndecodableError, read_any, to_bytes
from torchlint.sources.text import Source

_PREFIX = ".torchlint-"
_SUFFIX = ".tmp"
_STRAY = regex(rf"{re.escape(_PREFIX)}(\d{{1,10}})-\w+{re.escape(_SUFFIX)}")


class ChangedMeanwhileError(Exception):
    """The file on disk is no longer what was read."""


class UnencodableError(Exception):
    """The new text cannot be written in the file's encoding so that it reads the same."""


def replace_file(source_before: Source, source_after: Source) -> None:
    """Write a changed text: atomically, with the file's mode, owner, extended attributes and encoding, through links.

    A file that has several names (hard links) keeps them: its new text is put into it. A run that is killed between
    the two steps of that leaves the new text with empty lines behind it.

    Raises:
        ChangedMeanwhileError: the bytes on disk are not ``source_before.raw``, or the file is gone.
        UnencodableError: the encoding has no bytes for the new text, or reading them back gives another text.
        OSError: the file may not be written, or the folder takes no new file.
    """
    with Staged.of(source_before, source_after) as staged:
        staged.replace()


def replace_together(texts: Iterable[tuple[Source, Source]]) -> None:
    """Write changed texts of several files, each with its text before: all of them, or none.

    Where one cannot be written, or the user interrupts, the files that were written already get their old texts back.
    Those lie on disk before the first file is written, so a full disk cannot prevent that.

    Raises: as ``replace_file``.
    """
    with ExitStack() as stack:
        staged = [stack.enter_context(Staged.of(before, after)) for before, after in texts]
        backups = [stack.enter_context(each.backup()) for each in staged]
        undoing = stack.enter_context(ExitStack())
        for each, backup in zip(staged, backups, strict=True):
            undoing.callback(_undo, each, backup)
        for each in staged:
            each.replace()
        undoing.pop_all()


@dataclass(frozen=True, slots=True)
class Staged:
    """A changed text that lies on disk beside its file, ready to take its place; removed at the end of the ``with``."""

    before: Source
    raw: bytes
    target: Path
    temporary: Path

    @classmethod
    def of(cls, before: Source, after: Source) -> Staged:
        """Write a changed text to a temporary file beside its file.

        Raises: as ``replace_file``.
        """
        target = Path(os.path.realpath(before.path))
        raw = _encoded(before, after)
        if _on_disk(target) != raw:
            _check_unchanged(target, before)
        return cls._laid(before, raw, target)

    def backup(self) -> Staged:
        """Write the file's present text beside it, ready to replace the changed one."""
        return self._laid(replace(self.before, raw=self.raw), self.before.raw, self.target)

    @classmethod
    def _laid(cls, before: Source, raw: bytes, target: Path) -> Staged:
        import tempfile

        handle, name = tempfile.mkstemp(prefix=f"{_PREFIX}{os.getpid()}-", suffix=_SUFFIX, dir=target.parent)
        with ExitStack() as stack:
            staged = stack.enter_context(cls(before, raw, target, Path(name)))
            with os.fdopen(handle, "wb") as stream:
                stream.write(raw)
                stream.flush()
                os.fsync(stream.fileno())
            _copy_status(target, staged.temporary)
            stack.pop_all()
        return staged

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, *_: object) -> None:
        # After the replacement there is nothing left to remove.
        with suppress(OSError):
            self.temporary.unlink(missing_ok=True)

    def replace(self) -> None:
        """Replace the file by the changed text.

        Raises: as ``replace_file``.
        """
        if _on_disk(self.target) == self.raw:  # as another name of the same file, a hard link, was fixed
            return
        _check_unchanged(self.target, self.before)
        if self.target.stat().st_nlink > 1:
            _overwrite(self.target, self.raw, self.before.raw)
        else:
            self.temporary.replace(self.target)


def remove_strays(folder: Path) -> None:
    """Remove what runs left in a folder that were killed while they wrote there."""
    strays.remove_strays(str(folder), _STRAY)


def _undo(done: Staged, backup: Staged) -> None:
    """Let a file have its old text again, if it got the changed one."""
    if _on_disk(done.target) == done.raw:
        backup.replace()


def _overwrite(target: Path, raw: bytes, before: bytes) -> None:
    """Put other bytes into a file; where that fails, as on a full disk, those that it had."""
    try:
        _put(target, raw)
    except OSError:
        _put(target, before)
        raise


def _put(target: Path, raw: bytes) -> None:
    """Write bytes into a file over those that it has: all that come at once, then the end.

    Empty lines cover the rest of a longer text until the end is set: no moment shows the end of the old text.
    """
    with target.open("r+b", buffering=0) as stream:
        whole = raw.ljust(os.fstat(stream.fileno()).st_size, b"\n")
        done = 0
        while done < len(whole):
            done += stream.write(whole[done:])
        stream.truncate(len(raw))
        os.fsync(stream.fileno())


def _encoded(before: Source, after: Source) -> bytes:
    """The bytes of the new text, proven to read back as that text."""
    if _bytes(before) != before.raw:
        raise UnencodableError(f"{before.name} cannot be written back byte for byte in its encoding {before.encoding}")
    raw = _bytes(after)
    try:
        same = read_any(raw, after.path, after.name).text == after.text
    except UndecodableError:
        same = False
    if not same:
        raise UnencodableError(f"the new text of {after.name} would no longer read as {after.encoding}")
    return raw


def _bytes(source: Source) -> bytes:
    try:
        return to_bytes(source)
    except UnicodeError as error:
        raise UnencodableError(f"the new text of {source.name} does not fit its encoding {source.encoding}") from error
    except ValueError as error:
        raise UnencodableError(str(error)) from error


def _on_disk(target: Path) -> bytes | None:
    try:
        # Opened for writing, because a replacement would also go over a file that is marked as read-only.
        with target.open("r+b") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def _check_unchanged(target: Path, before: Source) -> None:
    if _on_disk(target) != before.raw:
        raise ChangedMeanwhileError(f"{before.name} has been changed by another program meanwhile and is left alone")


def _copy_status(target: Path, temporary: Path) -> None:
    """Give the new file the owner, mode and extended attributes of the old one, as far as the system lets."""
    status = target.stat()
    if sys.platform != "win32":
        # Only the superuser may give a file away; a change of owner also clears mode bits, so the mode comes last.
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(target):
                with suppress(OSError):
                    os.setxattr(temporary, name, os.getxattr(target, name))
    temporary.chmod(stat.S_IMODE(status.st_mode))
