"""What tests share: the repository's root, the command line as a subprocess, and skipping where torch is missing."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchlint.cli import main

ROOT = Path(__file__).resolve().parent.parent
# Seconds after which a test that waits for an event gives up: no machine is that busy, it hangs.
PATIENCE = 600
CommandLine = Callable[..., subprocess.CompletedProcess[str]]


# What the person at this machine measured must not show in what tests expect.
os.environ["TORCHLINT_DATA_DIR"] = str(ROOT / ".no-results-of-anybody")

# Tests that are not about the cache neither read nor leave one.
os.environ["TORCHLINT_NO_CACHE"] = "1"

# What a shell starts in the background ignores SIGINT, and so does what that starts; tests of interrupts send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """On a Python without torch, leave out the modules that import it at their top."""
    if HAS_TORCH or collection_path.suffix != ".py":
        return None
    return "\nimport torch\n" in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``torch`` on a Python that has none."""
    if not HAS_TORCH:
        for item in items:
            if item.get_closest_marker("torch"):
                item.add_marker(pytest.mark.skip(reason="needs torch"))


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """What a program under test switches in torch for the whole process does not reach the next test."""
    if "torch" not in sys.modules:
        yield
        return
    from torchlint.bench.program import left_as_it_was

    with left_as_it_was():
        yield


@pytest.fixture(autouse=True)
def no_trace() -> Iterator[None]:
    """Tracing of memory that a program under test leaves on makes all tests after it several times as slow."""
    yield
    traced = tracemalloc.is_tracing()
    tracemalloc.stop()
    assert not traced


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so, however long the machine takes for it."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def torchlint() -> CommandLine:
    """Run ``python -m torchlint ARGUMENTS`` from this repository: ``torchlint("check", ".", cwd=folder, env={...})``.

    The result holds ``returncode``, ``stdout`` and ``stderr``. Colours are off and the width is 80.
    """

    def run(*arguments: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
        return subprocess.run(
            [sys.executable, "-m", "torchlint", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "80", **(env or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run


def in_this_process(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The same as ``torchlint`` without a process of its own, which is much faster."""

    def run(*arguments: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
            for name, value in {"NO_COLOR": "1", "COLUMNS": "80", **(env or {})}.items():
                patch.setenv(name, value)
            code = main(list(map(str, arguments)))
            out, err = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, err)

    return run
