"""Where a project begins."""

from __future__ import annotations

from pathlib import Path

from torchlint.cache import place


def project_root(path: Path) -> Path:
    """The nearest folder at or above a path that is a project or repository, else one with settings, else the path's.

    A settings file of ours inside a project says how a part of it is linted; it does not cut the part off.
    """
    return Path(place.project_root(str(path)))


def is_root(folder: Path) -> bool:
    """Whether a folder holds a settings file or a repository."""
    return place.holds(str(folder), (*place.PROJECT, *place.SETTINGS))
