"""Which lines of a file changed since a revision, as git knows it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from torchlint.sources.decode import UndecodableError, read_any, to_bytes
from torchlint.sources.git import GitError, ask, names, top_of
from torchlint.sources.text import Source

_SHA1 = 40
_FILE = "blob"


class Since:
    """The lines that changed since a revision, in the working tree or in texts that are not written yet.

    A revision that is not an ancestor of what is checked out stands for the commit where the two parted, so that
    ``origin/main`` means the changes of a branch.
    """

    def __init__(self, revision: str, folder: Path) -> None:
        """Find the revision in the repository that holds the folder.

        Raises:
            GitError: there is no git, no repository, or no such revision.
        """
        self._folder = folder
        if not revision or revision.startswith("-") or "\0" in revision:
            raise GitError(f"{revision!r} is not a revision")
        if ask(folder, "rev-parse", "--is-inside-work-tree", fails=True) is None:
            raise GitError(f"{folder} is not in a git repository")
        commit = ask(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", fails=True)
        if commit is None:
            raise GitError(f"unknown git revision {revision!r}")
        parted = ask(folder, "merge-base", commit.decode().strip(), "HEAD", fails=True)
        self._base = (parted or commit).decode().strip()

    def changed(self, source: Source) -> frozenset[int]:
        """Return the 1-based rows of a text that are not as they were at the revision; all of a file that is new.

        Raises:
            GitError: git does not have the text of that time, as in a partial clone.
        """
        try:
            name = source.path.relative_to(self._top).as_posix()
        except ValueError:
            return _all(source)
        known = self._files.get(name)
        if known is None:
            return _all(source) if name in self._present else frozenset()
        if _hash(to_bytes(source), known) == known:
            return frozenset()
        before = self._before(source, known)
        if before is None:
            return _all(source)
        blocks = SequenceMatcher(None, before.splitlines(), source.utf8.splitlines(), autojunk=False).get_opcodes()
        return frozenset(row for tag, _, _, start, end in blocks if tag != "equal" for row in range(start + 1, end + 1))

    @cached_property
    def _files(self) -> Mapping[str, str]:
        """What git calls the content of each file at the revision."""
        rows = (row.partition("\t") for row in names(self._folder, "ls-tree", "-r", "-z", "--full-tree", self._base))
        kinds = ((name, *about.split(" ")) for about, _, name in rows)
        return {name: content for name, _, kind, content in kinds if kind == _FILE}

    @cached_property
    def _present(self) -> frozenset[str]:
        """The files that git has in its index, and new ones that it does not ignore."""
        words = ("--cached", "--others", "--exclude-standard", "--full-name", "-z", "--", str(self._top))
        return frozenset(names(self._folder, "ls-files", *words))

    @cached_property
    def _top(self) -> Path:
        return top_of(self._folder)

    def _before(self, source: Source, content: str) -> bytes | None:
        """The text of a file at the revision, as UTF-8; ``None``: it was no text."""
        raw = ask(self._folder, "cat-file", _FILE, content, fails=True)
        if raw is None:
            raise GitError(f"git has no {source.name} of that revision; a full clone has it")
        try:
            return read_any(raw, source.path, source.name).utf8
        except UndecodableError:
            return None


def _all(source: Source) -> frozenset[int]:
    return frozenset(range(1, len(source.utf8.splitlines()) + 2))


def _hash(raw: bytes, like: str) -> str:
    """What git calls some bytes, by the same algorithm as another name of its own."""
    data = b"%s %d\0%s" % (_FILE.encode(), len(raw), raw)
    algorithm = hashlib.sha1 if len(like) == _SHA1 else hashlib.sha256
    return algorithm(data, usedforsecurity=False).hexdigest()
