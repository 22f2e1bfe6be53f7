"""``torchlint check --watch``: lint again whenever a file changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from torchlint.cli.failure import Failure
from torchlint.cli.output import complain, write
from torchlint.cli.printing import Volume
from torchlint.settings.check import SettingsError
from torchlint.settings.load import described
from torchlint.settings.model import Settings
from torchlint.settings.target import declaring, stating
from torchlint.settings.width import NAMING_WIDTH
from torchlint.sources.walk import python_files

if TYPE_CHECKING:
    from torchlint.cli.run import CheckRun

_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
# What steers a run besides the files that are linted; looked for in every folder with such files.
_STEERING = ("pyproject.toml", "torchlint.toml", ".torchlint.toml", ".gitignore")
# In seconds: how often to look, and how long nothing must change before it is linted, as editors write in strokes.
_PAUSE = 0.3
_CALM = 0.1
# Looking takes at most this part of the time, however large the project is.
_SHARE = 0.1

State = dict[str, tuple[int, int, int]]


def watch(run: CheckRun, again: Callable[[], CheckRun]) -> NoReturn:
    """Lint and wait, until the user interrupts; the whole project is watched, because facts come from all of it.

    Files are looked at again and again: that needs no support by the file system, so it works in containers and on
    shared folders, too. Settings are read again for every turn; what goes wrong in one is told, and the next change is
    waited for all the same.
    """
    seen = _turn(run)
    while True:
        start = time.monotonic()
        if _state(run.settings) == seen:
            time.sleep(max(_PAUSE, (time.monotonic() - start) / _SHARE))
            continue
        calm = _wait_for_calm(run.settings)
        if sys.stdout.isatty():
            write(sys.stdout, _CLEAR)
        try:
            run = again()
        except (Failure, SettingsError) as error:
            _tell(error)
            seen = calm  # what changed since then is not known yet
        else:
            seen = _turn(run)


def _wait_for_calm(settings: Settings) -> State:
    """Wait until files change no more; their state then."""
    before, now = None, _state(settings)
    while before != now:
        time.sleep(_CALM)
        before, now = now, _state(settings)
    return now


def _turn(run: CheckRun) -> State:
    """Lint once; the state of the files that was linted, or that the fixes left."""
    start = time.monotonic()
    before = _state(run.settings)
    try:
        run.check()
    except (Failure, SettingsError) as error:
        _tell(error)
    if run.volume >= Volume.NORMAL:
        complain(f"{time.monotonic() - start:.1f} s; watching for changes, Ctrl-C ends")
    return _state(run.settings) if run.settings.fix else before


def _tell(error: Failure | SettingsError) -> None:
    complain(f"error: {error if isinstance(error, Failure) else described(error)}")


def _state(settings: Settings) -> State:
    """Time, size and number of every file of the project that matters."""
    files = python_files(settings.root, settings)
    folders = {settings.root, *(file.parent for file in files)}
    steering = [folder / name for folder in folders for name in _STEERING]
    steering += [*declaring(settings.root), *(settings.root / name for name in NAMING_WIDTH)]
    steering += [path for folder in folders for path in stating(folder)]
    named = [path for path in (settings.file, settings.baseline, settings.observations) if path is not None]
    return {str(path): state for path in (*files, *steering, *named) if (state := _of_file(path))}


def _of_file(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
