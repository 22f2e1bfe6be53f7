"""Earlier states of a project, as git knows them, laid into a folder of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from torchlint.late import dataclass, regex
from torchlint.sources.git import GitError, ask, names, top_of

_FILES = ("100644", "100755")
_SUFFIXES = (".py", ".pyi", ".ipynb")
# What says where a project begins, what belongs to it, and what it runs with.
_STEERING = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", ".gitignore")
_FIELDS = 3
_SPECIAL = regex(r"[*?\[\]\\]")
_QUOTED = r"\\\g<0>"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its full name, when it was committed in seconds of the epoch, and the first line of its message."""

    name: str
    time: int
    subject: str


class History:
    """The commits of the branch that is checked out, seen from a folder in the repository."""

    def __init__(self, folder: Path) -> None:
        """Find the repository that holds the folder.

        Raises:
            GitError: there is no git, no repository, or no commit.
        """
        if ask(folder, "rev-parse", "--is-inside-work-tree", fails=True) is None:
            raise GitError(f"{folder} is not in a git repository")
        if ask(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", fails=True) is None:
            raise GitError("there is no commit yet")
        self._folder = folder

    def commits(self, paths: Iterable[Path], since: str = "") -> list[Commit]:
        """Return the commits that changed Python files below the paths, oldest first, and the last commit of all.

        Of merges only what they brought to the branch counts. ``since`` leaves out what is in that revision.

        Raises:
            GitError: git does not know the revision.
        """
        if since.startswith("-") or "\0" in since:
            raise GitError(f"{since!r} is not a revision")
        words = ["rev-list", "--first-parent", "--encoding=UTF-8", "--format=%H%x00%ct%x00%s"]
        base = [f"^{since}^{{commit}}"] if since else []
        where = [f":(glob){each}**/*{suffix}" for each in _below(paths, top_of(self._folder)) for suffix in _SUFFIXES]
        found = self._rows(ask(top_of(self._folder), *words, "HEAD", *base, "--", *where) or b"")
        last = self._rows(ask(top_of(self._folder), *words, "--max-count=1", "HEAD", *base) or b"")
        return [*reversed(found), *(each for each in last if each not in found)]

    def files(self, commit: Commit) -> dict[str, str]:
        """Return the Python files and settings files of a commit below the folder: names of contents, by path."""
        rows = (row.partition("\t") for row in names(self._folder, "ls-tree", "-r", "-z", commit.name))
        about = {name: told.split(" ") for told, _, name in rows}
        return {name: words[2] for name, words in about.items() if words[0] in _FILES and _is_wanted(name)}

    def content(self, name: str) -> bytes:
        """Return the bytes that git keeps under the name of a content.

        Raises:
            GitError: it does not have them, as in a partial clone.
        """
        return ask(self._folder, "cat-file", "blob", name) or b""

    def _rows(self, printed: bytes) -> list[Commit]:
        rows = (row.split("\0") for row in printed.decode("utf-8", "replace").splitlines())
        return [Commit(row[0], int(row[1]), row[2]) for row in rows if len(row) == _FIELDS]


class Checkout:
    """A folder that holds one state of a project after the other; from one to the next only what differs is written."""

    def __init__(self, history: History, folder: Path) -> None:
        """Take an empty folder."""
        self._history = history
        self._folder = folder
        self._files: Mapping[str, str] = {}
        # What lies here is a whole project, as it is where it comes from.
        (folder / ".git").mkdir()

    def show(self, commit: Commit) -> None:
        """Write the files of a commit into the folder, and remove all others.

        Raises:
            GitError: git does not have them.
        """
        files = self._history.files(commit)
        for name in self._files.keys() - files.keys():
            (self._folder / name).unlink()
        # A name may have been a folder before, or become one.
        for folder in sorted({(self._folder / name).parent for name in self._files}, reverse=True):
            if folder != self._folder and not any(folder.iterdir()):
                folder.rmdir()
        for name, content in files.items():
            if self._files.get(name) != content:
                target = self._folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self._history.content(content))
        self._files = files


def spread(commits: Sequence[Commit], most: int) -> list[Commit]:
    """Return some of the commits, evenly spread, the first and the last among them."""
    if len(commits) <= most or most < 2:
        return list(commits) if len(commits) <= most else list(commits[-1:])
    step = (len(commits) - 1) / (most - 1)
    return [commits[round(index * step)] for index in range(most)]


def _below(paths: Iterable[Path], top: Path) -> list[str]:
    """Paths as git takes them from the top of the repository, with a slash behind; files as their folders."""
    found = set()
    for path in paths:
        folder = path if path.is_dir() else path.parent
        try:
            name = folder.resolve().relative_to(top.resolve()).as_posix()
        except ValueError as error:
            raise GitError(f"{path} is not in the repository {top}") from error
        found.add("" if name == "." else f"{_SPECIAL.sub(_QUOTED, name)}/")
    return sorted(found)


def _is_wanted(name: str) -> bool:
    """Whether a file of a commit is laid out: not one whose name would lead out of the folder or into git's own."""
    path = PurePosixPath(name)
    if path.is_absolute() or "\\" in name or {"..", ".git"} & {part.lower() for part in path.parts}:
        return False
    return path.suffix in _SUFFIXES or path.name in _STEERING
