"""What ``.gitignore`` files leave out."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.late import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Ignores:
    """The patterns that hold in one folder: those of its own ``.gitignore``, then those of the folders above."""

    folder: str
    spec: GitIgnoreSpec
    above: Ignores | None = None

    def match(self, path: str, folder: bool) -> bool:
        """Whether a path below is ignored: the nearest file with a pattern for it decides, in it the last one."""
        level: Ignores | None = self
        while level is not None:
            relative = path[len(level.folder) + 1 :].replace(os.sep, "/")
            verdict = level.spec.check_file(relative + "/" if folder else relative).include
            if verdict is not None:
                return verdict
            level = level.above
        return False


def ignores_in(folder: str, above: Ignores | None) -> Ignores | None:
    """The patterns that hold in a folder, given those that hold around it.

    A ``.gitignore`` that cannot be read counts as absent, and so does a pattern that means nothing to git.
    """
    path = os.path.join(folder, ".gitignore")
    if not os.path.isfile(path):  # reading a pipe would wait for ever
        return above
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            lines = stream.read().split("\n")
    except OSError:
        return above
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        spec = GitIgnoreSpec.from_lines(filter(_is_pattern, lines))
    return Ignores(folder.rstrip(os.sep), spec, above)


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def ignores_above(folder: Path, root: Path) -> Ignores | None:
    """The patterns that hold around a folder, from the repository it lies in, or else from the project root.

    ``None`` also when they leave the folder itself out: whoever names such a folder means its files.
    """
    around = (folder, *folder.parents)
    top = next((place for place in around if os.path.exists(place / ".git")), root)
    if top not in around:
        return None
    ignores: Ignores | None = None
    for parent, child in pairwise(reversed(around[: around.index(top) + 1])):
        ignores = ignores_in(str(parent), ignores)
        if ignores is not None and ignores.match(str(child), folder=True):
            return None
    return ignores
