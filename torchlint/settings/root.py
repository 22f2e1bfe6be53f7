"""Where a project begins."""

from __future__ import annotations

from pathlib import Path

from torchlint.cache import place


def project_root(path: Path) -> Path:
    """Return the folder in which the project of a path begins, by its real name.

    It is the same for every path in a project.
    """
    return Path(place.project_root(str(path)))


def is_root(folder: Path) -> bool:
    """Return whether a folder holds what marks a project."""
    return place.holds(str(folder), place.MARKS)


def is_whole(root: Path) -> bool:
    """Return whether everything below a project's root belongs to it."""
    return place.is_whole(str(root))


def located(path: Path) -> Path:
    """Return the absolute path, on the way to which no folder is a link."""
    return Path(place.located(str(path)))
