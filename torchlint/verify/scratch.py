"""The folder that a run works in: locked while it is used, removed at the end or by the next run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from torchlint.cache.digest import digest
from torchlint.late import dataclass
from torchlint.sources.decode import to_bytes
from torchlint.sources.text import Source
from torchlint.verify.copying import Copy, synchronise
from torchlint.verify.failure import CannotVerifyError

_PREFIX = "torchlint-verify-"
_LOCK = ".lock"
_SECOND = 1_000_000_000


@dataclass(slots=True)
class Scratch:
    """A copy of a project to run things in, which can be made again as it was.

    Attributes:
        base: the real project. folder: the scratch folder, with a copy that stays and one to work in.
        lock: the descriptor of the file that is locked as long as the folder is in use.
        left_out: what git ignores and the copy lacks, and links to that, relative to ``base``.
    """

    base: Path
    folder: Path
    lock: int
    left_out: tuple[str, ...] = ()
    _stamps: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """The copy to work in; its name is that of the project, which may be the name of a package."""
        return self.folder / "work" / (self.base.name or "project")

    @property
    def output(self) -> Path:
        """A file for what the command prints."""
        return self.folder / "output"

    @property
    def _model(self) -> Path:
        return self.folder / "model"

    def fill(self, whole: Collection[Path] = (), linked: Collection[Path] = ()) -> None:
        """Copy the project. What is in ``whole`` is copied although git ignores it, what is in ``linked`` only linked.

        Raises:
            CannotVerifyError: it cannot be copied.
        """
        copy = Copy(self.base, self._model, whole, linked)
        try:
            copy.make()
            self.work.parent.mkdir()
            synchronise(self._model, self.work)
        except (OSError, shutil.Error) as error:
            raise CannotVerifyError(
                f"cannot copy the project to {self.folder}: {_reason(error)} (set TMPDIR to use another place)"
            ) from error
        self.left_out = tuple(copy.left_out)

    def there(self, path: Path) -> Path | None:
        """Return the place of a real path in the copy, ``None`` if it is not part of it."""
        real = Path(os.path.realpath(path.parent), path.name)
        if real != self.base and self.base not in real.parents:
            return None
        there = self.work / real.relative_to(self.base)
        holder = there if real == self.base else there.parent
        inside = Path(os.path.realpath(holder)).is_relative_to(self.work)
        return there if inside and os.path.lexists(there) else None

    def holds(self, source: Source) -> bool:
        """Return whether the copy has a file with the same bytes."""
        there = self.there(source.path)
        return there is not None and there.is_file() and there.read_bytes() == source.raw

    def put(self, texts: Mapping[str, Source]) -> None:
        """Restore the copy, with these texts in place of those of their files.

        Raises:
            CannotVerifyError: it cannot be written.
        """
        try:
            synchronise(self._model, self.work)
            for source in texts.values():
                self._write(source)
        except (OSError, shutil.Error) as error:
            raise CannotVerifyError(f"cannot write to {self.folder}: {_reason(error)}") from error

    def _write(self, source: Source) -> None:
        path = self.there(source.path)
        if path is None:
            raise CannotVerifyError(f"{source.name} is not part of the copy of {self.base}")
        raw = to_bytes(source)
        status = path.stat()
        if path.is_symlink():  # it may lead to a real file
            path.unlink()
        path.write_bytes(raw)
        path.chmod(status.st_mode)
        # Compiled Python is looked up by size and second: each text of a file gets a second of its own.
        stamp = self._stamps.setdefault((source.name, digest(raw)), len(self._stamps) + 1)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + stamp * _SECOND))


def _reason(error: OSError | shutil.Error) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


@contextmanager
def scratch(base: Path) -> Iterator[Scratch]:
    """Yield an empty scratch folder for a project, and remove it at the end.

    Folders that killed runs left are removed first.

    Raises:
        CannotVerifyError: there is no place for one.
    """
    try:
        place = Path(os.path.realpath(tempfile.gettempdir()))
        remove_stale(place)
        lock, path = _new_lock(place)
    except OSError as error:
        raise CannotVerifyError(f"cannot make a temporary folder: {_reason(error)}") from error
    folder = path.with_suffix("")
    try:
        folder.mkdir(mode=0o700)
        yield Scratch(base, folder, lock)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            path.unlink(missing_ok=True)
        os.close(lock)


def remove_stale(place: Path) -> None:
    """Remove the scratch folders of runs that were killed, once nothing that they started runs any more."""
    for path in place.glob(f"{_PREFIX}*{_LOCK}"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _take(lock, path):
                    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                    if not path.with_suffix("").exists():
                        path.unlink()
            finally:
                os.close(lock)


def _new_lock(place: Path) -> tuple[int, Path]:
    """A new locked file. Another run that looks for stale ones may be faster; then there is a next one."""
    while True:
        lock, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_LOCK, dir=place)
        path = Path(name)
        if _take(lock, path):
            return lock, path
        os.close(lock)


def _take(lock: int, path: Path) -> bool:
    """Lock an open file, unless someone else has locked or removed it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(lock), path.stat())
    except OSError:
        return False
