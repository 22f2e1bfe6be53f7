"""All that ``make test`` checks: style, types, the tests here, and what a Python may decide on the machine's others.

The tests marked ``versions`` also run on the oldest and the newest other Python of the machine: what differs between
versions came with one and stayed, so a Python in between does as one of its neighbours. Of the tests marked ``third``
or ``ninth`` runs such a share, another for each state of the code. With ``--all`` (``make test-all``) everything runs
everywhere.

Every part runs even when an earlier one failed. The last line sums up: ``N passed, N failed``; a failed style or type
check counts as one failure.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = Path("requirements", "constraints.txt")
MINORS = range(10, 15)
HERE = "not long"
ELSEWHERE = "versions and not long and not once and not torch and not packages"
ALL_ELSEWHERE = "not long and not once and not torch and not packages"


@dataclass
class Score:
    """Numbers of what passed and failed so far."""

    passed: int = 0
    failed: int = 0

    def add(self, passed: int, failed: int) -> None:
        """Count one part."""
        self.passed += passed
        self.failed += failed


def say(text: str) -> None:
    """Print a line of progress at once."""
    print(f"==> {text}", flush=True)


def run(*command: str | Path, output: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository, with its output shown or taken as ``output`` says.

    It keeps compiled modules even where the machine says otherwise: to compile torchlint again for each of hundreds of
    processes takes longer than the tests.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [str(part) for part in command]
    return subprocess.run(
        words, cwd=ROOT, env=env, check=False, stdout=output, stderr=output and subprocess.STDOUT, text=True
    )


CHECKS = {
    "style: ruff check": ("ruff", "check", "."),
    "format: ruff format --check": ("ruff", "format", "--check", "."),
    "types: mypy": ("mypy",),
}


def style() -> list[tuple[str, int, str]]:
    """Run the checks of the code one after the other; of each the title, 1 where it failed, and what it printed."""
    found = []
    for title, command in CHECKS.items():
        done = run(sys.executable, "-m", *command, output=subprocess.PIPE)
        found.append((title, int(done.returncode != 0), done.stdout))
    return found


def pytest(python: Path | str, markers: str, *options: str) -> tuple[int, int]:
    """Run pytest with an interpreter; how many tests passed and failed (at least one when the run itself failed)."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        # Slow tests stand together: whoever has none left takes some from the other.
        shared = ("-n", "2", "--dist", "worksteal")
        done = run(python, "-m", "pytest", "-q", *shared, "-m", markers, f"--junitxml={report}", *options)
        suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.exists() else []
    tests, skipped, failures, errors = (
        sum(int(suite.get(kind, 0)) for suite in suites) for kind in ("tests", "skipped", "failures", "errors")
    )
    failed = failures + errors
    return tests - skipped - failed, max(failed, int(done.returncode != 0))


def candidates(minor: int) -> Iterator[str]:
    """Where an interpreter of that version may lie, most likely place first."""
    on_path = shutil.which(f"python3.{minor}")
    if on_path:
        yield on_path
    versions = Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")
    yield from sorted((str(path) for path in versions), reverse=True)


def interpreter(minor: int) -> str | None:
    """An interpreter of that version which works and can make virtual environments, if there is one."""
    question = f"import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"
    for path in candidates(minor):
        # A pyenv shim is on the PATH for versions that are not switched on, and fails when it is started.
        if subprocess.run([path, "-c", question], capture_output=True, check=False).returncode == 0:
            return path
    return None


def environment(python: str, minor: int, extra: str) -> Path | None:
    """A virtual environment for another Python, with torchlint and one of its extras but without torch.

    It is made once for each content of pyproject.toml. ``None`` when it cannot be made.
    """
    folder = ROOT / ".venvs" / f"3.{minor}"
    inside = folder / "bin" / "python"
    stamp = folder / "made"
    content = f"{hashlib.sha256((ROOT / 'pyproject.toml').read_bytes()).hexdigest()} {extra}"
    if stamp.exists() and stamp.read_text() == content:
        return inside
    pip = (inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    commands = ((python, "-m", "venv", "--clear", folder), (*pip, "-c", CONSTRAINTS, "-e", f".[{extra}]"))
    if any(run(*command).returncode for command in commands):
        return None
    stamp.write_text(content)
    return inside


def others(everything: bool) -> dict[int, str]:
    """The other Pythons of the machine that run tests: the oldest and the newest of all its Pythons, or all."""
    found = {minor: interpreter(minor) for minor in MINORS if minor != sys.version_info.minor}
    here = {minor: python for minor, python in found.items() if python is not None}
    for minor in found.keys() - here.keys():
        say(f"Python 3.{minor}: not on this machine")
    outermost = {min(*here, sys.version_info.minor), max(*here, sys.version_info.minor)} if here else set()
    for minor in () if everything else sorted(here.keys() - outermost):
        say(f"Python 3.{minor}: left to make test-all")
    return {minor: python for minor, python in here.items() if everything or minor in outermost}


def environments(everything: bool, beside: ThreadPoolExecutor) -> dict[int, Future[Path | None]]:
    """Start to make the environments of other Pythons, one after the other."""
    extra = "dev" if everything else "versions"
    return {minor: beside.submit(environment, python, minor, extra) for minor, python in others(everything).items()}


def main(arguments: Sequence[str]) -> int:
    """Run everything; 0 when all of it passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all tests on all Pythons")
    everything = parser.parse_args(arguments).all
    start = time.monotonic()
    score = Score()
    options, elsewhere = (("--whole",), ALL_ELSEWHERE) if everything else ((), ELSEWHERE)
    # Beside the tests, which wait now and then; alone they would leave a core idle.
    beside = ThreadPoolExecutor(max_workers=1)
    styled = beside.submit(style)
    made = environments(everything, beside)
    beside.shutdown(wait=False)
    say(f"Python 3.{sys.version_info.minor}: all tests but the long ones")
    score.add(*pytest(sys.executable, HERE, *options))
    for title, failed, printed in styled.result():
        say(title)
        print(printed, end="", flush=True)
        score.add(0, failed)
    for minor, environment_ in made.items():
        inside = environment_.result()
        say(f"Python 3.{minor}: {'all tests that need no torch' if everything else 'tests of what a Python decides'}")
        score.add(*(pytest(inside, elsewhere, *options) if inside else (0, 1)))
    say(f"done in {time.monotonic() - start:.0f} s")
    print(f"{score.passed} passed, {score.failed} failed", flush=True)
    return int(score.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
