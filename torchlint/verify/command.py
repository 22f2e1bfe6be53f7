"""Runs the user's command to its end, or to its time limit, and leaves nothing of it running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from torchlint.late import dataclass
from torchlint.verify.failure import CannotVerifyError

_GRACE = 2.0
_TAIL_BYTES = 20_000
_TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run of the command ended.

    Attributes:
        code: its exit code, negative for the signal that killed it; ``None``: it ran past the time limit.
        seconds: how long it ran.
        output: the file that holds what it printed, both streams together, until the next run.
    """

    code: int | None
    seconds: float
    output: Path

    @property
    def passed(self) -> bool:
        """Whether it ended by itself, and well."""
        return self.code == 0

    @property
    def reason(self) -> str:
        """``exit code 1``, ``killed by SIGSEGV`` or ``past the time limit after 60 s``."""
        if self.code is None:
            return f"past the time limit after {self.seconds:.3g} s"
        if self.code >= 0:
            return f"exit code {self.code}"
        with suppress(ValueError):
            return f"killed by {signal.Signals(-self.code).name}"
        return f"killed by signal {-self.code}"

    def tail(self) -> str:
        """Return the last lines that were printed."""
        with self.output.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = stream.read().decode("utf-8", "replace")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
        return "\n".join(lines[-_TAIL_LINES:])


@dataclass(frozen=True, slots=True)
class Command:
    """A command to be run in a folder.

    Attributes:
        words: the program and its arguments. folder: where it runs. environment: all variables it gets.
        limit: seconds after which a run is ended; ``None``: never.
        output: the file for what it prints.
        shared: a file descriptor that the command holds open as long as any part of it runs.
    """

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    limit: float | None
    output: Path
    shared: int

    def run(self) -> Ended:
        """Run it once, with nothing on its standard input. Whatever it started ends with it, and with an exception.

        Raises:
            CannotVerifyError: there is no such program, or it cannot be started.
        """
        with self.output.open("wb") as stream:
            started = time.monotonic()
            process = self._started(stream.fileno())
            code: int | None = None
            try:
                with suppress(subprocess.TimeoutExpired):
                    code = process.wait(self.limit)
                seconds = time.monotonic() - started
            finally:
                _end(process)
        return Ended(code, seconds, self.output)

    def _started(self, output: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.words,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(self.shared,) if os.name == "posix" else (),
            )
        except (OSError, ValueError) as error:
            raise CannotVerifyError(_not_started(self.words, error)) from error


def _not_started(words: Sequence[str], error: OSError | ValueError) -> str:
    name = words[0]
    if isinstance(error, FileNotFoundError):
        if len(words) == 1 and " " in name:
            return f"there is no program called {name!r}: give its words one by one, or sh -c '...'"
        return f"there is no program called {name!r}"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{name!r} cannot be started: {reason}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started, which share its group: first by asking, then by force."""
    if os.name != "posix":
        process.kill()
        process.wait()
        return
    with suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
