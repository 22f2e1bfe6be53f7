"""What tests share: the repository's root, the command line as a subprocess, and skipping where torch is missing."""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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

# Syntax trees are many objects and little garbage: by default the collector would look at them 35 times as often.
gc.set_threshold(20_000, 20, 50)

# What a shell starts in the background ignores SIGINT, and so does what that starts; tests of interrupts send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same holds for SIGHUP below nohup, where a test that sends it would wait without end.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

HAS_TORCH = importlib.util.find_spec("torch") is not None
# How many shares the tests of a mark have, one of which runs. Other Pythons than the one with torch run a third of such
# a share: what goes another way on a version does so in many tests that are alike.
SHARES = {mark: count if HAS_TORCH else 3 * count for mark, count in {"third": 3, "ninth": 9, "rare": 27}.items()}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let ``--whole`` run all of the tests of which else a share runs."""
    parser.addoption(
        "--whole", action="store_true", help="run all tests marked third, ninth or rare, not a share of them"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of which no test can run: on a Python without torch, those that import it at their top.

    Where tests of versions alone are wanted, those that have none: to collect them would take longer than the tests.
    """
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    unwanted = config.option.markexpr.startswith("versions and ") and "mark.versions" not in text
    return unwanted or (not HAS_TORCH and imports_torch(text)) or None


def imports_torch(text: str) -> bool:
    """Whether a module imports torch at its top; a program in one of its strings may do so without an import."""
    return "\nimport torch\n" in text and any(
        isinstance(node, ast.Import) and any(alias.name == "torch" for alias in node.names)
        for node in ast.parse(text).body
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests marked ``torch`` on a Python that has none, and leave one share of those in ``SHARES``."""
    if not HAS_TORCH:
        for item in items:
            if item.get_closest_marker("torch"):
                item.add_marker(pytest.mark.skip(reason="needs torch"))
    state = state_of_the_code()
    if config.option.whole or any("::" in argument for argument in config.args):
        return  # a test that is named runs
    unwanted = set(left_out(items, state))
    config.hook.pytest_deselected(items=[item for item in items if item in unwanted])
    items[:] = [item for item in items if item not in unwanted]


def state_of_the_code() -> str:
    """A digest of all that is tested: every change of it chooses another share of the tests of which one runs."""
    digest = hashlib.sha256()
    for folder in ("torchlint", "rules"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def shares(item: pytest.Item) -> int:
    """How many shares there are of the tests that are marked like this one: the most that a mark of it has."""
    return max((count for mark, count in SHARES.items() if item.get_closest_marker(mark)), default=1)


def left_out(items: Iterable[pytest.Item], state: str) -> Iterator[pytest.Item]:
    """The tests of other shares. The cases of one test are dealt out in turn, so that each share takes as long."""
    dealt = Counter[str]()
    for item in items:
        name, count = item.nodeid.partition("[")[0], shares(item)
        if (share_of(name, state, count) + dealt[name]) % count != 0:
            yield item
        dealt[name] += 1


def share_of(name: str, state: str, count: int) -> int:
    """The share, from 0 on, to which a test belongs while the code is in that state."""
    return int.from_bytes(hashlib.sha256(f"{state} {name}".encode()).digest()[:4], "big") % count


@pytest.fixture(autouse=True, scope="session")
def projects_of_other_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let the folder of the temporary folders count as one for many projects, as ``/tmp`` does.

    Else each run in a folder without marks looks at the imports of the files of all tests before it.
    """
    os.environ.setdefault("TMPDIR", tempfile.gettempdir())  # which TEMP would replace
    os.environ["TEMP"] = str(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True, scope="module")
def no_old_objects() -> None:
    """Keep the garbage collector from what was there before a module: thousands of tests, torch, trees of modules.

    It would look at all of it again and again, and what is tested collects garbage often.
    """
    gc.collect()
    gc.freeze()


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
        path = str(ROOT)
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
