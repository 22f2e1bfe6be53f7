"""What keeps a profile from being used."""

from __future__ import annotations


class ProfileError(Exception):
    """A file is not a profile that can be read, or a broken one; the message is one sentence for the user."""


class UnrelatedError(ProfileError):
    """No function of the profile is in the project; the message names the mapping that would help, where one would.

    Attributes:
        mapping: prefix of recorded paths and what it should be replaced by, as ``--map OLD=NEW`` takes them.
    """

    def __init__(self, message: str, mapping: tuple[str, str] | None = None) -> None:
        """Say what is wrong, and which mapping would mend it."""
        super().__init__(message)
        self.mapping = mapping
