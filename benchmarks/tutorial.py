"""Runs the commands of the tutorial and writes what they print into it.

    python benchmarks/tutorial.py [--check]

In ``docs/tutorial.md`` a comment ``<!-- runs: COMMAND -->`` stands before each block of output. The commands run in
order, in one copy of ``examples/agent`` beside ``steady.py``, each with what those before it left there. With
``--check`` the page stays as it is. torch has to be installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
EXAMPLES = ROOT / "examples"
BLOCK = re.compile(r"<!-- runs: (?P<command>[^\n]+) -->\n```\n(?P<output>.*?)```\n", re.DOTALL)
# What a command may end with: torchlint tells by 1 that there are findings.
ENDS = (0, 1)
# How lines begin that the profiler of torch prints about itself, with times and numbers of processes.
NOISE = "USDT:"


def prepared(work: Path) -> tuple[Path, Mapping[str, str]]:
    """The folder in which the commands run, and their environment: with this ``python`` and this ``torchlint``."""
    project = work / "agent"
    shutil.copytree(EXAMPLES / "agent", project, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLES / "steady.py", project)
    programs = work / "bin"
    programs.mkdir()
    for name, call in (("python", "-W ignore"), ("torchlint", "-m torchlint")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n', encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCHLINT_DATA_DIR": str(work / "no-results-of-anybody"),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
    }
    return project, environment


def printed(command: str, project: Path, environment: Mapping[str, str]) -> str:
    """What a command prints, on either stream. Raises ``CalledProcessError`` when it fails."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in ENDS:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines() if not line.startswith(NOISE))


def rewritten(page: str, project: Path, environment: Mapping[str, str]) -> str:
    """The page with what its commands print now."""

    def block(found: re.Match[str]) -> str:
        command = found["command"]
        print(f"==> {command}", file=sys.stderr)
        return f"<!-- runs: {command} -->\n```\n$ {command}\n{printed(command, project, environment)}```\n"

    return BLOCK.sub(block, page)


def main() -> int:
    """Run the commands, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as work:
        try:
            page = rewritten(PAGE.read_text(encoding="utf-8"), *prepared(Path(work)))
        except subprocess.CalledProcessError as error:
            print(f"{error.cmd}: status {error.returncode}\n{error.stdout}", file=sys.stderr)
            return 1
    if not check:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
