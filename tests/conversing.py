"""A command on a pseudo-terminal that is answered as a person would: an answer whenever it asks."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conftest import PATIENCE, ROOT

INTERRUPT = "\x03"
END = "\x04"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;;[^\x1b]*\x1b\\")
Answer = str | Callable[[], str]


@dataclass(frozen=True)
class Talk:
    """What stood on the terminal, without colours, and the exit code."""

    text: str
    code: int


def talk(
    folder: Path,
    args: Sequence[str],
    answers: Sequence[Answer],
    *,
    asks: Sequence[str] = ("?]? ", "back): "),
    environment: Mapping[str, str] | None = None,
) -> Talk:
    """Run torchlint on a terminal of 80 columns; an answer may be a function, which is called when it is asked for."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover  another process
        os.chdir(folder)
        paths = str(ROOT)
        own = {"PYTHONPATH": paths, "COLUMNS": "80", "LINES": "50", "TERM": "xterm"}
        os.execve(
            sys.executable,
            [sys.executable, "-m", "torchlint", *args],
            {**os.environ, **own, **(environment or {})},
        )
    seen, unread = b"", b""
    waiting = list(answers)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            read = os.read(terminal, 1 << 16)
        except OSError:  # Linux says so when the other end is closed
            break
        if not read:
            break
        seen, unread = seen + read, unread + read
        if waiting and _plain(unread).endswith(tuple(asks)):
            unread = b""
            answer = waiting.pop(0)
            words = answer if isinstance(answer, str) else answer()
            os.write(terminal, words.encode() if words in (INTERRUPT, END) else f"{words}\n".encode())
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert not waiting, f"it did not ask for {waiting}: {_plain(seen)}"
    return Talk(_plain(seen), os.waitstatus_to_exitcode(status))


def _plain(written: bytes) -> str:
    return _ESCAPES.sub("", written.decode()).replace("\r\n", "\n")
