"""``torchlint check --watch``: lint again whenever a file changes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from watchfiles import Change
from watchfiles import watch as changes

from torchlint.cli import OK
from torchlint.cli.failure import Failure
from torchlint.cli.output import complain, write
from torchlint.cli.printing import Volume
from torchlint.settings.check import SettingsError
from torchlint.sources.globs import Globs

if TYPE_CHECKING:
    from torchlint.cli.run import Run

_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
_SUFFIXES = frozenset({".py", ".ipynb", ".toml"})


def watch(run: Run) -> int:
    """Lint and wait, until the user interrupts; the whole project is watched, because facts come from all of it.

    What goes wrong in one turn is told, and the next change is waited for all the same.
    """
    excluded = Globs((*run.settings.exclude, *run.settings.extend_exclude), run.settings.root)

    def matters(_change: Change, path: str) -> bool:
        return Path(path).suffix in _SUFFIXES and not excluded.covers(Path(path))

    _turn(run)
    # A step in milliseconds: an editor writes a file in several strokes.
    for _ in changes(run.settings.root, watch_filter=matters, step=100):
        if sys.stdout.isatty():
            write(sys.stdout, _CLEAR)
        _turn(run)
    return OK


def _turn(run: Run) -> None:
    start = time.monotonic()
    try:
        run.check()
    except Failure as error:
        complain(f"error: {error}")
    except SettingsError as error:
        complain(f"error: {error}")
    if run.volume >= Volume.NORMAL:
        complain(f"{time.monotonic() - start:.1f} s; watching for changes, Ctrl-C ends")
