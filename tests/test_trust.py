"""Nothing of what is linted is run, nothing is asked of the network, and the same files give the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from conftest import share_of, state_of_the_code
from hostile import AGENT, NEIGHBOUR

ROOT = Path(__file__).resolve().parent.parent
MARK = "with open(r'{mark}', 'a') as stream:\n    stream.write(__name__)\n"
RUN_BY_SOMEBODY = (
    *("agent.py", "conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "__init__.py", "__main__.py"),
    *("torch.py", "numpy.py", "click.py", "libcst.py", "rich.py", "tomli.py", "watchfiles.py"),
    *("ast.py", "re.py", "json.py", "torchlint.py", "torchlint/__init__.py", "rules/__init__.py"),
)
PROJECT = """[build-system]
requires = ["evil"]
build-backend = "setup"
backend-path = ["."]

[project]
name = "evil"
version = "0"

[project.entry-points."torchlint.rules"]
evil = "agent"

[tool.torchlint]
select = ["TL1"]
"""
NO_NETWORK = """
import socket, sys

def refuse(*_):
    open({mark!r}, "w").close()
    raise OSError("no network")

socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
from torchlint.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(
    folder: Path, *arguments: str, code: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as an installed torchlint runs: the folder is not on the path of modules."""
    path = str(ROOT)
    start = code or "import sys; from torchlint.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-B", "-c", start, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def traps(tmp_path: Path) -> tuple[Path, Path]:
    """A folder in which everything that anyone might run leaves a mark, and where the mark would be."""
    folder, mark = tmp_path / "tree", tmp_path / "mark"
    for name in RUN_BY_SOMEBODY:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(MARK.format(mark=mark) + AGENT)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "evil.pth").write_text(f"import pathlib; pathlib.Path(r'{mark}').touch()\n")
    return folder, mark


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the first folder of the path cannot be left out there")
@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "--fix", "--unsafe-fixes"), ("check", "--explain-hot", "agent.py:9")]
)
def test_nothing_of_the_tree_is_run(traps: tuple[Path, Path], arguments: tuple[str, ...]) -> None:
    folder, mark = traps
    done = run(folder, *arguments)
    assert done.returncode in (0, 1), done.stderr
    assert b"agent.py" in done.stdout or f"{len(RUN_BY_SOMEBODY)} files".encode() in done.stderr
    assert not mark.exists()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python itself takes runpy.py from the folder there")
@pytest.mark.parametrize("more", [(), ("",), (".",), ("{folder}",)], ids=["none", "empty", "dot", "folder"])
@pytest.mark.parametrize("arguments", [("check",), ("check", "--no-cache", "-j", "2"), ("rule", "TL101")])
def test_nothing_of_the_current_folder_is_run(
    traps: tuple[Path, Path], arguments: tuple[str, ...], more: tuple[str, ...]
) -> None:
    """Python puts the folder first for ``-m``, and an empty part of ``PYTHONPATH`` puts it on the path, too."""
    folder, mark = traps
    for name in ("torchlint.py", "torchlint/__init__.py", "sitecustomize.py", "usercustomize.py"):
        (folder / name).unlink()  # Python runs these itself, before anything of ours
    for name in ("runpy.py", "signal.py", "subprocess.py", "tokenize.py"):
        (folder / name).write_text((folder / "agent.py").read_text())
    if more:  # then also what packages of the environment import when Python starts comes from the folder
        for path in [path for path in folder.glob("*.py") if path.stem in sys.stdlib_module_names]:
            path.unlink()
    paths = (str(ROOT), *(part.format(folder=folder) for part in more))
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NO_COLOR": "1", "TORCHLINT_NO_CACHE": ""},
        capture_output=True,
        check=False,
    )
    assert not mark.exists(), mark.read_text()
    assert done.returncode in (0, 1) and b"Traceback" not in done.stderr, done.stderr


def test_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    mark = tmp_path / "mark"
    done = run(tmp_path, "check", "--fix", code=NO_NETWORK.format(mark=str(mark)))
    assert done.returncode in (0, 1), done.stderr
    assert not mark.exists()


def test_what_security_promises_is_written_down() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("never imported", "network", "plugins", "tests/test_trust.py"))


# the same bytes ---------------------------------------------------------------------------------------------------

SHUFFLED = """
import os, random, sys

scan = os.scandir

class Shuffled:
    def __init__(self, path="."):
        with scan(path) as entries:
            self.entries = list(entries)
        random.Random(len(self.entries)).shuffle(self.entries)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __iter__(self):
        return self

    def __next__(self):
        if not self.entries:
            raise StopIteration
        return self.entries.pop()

    def close(self):
        self.entries = []

os.scandir = Shuffled
from torchlint.cli import main
sys.exit(main(sys.argv[1:]))
"""
FORMATS = ("full", "json", "sarif", "concise", "markdown", "gitlab", "agent")
FIXTURES = sorted((ROOT / "tests" / "fixtures").glob("*/hot.py"))
SOME_FIXTURES = FIXTURES[share_of("fixtures", state_of_the_code(), 16) :: 16]
"""Others in each state of the code, so that all have their turn."""


@dataclass(frozen=True)
class Way:
    """How a run is made that must not print, or write, anything else for it.

    Of a ``half`` warm cache a third of the files was something else when it was written, and a third was not there.
    """

    seed: str
    jobs: int
    shuffled: bool
    cache: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.jobs} jobs, {'shuffled, ' * self.shuffled}{self.cache}"

    def run(self, folder: Path, *flags: str) -> bytes:
        """What a run prints on standard output."""
        done = run(
            folder,
            *("check", "--isolated", "-j", str(self.jobs), *flags),
            code=SHUFFLED if self.shuffled else "",
            env={
                "PYTHONHASHSEED": self.seed,
                "TORCHLINT_NO_CACHE": "",
                "TORCHLINT_DATA_DIR": str(folder.parent / "data"),
            },
        )
        assert done.returncode in (0, 1), done.stderr
        assert b"error" not in done.stderr and b"warning" not in done.stderr
        return done.stdout


PLAIN = Way("0", 1, False, "none")
WAYS = [Way(*each) for each in product(("0", "4242"), (1, 2, 8), (False, True), ("cold", "warm", "half"))]
SOME = WAYS[::7]
"""Some of the ways, in which each seed, each number of processes, each order, and each cache comes up."""


def write_tree(folder: Path) -> list[Path]:
    """A project of many of the rules' fixtures; its files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    texts = {path.parent.name + "_" + path.name: path.read_text(encoding="utf-8") for path in SOME_FIXTURES}
    for name, text in (texts | {"agent.py": AGENT, "neighbour.py": NEIGHBOUR}).items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").touch()
    return sorted(folder.glob("*.py"))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable[[str], bytes]]:
    """A folder, and what a run over the project in it prints in a format."""
    folder = tmp_path_factory.mktemp("same") / "tree"
    return folder, cache(lambda form: PLAIN.run(folder, "--no-cache", "--output-format", form))


def warm(folder: Path, way: Way, form: str) -> None:
    """Leave the cache that a way begins with."""
    files = write_tree(folder)
    if way.cache == "half":
        texts = {path: path.read_bytes() for path in files}
        for number, path in enumerate(files):
            if number % 3 == 0:
                path.write_bytes(AGENT.encode())
            elif number % 3 == 1:
                path.unlink()
        Way("7", 2, False, "").run(folder, "--output-format", form)
        for path, raw in texts.items():
            path.write_bytes(raw)
    elif way.cache == "warm":
        way.run(folder, "--output-format", form)


def same_bytes(printed: tuple[Path, Callable[[str], bytes]], way: Way, formats: Sequence[str]) -> None:
    folder, expected = printed
    warm(folder, way, formats[0])
    for name in formats:
        assert way.run(folder, "--output-format", name) == expected(name), name
    assert (folder / ".torchlint_cache").is_dir()


@pytest.mark.third
@pytest.mark.once
@pytest.mark.parametrize("way", SOME, ids=str)
def test_the_same_findings_whatever_the_way(printed: tuple[Path, Callable[[str], bytes]], way: Way) -> None:
    number = WAYS.index(way)
    same_bytes(printed, way, [FORMATS[number % len(FORMATS)], FORMATS[(number + 1) % len(FORMATS)]])


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_same_findings_in_every_way_and_format(printed: tuple[Path, Callable[[str], bytes]], way: Way) -> None:
    same_bytes(printed, way, FORMATS)


FIXING = [replace(way, cache="none") for way in WAYS if way.cache == "cold"]
SOME_FIXING = FIXING[2::3]


def fixed(folder: Path, way: Way) -> tuple[bytes, dict[str, bytes]]:
    """What a run with fixes prints, and what it makes of the files."""
    files = write_tree(folder)
    said = way.run(folder, "--no-cache", "--fix", "--unsafe-fixes", "--output-format", "json")
    return said, {path.name: path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[bytes, dict[str, bytes]]]:
    """A folder, and what fixing the project in it makes of it."""
    folder = tmp_path_factory.mktemp("same") / "tree"
    return folder, fixed(folder, PLAIN)


@pytest.mark.third
@pytest.mark.once
@pytest.mark.parametrize("way", SOME_FIXING, ids=str)
def test_the_same_fixes_whatever_the_way(
    after: tuple[Path, tuple[bytes, dict[str, bytes]]], way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, expected = after
    monkeypatch.setenv("PYTHONMALLOC", "malloc")  # objects lie elsewhere
    assert fixed(folder, way) == expected


@pytest.mark.long
@pytest.mark.parametrize("way", FIXING, ids=str)
def test_the_same_fixes_in_every_way(after: tuple[Path, tuple[bytes, dict[str, bytes]]], way: Way) -> None:
    folder, expected = after
    assert fixed(folder, way) == expected
