"""Where a project begins, and where its cache lies."""

from __future__ import annotations

import os

from torchlint.cache.world import REPOSITORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FOLDER = ".torchlint_cache"
PROJECT = ("pyproject.toml", REPOSITORY)
SETTINGS = ("torchlint.toml", ".torchlint.toml")


def project_root(path: str) -> str:
    """The nearest folder at or above a path that is a project or repository, else one with settings, else the path's.

    A settings file of ours inside a project says how a part of it is linted; it does not cut the part off.
    """
    path = os.path.abspath(path)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    for marks in (PROJECT, SETTINGS):
        for place in (folder, *folders_above(folder)):
            if holds(place, marks):
                return place
    return folder


def folders_above(folder: str) -> Iterable[str]:
    """The folders that hold an absolute path, the closest first."""
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def holds(folder: str, marks: Sequence[str]) -> bool:
    """Whether one of these names is in a folder."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in marks)


def common(paths: Sequence[str]) -> str:
    """The closest folder that holds all paths; of one path, itself."""
    absolute = [os.path.abspath(path) for path in paths]
    try:
        return os.path.commonpath(absolute)
    except ValueError:
        # Paths on different drives have nothing in common.
        return absolute[0]
