"""What keeps a command from doing what it was asked for."""

from __future__ import annotations


class Failure(Exception):
    """Wrong usage, or something that cannot be read or written; the message is one line for the user."""
