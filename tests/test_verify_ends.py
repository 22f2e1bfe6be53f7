"""``torchlint verify`` that is interrupted or killed: the project stays as it is, and nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, wait_for

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no such signals")

SEED = 10
TEXT = """import torch


def run(env, x):
    while True:
        x = env.step(x)
        env.log(torch.zeros({number}, device="cpu").to("cpu"))
"""


class Project:
    """A few files with fixes, a place for scratch folders, and runs of verify on them in processes of their own."""

    def __init__(self, place: Path, files: int = 5) -> None:
        self.folder, self.scratches = place / "project", place / "scratches"
        self.started = place / "started"
        self.folder.mkdir()
        self.scratches.mkdir()
        self.before = {f"module{number}.py": TEXT.format(number=number) for number in range(files)}
        self.fill()

    def fill(self) -> None:
        for name, text in {**self.before, "pyproject.toml": ""}.items():
            (self.folder / name).write_text(text)

    def start(self, code: str) -> subprocess.Popen[str]:
        words = ("verify", "--isolated", "--unsafe-fixes", "--select", "TL102", "--", sys.executable, "-c", code)
        path = str(ROOT)
        return subprocess.Popen(
            [sys.executable, "-m", "torchlint", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.scratches)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def texts(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.folder.glob("*.py")}

    def run(self) -> dict[str, str]:
        """A whole run, whose command passes; what the files are then."""
        done = self.start("pass")
        told = done.communicate(timeout=PATIENCE)
        assert done.returncode == 0, told
        assert os.listdir(self.scratches) == []
        return self.texts()

    def command(self) -> int:
        """The process of the command, once it has started."""
        wait_for(lambda: self.started.exists() and self.started.read_text().endswith("\n"))
        return int(self.started.read_text())

    @property
    def hanging(self) -> str:
        """A command that tells its process and goes on for long."""
        return f"import os, time; open({str(self.started)!r}, 'w').write(f'{{os.getpid()}}\\n'); time.sleep(600)"


def has_ended(process: int) -> bool:
    """Whether a process has ended; whoever has adopted it waits for it, in its own time."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return False  # this system has no such files, or it has ended just now


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_the_project_as_it_is_and_nothing_behind(project: Project, number: signal.Signals) -> None:
    running = project.start(project.hanging)
    command = project.command()
    running.send_signal(number)
    printed, told = running.communicate(timeout=PATIENCE)
    assert (running.returncode, printed, told.strip()) == (128 + number, "", "torchlint: interrupted")
    wait_for(lambda: has_ended(command))
    assert project.texts() == project.before
    assert os.listdir(project.scratches) == []


def test_a_killed_run_leaves_the_project_as_it_is_and_the_next_one_cleans_up(project: Project) -> None:
    """What the command was started in stays until that has ended, too."""
    running = project.start(project.hanging)
    command = project.command()
    running.kill()
    running.communicate(timeout=PATIENCE)
    assert project.texts() == project.before
    left = sorted(os.listdir(project.scratches))
    assert len(left) == 2
    other = project.start("pass")
    other.communicate(timeout=PATIENCE)
    assert sorted(os.listdir(project.scratches)) == left
    os.kill(command, signal.SIGKILL)
    wait_for(lambda: has_ended(command))
    project.fill()
    project.run()


def killed_runs(project: Project, runs: int) -> None:
    """Kill runs at random moments; each file is what it was or what it becomes."""
    choice = random.Random(SEED)
    start = time.monotonic()
    after = project.run()
    span = time.monotonic() - start
    assert all(after[name] != text for name, text in project.before.items())
    for _ in range(runs):
        project.fill()
        running = project.start("pass")
        time.sleep(choice.uniform(0, 1.1 * span))
        running.kill()
        running.communicate(timeout=PATIENCE)
        for name, text in project.texts().items():
            assert text in (project.before[name], after[name])
    project.fill()
    assert project.run() == after
    assert sorted(os.listdir(project.folder)) == sorted([*project.before, "pyproject.toml"])


@pytest.mark.once
def test_four_killed_runs(project: Project) -> None:
    killed_runs(project, 4)


@pytest.mark.long
def test_a_hundred_killed_runs(project: Project) -> None:
    killed_runs(project, 100)
