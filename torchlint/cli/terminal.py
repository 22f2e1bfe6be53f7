"""What the other end of a stream can show, and bytes that go there."""

from __future__ import annotations

import os
import sys

from torchlint.cli.failure import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# Wider lines than this are hard to read, however wide the terminal is.
_WIDEST = 120
_NARROWEST = 40
_USUAL = 80


class Look:
    """What a stream can show: whether it is a terminal, ANSI colours, line drawing, and the width in cells."""

    __slots__ = ("color", "terminal", "unicode", "width")

    def __init__(self, terminal: bool, color: bool, unicode: bool, width: int) -> None:
        """Take what is known of the stream."""
        self.terminal = terminal
        self.color = color
        self.unicode = unicode
        self.width = width


def look_of(stream: TextIO, wanted: str = "auto") -> Look:
    """Judge a stream; ``NO_COLOR`` takes colours away, ``FORCE_COLOR`` brings them where there is no terminal.

    Colours that are ``wanted`` ``always`` or ``never`` are not judged.
    """
    terminal = stream.isatty()
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    color = not os.environ.get("NO_COLOR") and (forced or (terminal and os.environ.get("TERM") != "dumb"))
    color = color if wanted == "auto" else wanted == "always"
    return Look(terminal, color, _draws(stream.encoding), min(max(_columns(), _NARROWEST), _WIDEST))


def _columns() -> int:
    """The width of the terminal: what ``COLUMNS`` says, else what it says itself."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size((sys.__stdout__ or sys.stdout).fileno()).columns or _USUAL
    except (OSError, ValueError, AttributeError):
        return _USUAL


def _draws(encoding: str | None) -> bool:
    try:
        "─│╵━⋮…→✓".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write_bytes(stream: TextIO, data: bytes) -> None:
    """Write bytes as they are; nothing happens when nobody reads any more.

    Raises:
        Failure: they cannot be written.
    """
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
    except BrokenPipeError:
        forget(stream)
    except OSError as error:
        forget(stream)
        # Of an error stream that is full nobody can be told.
        if stream is not sys.stderr:
            raise Failure(f"cannot write the output: {error.strerror or error}") from error


def forget(stream: TextIO) -> None:
    """Drop what could not be written, so that the interpreter does not try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
