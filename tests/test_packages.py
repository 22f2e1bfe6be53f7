"""Whole packages of the package index: no crash, spans inside the file, fixes that parse and settle, stable bytes.

The sources are kept in ``.cache/packages``, so that only the first run downloads.
"""

from __future__ import annotations

import ast
import json
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT, CommandLine
from pairing import read_source, unpaired

from torchlint.engine.reference import whole_file

pytestmark = pytest.mark.packages

CACHE = ROOT / ".cache" / "packages"
PINNED = ("stable-baselines3==2.9.2", "pfrl==0.4.0", "cleanrl==0.4.8")
MORE = ("sb3-contrib==2.9.2", "elegantrl==0.3.6", "agilerl==2.58.0")
CHECK = ("check", "--isolated", "--output-format", "json")


def download(requirement: str) -> Path:
    """The unpacked source distribution of a pinned requirement."""
    place = CACHE / requirement.replace("==", "-")
    if not place.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        name = requirement.split("==")[0]
        # Unpacked aside and moved in one step: another worker of the same run may be doing the same.
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name]
            subprocess.run([*command, "--dest", work, requirement], check=True)
            with tarfile.open(next(Path(work).glob("*.tar.gz"))) as archive:
                archive.extractall(work, filter="data")
            unpacked = next(path for path in Path(work).iterdir() if path.is_dir())
            if not place.exists():
                unpacked.rename(place)
    return place


@pytest.fixture(params=[*PINNED, *(pytest.param(name, marks=pytest.mark.long) for name in MORE)])
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a package's source that a test may change."""
    return Path(shutil.copytree(download(request.param), tmp_path / "package"))


def findings(done: subprocess.CompletedProcess[str]) -> list[dict]:
    """The findings of a run that ended well. Status 2 would mean a crash, or a file that was not linted."""
    assert done.returncode in (0, 1), done.stderr
    assert "internal" not in done.stderr.lower(), done.stderr
    return json.loads(done.stdout)


def before(place: dict) -> tuple[int, int]:
    """A location as a pair that compares like positions do."""
    return place["row"], place["column"]


def assert_inside(found: list[dict], package: Path) -> None:
    """Every span, of findings and of fixes, lies inside its file."""
    for finding in found:
        lines = Path(package, finding["filename"]).read_text(encoding="utf-8").split("\n")
        edits = (finding.get("fix") or {}).get("edits", [])
        for span in (finding, *edits):
            start, end = before(span["location"]), before(span["end_location"])
            assert (1, 1) <= start <= end, finding
            assert end[0] <= len(lines), finding
            assert start[1] <= len(lines[start[0] - 1]) + 1, finding
            assert end[1] <= len(lines[end[0] - 1]) + 1, finding


def parses(path: Path) -> bool:
    """Whether a file is Python that this interpreter reads."""
    try:
        ast.parse(path.read_bytes())
    except SyntaxError:
        return False
    return True


@pytest.mark.ninth
def test_findings_lie_in_their_files_and_fixes_parse_and_settle(package: Path, torchlint: CommandLine) -> None:
    """The whole package is linted and fixed, with every fix taken: each file parses as before.

    A second run changes nothing and prints the same bytes, with another hash seed and the files in another order.
    """
    found = findings(torchlint(*CHECK, ".", cwd=package))
    assert found
    assert_inside(found, package)
    texts = {path: path.read_bytes() for path in package.rglob("*.py")}
    readable = {path for path in texts if parses(path)}
    names = sorted(path.relative_to(package).as_posix() for path in texts)
    shuffled = random.Random(1).sample(names, len(names))
    fix = (*CHECK, "--fix", "--unsafe-fixes")
    left = torchlint(*fix, *names, cwd=package, env={"PYTHONHASHSEED": "1"})
    findings(left)
    once = {path: path.read_bytes() for path in texts}
    assert (once != texts) == any(each["fix"] and each["fix"]["applicability"] != "display" for each in found)
    assert {path for path in texts if parses(path)} == readable
    again = torchlint(*fix, *shuffled, cwd=package, env={"PYTHONHASHSEED": "2"})
    assert {path: path.read_bytes() for path in texts} == once
    assert again.stdout == left.stdout


@pytest.mark.third
def test_every_expression_pairs(package: Path) -> None:
    """Every expression of every file that parses has a LibCST node, wherever LibCST has one for it."""
    files = [read for read in map(read_source, sorted(package.rglob("*.py"))) if read is not None]
    assert len(files) > 30
    for source, tree in files:
        assert unpaired(whole_file(source, tree), tree) == [], source.name
