"""Run a command with the counted device in every Python that it starts, and read what they report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from torchlint.device.events import Events
from torchlint.device.program import ORDER, VERSION
from torchlint.late import dataclass

_BOOT = Path(__file__).resolve().parent.parent / "device" / "boot"
_GRACE = 10.0
PREFIX = "torchlint-count-"


class CannotCountError(Exception):
    """Nothing could be counted; the message says why in one line."""


class StoppedError(CannotCountError):
    """Ctrl-C ended the program before there was anything to count."""


@dataclass(slots=True)
class Tally:
    """What all processes of a run counted.

    Attributes:
        lines: events by absolute path and row; the path is empty for what ran outside of the project.
        waiting: how often each operator waited, by path and row. libraries: how often code of an installed package.
        code: the exit status of the command, negative for a signal. stopped: it was ended by Ctrl-C.
    """

    lines: dict[tuple[str, int], Events] = field(default_factory=dict)
    waiting: dict[tuple[str, int], Counter[str]] = field(default_factory=dict)
    libraries: dict[tuple[str, int], Counter[str]] = field(default_factory=dict)
    steps: int = 0
    updates: int = 0
    seconds: float = 0.0
    torch: str = ""
    processes: int = 0
    code: int = 0
    stopped: bool = False

    def add(self, report: Mapping[str, object]) -> None:
        """Add the report of one process."""
        numbers = {name: value for name, value in report.items() if isinstance(value, (int, float))}
        self.updates += int(numbers["updates"])
        self.seconds = max(self.seconds, float(numbers["seconds"]))
        self.torch = str(report["torch"]) or self.torch
        self.processes += 1
        lines = report["lines"]
        assert isinstance(lines, list)
        for line in lines:
            key = line.pop("path"), line.pop("row")
            self.waiting.setdefault(key, Counter()).update(line.pop("waiting"))
            self.libraries.setdefault(key, Counter()).update(line.pop("libraries"))
            self.lines.setdefault(key, Events()).add(Events(**line))

    def totals(self) -> Events:
        """Return the events of all lines together."""
        total = Events()
        for events in self.lines.values():
            total.add(events)
        return total


def run(
    words: Sequence[str], roots: Sequence[Path], steps: int | None, seconds: float | None, output: int | None
) -> Tally:
    """Run a command to its end, or to a limit, and return what it counted.

    ``output``: the file descriptor for its standard output, by default that of this process.

    Raises:
        CannotCountError: it cannot be started, never used torch, or used something that the device does not know.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        environment = counting(os.environ, folder, roots, steps, seconds)
        code, stopped = _finished(words, environment, output)
        return tally_of(folder, words, code, stopped)


def counting(
    environment: Mapping[str, str], folder: str, roots: Sequence[Path], steps: int | None, seconds: float | None
) -> dict[str, str]:
    """Return the environment with which each Python that a command starts counts, and reports into a folder."""
    order = {"roots": [str(root) for root in roots], "left_out": [], "reports": folder, "steps": steps}
    return booting(environment, ORDER, {**order, "seconds": seconds})


def booting(environment: Mapping[str, str], name: str, order: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment with which each Python that a command starts carries out an order."""
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", str(_BOOT))]
    return {**environment, name: json.dumps(order), "PYTHONPATH": os.pathsep.join([str(_BOOT), *paths])}


def tally_of(folder: str, words: Sequence[str], code: int, stopped: bool = False) -> Tally:
    """Read the reports of a command that ended with a status.

    Raises:
        CannotCountError: it never used torch, or used something that the device does not know.
        StoppedError: it was stopped before it used the device.
    """
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.json"))]
    tally = Tally(code=code, stopped=stopped)
    for report in reports:
        if report["version"] != VERSION:
            raise CannotCountError("the program ran with another version of torchlint than this one")
        if report["unknown"]:
            raise CannotCountError(report["unknown"])
        tally.add(report)
    tally.steps = steps_of(reports)
    ended = f" (it ended with status {code})" if code else ""
    if stopped and not tally.totals():
        place = "put anything on a device" if tally.torch else "imported torch"
        raise StoppedError(f"interrupted before {words[0]} {place}")
    if reports and not any(report["torch"] for report in reports):
        raise CannotCountError(f"{words[0]} has no torch to import{ended}: install torch where the program runs")
    if not reports:
        raise CannotCountError(f"{words[0]} never imported torch{ended}, or runs Python with -I, -E or -S")
    return tally


def steps_of(reports: Sequence[Mapping[str, Any]]) -> int:
    """Return the environment steps; where a process steps environments, those of its workers are inside of them."""
    parents = {report["process"]: report["parent"] for report in reports}
    stepping = {report["process"] for report in reports if report["steps"]}

    def inside(process: int) -> bool:
        above = parents.get(process)
        return above is not None and (above in stepping or inside(above))

    return sum(report["steps"] for report in reports if not inside(report["process"]))


def _finished(words: Sequence[str], environment: Mapping[str, str], output: int | None) -> tuple[int, bool]:
    """Run a command; its exit status, and whether it was stopped. Whatever it started ends with it."""
    try:
        process = subprocess.Popen(list(words), env=environment, stdout=output, start_new_session=os.name == "posix")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CannotCountError(f"{words[0]} cannot be started: {reason}") from error
    stopped = False
    try:
        process.wait()
    except KeyboardInterrupt:
        stopped = True
        _asked_to_end(process)
    finally:
        _killed(process)
    return process.returncode, stopped


def _asked_to_end(process: subprocess.Popen[bytes]) -> None:
    """Send what Ctrl-C sends, and wait a while for the program to tidy up."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(_GRACE)


def _killed(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a process and of all that it started."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()
