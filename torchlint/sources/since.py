"""Which lines of a file changed since a revision, as git knows it."""

from __future__ import annotations

import subprocess
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from torchlint.sources.decode import UndecodableError, read_any, to_bytes
from torchlint.sources.text import Source

# A repository may name programs of its own: one that watches its files, and one that is told of a new index.
_PLAIN = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=off")


class GitError(Exception):
    """What was asked of git cannot be told; the message says why, in one line."""


class Since:
    """The lines that changed since a revision, in the working tree or in texts that are not written yet.

    A revision that is no ancestor of what is checked out stands for the commit where the two parted, so that
    ``origin/main`` means the changes of a branch.
    """

    def __init__(self, revision: str, folder: Path) -> None:
        """Find the revision in the repository that holds the folder.

        Raises:
            GitError: there is no git, no repository, or no such revision.
        """
        self._folder = folder
        if not revision or revision.startswith("-") or "\0" in revision:
            raise GitError(f"{revision!r} is no revision")
        if self._git("rev-parse", "--is-inside-work-tree", fails=True) is None:
            raise GitError(f"{folder} is in no git repository")
        commit = self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fails=True)
        if commit is None:
            raise GitError(f"git knows no revision {revision!r}")
        parted = self._git("merge-base", commit.decode().strip(), "HEAD", fails=True)
        self._base = (parted or commit).decode().strip()

    def changed(self, source: Source) -> frozenset[int]:
        """The 1-based rows of a text that are not as they were at the revision; all of a file that is new."""
        rows = source.utf8.splitlines()
        if source.path not in self._touched and source.raw == to_bytes(source):
            return frozenset()
        before = self._before(source)
        if before is None:
            return frozenset(range(1, len(rows) + 2))
        blocks = SequenceMatcher(None, before.splitlines(), rows, autojunk=False).get_opcodes()
        return frozenset(row for tag, _, _, start, end in blocks if tag != "equal" for row in range(start + 1, end + 1))

    @cached_property
    def _touched(self) -> frozenset[Path]:
        """The files that are not as they were at the revision."""
        top = self._top
        listed = self._git("diff", "--name-only", "--no-renames", "-z", self._base, "--") or b""
        new = self._git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", str(top)) or b""
        return frozenset(top / name.decode("utf-8", "surrogateescape") for name in (listed + new).split(b"\0") if name)

    @cached_property
    def _top(self) -> Path:
        top = self._git("rev-parse", "--show-toplevel") or b""
        return Path(top.decode("utf-8", "surrogateescape").rstrip("\n"))

    def _before(self, source: Source) -> bytes | None:
        """The text of a file at the revision, as UTF-8; ``None``: it was not there."""
        try:
            name = source.path.relative_to(self._top).as_posix()
        except ValueError:
            return None
        raw = self._git("show", f"{self._base}:{name}", fails=True)
        if raw is None:
            return None
        try:
            return read_any(raw, source.path, source.name).utf8
        except UndecodableError:
            return None

    def _git(self, *words: str, fails: bool = False) -> bytes | None:
        """What a git command prints; ``None`` where it may fail and does."""
        command = ("git", *_PLAIN, "-C", str(self._folder), *words)
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError as error:
            raise GitError("git is not installed") from error
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from error
        if done.returncode == 0:
            return done.stdout
        if fails:
            return None
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(f"git {words[0]} failed: {told[-1] if told else done.returncode}")
