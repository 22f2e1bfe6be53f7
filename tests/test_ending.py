"""Processes that are asked to end: one line, the status that shells expect, wherever the signal finds them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from hostile import AGENT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no such signals")

# When a module is looked for, and before that anything of it is run, a signal comes.
TRAP = """
import os, sys

class Trap:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {trap}

def send():
    os.kill(os.getpid(), {number})

class Named:
    def __set_name__(self, owner, name):
        send()

class Last:
    def __del__(self):
        send()

sys.meta_path.insert(0, Trap())
sys.argv = {words!r}
from torchlint.cli import main
sys.exit(main())
"""
# Python lets an interrupt through, makes another exception of it (up to 3.11), or can raise nothing.
TRAPS = ("send()", "type('Made', (), {'name': Named()})", "Last()")
PLACES = (
    ("torchlint.cli.errors", "check"),
    ("torchlint.cli.checking", "check"),
    ("torchlint.engine.run", "check"),
    ("torchlint.report.concise", "check"),
    ("click", "rule --all"),
    ("torchlint.cli.rule", "rule --all"),
)


def ended(folder: Path, module: str, line: str, number: int, trap: str = TRAPS[0]) -> tuple[int, str, str]:
    """The status, as a shell has it, and what was printed, of a run that gets a signal when it looks for a module."""
    path = str(ROOT)
    words = ["torchlint", *line.split()]
    code = TRAP.format(module=module, trap=trap, number=int(number), words=words)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout, done.stderr.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


@pytest.mark.parametrize(("module", "line"), [("torchlint.cli.warm", "check"), *PLACES])
def test_an_interrupt_while_modules_are_loaded(project: Path, module: str, line: str) -> None:
    assert ended(project, module, line, signal.SIGINT) == (130, "", "torchlint: interrupted")


@pytest.mark.parametrize("trap", TRAPS[1:])
@pytest.mark.parametrize(("module", "line"), PLACES)
def test_an_interrupt_that_python_swallows(project: Path, module: str, line: str, trap: str) -> None:
    code, _, error = ended(project, module, line, signal.SIGINT, trap)
    assert (code, error.splitlines()[-1]) == (130, "torchlint: interrupted")


@pytest.mark.parametrize(("module", "line"), PLACES[2:5])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end(project: Path, module: str, line: str, number: signal.Signals) -> None:
    assert ended(project, module, line, number) == (128 + number, "", "torchlint: interrupted")


def test_a_signal_that_is_ignored_stays_so(project: Path) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert ended(project, "torchlint.engine.run", "check", signal.SIGHUP)[0] == 1
    finally:
        signal.signal(signal.SIGHUP, before)
