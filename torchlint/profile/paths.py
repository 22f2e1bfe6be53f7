"""Which file of the project a recorded path means: the same, one in another place, or none."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from torchlint.late import dataclass
from torchlint.profile.definitions import Definition, definitions, meant

# A folder of these holds code that was installed, or Python's own.
_INSTALLED = frozenset({"site-packages", "dist-packages", "lib-dynload"})
_PYTHON = ("python2.", "python3.")

Where = tuple[str, int]
"""A recorded function: its name and line."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of the project: where it is, and its name relative to the project's root, with ``/``."""

    path: Path
    name: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its name."""
        return parts_of(self.name)

    @property
    def depth(self) -> int:
        """How many parts its name has."""
        return len(self.parts)


def parts_of(recorded: str) -> tuple[str, ...]:
    """Return the parts of a recorded path, of any system."""
    return PurePosixPath(recorded.replace("\\", "/")).parts


def is_foreign(recorded: str) -> bool:
    """Return whether a recorded path cannot be one of a project: installed code, Python's own, or no file at all."""
    parts = parts_of(recorded)
    if not parts or recorded.startswith("<"):
        return True
    folders = parts[:-1]
    pairs = itertools.pairwise(folders)
    return not _INSTALLED.isdisjoint(folders) or any(
        above in ("lib", "lib64") and folder.startswith(_PYTHON) for above, folder in pairs
    )


class ProfilePaths:
    """The files of a project, asked by recorded paths. Reads only files that a profile may mean."""

    def __init__(self, root: Path, files: Iterable[Path], mapping: Sequence[tuple[str, str]]) -> None:
        """Take the project's files, and prefixes of recorded paths with what takes their place."""
        self._root = root
        self._mapping = [(parts_of(old), new) for old, new in mapping]
        self._by_name: dict[str, list[ProjectFile]] = {}
        self._by_path: dict[str, ProjectFile] = {}
        self._known: dict[str, tuple[Definition, ...]] = {}
        for path in files:
            name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
            file = ProjectFile(path, name)
            self._by_name.setdefault(path.name, []).append(file)
            self._by_path[path.as_posix()] = file

    def definitions(self, file: ProjectFile) -> tuple[Definition, ...]:
        """Return what a file defines."""
        if file.name not in self._known:
            self._known[file.name] = definitions(file.path, file.name)
        return self._known[file.name]

    def find(self, recorded: str, functions: Iterable[Where]) -> ProjectFile | None:
        """Return the file that a recorded path means, where functions with these names and lines ran.

        A path that is not the file's own has to end as the file's does, and further so than any other's, and half of
        the functions have to be in it.
        """
        parts = parts_of(recorded)
        exact = self._mapped(parts) or self._by_path.get(PurePosixPath(*parts).as_posix())
        if exact is not None:
            return exact
        if is_foreign(recorded) or PurePosixPath(*parts).is_relative_to(self._root.as_posix()):
            return None
        alike = [(_common(parts, file.parts), file) for file in self._by_name.get(parts[-1], ())]
        most = max((common for common, _ in alike), default=0)
        # ``utils.py`` below two different folders is not a sign of anything.
        likely = [file for common, file in alike if common == most and (most > 1 or most in (len(parts), file.depth))]
        where = list(functions)
        found = [file for file in likely if self._agrees(file, where)]
        return found[0] if len(found) == 1 else None

    def suggest(self, recorded: Mapping[str, Sequence[Where]]) -> tuple[str, str] | None:
        """Return the prefix of recorded paths, and its replacement, by which most functions would be found."""
        votes: Counter[tuple[str, str]] = Counter()
        for path, where in recorded.items():
            if is_foreign(path):
                continue
            parts = parts_of(path)
            for file in self._by_name.get(parts[-1], ()):
                common = _common(parts, file.parts)
                old = PurePosixPath(*parts[: len(parts) - common]).as_posix()
                new = PurePosixPath(*file.parts[: file.depth - common]).as_posix()
                known = self.definitions(file)
                votes[old, new] += sum(meant(known, *one) is not None for one in where)
        best = votes.most_common(1)
        return best[0][0] if best and best[0][1] else None

    def _mapped(self, parts: tuple[str, ...]) -> ProjectFile | None:
        """The file that the first mapping which fits makes of a recorded path."""
        for old, new in self._mapping:
            if parts[: len(old)] == old:
                path = os.path.normpath((self._root / new).joinpath(*parts[len(old) :]))
                return self._by_path.get(Path(path).as_posix())
        return None

    def _agrees(self, file: ProjectFile, where: Sequence[Where]) -> bool:
        """Whether at least half of the recorded functions are in a file, at the recorded lines or nearby."""
        known = self.definitions(file)
        return 2 * sum(meant(known, *one) is not None for one in where) >= max(1, len(where))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two paths share at their ends."""
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count
