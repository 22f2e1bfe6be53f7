"""Asks git what it knows of a folder, and lets it do nothing else.

A repository may come from anyone, and its configuration may name programs: one that watches its files, filters that
files go through, one that fetches what a partial clone lacks. None of them runs: only commands that read names and
objects are asked, no text of the working tree goes through git, and it may not fetch.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PLAIN = ("--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=off")
# An older git knows the first alone.
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}


class GitError(Exception):
    """Git gives no answer; the message says why, in one line."""


def ask(folder: Path, *words: str, fails: bool = False) -> bytes | None:
    """Run a git command in a folder, and return what it prints; ``None`` where it may fail and does.

    Raises:
        GitError: there is no git, or the command fails.
    """
    command = ("git", *_PLAIN, "-C", str(folder), *words)
    try:
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **_OFFLINE})
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


def names(folder: Path, *words: str) -> Iterator[str]:
    """Yield the names that a git command lists with ``-z``.

    Raises:
        GitError: as ``ask``.
    """
    for name in (ask(folder, *words) or b"").split(b"\0"):
        if name:
            yield name.decode("utf-8", "surrogateescape")


def top_of(folder: Path) -> Path:
    """Find the top of the repository that holds a folder.

    Raises:
        GitError: as ``ask``.
    """
    top = ask(folder, "rev-parse", "--show-toplevel") or b""
    return Path(top.decode("utf-8", "surrogateescape").rstrip("\n"))
