"""Events by the line of the program that caused them. Memory grows with the lines that cause events, not with time."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from torchlint.device.events import Events


class Line(NamedTuple):
    """A line of a program; outside of every project file, the file is empty and the row 0."""

    path: str
    row: int


ELSEWHERE = Line("", 0)
# What a line asks these packages for, it asks PyTorch for.
_TRANSPARENT = frozenset({"torch", "torchlint", "numpy", "functorch"})
_INSTALLED = "site-packages"


class Record:
    """The events of one line, how often each operator waited there, and how often in code of which library."""

    __slots__ = ("events", "libraries", "waiting")

    def __init__(self) -> None:
        """Start with nothing."""
        self.events = Events()
        self.waiting: Counter[str] = Counter()
        self.libraries: Counter[str] = Counter()


class Ledger:
    """Counts events for the innermost line of the project that is running.

    ``unknown`` says which operator had no model, so that the counts are not whole.

    ``roots`` are the folders of the project, absolute; of installed packages inside of them no line counts.
    """

    def __init__(self, roots: Iterable[str] = (), left_out: Iterable[str] = ()) -> None:
        """Count for the lines below the roots that do not lie below the folders left out."""
        self.lines: dict[Line, Record] = {}
        self.unknown: str | None = None
        self._roots = tuple(os.path.join(os.path.realpath(root), "") for root in roots)
        self._left_out = tuple(os.path.join(os.path.realpath(folder), "") for folder in left_out)
        self._files: dict[str, str | None] = {}
        self._packages: dict[str, str] = {}
        self._state = threading.local()
        self._lock = threading.Lock()

    def book(self, events: Events, waiting: str | None = None, line: Line | None = None) -> None:
        """Add events to a line, by default the one that runs now; ``waiting`` names the operator that waits."""
        if not self.counting:
            return
        line = self.here() if line is None else line
        library = self._library() if events.waits else ""
        with self._lock:
            record = self.lines.setdefault(line, Record())
            record.events.add(events)
            if waiting is not None and events.waits:
                record.waiting[waiting] += events.waits
            if library:
                record.libraries[library] += events.waits

    def start_again(self) -> None:
        """Count from nothing, in a process that was forked while another thread may have been counting."""
        self._lock = threading.Lock()
        self.lines.clear()

    @property
    def counting(self) -> bool:
        """Whether events of this thread are counted now."""
        return not getattr(self._state, "paused", False)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing in this thread, for work that the device would not do."""
        before = getattr(self._state, "paused", False)
        self._state.paused = True
        try:
            yield
        finally:
            self._state.paused = before

    def totals(self) -> Events:
        """Return the sum over all lines."""
        total = Events()
        for record in self.lines.values():
            total.add(record.events)
        return total

    def here(self) -> Line:
        """Return the innermost line of the project on the stack of this thread."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            path = self._files[name] if name in self._files else self._file(name)
            if path is not None:
                return Line(path, frame.f_lineno)
            frame = frame.f_back
        return ELSEWHERE

    def _library(self) -> str:
        """Return the installed package that the innermost line of the project called, empty for PyTorch itself."""
        found = ""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if self._files.get(name) is not None:
                return found
            if name not in self._packages:
                self._packages[name] = _package(name)
            found = self._packages[name] or found
            frame = frame.f_back
        return found

    def _file(self, name: str) -> str | None:
        """Return the real path of a file, by the name in code objects, if it belongs to the project.

        Names such as ``<string>`` are of no file; programs may make such code without end, so none is remembered.
        """
        if name.startswith("<"):
            return None
        path = os.path.realpath(name) if os.path.isabs(name) or os.path.exists(name) else ""
        inside = path.startswith(self._roots) if self._roots else bool(path)
        found = path if inside and not path.startswith(self._left_out) and _INSTALLED not in path else None
        self._files[name] = found
        return found


def _package(name: str) -> str:
    """Return the installed package of a file, by its name in code objects; empty for none and PyTorch."""
    parts = name.replace(os.sep, "/").split("/")
    place = parts.index(_INSTALLED) + 1 if _INSTALLED in parts else len(parts)
    found = parts[place].removesuffix(".py") if place < len(parts) else ""
    return "" if found in _TRANSPARENT else found
