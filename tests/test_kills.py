"""``--fix`` that is killed: every file is what it was or what it becomes, and the next run leaves nothing behind."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import kills
from hostile import AGENT, SMELL

from torchlint.engine.run import check
from torchlint.rule import Edit
from torchlint.settings.model import Settings
from torchlint.sources import write
from torchlint.sources.decode import read_source
from torchlint.sources.edits import apply_edits

pytestmark = pytest.mark.skipif(not kills.supported(), reason="this system cannot fork")
SEED = 8


@pytest.mark.ninth
@pytest.mark.once
def test_ten_killed_runs(tmp_path: Path) -> None:
    assert kills.wrong(10, random.Random(SEED), kills.Fixing.measure(tmp_path / "fixed")) == []


@pytest.mark.third
@pytest.mark.once
def test_ten_runs_killed_while_they_keep_results(tmp_path: Path) -> None:
    assert kills.wrong(10, random.Random(SEED), kills.Keeping.measure(tmp_path / "kept")) == []


@pytest.mark.long
def test_two_hundred_killed_runs(tmp_path: Path) -> None:
    assert kills.wrong(200, random.Random(SEED), kills.Fixing.measure(tmp_path / "fixed")) == []


STEPS = (
    "os.fdopen",
    "os.fsync",
    "os.chown",
    "os.setxattr",
    "os.listxattr",
    "Path.chmod",
    "Path.replace",
    "Path.unlink",
)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step(tmp_path: Path, step: str, late: bool) -> None:
    """Before and after each call that writing one file makes."""
    owner, name = (os if step.startswith("os.") else Path), step.partition(".")[2]
    if not hasattr(owner, name):
        pytest.skip("not on this system")
    path = tmp_path / "agent.py"
    path.write_bytes(b"x = 1\n")
    before = read_source(path, path.name)
    after = apply_edits(before, [Edit(4, 5, "2")])
    child = os.fork()
    if not child:
        real = getattr(owner, name)

        def dying(*args: object, **options: object) -> object:
            found = real(*args, **options) if late else None
            os.kill(os.getpid(), signal.SIGKILL)
            return found

        setattr(owner, name, dying)
        write.replace_file(before, after)
        os._exit(0)
    kills.ended(child)
    assert path.read_bytes() in (b"x = 1\n", b"x = 2\n")
    write.remove_strays(tmp_path)
    assert os.listdir(tmp_path) == ["agent.py"]


def test_temporaries_of_running_processes_stay(tmp_path: Path) -> None:
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ours = tmp_path / f".torchlint-{running.pid}-abc_1.tmp"
    others = [
        ".torchlint-x.tmp",
        ".torchlint-1-a.tmp.py",
        ".torchlint.toml",
        "torchlint-99999999-a.tmp",
        ".torchlint_cache",
    ]
    for path in (ours, *(tmp_path / name for name in others)):
        path.touch()
    (tmp_path / ".torchlint-99999999-dir.tmp").mkdir()
    (tmp_path / ".torchlint-99999999-old.tmp").touch()
    write.remove_strays(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([ours.name, *others, ".torchlint-99999999-dir.tmp"])
    running.communicate(b"\n")
    write.remove_strays(tmp_path)
    assert not ours.exists()


def changed(path: Path) -> None:
    before = read_source(path, path.name)
    write.replace_file(before, apply_edits(before, [Edit(0, 1, "y")]))


def test_hard_links_stay(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_bytes(b"x = 1\n")
    (tmp_path / "other.py").hardlink_to(tmp_path / "agent.py")
    changed(tmp_path / "agent.py")
    assert (tmp_path / "other.py").read_bytes() == b"y = 1\n"
    assert (tmp_path / "other.py").samefile(tmp_path / "agent.py")
    assert sorted(os.listdir(tmp_path)) == ["agent.py", "other.py"]


def test_hard_links_within_a_project_are_fixed_once(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "inner").mkdir()
    for name in ("other.py", "inner/third.py"):
        (tmp_path / name).hardlink_to(tmp_path / "agent.py")
    result = check([tmp_path], Settings(root=tmp_path, isolated=True, fix=True, unsafe_fixes=True))
    assert (result.problems, result.findings) == ([], [])
    assert sorted(result.fixed) == ["agent.py", "inner/third.py", "other.py"]
    assert SMELL not in (tmp_path / "agent.py").read_text()
    assert (tmp_path / "agent.py").stat().st_nlink == 3


def test_a_hard_linked_file_that_gets_shorter(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_bytes(b"xxxxx = 1\n")
    (tmp_path / "other.py").hardlink_to(tmp_path / "agent.py")
    before = read_source(tmp_path / "agent.py", "agent.py")
    write.replace_file(before, apply_edits(before, [Edit(0, 5, "y")]))
    assert (tmp_path / "other.py").read_bytes() == b"y = 1\n"


class Stopped(io.FileIO):
    """A file whose writer ends between the write and the cut."""

    def truncate(self, size: int | None = None, /) -> int:
        raise KeyboardInterrupt


def test_a_hard_linked_file_never_ends_in_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent.py").write_bytes(b"xxxxx = 1\n")
    (tmp_path / "other.py").hardlink_to(tmp_path / "agent.py")
    before = read_source(tmp_path / "agent.py", "agent.py")
    after = apply_edits(before, [Edit(0, 5, "y")])
    opened = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, mode, buffering=-1: opened(path, mode, buffering) if buffering else Stopped(path, mode),
    )
    with pytest.raises(KeyboardInterrupt):
        write.replace_file(before, after)
    monkeypatch.undo()
    assert (tmp_path / "other.py").read_bytes() == b"y = 1\n" + b"\n" * 4


def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_bytes(b"x = 1\n")
    try:
        os.setxattr(path, "user.note", b"mine")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    changed(path)
    assert os.getxattr(path, "user.note") == b"mine"
