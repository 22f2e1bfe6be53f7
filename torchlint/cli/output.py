"""Where text goes: standard output, a file, standard error."""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from torchlint.cli.failure import Failure
from torchlint.cli.terminal import write_bytes
from torchlint.report.escape import defused, visible

if TYPE_CHECKING:
    from torchlint.engine.result import Problem
    from torchlint.report.context import Context
    from torchlint.rule import Cost


def write(stream: TextIO, text: str) -> None:
    """Write text, with escapes for what the stream cannot encode; do nothing if its reader is gone."""
    encoding = stream.encoding or "utf-8"
    write_bytes(stream, text.encode(encoding, "backslashreplace"))


def write_diff(stream: TextIO, context: Context) -> None:
    """Write the diff of what was fixed: for a terminal as text, else exactly, as ``patch`` needs it.

    Raises:
        Failure: a line of it may be a command to a service that reads the stream; that file is left out.
    """
    from torchlint.report.diff import obeyed, render
    from torchlint.report.here import seen_from_here

    context = seen_from_here(context)
    if context.terminal:
        write(stream, render(context))
        return
    left = () if _is_file(stream) else tuple(obeyed(context))
    fixed = {name: file for name, file in context.fixed.items() if name not in left}
    write_bytes(stream, render(dataclasses.replace(context, fixed=fixed)).encode("utf-8", "surrogateescape"))
    if left:
        what = "a line of its diff may be a command to a service that reads the output, so it is written to files only"
        raise Failure(f"{', '.join(left)}: {what}")


def _is_file(stream: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; what is not a regular file (a pipe, a device) is written to directly.

    Raises:
        Failure: it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", newline="")
        else:
            _replace(Path(os.path.realpath(path)), text)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from error


def _replace(path: Path, text: str) -> None:
    import shutil

    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="", errors="backslashreplace")
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def complain_of(problems: Iterable[Problem], remarks: Iterable[str]) -> None:
    """Print what went wrong with files, and what else the user must know."""
    for problem in problems:
        complain(f"{'internal error' if problem.internal else 'error'}: {problem.path}: {problem.message}")
    for remark in remarks:
        complain(f"warning: {remark}")


def complain(message: str) -> None:
    """Print a message as one line on standard error; controls in it are escaped."""
    write(sys.stderr, defused(f"torchlint: {visible(message)}\n"))


def own_costs() -> Mapping[str, tuple[Cost, ...]]:
    """Return what ``torchlint bench`` measured on this machine, by code of the rule; warn of a broken file."""
    from torchlint.bench.store import own

    found = own()
    for problem in found.broken:
        complain(f"warning: {problem}; run torchlint bench again")
    return found.costs


def append_file(path: Path, text: str) -> None:
    """Append to a file.

    Raises:
        Failure: it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from error
