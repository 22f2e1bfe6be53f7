"""Nothing of what is linted is run, nothing is asked of the network, and the same files give the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import AGENT, NEIGHBOUR

ROOT = Path(__file__).resolve().parent.parent
MARK = "import pathlib\npathlib.Path(r'{mark}').touch()\n"
RUN_BY_SOMEBODY = (
    *("agent.py", "conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "__init__.py", "__main__.py"),
    *("torch.py", "numpy.py", "click.py", "libcst.py", "rich.py", "pathspec.py", "tomli.py", "watchfiles.py"),
    *("ast.py", "re.py", "json.py", "torchlint.py", "torchlint_rules.py", "torchlint/__init__.py", "rules/__init__.py"),
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
    path = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
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
    """A folder in which everything that anybody might run leaves a mark, and where the mark would be."""
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
    assert b"agent.py" in done.stdout or b"22 files" in done.stderr
    assert not mark.exists()


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

WAYS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "another hash seed": ({"PYTHONHASHSEED": "1"}, ()),
    "a third hash seed": ({"PYTHONHASHSEED": "4242"}, ()),
    "other memory": ({"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "7"}, ()),
    "another order of folders": ({"PYTHONHASHSEED": "0"}, ("shuffled",)),
}
"""Environment and flags of runs that must not differ; ``shuffled`` stands for files written in another order."""


def tree(folder: Path, shuffled: bool = False) -> None:
    """A project of many of the rules' fixtures."""
    texts = {path.parent.name + "_" + path.name: path.read_text(encoding="utf-8") for path in FIXTURES}
    texts |= {"agent.py": AGENT, "neighbour.py": NEIGHBOUR}
    folder.mkdir()
    for name in sorted(texts, key=lambda name: name[::-1], reverse=True) if shuffled else sorted(texts):
        (folder / name).write_text(texts[name], encoding="utf-8")
    (folder / "pyproject.toml").touch()


FIXTURES = sorted((ROOT / "tests" / "fixtures").glob("*/hot.py"))[::4]


def everything(folder: Path, env: dict[str, str], flags: tuple[str, ...]) -> tuple[bytes, dict[str, bytes]]:
    """What a run prints, and what it makes of the files."""
    shutil.rmtree(folder, ignore_errors=True)
    tree(folder, "shuffled" in flags)
    options = [flag for flag in flags if flag != "shuffled"]
    done = run(folder, "check", "--fix", "--unsafe-fixes", "--isolated", "--output-format", "json", *options, env=env)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout, {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, bytes], Path]:
    folder = tmp_path_factory.mktemp("same") / "tree"
    return (*everything(folder, {"PYTHONHASHSEED": "0"}, ()), folder)


@pytest.mark.parametrize(("env", "flags"), WAYS.values(), ids=WAYS)
def test_the_same_bytes_whatever_the_way(
    expected: tuple[bytes, dict[str, bytes], Path], env: dict[str, str], flags: tuple[str, ...]
) -> None:
    printed, files, folder = expected
    assert everything(folder, env, flags) == (printed, files)
