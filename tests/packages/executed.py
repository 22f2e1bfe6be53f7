"""Notes which lines of some files a run executes; also a pytest plugin.

``EXECUTED_LINES`` names a JSON file with names of files, relative to the current folder; the rows that ran are written
to it at the end, by file.
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
    """Follows some files, and no others."""

    def __init__(self, place: Path) -> None:
        """Read the files to follow."""
        self.place = place
        self.files = {str(Path.cwd() / name): name for name in json.loads(place.read_text(encoding="utf-8"))}
        self.rows: dict[str, set[int]] = {name: set() for name in self.files}

    def start(self) -> None:
        """Follow all threads from here on."""
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def trace(self, frame: FrameType, event: str, _: object) -> object:
        """Called for every new frame; gives a local function for those of the files."""
        return self.local if frame.f_code.co_filename in self.files else None

    def local(self, frame: FrameType, event: str, _: object) -> object:
        """Called for every line of a followed frame."""
        if event == "line":
            self.rows[frame.f_code.co_filename].add(frame.f_lineno)
        return self.local

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Write down what ran."""
        sys.settrace(None)
        found = {self.files[name]: sorted(rows) for name, rows in self.rows.items() if rows}
        self.place.write_text(json.dumps(found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Start to follow."""
    followed = Executed(Path(os.environ["EXECUTED_LINES"]))
    config.pluginmanager.register(followed)
    followed.start()
