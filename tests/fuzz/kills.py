"""Killing runs of ``--fix`` at random moments, and what must hold of the files then."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from torchlint.cli import main

FILES = 200
TEXT = """import torch


def run(env, x):
    while True:
        x = env.step(x)
        env.log(torch.zeros({number}, device="cpu").to("cpu"))
"""
_COMMAND = ("check", "--fix", "--unsafe-fixes", "--isolated", "--exit-zero", "--select", "TL102")


def fill(folder: Path, files: int = FILES) -> dict[str, bytes]:
    """Write files that all have something to fix; their bytes by name."""
    texts = {f"package{number % 7}/module{number}.py": TEXT.format(number=number).encode() for number in range(files)}
    for name, raw in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    (folder / "pyproject.toml").touch()
    return texts


def fix(folder: Path) -> int:
    """Run ``torchlint check --fix`` over a folder in a process of its own, made by forking; its number."""
    child = os.fork()
    if child:
        return child
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        os._exit(main([*_COMMAND, str(folder)]))


def ended(child: int) -> int:
    """Wait for the end of a process; its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by name."""
    paths = (Path(top, name) for top, _, names in os.walk(folder) for name in names)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def duration(folder: Path) -> tuple[dict[str, bytes], float, float]:
    """What ``--fix`` makes of the files, how long it takes to the first change, and how long from there."""
    before = fill(folder)
    start = time.monotonic()
    child = fix(folder)
    _first_change(folder, before, child)
    changed = time.monotonic()
    assert ended(child) == 0
    after = contents(folder)
    after.pop("pyproject.toml")
    assert after.keys() == before.keys() and all(after[name] != before[name] for name in before)
    return after, changed - start, time.monotonic() - changed


def killed(folder: Path, choice: random.Random, lead: float, span: float, after: dict[str, bytes]) -> str:
    """Kill one run, most often while it writes; what is wrong then, empty when nothing is.

    ``after``, ``lead`` and ``span`` are what ``duration`` gives.
    """
    before = fill(folder)
    child = fix(folder)
    if choice.random() < 0.8:
        _first_change(folder, before, child)
        time.sleep(choice.uniform(0, span))
    else:
        time.sleep(choice.uniform(0, lead))
    os.kill(child, signal.SIGKILL)
    ended(child)
    wrong = [name for name, raw in contents(folder).items() if raw not in (before.get(name), after.get(name), b"")]
    strays = [name for name in wrong if Path(name).name.startswith(".torchlint-")]
    half = [name for name in before if (folder / name).read_bytes() not in (before[name], after[name])]
    if half or len(strays) < len(wrong):
        return f"neither old nor new: {half or wrong}"
    if ended(fix(folder)) != 0:
        return "the next run fails"
    left = contents(folder)
    left.pop("pyproject.toml")
    return "" if left == after else "the next run does not finish the work"


def _first_change(folder: Path, before: dict[str, bytes], child: int) -> None:
    """Wait until the first file of the run is changed."""
    first = folder / min(before, key=lambda name: name.split("/"))
    number = first.stat().st_ino
    deadline = time.monotonic() + 60
    while first.stat().st_ino == number and time.monotonic() < deadline:
        time.sleep(0.0005)


def supported() -> bool:
    """Whether this system can fork and kill."""
    return hasattr(os, "fork") and sys.platform != "win32"
