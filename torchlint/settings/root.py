"""Where a project begins."""

from __future__ import annotations

import os
from pathlib import Path

_MARKS = ("pyproject.toml", "torchlint.toml", ".torchlint.toml", ".git")


def project_root(path: Path) -> Path:
    """The nearest folder at or above a path that holds a settings file or a repository, else the path's folder."""
    path = Path(os.path.abspath(path))
    folder = path if path.is_dir() else path.parent
    return next((place for place in (folder, *folder.parents) if is_root(place)), folder)


def is_root(folder: Path) -> bool:
    """Whether a folder holds a settings file or a repository."""
    return any(os.path.exists(folder / mark) for mark in _MARKS)
