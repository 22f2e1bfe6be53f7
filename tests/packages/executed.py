"""A pytest plugin: notes which of some lines a test run executes.

``EXECUTED_LINES`` names a JSON file with lines as ``file:line``; those that ran are written back to it at the end.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest


class Executed:
    """Follows the files that hold the lines, and no others."""

    def __init__(self, place: Path) -> None:
        """Read the lines to look for."""
        self.place = place
        self.wanted: dict[str, set[int]] = {}
        for line in json.loads(place.read_text(encoding="utf-8")):
            name, _, number = line.rpartition(":")
            self.wanted.setdefault(str(Path.cwd() / name), set()).add(int(number))
        self.seen: set[tuple[str, int]] = set()

    def trace(self, frame: FrameType, event: str, _: object) -> object:
        """Called for every new frame; gives a local function for those of the files."""
        return self.local if frame.f_code.co_filename in self.wanted else None

    def local(self, frame: FrameType, event: str, _: object) -> object:
        """Called for every line of a followed frame."""
        name, number = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and number in self.wanted[name]:
            self.seen.add((name, number))
        return self.local

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Write down what ran."""
        sys.settrace(None)
        lines = sorted(f"{Path(name).relative_to(Path.cwd()).as_posix()}:{number}" for name, number in self.seen)
        self.place.write_text(json.dumps(lines), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Start to follow."""
    followed = Executed(Path(os.environ["EXECUTED_LINES"]))
    config.pluginmanager.register(followed)
    sys.settrace(followed.trace)
    threading.settrace(followed.trace)
