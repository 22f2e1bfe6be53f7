"""What keeps fixes from being tried at all."""

from __future__ import annotations


class CannotVerifyError(Exception):
    """The command or the copy of the project is of no use; the message says why.

    Attributes:
        output: the end of what the command printed, where it ran.
    """

    def __init__(self, message: str, output: str = "") -> None:
        """Take the message, one line, and the output, where there is some."""
        super().__init__(message)
        self.output = output
