"""The versions of torch and Python that rules and fixes hold for, and those that a project is written for."""

from __future__ import annotations

from torchlint.late import dataclass

Version = tuple[int, int]
"""Major and minor number."""

ANY: Version = (0, 0)
# What a project is taken to run with that says nothing: the oldest versions that are tested.
OLDEST_TORCH: Version = (2, 2)
OLDEST_PYTHON: Version = (3, 10)


@dataclass(frozen=True, slots=True)
class Target:
    """The oldest versions that linted code has to run with; ``None``: the project does not say.

    ``pinned`` is the only torch that the project allows, if it allows one.
    """

    torch: Version | None = None
    python: Version | None = None
    pinned: Version | None = None

    def concerned_by(self, torch: Version, deprecated: Version = ANY) -> bool:
        """Return whether what holds from a version of torch on holds for the project; in doubt it does.

        ``deprecated``: it matters only to projects that may run with that version or a later one.
        """
        if self.pinned is not None and max(self.pinned, self.torch or ANY) < deprecated:
            return False
        return self.torch is None or self.torch >= torch

    def has(self, torch: Version, python: Version, *, stated: bool = False) -> bool:
        """Return whether the project always runs with these versions of torch and Python, in doubt the oldest ones.

        ``stated``: it is not, unless the project says which torch it runs with.
        """
        if stated and self.torch is None:
            return False
        return (self.torch or OLDEST_TORCH) >= torch and (self.python or OLDEST_PYTHON) >= python


def version_of(text: str | None) -> Version | None:
    """Return a version of torch such as ``2.2``, or of Python such as ``py310``, as numbers; ``None`` of ``None``."""
    if text is None:
        return None
    major, minor = (text[2], text[3:]) if text.startswith("py") else text.split(".")
    return int(major), int(minor)
