"""Where a project begins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_PROJECT = ("pyproject.toml", ".git")
_SETTINGS = ("torchlint.toml", ".torchlint.toml")


def project_root(path: Path) -> Path:
    """The nearest folder at or above a path that is a project or repository, else one with settings, else the path's.

    A settings file of ours inside a project says how a part of it is linted; it does not cut the part off.
    """
    path = Path(os.path.abspath(path))
    folder = path if path.is_dir() else path.parent
    for marks in (_PROJECT, _SETTINGS):
        for place in (folder, *folder.parents):
            if _holds(place, marks):
                return place
    return folder


def is_root(folder: Path) -> bool:
    """Whether a folder holds a settings file or a repository."""
    return _holds(folder, (*_PROJECT, *_SETTINGS))


def _holds(folder: Path, marks: Sequence[str]) -> bool:
    return any(os.path.exists(folder / mark) for mark in marks)
