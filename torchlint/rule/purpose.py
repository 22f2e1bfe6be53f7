"""What a branch of the code is there for."""

from __future__ import annotations

import enum


class Purpose(enum.Enum):
    """What an ``if`` does where its test is true; of several the first that fits.

    ``BLEND``: all its branches give values and do nothing else. ``VALUE``: there is no branching, the truth is a value.
    """

    RAISE = "raise"
    REPORT = "report"
    LEAVE = "leave"
    BLEND = "blend"
    VALUE = "value"
    OTHER = "other"
