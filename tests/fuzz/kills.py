"""Killing runs at random moments, and what must hold of the files then: of ``--fix``, and of the cache."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import libcst  # noqa: F401  loaded here once, and not in each process that is killed

from torchlint.cli import main
from torchlint.engine import fixing, run  # noqa: F401  the same
from torchlint.engine.rules import load_rules

FILES = 200
TEXT = """import torch


def run(env, x):
    while True:
        x = env.step(x)
        env.log(torch.zeros({number}, device="cpu").to("cpu"))
"""
_CHECK = ("check", "--isolated", "--exit-zero", "--select", "TL102", "--output-format", "concise")
_FIX = ("--fix", "--unsafe-fixes", "--silent", "--no-cache")
_MODES = (0o644, 0o600, 0o755, 0o664)
_OWNER = 12345
_LINKED = 3
_STRAY = ".torchlint-"
_CACHE = ".torchlint_cache"
_PATIENCE = 600

Texts = dict[str, bytes]


def fill(folder: Path, files: int = FILES) -> Texts:
    """Write files that all have something to fix, of several modes and owners, some with links; their bytes by name."""
    texts = {f"package{number % 7}/module{number}.py": TEXT.format(number=number).encode() for number in range(files)}
    for number, (name, raw) in enumerate(texts.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(raw)
        _adorn(path, number)
    (folder / "pyproject.toml").touch()
    return texts


def _adorn(path: Path, number: int) -> None:
    """Give a file what a fix must not take from it."""
    if os.geteuid() == 0 and number % 5 == 1:
        os.chown(path, _OWNER, _OWNER)
    path.chmod(_MODES[number % len(_MODES)])
    if number % 10 == 2:
        try:
            os.setxattr(path, "user.note", b"%d" % number)
        except (AttributeError, OSError):
            return  # not on this system, or not on this disk
    beside = path.with_suffix(".link")
    beside.unlink(missing_ok=True)
    if number % 10 == _LINKED:
        beside.hardlink_to(path)
    elif number % 10 == 4:
        beside.symlink_to(path.name)


def traits(folder: Path) -> dict[str, object]:
    """What is to stay of each file: mode, owner, names, extended attributes, and where links lead."""
    found: dict[str, object] = {}
    for path in sorted(folder.glob("package*/*")):
        status = path.lstat()
        names = sorted(os.listxattr(path)) if hasattr(os, "listxattr") and path.is_file() else []
        leads = os.readlink(path) if path.is_symlink() else ""
        found[path.name] = status.st_mode, status.st_uid, status.st_gid, status.st_nlink, names, leads
    return {name: kept for name, kept in found.items() if not name.startswith(_STRAY)}


def start(folder: Path, *flags: str, output: str = os.devnull) -> int:
    """Run ``torchlint check`` over a folder in a process of its own, made by forking; its number."""
    child = os.fork()
    if child:
        return child
    os.environ.pop("TORCHLINT_NO_CACHE", None)
    os.environ["TORCHLINT_DATA_DIR"] = str(folder.parent / "data")
    with open(output, "wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        os._exit(main([*_CHECK, *flags, str(folder)]))


def ended(child: int) -> int:
    """Wait for the end of a process; its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(folder: Path) -> Texts:
    """All files below a folder, by name."""
    paths = (Path(top, name) for top, _, names in os.walk(folder) for name in names if not name.endswith(".link"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _settled(found: Texts, name: str) -> bytes | None:
    """The bytes of a file; of one with two names without the empty lines that a killed run may leave at its end."""
    raw = found.get(name)
    linked = Path(name).stem.endswith(str(_LINKED))
    return raw.rstrip(b"\n") + b"\n" if raw is not None and linked else raw


@dataclass(frozen=True, slots=True)
class Fixing:
    """A folder of files to fix, what ``--fix`` makes of it, and how many seconds it takes.

    ``lead`` is the time to the first change, ``span`` the time from there.
    """

    folder: Path
    after: Texts
    traits: dict[str, object]
    lead: float
    span: float

    @classmethod
    def measure(cls, folder: Path) -> Fixing:
        """Let one run come to its end."""
        load_rules()
        before = fill(folder)
        kept = traits(folder)
        begin = time.monotonic()
        child = start(folder, *_FIX)
        _first_change(folder, before, child)
        changed = time.monotonic()
        assert ended(child) == 0
        after = contents(folder)
        after.pop("pyproject.toml")
        assert after.keys() == before.keys() and all(after[name] != before[name] for name in before)
        assert traits(folder) == kept
        return cls(folder, after, kept, changed - begin, time.monotonic() - changed)

    def killed(self, choice: random.Random) -> str:
        """Kill one run, most often while it writes; what is wrong then, empty when nothing is."""
        before = fill(self.folder)
        child = start(self.folder, *_FIX, "-j", choice.choice("1128"))
        if choice.random() < 0.8:
            _first_change(self.folder, before, child)
            time.sleep(choice.uniform(0, self.span))
        else:
            time.sleep(choice.uniform(0, self.lead))
        os.kill(child, signal.SIGKILL)
        ended(child)
        found = contents(self.folder)
        strays = {name for name in found if Path(name).name.startswith(_STRAY)}
        half = [name for name in before if _settled(found, name) not in (before[name], self.after[name])]
        if half or found.keys() - strays != {*before, "pyproject.toml"}:
            return f"neither old nor new: {half or sorted(found.keys() - before.keys())}"
        if ended(start(self.folder, *_FIX)) != 0:
            return "the next run fails"
        left = contents(self.folder)
        left.pop("pyproject.toml")
        if {name: _settled(left, name) for name in left} != self.after:
            return "the next run does not finish the work"
        return "" if traits(self.folder) == self.traits else "modes, owners, attributes or links are not as they were"


@dataclass(frozen=True, slots=True)
class Keeping:
    """A folder whose findings are kept in a cache, and what a run without one prints."""

    folder: Path
    span: float

    @classmethod
    def measure(cls, folder: Path) -> Keeping:
        """See how long a run takes that finds nothing kept."""
        load_rules()
        fill(folder, files=20)
        begin = time.monotonic()
        assert ended(start(folder)) == 0
        return cls(folder, time.monotonic() - begin)

    def killed(self, choice: random.Random) -> str:
        """Kill one run, most often while it writes the cache; what is wrong then, empty when nothing is."""
        changed = self.folder / f"package{choice.randrange(7)}" / "more.py"
        changed.write_bytes(TEXT.format(number=choice.randrange(1000)).encode())
        child = start(self.folder)
        if choice.random() < 0.8:
            cache = self.folder / _CACHE
            _wait(lambda: any(name.endswith(".tmp") for name in os.listdir(cache)), child)
        else:
            time.sleep(choice.uniform(0, self.span))
        os.kill(child, signal.SIGKILL)
        ended(child)
        said = [self._said(), self._said(), self._said("--no-cache")]
        if len(set(said)) > 1:
            return "a run after it says something else than one without a cache"
        strays = [name for name in os.listdir(self.folder / _CACHE) if name.endswith(".tmp")]
        return f"temporary files are left: {strays}" if strays else ""

    def _said(self, *flags: str) -> bytes:
        output = self.folder.parent / "output"
        status = ended(start(self.folder, *flags, output=str(output)))
        return b"%d %b" % (status, output.read_bytes())


def wrong(runs: int, choice: random.Random, subject: Fixing | Keeping) -> list[str]:
    """What is wrong after each of so many killed runs, where something is."""
    return [told for _ in range(runs) if (told := subject.killed(choice))]


def _first_change(folder: Path, before: Texts, child: int) -> None:
    """Wait until the first file of a run is changed."""
    first = folder / min(before, key=lambda name: name.split("/"))
    number = first.stat().st_ino
    _wait(lambda: first.stat().st_ino != number, child)


def _wait(is_so: Callable[[], bool], child: int) -> None:
    """Wait for something that a process does, or for its end, but not for ever."""
    deadline = time.monotonic() + _PATIENCE
    while not is_so() and time.monotonic() < deadline:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.0005)


def supported() -> bool:
    """Whether this system can fork and kill."""
    return hasattr(os, "fork") and sys.platform != "win32"
