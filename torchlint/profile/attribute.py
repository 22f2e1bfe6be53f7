"""Maps the functions of a profile onto those of a project, and gives each the cost of what it ran and called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchlint.profile.model import Attribution, Profile


def attribute(
    profile: Profile, root: Path, files: Sequence[Path], mapping: Sequence[tuple[str, str]] = ()
) -> Attribution:
    """What a profile says about the functions in some files of a project.

    Cost of code outside the project belongs to the innermost function of the project that called it.

    Args:
        profile: as read; one without stacks gives an attribution without functions.
        root: of the project, absolute.
        files: of the project, absolute.
        mapping: prefixes of recorded paths and what takes their place (relative to ``root``, or absolute).

    Raises:
        UnrelatedError: no function of the profile is in these files.
    """
    raise NotImplementedError
