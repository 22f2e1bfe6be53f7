"""What a result depends on besides the command line: files, folders, and files that are not there.

An entry is a letter for its kind and a path. A ``f``ile counts by its bytes, a ``d`` folder by the names in it that may
matter to a run, an ``s`` file, one of the tool's own, by its size and time alone; of an ``e``ntry matters only whether
it is there. The stamp of an entry is what the file system says of it; it saves reading. What changed so lately that a
later change might leave the same stamp gets the stamp ``DIRTY``, which equals none, and is compared by its digest.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import BinaryIO

DIRTY = "~"
ABSENT = "-"
SETTINGS_FILES = (".torchlint.toml", "torchlint.toml", "pyproject.toml")
# What a run looks for in the folders above a path.
LOOKED_FOR = (*SETTINGS_FILES, ".gitignore")
REPOSITORIES = (".git", ".hg")
# How the names of files begin that state versions, but for those of settings and of Python.
STATING = (
    *("requirements", "environment", "setup.cfg", "Pipfile", "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"),
    *("pixi.lock", "conda-lock.yml"),
)
SUFFIXES = (".py", ".ipynb")
# Clocks of file systems tick in steps of up to two seconds, and their time is not always ours.
_FRESH = 2_000_000_000
_TICK = 20_000_000


class World:
    """Entries with their stamps and digests, all of the same length."""

    __slots__ = ("digests", "entries", "stamps")

    def __init__(self, entries: Sequence[str], stamps: Sequence[str], digests: Sequence[str]) -> None:
        """Take what was kept.

        Raises:
            ValueError: the lengths differ.
        """
        if not len(entries) == len(stamps) == len(digests):
            raise ValueError("a world lacks a part")
        self.entries = entries
        self.stamps = stamps
        self.digests = digests

    @classmethod
    def now(cls, entries: Iterable[str], started: int, seen: Mapping[str, tuple[str, str]]) -> World | None:
        """Return the current entries, ``None`` if one cannot be read or changed since the run began.

        ``started`` is the time in nanoseconds at which the run began to read, and ``seen`` holds the stamps and digests
        of what it read itself, the stamps from before.
        """
        listed = sorted(set(entries))
        stamps, digests = [], []
        for entry in listed:
            known = seen.get(entry)
            if known is None:
                found = None if changed_since(entry, started) else content(entry)
                if found is None:
                    return None
                known = stamp(entry, started), found
            stamps.append(known[0])
            digests.append(known[1])
        return cls(listed, stamps, digests)

    def again(self, started: int) -> World | None:
        """Return the world with current stamps if nothing in it changed, else ``None``."""
        stamps = [stamp(entry, started) for entry in self.entries]
        if stamps == self.stamps and DIRTY not in stamps:
            return self
        for entry, old, new, known in zip(self.entries, self.stamps, stamps, self.digests, strict=True):
            if (old != new or new == DIRTY) and content(entry) != known:
                return None
        return World(self.entries, stamps, self.digests)


def stamp(entry: str, started: int) -> str:
    """Return the stamp of an entry: what the file system reports of it."""
    path = entry[1:]
    try:
        found = os.stat(path)
    except OSError:
        return ABSENT
    if entry[0] == "e":
        return "+"
    if found.st_mtime_ns > started - _FRESH or found.st_ctime_ns > started - _FRESH:
        return DIRTY
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_dev} {found.st_mode}"


def changed_since(entry: str, started: int) -> bool:
    """Return whether an entry changed since a time in nanoseconds, or may have."""
    if entry[0] in "es":
        return False
    try:
        found = os.stat(entry[1:])
    except OSError:
        return False
    return max(found.st_mtime_ns, found.st_ctime_ns) > started - _TICK


def content(entry: str) -> str | None:
    """Return the digest of an entry, ``None`` if it cannot be read."""
    kind, path = entry[0], entry[1:]
    try:
        if kind == "d":
            with os.scandir(path) as scan:
                return listing(scan)
        if kind == "s":
            found = os.stat(path)
            return f"{found.st_size} {found.st_mtime_ns}"
        if kind == "f":
            with open_file(path) as stream:
                return _digest(stream.read())
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return None
    return "+" if os.path.exists(path) else ABSENT


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading its bytes, if it is one: a pipe would be waited for, and a device has no end.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    if "\0" in os.fspath(path) or not stat.S_ISREG(os.stat(path).st_mode):
        import errno

        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return open(path, "rb")


def listing(entries: Iterable[os.DirEntry[str]]) -> str:
    """Return the digest of the relevant names in a folder, with their kinds."""
    found = []
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            found.append(f"{name}/")
        elif name.endswith(SUFFIXES) or name in LOOKED_FOR or name in REPOSITORIES or name.startswith(STATING):
            found.append(f"{name}@" if entry.is_symlink() else name)
    return _digest("\n".join(sorted(found)).encode("utf-8", "surrogateescape"))


def _digest(data: bytes) -> str:
    from torchlint.cache.digest import digest  # which a run that only asks for names of files has no use for

    return digest(data)


def look(folder: str) -> tuple[str, str]:
    """Return the stamp of a folder, and its digest, taken after the stamp."""
    mark = stamp(f"d{folder}", time.time_ns())
    return mark, content(f"d{folder}") or ABSENT


def around(folder: str) -> list[str]:
    """Return the entries for files that a run looks for in a folder and in those above it."""
    entries = []
    while True:
        entries += [f"f{os.path.join(folder, name)}" for name in LOOKED_FOR]
        entries += [f"e{os.path.join(folder, name)}" for name in REPOSITORIES]
        above = os.path.dirname(folder)
        if above == folder:
            return entries
        folder = above
