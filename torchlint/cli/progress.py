"""A sign of life on a terminal during a long run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

_PATIENCE = 1.0
_LENGTH = 30
_ERASE = "\r\x1b[K"


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show on standard error what goes on and how long it takes, after one second; erase it at the end.

    Where standard error is not a terminal nothing is written.
    """
    if not sys.stderr.isatty():
        yield
        return
    import threading  # which plain output has no need of

    done = threading.Event()
    thread = threading.Thread(target=_tell, args=(doing, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _tell(doing: str, done: threading.Event) -> None:
    seconds = 0
    while not done.wait(_PATIENCE):
        seconds += 1
        sys.stderr.write(f"{_ERASE}{doing} ... {seconds} s")
        sys.stderr.flush()
    if seconds:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()


@contextmanager
def counting(total: int, unit: str) -> Iterator[Callable[[int, str], None]]:
    """Show on standard error how far a long run has come: call what this gives with how much is done and what is next.

    The bar is erased at the end. Where standard error is not a terminal nothing is written.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _doing: None
        return

    def tell(done: int, doing: str) -> None:
        full = _LENGTH * done // max(total, 1)
        bar = f"[{'#' * full}{'.' * (_LENGTH - full)}]"
        sys.stderr.write(f"{_ERASE}{bar} {done}/{total} {unit} {doing}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
