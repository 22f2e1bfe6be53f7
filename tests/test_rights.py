"""Files and folders that may not be read or written, and disks that are full: told, and everything else is done.

The superuser may read and write everything, so as root these runs have the capabilities taken away that let it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from hostile import AGENT, SMELL

from torchlint.rule import Edit
from torchlint.sources import write
from torchlint.sources.decode import read_source
from torchlint.sources.edits import apply_edits

ROOT_USER = hasattr(os, "geteuid") and os.geteuid() == 0
WITHOUT_POWER = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--ambient-caps", "-all")
SAID = "torchlint: error: "

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform == "win32", reason="rights are another thing there"),
    pytest.mark.skipif(ROOT_USER and shutil.which("setpriv") is None, reason="root without setpriv may do everything"),
]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder with one agent; whatever rights are taken in it are given back at the end."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "free.py").write_text(AGENT)
    yield folder
    for top, folders, _ in os.walk(folder):
        for name in folders:
            Path(top, name).chmod(0o755)


def torchlint(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``torchlint check`` as someone who may not do everything."""
    return subprocess.run(
        [*(WITHOUT_POWER if ROOT_USER else ()), sys.executable, "-m", "torchlint", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCHLINT_DATA_DIR": str(folder.parent / "data"),
            "TORCHLINT_NO_CACHE": "",
            **env,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The errors of a run, which tells of nothing that went wrong inside."""
    assert "Traceback" not in done.stderr and "internal" not in done.stderr
    return [line.removeprefix(SAID) for line in done.stderr.splitlines() if line.startswith(SAID)]


def locked(folder: Path) -> Path:
    """A folder with an agent in it that no one may look into."""
    path = folder / "locked"
    path.mkdir()
    (path / "agent.py").write_text(AGENT)
    path.chmod(0)
    return path


def test_files(project: Path) -> None:
    for name, mode in {"secret.py": 0, "fast.py": 0o444}.items():
        (project / name).write_text(AGENT)
        (project / name).chmod(mode)
    done = torchlint(project, "check", "--fix", "--unsafe-fixes")
    assert done.returncode == 2
    assert errors(done) == ["fast.py: not fixed: Permission denied", "secret.py: cannot be read: Permission denied"]
    assert SMELL not in (project / "free.py").read_text()
    assert SMELL in (project / "fast.py").read_text()
    given = torchlint(project, "check", "secret.py", "fast.py", "--output-format", "concise")
    assert given.returncode == 2
    assert errors(given) == ["secret.py: cannot be read: Permission denied"]
    assert given.stdout.startswith("fast.py:7:")


def test_folders(project: Path) -> None:
    locked(project)
    fast = project / "fast"
    fast.mkdir()
    (fast / "agent.py").write_text(AGENT)
    fast.chmod(0o555)
    done = torchlint(project, "check", "--fix", "--unsafe-fixes")
    assert done.returncode == 2
    assert errors(done) == [
        "locked: cannot be read: Permission denied",
        "fast/agent.py: not fixed: Permission denied",
    ]
    assert SMELL not in (project / "free.py").read_text()
    assert os.listdir(fast) == ["agent.py"]


@pytest.mark.parametrize(
    "words",
    [
        ("check", "locked/agent.py"),
        ("check", "locked"),
        ("check", "--explain-hot", "locked/agent.py:7"),
        ("check", "--baseline", "locked/x.jsonl", "free.py"),
        ("check", "--config", "locked/x.toml", "free.py"),
        ("check", "--output-file", "locked/x", "free.py"),
        ("check", "@locked/x"),
        ("baseline", "--baseline", "locked/x", "free.py"),
        ("clean", "locked"),
    ],
)
def test_what_is_asked_for_in_a_locked_folder_is_one_error(project: Path, words: tuple[str, ...]) -> None:
    locked(project)
    done = torchlint(project, *words)
    assert (done.returncode, len(errors(done))) == (2, 1), done.stderr


@pytest.mark.parametrize("name", ["locked/x.py", "locked/deep/er/x.py", f"{'a/' * 3000}x.py", f"{'a' * 5000}.py"])
def test_standard_input_stands_for_a_file_that_nobody_can_reach(project: Path, name: str) -> None:
    locked(project)
    done = torchlint(project, "check", "-", "--stdin-filename", name)
    assert (done.returncode, errors(done)) == (0, [])


@pytest.mark.parametrize("name", ["pyproject.toml", "torchlint.toml"])
def test_settings_that_may_not_be_read_are_an_error(project: Path, name: str) -> None:
    (project / name).touch(0)
    done = torchlint(project, "check")
    assert (done.returncode, errors(done)) == (2, [f"{project / name}: cannot be read: Permission denied"])


@pytest.mark.parametrize("name", [".gitignore", "setup.cfg", ".git"])
def test_what_only_helps_is_done_without(project: Path, name: str) -> None:
    (project / name).touch(0)
    done = torchlint(project, "check")
    assert (done.returncode, errors(done)) == (1, [])


def no_folder(project: Path) -> None:
    project.chmod(0o555)


def no_writing(project: Path) -> None:
    (project / ".torchlint_cache").mkdir(0o555)


def no_looking(project: Path) -> None:
    (project / ".torchlint_cache").mkdir(0)


def no_key(project: Path) -> None:
    (project.parent / "data").mkdir(0o555)


@pytest.mark.parametrize("take", [no_folder, no_writing, no_looking, no_key])
def test_without_a_cache_it_works_and_says_so(project: Path, take: Callable[[Path], None]) -> None:
    take(project)
    done = torchlint(project, "check", "--output-format", "concise")
    assert (done.returncode, errors(done)) == (1, [])
    assert done.stdout.startswith("free.py:7:")
    assert "warning: cannot cache results: " in done.stderr
    assert not list(project.rglob("*.tmp"))
    project.chmod(0o755)


def test_a_user_without_a_home_folder(project: Path) -> None:
    done = torchlint(project, "check", TORCHLINT_DATA_DIR="", XDG_DATA_HOME="", HOME="nowhere")
    assert (done.returncode, errors(done)) == (1, [])
    assert "there is no home folder" in done.stderr
    assert os.listdir(project) == ["free.py"]


# full disks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk that is full but for a few kilobytes, with one agent of more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if not ROOT_USER or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        (disk / "agent.py").write_text(AGENT + "# \n" * 20_000)
        (disk / "pyproject.toml").touch()
        (disk / "filled").write_bytes(b"x" * 100_000)
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_fix_that_does_not_fit_leaves_the_file_as_it_was(small: Path) -> None:
    before = (small / "agent.py").read_bytes()
    done = torchlint(small, "check", "--fix", "--unsafe-fixes")
    assert (done.returncode, errors(done)) == (2, ["agent.py: not fixed: No space left on device"])
    assert (small / "agent.py").read_bytes() == before
    assert sorted(os.listdir(small)) == ["agent.py", "filled", "pyproject.toml"]


def test_a_cache_that_does_not_fit_is_one_warning(small: Path) -> None:
    disk = os.statvfs(small)
    (small / "more").write_bytes(b"x" * (disk.f_bavail * disk.f_frsize))
    done = torchlint(small, "check")
    assert (done.returncode, errors(done)) == (1, [])
    assert done.stderr.count("cannot cache results") == 1
    assert not list(small.rglob("*.tmp"))


def test_a_file_with_several_names_keeps_its_bytes_where_new_ones_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.py"
    path.write_bytes(b"x = 1\n")
    (tmp_path / "other.py").hardlink_to(path)
    put = write._put

    def fail_on_new(target: Path, raw: bytes) -> None:
        put(target, raw[:3] if raw != b"x = 1\n" else raw)
        if raw != b"x = 1\n":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_put", fail_on_new)
    before = read_source(path, path.name)
    with pytest.raises(OSError, match="No space"):
        write.replace_file(before, apply_edits(before, [Edit(4, 5, "2")]))
    assert path.read_bytes() == b"x = 1\n"
    assert sorted(os.listdir(tmp_path)) == ["agent.py", "other.py"]
