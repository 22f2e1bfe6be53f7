"""A copy of a project as it lies on disk now: what git tracks and what it does not ignore, without caches."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from torchlint.late import dataclass
from torchlint.sources.git import GitError, names
from torchlint.sources.gitignore import Ignores, ignores_in

_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
_CACHES = frozenset({"__pycache__", ".torchlint_cache", ".tox", ".nox", "node_modules", ".ipynb_checkpoints"})
# What these hold is made again, or belongs to another project than the one that is copied.
_MARKS = ("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG")
# An ignored file may be needed (a version, a built extension); one of this size is a checkpoint or a data set.
_LARGE = 50_000_000


@dataclass(slots=True)
class Copy:
    """A project that is being copied.

    Attributes:
        base: the folder that is copied. target: where to; it does not exist yet.
        whole: paths below ``base`` that are copied although git ignores them.
        linked: paths below ``base`` that the copy has as links to the real ones.
        left_out: what the copy lacks, relative to ``base``: what git ignores, and links to what is not copied.
    """

    base: Path
    target: Path
    whole: Collection[Path] = ()
    linked: Collection[Path] = ()
    left_out: list[str] = field(default_factory=list)
    _links: list[Path] = field(default_factory=list)

    def make(self) -> None:
        """Copy everything.

        Raises:
            OSError: there is no room, or a file cannot be read.
        """
        self._folder(self.base, None, _tracked(self.base), ignored=False)
        self._make_links()
        for path in self.linked:
            self._there(path).parent.mkdir(parents=True, exist_ok=True)
            os.symlink(path, self._there(path))

    def _there(self, path: Path) -> Path:
        return self.target / path.relative_to(self.base)

    def _folder(self, folder: Path, ignores: Ignores | None, tracked: Collection[Path], ignored: bool) -> None:
        """Copy a folder; of an ``ignored`` one only what git tracks all the same."""
        ignores = ignores_in(str(folder), ignores)
        there = self._there(folder)
        there.mkdir(parents=True, exist_ok=True)
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        for entry in entries:
            path = Path(entry.path)
            # The scratch folder may lie in the project.
            if path in self.linked or path == self.target.parent or (path not in self.whole and _is_needless(entry)):
                continue
            if entry.is_symlink():
                self._links.append(path)
            elif entry.is_dir():
                self._below(path, ignores, tracked, ignored)
            elif entry.is_file() and self._wants(path, entry, ignores, tracked, ignored):
                shutil.copy2(path, self._there(path))

    def _below(self, path: Path, ignores: Ignores | None, tracked: Collection[Path], ignored: bool) -> None:
        if path in self.whole:
            self._folder(path, None, tracked, ignored=False)
            return
        out = ignored or (ignores is not None and ignores.match(str(path), folder=True))
        holds = any(path in above.parents for above in (*self.whole, *self.linked))
        if not out or holds or path in tracked:
            self._folder(path, ignores, tracked, out)
        else:
            self.left_out.append(f"{path.relative_to(self.base).as_posix()}/")

    def _wants(
        self,
        path: Path,
        entry: os.DirEntry[str],
        ignores: Ignores | None,
        tracked: Collection[Path],
        ignored: bool,
    ) -> bool:
        if path in self.whole or path in tracked:
            return True
        large = entry.stat().st_size > _LARGE and ignores is not None and ignores.match(str(path), folder=False)
        if ignored or large:
            self.left_out.append(path.relative_to(self.base).as_posix())
            return False
        return True

    def _make_links(self) -> None:
        """Make the links, each when it is known whether what it leads to has been copied."""
        waiting = set(self._links)
        while waiting:
            # Links that lead in a circle wait for each other.
            ready = {link for link in waiting if self._step(link) not in waiting} or set(waiting)
            for link in sorted(ready):
                self._make_link(link, waiting)
            waiting -= ready

    def _make_link(self, link: Path, waiting: Collection[Path]) -> None:
        """Make a link: what leads into the project leads into the copy and never out of it, or is left out."""
        leads = self._step(link)
        if not leads.is_relative_to(self.base):
            back = Path(os.path.realpath(leads))
            if self.base.is_relative_to(back) and back != self.base:
                self._leave_out(link)  # a folder above holds the real project
                return
            if not back.is_relative_to(self.base):
                os.symlink(leads, self._there(link))
                return
            leads = back
        there = self._there(leads)
        if os.path.lexists(leads) and not os.path.lexists(there) and leads not in waiting:
            self._leave_out(link)
        else:
            os.symlink(os.path.relpath(there, self._there(link).parent), self._there(link))

    def _leave_out(self, link: Path) -> None:
        self.left_out.append(f"{link.relative_to(self.base).as_posix()} (a link)")

    @staticmethod
    def _step(link: Path) -> Path:
        """What a link names; on the way there other links are followed, but not at its end."""
        named = link.parent / os.readlink(link)
        if named.name in ("", ".."):
            return Path(os.path.realpath(named))
        return Path(os.path.realpath(named.parent), named.name)


def _is_needless(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a repository, a cache or a virtual environment; in a worktree ``.git`` is a file."""
    if entry.name in _REPOSITORIES:
        return True
    if not entry.is_dir(follow_symlinks=False):
        return False
    return entry.name in _CACHES or any(os.path.exists(os.path.join(entry.path, mark)) for mark in _MARKS)


def _tracked(base: Path) -> frozenset[Path]:
    """The files that git tracks below a folder, and the folders that hold them; none where there is no git."""
    return frozenset(_with_folders(base))


def _with_folders(base: Path) -> Iterator[Path]:
    with suppress(GitError):
        for name in names(base, "ls-files", "-z"):
            yield base / name
            yield from (base / above for above in Path(name).parents)


def synchronise(model: Path, copy: Path) -> None:
    """Synchronise a folder with another: remove what is new, copy again what changed by size and time.

    Compiled Python stays: it is looked at only where it belongs to a text.

    Raises:
        OSError: something cannot be removed or copied.
    """
    copy.mkdir(exist_ok=True)
    wanted = {entry.name: entry for entry in os.scandir(model)}
    for entry in os.scandir(copy):
        if entry.name not in wanted and entry.name != "__pycache__":
            _remove(Path(entry.path))
    for name, entry in wanted.items():
        there = copy / name
        if entry.is_symlink():
            if not there.is_symlink() or os.readlink(there) != os.readlink(entry.path):
                _remove(there)
                os.symlink(os.readlink(entry.path), there)
        elif entry.is_dir():
            if there.is_symlink() or not there.is_dir():
                _remove(there)
            synchronise(Path(entry.path), there)
        elif not _same(entry, there):
            _remove(there)
            shutil.copy2(entry.path, there)


def _same(entry: os.DirEntry[str], there: Path) -> bool:
    try:
        one, other = entry.stat(), there.lstat()
    except FileNotFoundError:
        return False
    return (one.st_size, one.st_mtime_ns, one.st_mode) == (other.st_size, other.st_mtime_ns, other.st_mode)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
