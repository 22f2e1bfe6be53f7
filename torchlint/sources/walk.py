"""Which files are linted, and which belong to the project."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from torchlint.cache.place import located, package_of
from torchlint.cache.world import listing, stamp
from torchlint.late import dataclass
from torchlint.settings.model import Settings
from torchlint.sources.gitignore import Ignores, TooLargeError, ignores_above, ignores_in
from torchlint.sources.globs import Globs


@dataclass(frozen=True, slots=True)
class Walk:
    """The files found, absolute, sorted, none twice; pairs of a path and what is wrong with it.

    ``folders`` gives for each folder that was looked into its stamp and the digest of what is in it.
    """

    files: tuple[Path, ...]
    problems: tuple[tuple[str, str], ...] = ()
    folders: Mapping[str, tuple[str, str]] = field(default_factory=dict, compare=False)


def walk(paths: Sequence[Path], settings: Settings) -> Walk:
    """Return the files to lint: the given files, and in folders all ``*.py`` and ``*.ipynb`` that are not excluded.

    Links to folders are not followed, except where they are given; of several links to one file one is kept.
    """
    walker = _Walker(settings)
    for path in paths:
        walker.add(path)
    return walker.result()


def python_files(root: Path, settings: Settings) -> tuple[Path, ...]:
    """Return all Python files of a project, sorted: what the facts are read from, whichever files are linted."""
    return walk([root], settings).files


def packages(paths: Iterable[Path]) -> list[Path]:
    """Return the outermost packages that files belong to."""
    found = {package_of(folder) for folder in {str(path.parent) for path in paths}}
    return sorted(Path(package) for package in found if package is not None)


def beside(folder: Path) -> list[Path]:
    """Return the Python files right in a folder; none where it cannot be looked into."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return []
    return [folder / name for name in names if os.path.isfile(folder / name)]


class _Walker:
    """Collects files by the real path they lead to, so that none is linted, or fixed, twice."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._excluded = Globs((*settings.exclude, *settings.extend_exclude), settings.root)
        self._found: dict[str, str] = {}
        self._folders: dict[str, tuple[str, str]] = {}
        self._started = time.time_ns()
        self._problems: list[tuple[str, str]] = []

    def result(self) -> Walk:
        files = sorted((Path(path) for path in self._found.values()), key=lambda path: path.parts)
        return Walk(tuple(files), tuple(sorted(set(self._problems))), self._folders)

    def add(self, given: Path) -> None:
        path = Path(located(str(given)))
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            self._problems.append((str(given), "no such file or folder"))
            return
        except OSError as error:
            self._cannot_read(str(given), error)
            return
        if self._settings.force_exclude and self._excluded.covers(path):
            return
        if stat.S_ISDIR(mode):
            self._descend(path)
        elif stat.S_ISREG(mode):
            self._keep(str(path), os.path.realpath(path))
        else:
            self._problems.append((str(given), "neither a file nor a folder"))

    def _keep(self, path: str, real: str) -> None:
        known = self._found.get(real)
        # The file itself is better than a link to it; between links the order of their names decides.
        if known is None or (known != real and (path == real or path < known)):
            self._found[real] = path

    def _cannot_read(self, path: str, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        self._problems.append((path, f"cannot be read: {reason}"))

    def _descend(self, start: Path) -> None:
        above = self._above(start) if self._settings.respect_gitignore else None
        waiting: list[tuple[str, str, Ignores | None]] = [(str(start), os.path.realpath(start), above)]
        while waiting:
            folder, real, ignores = waiting.pop()
            mark = stamp(f"d{folder}", self._started)
            try:
                with os.scandir(folder) as scan:
                    entries = list(scan)
            except OSError as error:
                self._cannot_read(folder, error)
                continue
            self._folders[folder] = mark, listing(entries)
            if self._settings.respect_gitignore and any(entry.name == ".gitignore" for entry in entries):
                ignores = self._within(folder, ignores)
            for entry in entries:
                below = self._look(entry, os.path.join(real, entry.name), ignores)
                if below:
                    waiting.append((entry.path, below, ignores))

    def _above(self, start: Path) -> Ignores | None:
        try:
            return ignores_above(start, self._settings.root)
        except TooLargeError as error:
            self._problems.append((str(start), f"not linted as its .gitignore says: one above {error}"))
            return None

    def _within(self, folder: str, above: Ignores | None) -> Ignores | None:
        try:
            return ignores_in(folder, above)
        except TooLargeError as error:
            self._problems.append((os.path.join(folder, ".gitignore"), f"not heeded: it {error}"))
            return above

    def _look(self, entry: os.DirEntry[str], real: str, ignores: Ignores | None) -> str | None:
        """Keep an entry that is a Python file; of a folder to descend into, the real path."""
        is_folder = entry.is_dir(follow_symlinks=False)
        if not (is_folder or entry.name.endswith((".py", ".ipynb"))) or self._excluded.match(entry.path):
            return None
        if ignores is not None and ignores.match(entry.path, is_folder):
            return None
        if is_folder:
            return real
        if entry.is_file(follow_symlinks=False):
            self._keep(entry.path, real)
        elif entry.is_symlink() and os.path.isfile(entry.path):
            self._keep(entry.path, os.path.realpath(entry.path))
        return None
