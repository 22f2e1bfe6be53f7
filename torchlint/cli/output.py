"""Where text goes: standard output, a file, standard error; and what the other end can show."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import click

from torchlint.report.escape import visible
from torchlint.rule import Cost

# Wider lines than this are hard to read, however wide the terminal is.
_WIDEST = 120
_NARROWEST = 40


@dataclass(frozen=True, slots=True)
class Look:
    """What a stream can show: whether it is a terminal, ANSI colours, line drawing, and the width in cells."""

    terminal: bool
    color: bool
    unicode: bool
    width: int


def look_of(stream: TextIO) -> Look:
    """Judge a stream; ``NO_COLOR`` takes colours away, ``FORCE_COLOR`` brings them where there is no terminal."""
    terminal = stream.isatty()
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    color = not os.environ.get("NO_COLOR") and (forced or (terminal and os.environ.get("TERM") != "dumb"))
    width = shutil.get_terminal_size((80, 24)).columns
    return Look(terminal, color, _draws(stream.encoding), min(max(width, _NARROWEST), _WIDEST))


def _draws(encoding: str | None) -> bool:
    try:
        "─│╵━⋮…→✓".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def write(stream: TextIO, text: str) -> None:
    """Write text, what the stream has no bytes for as escapes; nothing happens when nobody reads any more."""
    encoding = stream.encoding or "utf-8"
    write_bytes(stream, text.encode(encoding, "backslashreplace"))


def write_bytes(stream: TextIO, data: bytes) -> None:
    """Write bytes as they are; nothing happens when nobody reads any more."""
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
            raise click.ClickException(f"cannot write the output: {error.strerror or error}") from error


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; what is no regular file (a pipe, a device) is written to directly.

    Raises:
        click.ClickException: it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", newline="")
        else:
            _replace(Path(os.path.realpath(path)), text)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from error


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="", errors="backslashreplace")
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def complain(message: str) -> None:
    """One line on standard error; nothing in it can break the line."""
    write(sys.stderr, f"torchlint: {visible(message)}\n")


def own_costs() -> Mapping[str, tuple[Cost, ...]]:
    """What ``torchlint bench`` measured on this machine, by code of the rule; a warning for a file that is broken."""
    from torchlint.bench.store import own

    found = own()
    for problem in found.broken:
        complain(f"warning: {problem}; run torchlint bench again")
    return found.costs


def forget(stream: TextIO) -> None:
    """Drop what could not be written, so that the interpreter does not try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def append_file(path: Path, text: str) -> None:
    """Append to a file.

    Raises:
        click.ClickException: it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from error
