"""Several processes find what one finds, and one that dies takes only its file along."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from test_cli_whole import AGENT

from torchlint.engine.processes import _shares, lint_all
from torchlint.engine.run import check
from torchlint.engine.units import Unit
from torchlint.settings.model import Settings

pytestmark = [
    pytest.mark.versions,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
]


@pytest.fixture
def project(tmp_path):
    """Two agents that share a file, and three alone."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(AGENT)
    (tmp_path / "d.py").write_text(f"import shared\n{AGENT}")
    (tmp_path / "e.py").write_text(f"import shared\n{AGENT}")
    (tmp_path / "shared.py").write_text(f"{AGENT}\n")
    return tmp_path


def lint(folder, jobs, **more):
    return check([folder], Settings(root=folder, isolated=True, jobs=jobs, **more))


def dying(monkeypatch, die, *names):
    """In a child, linting one of these files ends badly."""
    parent = os.getpid()
    real = Unit.lint

    def lint(self, name):
        if name in names and os.getpid() != parent:
            die()
        return real(self, name)

    monkeypatch.setattr(Unit, "lint", lint)


@pytest.mark.parametrize("jobs", [2, 3, 8, 50])
def test_the_number_of_processes_changes_nothing(project, jobs):
    one, many = lint(project, 1), lint(project, jobs)
    assert many.findings == one.findings
    assert len(many.findings) == 6
    assert (many.problems, many.unpaired, many.files) == ([], 0, 6)


@pytest.mark.once
@pytest.mark.parametrize("jobs", [2, 8])
def test_real_code_in_several_processes(jobs):
    folder = ROOT / "tests" / "fixtures" / "TL201"
    one = lint(folder, 1, select=("ALL",))
    assert lint(folder, jobs, select=("ALL",)).findings == one.findings
    assert one.findings


def test_fixes_are_the_same(project):
    texts = {}
    for jobs in (1, 4):
        done = lint(project, jobs, fix=True, diff=True)
        texts[jobs] = {name: file.after.text for name, file in done.fixed.items()}
    assert texts[1] == texts[4]
    assert len(texts[1]) == 6


@pytest.mark.parametrize(
    ("die", "told"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "ended with signal 9"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended with signal 11"),
        (lambda: os._exit(3), "ended with status 3"),
        (lambda: (_ for _ in ()).throw(RecursionError("too\ndeep")), "failed: RecursionError: too deep"),
        (lambda: (_ for _ in ()).throw(SystemExit(0)), "failed: SystemExit: 0"),
    ],
)
def test_a_child_that_dies_is_an_internal_error_of_its_file(project, monkeypatch, die, told):
    whole = lint(project, 1).findings
    dying(monkeypatch, die, "a.py", "b.py", "c.py")
    done = lint(project, 6)
    lost = {problem.path for problem in done.problems}
    assert lost
    assert lost <= {"a.py", "b.py", "c.py"}
    assert {(problem.message, problem.internal) for problem in done.problems} == {
        (f"the process that linted it {told}", True)
    }
    assert done.findings == [finding for finding in whole if finding.path not in lost]


def test_what_a_dead_child_had_not_begun_is_done_by_another(project, monkeypatch):
    dying(monkeypatch, lambda: os._exit(1), *(f"{name}.py" for name in ("a", "b", "c", "d", "e", "shared")))
    done = lint(project, 2)
    assert len(done.problems) + len(done.findings) == 6
    assert len(done.problems) >= 2


def test_children_end_when_this_process_is_interrupted(project, monkeypatch):
    parent = os.getpid()

    def wait(self, name):
        if os.getpid() == parent:
            raise KeyboardInterrupt
        for_ever()

    monkeypatch.setattr(Unit, "lint", wait)
    with pytest.raises(KeyboardInterrupt):
        lint(project, 4)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def for_ever():
    while True:
        time.sleep(600)


IN_A_PROCESS = """
import os, sys, time
from torchlint.engine.units import Unit

real, parent = Unit.lint, os.getpid()

def lint(self, name):
    os.write(3, b"%d\\n" % os.getpid())
    while True:
        time.sleep(600)

Unit.lint = lint
sys.argv = ["torchlint", "check", "--isolated", "--no-cache", "-j", "4"]
from torchlint.cli import main
sys.exit(main())
"""


def started(folder):
    """A process that lints with three children, all four of which never come to an end; and their numbers."""
    read, write = os.pipe()
    path = str(ROOT)
    code = IN_A_PROCESS.replace("os.write(3", f"os.write({write}")
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(write,),
    )
    os.close(write)
    with os.fdopen(read) as stream:
        numbers = {int(stream.readline()) for _ in range(4)}
        assert process.pid in numbers
        yield process
        # All of them hold the pipe open: its end is the end of the last of them.
        assert stream.read() == ""


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [
        (signal.SIGINT, 130, "torchlint: interrupted\n"),
        (signal.SIGTERM, 143, "torchlint: interrupted\n"),
        (signal.SIGHUP, 129, "torchlint: interrupted\n"),
        (signal.SIGKILL, -9, ""),
    ],
)
def test_no_child_outlives_this_process(project, number, status, told):
    for process in started(project):
        process.send_signal(number)
        printed, said = process.communicate()
        assert (process.returncode, printed, said) == (status, "", told)


class Sized:
    """A unit of files of some sizes."""

    def __init__(self, *sizes):
        self.targets = {f"{number}.py": Target(size) for number, size in enumerate(sizes)}
        self.size = sum(sizes)


class Target:
    def __init__(self, size):
        self.source = self
        self.utf8 = b" " * size


def test_shares_are_about_equal_and_hold_all_jobs_once():
    units = [Sized(10, 10, 10, 10), Sized(3, 3), Sized(2), Sized(1)]
    shares = _shares(units, 2)
    loads = [sum(len(units[unit].targets[name].utf8) for unit, name in share) for share in shares]
    assert sorted(loads) == [23, 26]
    jobs = [job for share in shares for job in share]
    assert len(jobs) == len(set(jobs)) == 8
    # A small unit stays together: its facts are found out once.
    assert len({number for number, share in enumerate(shares) for unit, _ in share if unit == 1}) == 1


def test_little_work_is_done_here(project, monkeypatch):
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process is started"))
    assert len(lint(project, None).findings) == 6
    assert list(lint_all([], None)) == []
    assert list(lint_all([], 4)) == []


def test_without_fork_one_process_does_it_all(project, monkeypatch):
    monkeypatch.delattr(os, "fork")
    assert len(lint(project, 4).findings) == 6


def test_problems_in_children_are_told(tmp_path: Path, monkeypatch):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(AGENT)
    import torchlint.rules.tl1_transfer.cpu_then_move as module

    def fail(self, site):
        raise ZeroDivisionError("here")

    monkeypatch.setattr(module.CpuThenMove, "check", fail)
    one, many = lint(tmp_path, 1, select=("TL102",)), lint(tmp_path, 3, select=("TL102",))
    assert [problem.path for problem in one.problems] == ["a.py", "b.py", "c.py"]
    assert all(problem.internal and "rule TL102 failed" in problem.message for problem in one.problems)
    assert many.problems == one.problems
