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
_HIGH = 24
# Terminals that make links to files of the sequence OSC 8, by what they put into the environment.
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal", "zed")
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")
_LINKING_SINCE = (("VTE_VERSION", 5000), ("KONSOLE_VERSION", 210000))


class Look:
    """What a stream can show: whether it is a terminal, ANSI colours, line drawing, the width and height in cells, and
    links to files."""

    __slots__ = ("color", "height", "links", "terminal", "unicode", "width")

    def __init__(
        self, terminal: bool, color: bool, unicode: bool, width: int, height: int = _HIGH, links: bool = False
    ) -> None:
        """Take what is known of the stream."""
        self.terminal = terminal
        self.color = color
        self.unicode = unicode
        self.width = width
        self.height = height
        self.links = links


def look_of(stream: TextIO, wanted: str = "auto") -> Look:
    """Return the look of a stream; ``NO_COLOR`` switches colours off, ``FORCE_COLOR`` on without a terminal.

    Colours that are ``wanted`` ``always`` or ``never`` are not judged.
    """
    terminal = stream.isatty()
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    color = not os.environ.get("NO_COLOR") and (forced or (terminal and os.environ.get("TERM") != "dumb"))
    color = color if wanted == "auto" else wanted == "always"
    columns, lines = _size()
    width = min(max(columns, _NARROWEST), _WIDEST)
    return Look(terminal, color, _draws(stream.encoding), width, lines, color and terminal and _links())


def _size() -> tuple[int, int]:
    """The width and height of the terminal: what ``COLUMNS`` and ``LINES`` say, else what it says itself."""
    try:
        columns, lines = os.get_terminal_size((sys.__stdout__ or sys.stdout).fileno())
    except (OSError, ValueError, AttributeError):
        columns = lines = 0
    return _told("COLUMNS") or columns or _USUAL, _told("LINES") or lines or _HIGH


def _told(variable: str) -> int:
    told = os.environ.get(variable, "")
    return int(told) if told.isascii() and told.isdecimal() else 0


def _links() -> bool:
    """Whether the terminal makes links to files; others may show what a link is made of."""
    told = os.environ.get
    if forced := told("FORCE_HYPERLINK"):
        return forced != "0"
    return (
        told("TERM_PROGRAM") in _LINKING_PROGRAMS
        or told("TERM", "").startswith(_LINKING_TERMS)
        or bool(told("WT_SESSION") or told("DOMTERM"))
        or any(_told(variable) >= since for variable, since in _LINKING_SINCE)
    )


def _draws(encoding: str | None) -> bool:
    try:
        "─│╵━⋮…→✓".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write_bytes(stream: TextIO, data: bytes) -> None:
    """Write bytes as they are; do nothing if the reader is gone.

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
        # Of an error stream that is full no one can be told.
        if stream is not sys.stderr:
            raise Failure(f"cannot write the output: {error.strerror or error}") from error


def forget(stream: TextIO) -> None:
    """Drop what could not be written, so that the interpreter does not try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
