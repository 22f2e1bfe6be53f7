"""The counted device in a program of a user: count from the import of torch to the end, and leave a report."""

from __future__ import annotations

import _thread
import atexit
import json
import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing import active_children, parent_process
from multiprocessing.util import register_after_fork
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from torchlint.device.ledger import Ledger
from torchlint.device.pace import Pace

ORDER = "TORCHLINT_COUNT"
"""The variable with the order: JSON with ``roots``, ``left_out``, ``reports``, ``steps`` and ``seconds``."""
VERSION = 1
OLDEST = (2, 2)
"""The oldest torch that the device is meant for, as the extra ``bench``."""
_SECONDS_BETWEEN_REPORTS = 1.0
_GRACE = 10.0


class Program:
    """What is counted in this process."""

    def __init__(self, order: dict[str, Any]) -> None:
        """Watch for environments from now on; torch need not be there yet."""
        self._ledger = Ledger(order["roots"], order["left_out"])
        self._pace = Pace(order["steps"], _stop)
        limits = _Limits(order["steps"], order["seconds"])
        self._report = _Report(Path(order["reports"]), self._ledger, self._pace, limits)
        self._pace.watch()

    def start(self) -> None:
        """Start the counted device, now that torch is imported, until the process ends.

        Raises:
            SystemExit: this torch lacks what the device needs; the report says what.
        """
        import torch

        self._report.torch = str(torch.__version__)
        try:
            if _is_old(self._report.torch):
                raise ImportError(f"it needs torch {'.'.join(map(str, OLDEST))} or newer")
            self._put_up()
        except (AttributeError, ImportError) as error:
            self._ledger.unknown = f"the counted device cannot run with torch {self._report.torch}: {error}"
            self._report.write()
            raise SystemExit(2) from error
        self._report.take_interrupts()
        self._report.take_terminations()
        self._report.keep_writing()
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._report.start_again)
        register_after_fork(self._report, _Report.report_at_end)
        if parent_process() is not None:  # a worker that imports torch late
            self._report.report_at_end()

    def missing(self) -> None:
        """Report that torch was imported and is missing."""
        self._report.write()

    def _put_up(self) -> None:
        """Enter the counted device; the exit handlers keep this object, and with it the device, until the end."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        from torchlint.device.session import counted_device

        self._device = counted_device(self._ledger)
        self._device.__enter__()
        register_optimizer_step_post_hook(self._pace.updated)

    def _end(self) -> None:
        """Write what was counted."""
        self._report.write()


def ordered() -> Program | None:
    """Return the program to count in this process, if the environment orders it."""
    order = json.loads(os.environ.get(ORDER, "null"))
    return None if order is None else Program(order)


def _is_old(version: str) -> bool:
    """Whether a version of torch, such as ``2.13.0+cpu``, is older than the oldest; unknown ones are not."""
    numbers = version.split(".")[:2]
    return all(number.isdigit() for number in numbers) and tuple(map(int, numbers)) < OLDEST


def _stop() -> None:
    """End the program: its ``finally`` blocks and exit handlers run.

    A worker goes on: the program that waits for it would break, and ends all when it reaches the limit.
    """
    if parent_process() is not None:
        return
    if threading.current_thread() is threading.main_thread():
        raise SystemExit(0)
    _thread.interrupt_main()


def _parent() -> int:
    """Return the process that started this one; a server that forks workers is none."""
    parent = parent_process()
    return os.getppid() if parent is None or parent.pid is None else parent.pid


class _Limits(NamedTuple):
    """When to end a program: after environment steps, or some seconds after its first event."""

    steps: int | None
    seconds: float | None


class _Report:
    """The file with what this process counted; it is replaced while the program runs, so that a kill loses little."""

    def __init__(self, folder: Path, ledger: Ledger, pace: Pace, limits: _Limits) -> None:
        """Report into a file of the folder, named after the process."""
        self._folder = folder
        self._ledger = ledger
        self._pace = pace
        self._begin = time.monotonic()
        self._limits = limits
        self._ending = False
        self.torch = ""
        self._lock = threading.RLock()  # a signal may come while the main thread writes

    def keep_writing(self) -> None:
        """Write in the background until the process ends, and end it at a limit if it is not a worker."""
        threading.Thread(target=self._write_on, name="torchlint count", daemon=True).start()

    def start_again(self) -> None:
        """Count from nothing in a process that was forked."""
        self._ledger.start_again()
        self._pace.start_again()
        self._lock = threading.RLock()  # a signal may come while the main thread writes
        self._limits = _Limits(None, None)
        self.keep_writing()

    def report_at_end(self) -> None:
        """Report at the end of a process of ``multiprocessing``, which runs no exit handlers but its own."""
        from multiprocessing.util import Finalize

        Finalize(None, self.write, exitpriority=0)

    def _write_on(self) -> None:
        first: float | None = None
        while True:
            time.sleep(_SECONDS_BETWEEN_REPORTS)
            self.write()
            if parent_process() is not None or self._limits == _Limits(None, None):
                continue
            workers = self._workers()
            if first is None and (self._ledger.lines or any(worker["lines"] for worker in workers)):
                first = time.monotonic()
            if self._reached(first, sum(worker["steps"] for worker in workers)):
                self._end_program()

    def _reached(self, first: float | None, steps: int) -> bool:
        """Whether a limit is reached; the steps of workers count where this process steps no environment."""
        most = self._limits
        late = first is not None and most.seconds is not None and time.monotonic() - first >= most.seconds
        return late or (most.steps is not None and not self._pace.steps and steps >= most.steps)

    def _workers(self) -> list[dict[str, Any]]:
        """Return the reports of processes that this one started, as they are now."""
        reports = []
        for path in self._folder.glob("*.json"):
            with suppress(OSError, ValueError):
                reports.append(json.loads(path.read_text(encoding="utf-8")))
        return [report for report in reports if report["parent"] == os.getpid()]

    def take_interrupts(self) -> None:
        """End the program at the limit as ``sys.exit`` does; leave Ctrl-C as it was."""
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)

        def interrupted(number: int, frame: FrameType | None) -> None:
            if self._ending:
                raise SystemExit(0)
            if callable(before):
                before(number, frame)

        signal.signal(signal.SIGINT, interrupted)

    def take_terminations(self) -> None:
        """Write before a signal ends the process, as a pool ends its workers, unless the program handles the signal."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return

        def terminated(number: int, _: FrameType | None) -> None:
            self.write()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, terminated)

    def _end_program(self) -> None:
        """End the program, and workers that it waits for, by force where it does not end by itself."""
        self._ending = True
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_SECONDS_BETWEEN_REPORTS)
        for worker in active_children():
            worker.terminate()
        time.sleep(_GRACE)
        self.write()
        os._exit(0)

    def write(self) -> None:
        """Write the report; a folder that is gone means that nothing waits for it."""
        with self._lock:
            path = self._folder / f"{os.getpid()}.json"
            partial = path.with_suffix(".partial")
            try:
                partial.write_text(json.dumps(self._content()), encoding="utf-8")
                os.replace(partial, path)
            except OSError:
                return

    def _content(self) -> dict[str, Any]:
        """Return what is reported, as plain data."""
        lines = [
            {
                "path": line.path,
                "row": line.row,
                **record.events.as_dict(),
                "waiting": dict(record.waiting),
                "libraries": dict(record.libraries),
            }
            for line, record in list(self._ledger.lines.items())
        ]
        return {
            "version": VERSION,
            "process": os.getpid(),
            "parent": _parent(),
            "torch": self.torch,
            "seconds": time.monotonic() - self._begin,
            "steps": self._pace.steps,
            "updates": self._pace.updates,
            "unknown": self._ledger.unknown,
            "lines": lines,
        }
