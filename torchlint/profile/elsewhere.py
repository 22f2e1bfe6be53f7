"""Recorded files that look like the project's but lie in another place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchlint.late import dataclass
from torchlint.profile.model import Attribution, Profile
from torchlint.profile.paths import ProfilePaths, Where


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Recorded files of which no function is in the project, and the mapping by which most would be."""

    files: tuple[str, ...]
    mapping: tuple[str, str]


def elsewhere(profile: Profile, attribution: Attribution, root: Path, files: Sequence[Path]) -> Elsewhere | None:
    """Return the files that a mapping would bring in beside those that match as they are; ``None``: there are none."""
    here = {frame.file for frame, owner in zip(profile.frames, attribution.owners, strict=True) if owner >= 0}
    names = {path.name for path in files}
    recorded: dict[str, list[Where]] = {}
    for frame in profile.frames:
        if frame.file not in here and Path(frame.file).name in names:
            recorded.setdefault(frame.file, []).append((frame.name, frame.line))
    mapping = ProfilePaths(root, files, ()).suggest(recorded) if recorded else None
    if mapping is None:
        return None
    moved = sorted(path for path in recorded if path.startswith(mapping[0]))
    return Elsewhere(tuple(moved), mapping)
