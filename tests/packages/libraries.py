"""Pinned packages with smells put in and taken out again, and running programs with one such version first on the path.

Everything is kept below ``.cache/packages``; what was made by other rules or other inverters is not used again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from conftest import ROOT
from test_packages import CACHE, download

PACKAGES = {
    "stable_baselines3": "stable-baselines3==2.9.2",
    "sb3_contrib": "sb3-contrib==2.9.2",
    "pfrl": "pfrl==0.4.0",
}
# Packages that are trained with as they came; no smells are put in.
TRAINED = {"skrl": "skrl==2.1.1"}
# What is put on the path with a package: SB3-Contrib builds on Stable-Baselines3.
_WITH = {"sb3_contrib": ("stable_baselines3",)}
# As it came; with smells; what ``--fix`` makes of those; and what ``--unsafe-fixes`` makes of them. There is also
# ``unrounded``: all that ``--unsafe-fixes`` does but for TL202, whose sums over masks round otherwise and say so.
VERSIONS = ("original", "injected", "safe", "unsafe")
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_FIX = {
    "safe": ("--fix",),
    "unsafe": ("--fix", "--unsafe-fixes"),
    "unrounded": ("--fix", "--unsafe-fixes", "--ignore", "TL202"),
}
_ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "TORCHLINT_DATA_DIR": str(ROOT / ".no-results-of-anybody"),
}


@dataclass(frozen=True)
class Smell:
    """A finding with a fix: its code, its file in the package, its first and last row, and whether the fix is safe."""

    code: str
    file: str
    row: int
    end: int
    safe: bool

    def ran(self, rows: Mapping[str, set[int]]) -> bool:
        """Whether one of its rows is among those that ran, by file."""
        return not rows.get(self.file, set()).isdisjoint(range(self.row, self.end + 1))


def site() -> Path:
    """A folder with what the packages need besides torch and NumPy, installed once."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]

    def install(work: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(work)]
        subprocess.run([*command, "-r", str(REQUIREMENTS)], check=True)

    return _once(CACHE / f"site-{sys.version_info.major}.{sys.version_info.minor}-{digest}", install)


def version(package: str, name: str) -> Path:
    """The folder that holds a version of a package, made when it is first asked for."""
    if name == "original":
        return download((PACKAGES | TRAINED)[package])
    before = version(package, "original" if name == "injected" else "injected")

    def make(work: Path) -> None:
        shutil.copytree(before, work, dirs_exist_ok=True)
        if name == "injected":
            from inverting import invert

            (work / "injected.json").write_text(json.dumps(invert(work, package)), encoding="utf-8")
            (work / "smells.json").write_text(json.dumps(_smells(work, package)), encoding="utf-8")
        else:
            _torchlint(work, package, *_FIX[name])

    return _once(made() / package / name, make)


def injected(package: str) -> dict[str, int]:
    """How many places were turned round, by code."""
    return json.loads((version(package, "injected") / "injected.json").read_text(encoding="utf-8"))


def smells(package: str) -> list[Smell]:
    """The findings with a fix in the version with smells, those that came with the package among them."""
    rows = json.loads((version(package, "injected") / "smells.json").read_text(encoding="utf-8"))
    return [Smell(**row) for row in rows]


def left(package: str, name: str) -> list[dict[str, object]]:
    """The findings with a fix in a version."""
    return _smells(version(package, name), package)


def run(name: str, package: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a version of a package first on the path, in the package's folder, on one thread.

    What it builds on is as it came. ``variables`` are added to the environment.
    """
    folders = [version(package, name), *(version(other, "original") for other in _WITH.get(package, ()))]
    path = os.pathsep.join(map(str, (*folders, Path(__file__).parent, site())))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **variables}
    return subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=version(package, name),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def ran(package: str, place: Path) -> list[Smell]:
    """The smells of a package on rows that ran, as ``executed.py`` noted them in a file."""
    rows = {file: set(found) for file, found in json.loads(place.read_text(encoding="utf-8")).items()}
    return [smell for smell in smells(package) if smell.ran(rows)]


def note(name: str, value: object) -> None:
    """Keep something that was found or measured, for the page that tells of it."""
    place = CACHE / "notes" / f"{name}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(value, indent=1), encoding="utf-8")


@cache
def made() -> Path:
    """The folder of what this state of torchlint, its rules and the inverters makes."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + Path(__file__).read_bytes())
    sources = [*ROOT.glob("torchlint/**/*.py"), *ROOT.glob("torchlint/**/*.json"), *ROOT.glob("rules/**/*.py")]
    sources += [*ROOT.glob("rules/*/*/*.json"), *Path(__file__).parent.glob("inverting.py")]
    for path in sorted(sources):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return CACHE / "made" / digest.hexdigest()[:12]


def _once(place: Path, make: Callable[[Path], None]) -> Path:
    """A folder that is made aside and moved in one step: another worker may be making the same."""
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            folder = Path(work, "made")
            folder.mkdir()
            make(folder)
            if not place.exists():
                folder.rename(place)
    return place


def _smells(folder: Path, package: str) -> list[dict[str, object]]:
    """The findings with a fix that may be taken."""
    found = []
    for finding in json.loads(_torchlint(folder, package, "--output-format", "json")):
        kind = (finding["fix"] or {}).get("applicability")
        if kind in ("safe", "unsafe"):
            file = Path(finding["filename"]).relative_to(folder).as_posix()
            rows = finding["location"]["row"], finding["end_location"]["row"]
            found.append(asdict(Smell(finding["code"], file, *rows, kind == "safe")))
    return found


def _torchlint(folder: Path, package: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "torchlint", "check", package, "--isolated", "--preview", *arguments]
    environment = {**os.environ, **_ENVIRONMENT}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
