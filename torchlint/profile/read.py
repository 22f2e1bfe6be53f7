"""From a file to a profile, whichever tool wrote it: told by content, not by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from torchlint.profile.cprofile import read_stats, starts_like_stats
from torchlint.profile.errors import ProfileError
from torchlint.profile.model import Profile

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes of the file that were read, and with its size."""


def read(path: Path, progress: Progress | None = None) -> Profile:
    """Read a profile of the torch profiler, cProfile, py-spy or speedscope; a large one as a stream.

    Raises:
        ProfileError: it cannot be read, is cut, or is none of these; the message is one sentence that names the file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}.") from error
    if progress is not None:
        progress(len(data), len(data))
    try:
        if starts_like_stats(data[:2]):
            return read_stats(data)
        raise ProfileError("is no profile that torchlint knows")
    except ProfileError as error:
        raise ProfileError(f"{path} {error}.") from error
