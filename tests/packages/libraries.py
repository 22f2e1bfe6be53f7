"""Copies of pinned packages, fixed in several ways, and running programs with one of them first on the path."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from conftest import ROOT
from test_packages import CACHE, download

SB3 = "stable-baselines3==2.9.2"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# What may be fixed: nothing, what is safe, and what is taken when a change is accepted or all are.
FIXES = {
    "before": None,
    "safe": (),
    "validation": ("--accept", "validation"),
    "unsafe": ("--unsafe-fixes",),
}


@dataclass(frozen=True)
class Copy:
    """A package's source, and the lines that fixes changed in it, as ``file:line``."""

    path: Path
    changed: tuple[str, ...]


def site() -> Path:
    """A folder with what the packages need besides torch and NumPy, installed once."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    place = CACHE / f"site-{sys.version_info.major}.{sys.version_info.minor}-{digest}"
    if not place.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", f"{work}/site"]
            subprocess.run([*command, "-r", str(REQUIREMENTS)], check=True)
            if not place.exists():
                Path(work, "site").rename(place)
    return place


def copies(folder: Path) -> dict[str, Copy]:
    """Copies of Stable-Baselines3: as it is, and after each kind of fix."""
    original = download(SB3)
    made = {}
    for name, arguments in FIXES.items():
        path = Path(shutil.copytree(original, folder / name))
        if arguments is not None:
            _fix(path, *arguments)
        made[name] = Copy(path, tuple(_changed(original, path)))
    return made


def _fix(path: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "torchlint", "check", "stable_baselines3", "--isolated", "--preview", "--fix"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))}
    done = subprocess.run(
        [*command, *arguments], cwd=path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr


def _changed(original: Path, copy: Path) -> list[str]:
    """The lines of a copy that are not in the original at the same place of a diff."""
    import difflib

    found = []
    for path in sorted(copy.glob("stable_baselines3/**/*.py")):
        before = (original / path.relative_to(copy)).read_text(encoding="utf-8").splitlines()
        after = path.read_text(encoding="utf-8").splitlines()
        for tag, _, _, start, end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag in ("replace", "insert"):
                found += [f"{path.relative_to(copy).as_posix()}:{line + 1}" for line in range(start, end)]
    return found


def run(copy: Copy, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy, with it first on the path, on one thread; ``variables`` are added to the environment."""
    path = os.pathsep.join((str(copy.path), str(Path(__file__).parent), str(site())))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **variables}
    return subprocess.run(
        [sys.executable, "-B", *arguments], cwd=copy.path, env=environment, capture_output=True, text=True, check=False
    )
