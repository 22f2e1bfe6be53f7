"""All that ``make test`` checks: style, types, the tests here, and what a Python may decide on the machine's others.

The tests marked ``versions`` also run on the oldest and the newest other Python of the machine: what differs between
versions came with one and stayed, so a Python in between does as one of its neighbours. Of the tests marked ``third``,
``ninth`` or ``rare`` runs such a share, another for each state of the code. With ``--all`` (``make test-all``)
everything runs everywhere.

Every part runs even when an earlier one failed. The last line sums up: ``N passed, N failed``; a failed style or type
check counts as one failure.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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


def pytest(python: Path | str, markers: str, *options: str, alone: bool = True) -> tuple[int, int, str]:
    """Run pytest with an interpreter; how many tests passed and failed (at least one when the run itself failed).

    ``alone``: with two workers, and its output is shown as it comes. Else with one, and its output comes last.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        # Slow tests stand together: whoever has none left takes some from the other.
        shared = ("-n", "2", "--dist", "worksteal") if alone else ("-n", "0")
        command = (python, "-m", "pytest", "-q", *shared, "-m", markers, f"--junitxml={report}", *options)
        done = run(*command, output=None if alone else subprocess.PIPE)
        suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.exists() else []
    tests, skipped, failures, errors = (
        sum(int(suite.get(kind, 0)) for suite in suites) for kind in ("tests", "skipped", "failures", "errors")
    )
    failed = failures + errors
    return tests - skipped - failed, max(failed, int(done.returncode != 0)), done.stdout or ""


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


def requirements(extra: str) -> list[str]:
    """What torchlint and one of its extras need, as pyproject.toml says: read so that no build has to say it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    def listed(name: str) -> Iterator[str]:
        found = re.search(rf"(?ms)^{name} = (\[.*?\])$", text)
        assert found is not None
        for requirement in ast.literal_eval(found[1]):
            own = re.fullmatch(r"torchlint\[(\w+)\]", requirement)
            yield from listed(own[1]) if own else (requirement,)

    return [*listed("dependencies"), *listed(extra)]


def once(stamp: Path, content: str, *commands: Sequence[str | Path]) -> bool:
    """Run commands unless they ended well for that content before; whether they did, now or then."""
    if stamp.exists() and stamp.read_text() == content:
        return True
    if any(run(*command).returncode for command in commands):
        return False
    stamp.write_text(content)
    return True


@dataclass(frozen=True)
class Environment:
    """A virtual environment for another Python, with torchlint and what one of its extras needs, but without torch.

    It is made once for each content of pyproject.toml.
    """

    python: str
    minor: int
    extra: str

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return ROOT / ".venvs" / f"3.{self.minor}"

    @property
    def inside(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def content(self) -> str:
        """What it is made of, as a digest."""
        return f"{hashlib.sha256((ROOT / 'pyproject.toml').read_bytes()).hexdigest()} {self.extra}"

    @property
    def pip(self) -> tuple[str | Path, ...]:
        """Its installer. Of what it installs, tests import a part, and Python compiles that when it does."""
        return self.inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"

    def prepared(self) -> bool:
        """Make it without torchlint, which only one environment at a time can build; whether that went well."""
        new = (self.python, "-m", "venv", "--clear", self.folder)
        install = (*self.pip, "-c", CONSTRAINTS, *requirements(self.extra))
        return once(self.folder / "prepared", self.content, new, install)

    def made(self) -> Path | None:
        """Make it; its interpreter, or ``None`` when it cannot be made."""
        install = (*self.pip, "--no-deps", "--no-build-isolation", "-e", ".")
        whole = self.prepared() and once(self.folder / "made", self.content, install)
        return self.inside if whole else None


def others(everything: bool) -> Iterator[tuple[int, str | None, str]]:
    """The other Pythons that torchlint supports: version, the interpreter that runs tests, or why none of it does.

    Tests run on the oldest and the newest of all Pythons of the machine, or on all.
    """
    found = {minor: interpreter(minor) for minor in MINORS if minor != sys.version_info.minor}
    here = [sys.version_info.minor, *(minor for minor, python in found.items() if python is not None)]
    for minor, python in found.items():
        if python is None:
            yield minor, None, "not on this machine"
        elif everything or minor in (min(here), max(here)):
            yield minor, python, ""
        else:
            yield minor, None, "left to make test-all"


def environments(everything: bool, *, silent: bool) -> list[Environment]:
    """The environments of other Pythons, which may not be made yet; what has none is said."""
    needed = []
    for minor, python, reason in others(everything):
        if python is not None:
            needed.append(Environment(python, minor, "dev" if everything else "versions"))
        elif not silent:
            say(f"Python 3.{minor}: {reason}")
    return needed


def elsewhere(made: dict[int, Path | None], everything: bool, score: Score) -> None:
    """Run the tests of other Pythons, two Pythons at a time: each then collects its tests once, not in each worker."""
    markers = ALL_ELSEWHERE if everything else ELSEWHERE
    options = ("--whole",) if everything else ()
    alone = len(made) == 1

    def tried(inside: Path | None) -> tuple[int, int, str]:
        return pytest(inside, markers, *options, alone=alone) if inside else (0, 1, "")

    with ThreadPoolExecutor(max_workers=2) as pool:
        for minor, done in {minor: pool.submit(tried, inside) for minor, inside in made.items()}.items():
            what = "all tests that need no torch" if everything else "tests of what a Python decides"
            say(f"Python 3.{minor}: {what}")
            passed, failed, printed = done.result()
            print(printed, end="", flush=True)
            score.add(passed, failed)


def main(arguments: Sequence[str]) -> int:
    """Run everything; 0 when all of it passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all tests on all Pythons")
    parser.add_argument("--prepare", action="store_true", help="only install what tests on other Pythons need")
    given = parser.parse_args(arguments)
    start = time.monotonic()
    score = Score()
    needed = environments(given.all, silent=given.prepare)
    if given.prepare:
        return sum(not each.prepared() for each in needed)
    # Beside the tests, which wait now and then; alone they would leave a core idle.
    beside = ThreadPoolExecutor(max_workers=1)
    styled = beside.submit(style)
    made = {each.minor: beside.submit(each.made) for each in needed}
    beside.shutdown(wait=False)
    say(f"Python 3.{sys.version_info.minor}: all tests but the long ones")
    passed, failed, _ = pytest(sys.executable, HERE, *(("--whole",) if given.all else ()))
    score.add(passed, failed)
    for title, failed, printed in styled.result():
        say(title)
        print(printed, end="", flush=True)
        score.add(0, failed)
    elsewhere({minor: inside.result() for minor, inside in made.items()}, given.all, score)
    say(f"done in {time.monotonic() - start:.0f} s")
    print(f"{score.passed} passed, {score.failed} failed", flush=True)
    return int(score.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
