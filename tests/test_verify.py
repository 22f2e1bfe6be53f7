"""``torchlint verify`` on small projects, with commands that look at the text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from conftest import PATIENCE, CommandLine, in_this_process, wait_for

from torchlint.verify.copying import Copy, synchronise
from torchlint.verify.python import Python, module_names, python_of
from torchlint.verify.scratch import remove_stale

AGENT = """import numpy as np
import torch


class Agent:
    def act(self, obs):
        return torch.FloatTensor(np.ravel(obs)).to(self.device)

    def mask(self, n):
        return torch.zeros(n, dtype=torch.float32).to(self.device)
"""
TRAIN = """from agent import Agent


def train(env, agent):
    obs = env.reset()
    for _ in range(1000):
        obs = env.step(agent.act(obs), agent.mask(4), agent.more(3))


agent = Agent()
train(None, agent)
"""
OTHER = """import torch


def run(env, x):
    while True:
        x = env.step(x)
        env.log(torch.zeros(7, device="cpu").to("cpu"))
"""
ACT, MASK = "torch.FloatTensor(np.ravel(obs)).to(self.device)", "torch.zeros(n, dtype=torch.float32).to(self.device)"
FIXED_MASK = "torch.zeros(n, dtype=torch.float32, device=self.device)"


@pytest.fixture
def torchlint(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def scratches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch folders are made; a test sees what is left there."""
    place = tmp_path / "scratches"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield place
    assert os.listdir(place) == []


@pytest.fixture
def project(tmp_path: Path, scratches: Path) -> Path:
    """A project with two fixes, in a folder whose name holds a blank; there is no git."""
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "agent.py").write_text(AGENT)
    (folder / "train.py").write_text(TRAIN)
    return folder


def command(code: str) -> tuple[str, ...]:
    """A command that runs a piece of Python, which has ``text``, what the copy's agent.py holds."""
    return ("--isolated", "--", sys.executable, "-c", f"text = open('agent.py').read()\n{textwrap.dedent(code)}")


def keep(text: str) -> tuple[str, ...]:
    """A command that fails where a text is no longer in agent.py."""
    return command(f"import sys; print('looked'); sys.exit({text!r} not in text)")


def statuses(printed: str) -> list[str]:
    return [fix["status"] for fix in json.loads(printed)["fixes"]]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_all_fixes_are_kept_and_written(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", *command("pass"), cwd=project)
    assert done.returncode == 0, done.stderr
    assert (
        "torch.as_tensor(np.ravel(obs), dtype=torch.float32, device=self.device)" in (project / "agent.py").read_text()
    )
    assert FIXED_MASK in (project / "agent.py").read_text()
    assert "2 of 2 fixes kept" in done.stdout
    assert "1 file written. The command ran 2 times" in done.stdout


def test_a_fix_that_the_command_fails_with_is_left_out(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", *keep(MASK), cwd=project)
    assert done.returncode == 1
    assert (project / "agent.py").read_text() == AGENT.replace(
        ACT, "torch.as_tensor(np.ravel(obs), dtype=torch.float32, device=self.device)"
    )
    assert "2 TL102 agent.py:10 the command fails: exit code 1\n  │ looked\n" in done.stdout
    assert "1 of 2 fixes kept, 1 rejected" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_nothing_to_fix(torchlint: CommandLine, project: Path) -> None:
    """The command runs all the same, once: what fails before any fix is known before there is one."""
    (project / "agent.py").write_text("")
    done = torchlint("verify", *command("pass"), cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"No fixes to try. The command ran once, \S+ s without fixes.\n", done.stdout)
    done = torchlint("verify", *command("raise SystemExit(3)"), cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the command fails before any fix (exit code 3)" in done.stderr
    done = torchlint("verify", "--isolated", "--", "no-such-program", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")


WAITING = """import torch


def train(env, agent, optimizer, x):
    while True:
        action = torch.tanh(agent(torch.Tensor(x.more)))
        if torch.isnan(action).any():
            raise ValueError
        x = env.step(action)
"""


def test_nothing_to_try_says_what_waits(torchlint: CommandLine, project: Path) -> None:
    (project / "agent.py").write_text(WAITING)
    flags = ("--select", "TL101,TL201")
    done = torchlint("verify", *flags, *command("pass"), cwd=project)
    said = " ".join(done.stdout.split())
    assert said.startswith(
        "No fixes to try but 2 with --unsafe-fixes, of which --accept validation takes 1. The command ran once, "
    )
    told = json.loads(torchlint("verify", "--json", *flags, *command("pass"), cwd=project).stdout)
    assert (told["runs"], told["waiting"]) == (1, {"unsafe_fixes": 2, "accept": {"validation": 1}})
    told = json.loads(torchlint("verify", "--json", "--unsafe-fixes", *flags, *command("pass"), cwd=project).stdout)
    assert (len(told["fixes"]), told["waiting"]) == (2, {"unsafe_fixes": 0, "accept": {}})


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (("pytest", "-q"), "torchlint verify -- pytest -q"),
        (("--timeout", "60", "pytest"), "torchlint verify --timeout 60 -- pytest"),
        (("agent.py", "--diff", "python", "agent.py", "--steps", "9"), "agent.py --diff -- python agent.py --steps 9"),
        (("sh", "-c", "a b"), "torchlint verify -- sh -c 'a b'"),
    ],
)
def test_dashes_that_are_missing_are_named(
    torchlint: CommandLine, project: Path, words: tuple[str, ...], whole: str
) -> None:
    done = torchlint("verify", *words, cwd=project)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "there is no -- before the command, as in: torchlint verify " in done.stderr
    assert done.stderr.endswith(f"{whole}\n")


def test_two_fixes_that_only_fail_together(torchlint: CommandLine, project: Path) -> None:
    both = command(f"assert {ACT!r} in text or {MASK!r} in text")
    done = torchlint("verify", "--json", *both, cwd=project)
    assert done.returncode == 1
    told = json.loads(done.stdout)["fixes"]
    assert [(fix["status"], fix["against"]) for fix in told] == [("kept", []), ("rejected", [1])]
    assert "AssertionError" in told[1]["output"]
    assert MASK in (project / "agent.py").read_text()
    assert ACT not in (project / "agent.py").read_text()


def test_a_diff_writes_nothing(torchlint: CommandLine, project: Path) -> None:
    before = snapshot(project)
    done = torchlint("verify", "--diff", *keep(ACT), cwd=project)
    assert done.returncode == 1
    assert f"+        return {FIXED_MASK}\n" in done.stdout
    assert "as_tensor" not in done.stdout
    assert "1 of 2 fixes kept" in done.stderr
    assert snapshot(project) == before


def test_the_options_of_check_choose_the_fixes(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", "--json", "--select", "TL102", "agent.py", *command("pass"), cwd=project)
    assert [fix["code"] for fix in json.loads(done.stdout)["fixes"]] == ["TL102"]
    assert ACT in (project / "agent.py").read_text()


def test_an_import_that_two_fixes_share_comes_once(torchlint: CommandLine, project: Path) -> None:
    (project / "agent.py").write_text(
        AGENT
        + "\n    def more(self, n):\n        if torch.isnan(n).any():\n            raise ValueError\n"
        + "        if torch.isinf(n).any():\n            raise ValueError\n"
    )
    found = torchlint(
        "verify",
        "--json",
        "--unsafe-fixes",
        "--select",
        "TL201",
        *command("assert text.count('isinf(n)') and '            if torch.isinf' not in text"),
        cwd=project,
    )
    assert sorted(statuses(found.stdout)) == ["kept", "rejected"]
    text = (project / "agent.py").read_text()
    assert text.count("import os") == 1
    assert "        if _DEBUG_CHECKS:\n            if torch.isnan" in text
    assert "\n        if torch.isinf" in text


NESTED = """import numpy as np
import torch


def act(obs, device):
    return torch.full((torch.FloatTensor(np.ravel(obs)).to(device).shape[0],), 2.0).to(device)


def train(env, obs):
    while True:
        obs = env.step(act(obs, torch.device("cpu")))
"""


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("pass", {"TL101": "kept", "TL102": "kept"}),
        ("assert '2.0).to(device)' in text", {"TL101": "kept", "TL102": "rejected"}),
        ("assert 'FloatTensor' in text", {"TL101": "rejected", "TL102": "kept"}),
    ],
)
def test_a_fix_inside_another(torchlint: CommandLine, project: Path, kept: str, expected: dict[str, str]) -> None:
    """With the outer one, the inner one changes what that made; without it, it changes what stood there before."""
    (project / "agent.py").write_text(NESTED)
    (project / "pyproject.toml").write_text("[tool.ruff]\nline-length = 120\n")  # nothing is split
    done = torchlint("verify", "--json", "--select", "TL101,TL102", "agent.py", *command(kept), cwd=project)
    assert {fix["code"]: fix["status"] for fix in json.loads(done.stdout)["fixes"]} == expected
    text = (project / "agent.py").read_text()
    assert ("FloatTensor" in text) is (expected["TL101"] == "rejected")
    assert ("2.0).to(device)" in text) is (expected["TL102"] == "rejected")


def test_a_command_that_fails_before_any_fix(torchlint: CommandLine, project: Path) -> None:
    before = snapshot(project)
    done = torchlint("verify", *command("print('no data'); raise SystemExit(3)"), cwd=project)
    assert done.returncode == 2
    assert done.stderr == (
        "  | no data\ntorchlint: error: the command fails before any fix (exit code 3); nothing was changed\n"
    )
    assert done.stdout == ""
    assert snapshot(project) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--", "no-such-program", "-q"), "there is no program called 'no-such-program'"),
        (("--", "python -c pass"), "give its words one by one, or sh -c"),
        (("--", "./agent.py"), "cannot be started: Permission denied"),
        ((), "give a command after --, as in: torchlint verify -- pytest -q"),
        (("--",), "give a command after --"),
        (("--metric", "fps", "--", "true"), "has no group around the number"),
        (("--timeout", "0", "--", "true"), "0.0 is not in the range"),
        (("nowhere", "--", "true"), "nowhere: no such file or folder"),
        (("--copy", "nowhere", "--", "true"), "nowhere"),
        (("--link", "/", "--", "true"), "/ is not in"),
        (("--tiemout", "3", "--", "true"), "--timeout"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    torchlint: CommandLine, project: Path, words: tuple[str, ...], told: str
) -> None:
    before = snapshot(project)
    done = torchlint("verify", "--isolated", *words, cwd=project)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert snapshot(project) == before


def test_a_failure_that_does_not_come_again_is_no_fault_of_a_fix(
    torchlint: CommandLine, project: Path, tmp_path: Path
) -> None:
    """The command fails on every second run."""
    count = tmp_path / "count"
    flaky = command(
        f"""
        import pathlib, sys
        count = pathlib.Path({str(count)!r})
        count.write_text(count.read_text() + "x" if count.exists() else "")
        sys.exit(len(count.read_text()) % 2 == 0)
        """
    )
    done = torchlint("verify", *flaky, cwd=project)
    assert done.returncode == 0
    assert "warning: the command is not steady without fixes: exit code 1, then it passed" in done.stderr
    assert "warning: the command is not steady with 2 of 2 fixes: exit code 1, then it passed" in done.stderr
    assert MASK not in (project / "agent.py").read_text()


def test_a_command_that_stops_passing_blames_no_fix(torchlint: CommandLine, project: Path, tmp_path: Path) -> None:
    """After two runs it fails, whatever the fixes: a disk that is full, a device that is gone."""
    before = snapshot(project)
    count = tmp_path / "count"
    broken = command(
        f"""
        import pathlib, sys
        count = pathlib.Path({str(count)!r})
        count.write_text(count.read_text() + "x" if count.exists() else "x")
        sys.exit(len(count.read_text()) > 1)
        """
    )
    done = torchlint("verify", *broken, cwd=project)
    assert done.returncode == 2
    assert "the command passed and fails now (exit code 1), with the same files; nothing was changed" in done.stderr
    assert snapshot(project) == before


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks for processes in /proc")
def test_a_run_past_its_time_has_failed_and_leaves_no_process(
    torchlint: CommandLine, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over when what hangs has started its child, however long that takes."""
    pids = tmp_path / "pids"
    hanging = command(
        f"""
        import subprocess, sys, time
        if {MASK!r} not in text:
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            open({str(pids)!r}, "a").write(f"{{child.pid}}\\n")
            time.sleep(600)
        """
    )
    runs, real = 0, subprocess.Popen.wait

    def wait(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        nonlocal runs
        if timeout != PATIENCE:
            return real(process, timeout)
        wait_for(lambda: process.poll() is not None or (pids.exists() and pids.read_text().count("\n") > runs))
        if process.returncode is None:
            runs += 1
            raise subprocess.TimeoutExpired("command", timeout)
        return process.returncode

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    done = torchlint("verify", "--json", "--timeout", str(PATIENCE), "--select", "TL102", *hanging, cwd=project)
    assert (done.returncode, runs) == (1, 2)
    assert json.loads(done.stdout)["fixes"][0]["reason"].startswith("past the time limit after ")
    assert (project / "agent.py").read_text() == AGENT
    assert pids.read_text()
    wait_for(lambda: not any(is_running(int(pid)) for pid in pids.read_text().split()))


def is_running(process: int) -> bool:
    """Whether a process runs; one that ended and that nothing waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_file_that_changed_meanwhile_is_left_alone_and_the_others_are_written(
    torchlint: CommandLine, project: Path
) -> None:
    (project / "other.py").write_text(OTHER)
    edit = command(f"open({str(project / 'agent.py')!r}, 'a').write('# mine')")
    done = torchlint("verify", "--unsafe-fixes", "--select", "TL102", *edit, cwd=project)
    assert done.returncode == 2
    assert "agent.py has been changed by another program meanwhile and is left alone" in done.stderr
    assert (project / "agent.py").read_text().startswith(AGENT + "# mine")
    assert (project / "other.py").read_text() != OTHER


def test_a_file_that_is_not_fixed_and_changed_is_told(torchlint: CommandLine, project: Path) -> None:
    edit = command(f"open({str(project / 'train.py')!r}, 'a').write('# mine')")
    done = torchlint("verify", *edit, cwd=project)
    assert done.returncode == 0
    assert "warning: train.py changed during the run; what was tried was its text before" in done.stderr


def test_every_run_starts_from_the_same_files(torchlint: CommandLine, project: Path) -> None:
    messy = command(
        """
        import os, shutil
        assert sorted(os.listdir()) == ["agent.py", "pyproject.toml", "train.py"], os.listdir()
        assert open("train.py").read().endswith("train(None, agent)\\n")
        open("train.py", "a").write("# changed")
        os.remove("pyproject.toml")
        os.mkdir("runs")
        open("runs/log", "w").close()
        """
    )
    done = torchlint("verify", *messy, cwd=project)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(project)) == ["agent.py", "pyproject.toml", "train.py"]


def test_compiled_python_of_another_text_is_never_used(torchlint: CommandLine, project: Path) -> None:
    """Both texts are equally long and written within a second."""
    (project / "sizes.py").write_text("import torch\n")
    importing = command(
        """
        import importlib.util, sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        sys.dont_write_bytecode = False
        sys.path.insert(0, "")
        import agent
        assert ("FloatTensor" in agent.Agent.act.__code__.co_names) == ("FloatTensor" in text)
        assert ("device=" in text) == any("device" in str(c) for c in agent.Agent.mask.__code__.co_consts), text
        """
    )
    done = torchlint("verify", *importing, cwd=project)
    assert done.returncode == 0, done.stdout


def test_a_metric_is_measured_in_turns(torchlint: CommandLine, project: Path) -> None:
    speed = command(f"print('fps: 1'); print('fps:', 200.0 if {MASK!r} not in text else 100.0)")
    done = torchlint("verify", "-v", "--metric", r"fps: ([\d.]+)", *speed, cwd=project)
    assert done.returncode == 0
    assert "fps: ([\\d.]+): 2.0x (2.0-2.0x, 97 % interval): better" in done.stdout
    assert "without fixes: 100 100 100 100 100\nwith fixes:    200 200 200 200 200\n" in done.stdout
    runs = [line.split(", ")[1].split()[1] for line in done.stderr.splitlines() if "measuring" in line]
    assert runs == ["without", "with", "with", "without"] * 2 + ["without", "with"]


def test_a_metric_where_less_is_better_and_the_fixes_are_worse(torchlint: CommandLine, project: Path) -> None:
    loss = command(f"print('loss', 3 if {MASK!r} not in text else 2)")
    done = torchlint("verify", "--json", "--metric", "loss (.)", "--metric-lower", "--repeats", "4", *loss, cwd=project)
    told = json.loads(done.stdout)["metric"]
    assert told["ratio"] == pytest.approx(2 / 3)
    assert told["verdict"] == "worse"
    assert told["before"] == [2.0] * 4


def test_a_metric_without_a_difference(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", "--metric", "(5)", *command("print(5)"), cwd=project)
    assert "1.00x (1.00-1.00x, 97 % interval): no difference beyond noise" in done.stdout


@pytest.mark.parametrize(
    ("prints", "told"),
    [("", "has no match"), ("fps: fast", "found 'fast', which is not a number"), ("fps: 0", "must be above zero")],
)
def test_a_metric_that_is_not_there(torchlint: CommandLine, project: Path, prints: str, told: str) -> None:
    done = torchlint("verify", "--metric", "fps: (.+)", *command(f"print({prints!r})"), cwd=project)
    assert done.returncode == 2
    assert told in done.stderr
    assert (project / "agent.py").read_text() == AGENT


def test_a_metric_that_is_lost_with_the_fixes(torchlint: CommandLine, project: Path) -> None:
    lost = command(f"print({MASK!r} in text and 'fps: 3')")
    done = torchlint("verify", "--metric", "fps: (.+)", *lost, cwd=project)
    assert done.returncode == 0
    assert "warning: the metric was not measured to the end: the output has no match of --metric" in done.stderr
    assert MASK not in (project / "agent.py").read_text()


def test_the_command_runs_in_the_same_folder_of_the_copy(torchlint: CommandLine, project: Path) -> None:
    (project / "sub dir").mkdir()
    (project / "sub dir" / "here").touch()
    code = (
        "import os; assert os.path.exists('here') and open('../agent.py').read()\n"
        "assert os.environ['TORCHLINT_VERIFY'] == '1' and os.environ['PWD'] == os.getcwd()\n"
        f"assert not os.getcwd().startswith({str(project)!r})"
    )
    done = torchlint("verify", "--isolated", "..", "--", sys.executable, "-c", code, cwd=project / "sub dir")
    assert done.returncode == 0, done.stderr
    assert FIXED_MASK in (project / "agent.py").read_text()


def test_a_folder_outside_of_the_project(torchlint: CommandLine, project: Path, tmp_path: Path) -> None:
    done = torchlint("verify", "--isolated", project, "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert f"the command runs in a copy of {project}: change into that folder first" in done.stderr


def test_output_is_shown_on_request(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", "--show-output", *command("print('hello')"), cwd=project)
    assert done.stderr.splitlines()[0] == "hello"
    assert "torchlint: run 1, without fixes: passed (" in done.stderr
    assert done.stderr.count("hello\n") == 2


def test_what_the_command_prints_cannot_break_out(torchlint: CommandLine, project: Path) -> None:
    loud = command(f"print('\\x1b[31m::error::\\r\\n'); assert {MASK!r} in text")
    done = torchlint("verify", *loud, cwd=project)
    assert "\x1b" not in done.stdout
    assert "  │ \\x1b[31m::error::\n" in done.stdout


def test_a_program_in_an_environment_that_is_not_copied(torchlint: CommandLine, project: Path) -> None:
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").touch()
    (project / ".venv" / "bin" / "go").write_text("#!/bin/sh\ntest ! -e .venv\n")
    (project / ".venv" / "bin" / "go").chmod(0o755)
    done = torchlint("verify", "--isolated", "--", ".venv/bin/go", cwd=project)
    assert done.returncode == 0, done.stderr


def test_a_word_that_names_the_real_project_is_told(torchlint: CommandLine, project: Path) -> None:
    code = "import sys; open(sys.argv[1])"
    done = torchlint("verify", "--isolated", "--", sys.executable, "-c", code, project / "agent.py", cwd=project)
    assert f"warning: the command names {project / 'agent.py'}, which is in the real project" in done.stderr


def package(project: Path) -> None:
    """Put the agent into a package below ``src``."""
    (project / "src" / "mylib").mkdir(parents=True)
    (project / "src" / "mylib" / "__init__.py").touch()
    (project / "agent.py").rename(project / "src" / "mylib" / "agent.py")
    (project / "train.py").write_text(TRAIN.replace("from agent", "from mylib.agent"))


READS = (
    "import importlib.util; text = open(importlib.util.find_spec('mylib').origin.replace('__init__', 'agent')).read()"
)


def test_a_package_on_the_path_is_that_of_the_copy(torchlint: CommandLine, project: Path) -> None:
    """As an editable install has it, whose path is the real one."""
    package(project)
    code = f"{READS}\nassert {MASK!r} in text"
    found = torchlint(
        *("verify", "--json", "--isolated", "--", sys.executable, "-c", code),
        cwd=project,
        env={"PYTHONPATH": str(project / "src")},
    )
    assert statuses(found.stdout) == ["kept", "rejected"]


HOOK = """
import importlib.util, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "mylib":
            return importlib.util.spec_from_file_location(name, {path!r}, submodule_search_locations=[{folder!r}])

sys.meta_path.{how}
"""


def editable(project: Path, tmp_path: Path, how: str) -> dict[str, str]:
    """Variables for a Python that finds the package by a hook, as editable installs do."""
    package(project)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    folder = project / "src" / "mylib"
    text = HOOK.format(path=str(folder / "__init__.py"), folder=str(folder), how=how)
    (hooks / "sitecustomize.py").write_text(text)
    return {"PYTHONPATH": str(hooks)}


def test_an_editable_install_by_a_hook_that_comes_last(torchlint: CommandLine, project: Path, tmp_path: Path) -> None:
    env = editable(project, tmp_path, "append(Finder)")
    code = f"{READS}\nassert {MASK!r} in text"
    found = torchlint("verify", "--json", "--isolated", "--", sys.executable, "-c", code, cwd=project, env=env)
    assert statuses(found.stdout) == ["kept", "rejected"], found.stderr


def test_an_editable_install_whose_hook_comes_first_is_told(
    torchlint: CommandLine, project: Path, tmp_path: Path
) -> None:
    env = editable(project, tmp_path, "insert(0, Finder)")
    done = torchlint("verify", "--isolated", "--", sys.executable, "-c", "pass", cwd=project, env=env)
    assert done.returncode == 2
    assert f"mylib is imported from {project / 'src'} in the real project, not from the copy" in done.stderr


def test_git_hooks_do_not_lead_the_command_to_the_real_repository(torchlint: CommandLine, project: Path) -> None:
    code = "import os; assert 'GIT_DIR' not in os.environ and 'GIT_INDEX_FILE' not in os.environ"
    env = {"GIT_DIR": str(project / ".git"), "GIT_INDEX_FILE": "index"}
    done = torchlint("verify", "--isolated", "--", sys.executable, "-c", code, cwd=project, env=env)
    assert done.returncode == 0, done.stderr


def made(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def listed(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )


def test_what_is_copied(tmp_path: Path) -> None:
    base, target = tmp_path / "base", tmp_path / "target"
    made(base, "a.py", "sub/b.py", "sub/_version.py", "data/set.bin", "data/more/x", "keep/y", "linked/z", ".env")
    made(base, ".git/HEAD", "sub/.git", "__pycache__/a.pyc", "env/pyvenv.cfg", "env/lib/x.py", "c/CACHEDIR.TAG")
    (base / ".gitignore").write_text("data/\n_version.py\nkeep\nlinked\n.env\n")
    os.mkfifo(base / "pipe")
    copy = Copy(base, target, whole=[base / "keep"], linked=[base / "linked"])
    copy.make()
    assert listed(target) == [".env", ".gitignore", "a.py", "keep/y", "linked", "sub/_version.py", "sub/b.py"]
    assert os.readlink(target / "linked") == str(base / "linked")
    assert copy.left_out == ["data/"]


def test_a_scratch_folder_in_the_project_is_not_copied(
    torchlint: CommandLine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(project / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    done = torchlint("verify", *command("import os; assert len(os.listdir('tmp')) == 1"), cwd=project)
    assert done.returncode == 0, done.stderr
    assert os.listdir(project / "tmp") == []


def test_tracked_files_in_ignored_folders_are_copied(tmp_path: Path) -> None:
    base, target = tmp_path / "base", tmp_path / "target"
    made(base, "data/README", "data/set.bin", "data/deep/kept", "data/deep/not", "other/x")
    (base / ".gitignore").write_text("data/\nother/\n")
    for words in (("init", "-q"), ("add", "-f", "data/README", "data/deep/kept")):
        subprocess.run(["git", *words], cwd=base, check=True)
    copy = Copy(base, target)
    copy.make()
    assert listed(target) == [".gitignore", "data/README", "data/deep/kept"]
    assert sorted(copy.left_out) == ["data/deep/not", "data/set.bin", "other/"]


def test_links_lead_to_the_copy_or_out_of_the_project_but_never_into_it(tmp_path: Path) -> None:
    base, target = tmp_path / "base", tmp_path / "deep" / "target"
    made(base, "a.py", "sub/b.py", "sub/deep/c.py", "venv/pyvenv.cfg", "venv/x", "data/set")
    made(tmp_path, "outside")
    (base / ".gitignore").write_text("data/\n")
    os.symlink(base / "sub", tmp_path / "back")
    links = {
        "relative": ("sub/b.py", "sub/b.py"),
        "absolute": (str(base / "a.py"), "a.py"),
        "folder": (str(base / "sub"), "sub"),
        "out": ("../outside", str(tmp_path / "outside")),
        "far": (str(tmp_path / "outside"), str(tmp_path / "outside")),
        "broken": ("nowhere", "nowhere"),
        "later": (str(base / "runs" / "5"), "runs/5"),
        "root": (".", "."),
        "named": (str(base), "."),
        "sub/up": ("../../base", ".."),
        "returning": (str(tmp_path / "back"), "sub"),
        "through": ("relative", "relative"),
        "above": ("deep/../a.py", "sub/a.py"),
        "deep": ("sub/deep", "sub/deep"),
        "circle": ("ring", "ring"),
        "ring": ("circle", "circle"),
        "environment": ("venv/x", None),
        "ignored": ("data", None),
        "around": ("ignored", None),
        "higher": ("..", None),
        "highest": ("/", None),
    }
    for name, (to, _) in links.items():
        os.symlink(to, base / name)
    copy = Copy(base, target)
    copy.make()
    found = {name: os.readlink(target / name) if (target / name).is_symlink() else None for name in links}
    assert found == {name: to for name, (_, to) in links.items()}
    left_out = ["around (a link)", "data/", "environment (a link)", "higher (a link)", "highest (a link)"]
    assert sorted(copy.left_out) == [*left_out, "ignored (a link)"]


@pytest.mark.parametrize("root", [".", "absolute"])
def test_a_link_to_the_root_leads_to_the_copy(torchlint: CommandLine, project: Path, root: str) -> None:
    """What is read through it is what is tried, and what is written through it stays in the copy."""
    os.symlink(str(project) if root == "absolute" else root, project / "whole")
    os.symlink(str(project / "made.txt"), project / "dangling")
    through = command(f"assert open('whole/agent.py').read() == text; open('dangling', 'w').close(); {MASK!r} in text")
    done = torchlint("verify", *through, cwd=project)
    assert (done.returncode, (project / "made.txt").exists()) == (0, False), done.stderr
    broken = command(f"import sys; sys.exit({MASK!r} not in open('whole/agent.py').read())")
    (project / "agent.py").write_text(AGENT)
    done = torchlint("verify", "--json", *broken, cwd=project)
    assert statuses(done.stdout) == ["kept", "rejected"]


def test_a_fixed_file_that_is_a_link_out_of_the_project(torchlint: CommandLine, project: Path, tmp_path: Path) -> None:
    """The real file is behind the link, and no trial may write there."""
    (project / "agent.py").rename(tmp_path / "elsewhere.py")
    os.symlink(tmp_path / "elsewhere.py", project / "agent.py")
    real = tmp_path / "elsewhere.py"
    same = command(f"assert open({str(real)!r}).read() == {AGENT!r}")
    done = torchlint("verify", *same, cwd=project)
    assert done.returncode == 0, done.stderr
    assert FIXED_MASK in real.read_text()
    assert (project / "agent.py").is_symlink()


def test_synchronising_brings_back_what_was(tmp_path: Path) -> None:
    model, copy = tmp_path / "model", tmp_path / "copy"
    made(model, "a", "b/c", "d/e")
    os.symlink("a", model / "link")
    synchronise(model, copy)
    before = {path: (path.lstat().st_mtime_ns, path.lstat().st_ino) for path in (copy / "a", copy / "b/c")}
    made(copy, "new/x", "b/__pycache__/c.pyc")
    (copy / "d" / "e").unlink()
    (copy / "d").rmdir()
    (copy / "d").write_text("a file")
    (copy / "link").unlink()
    (copy / "link").mkdir()
    (copy / "b" / "new").symlink_to("/")
    synchronise(model, copy)
    assert listed(copy) == ["a", "b/__pycache__/c.pyc", "b/c", "d/e", "link"]
    assert os.readlink(copy / "link") == "a"
    assert {path: (path.lstat().st_mtime_ns, path.lstat().st_ino) for path in before} == before


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "torchlint-verify-old"
    left.mkdir()
    made(left, "work/x")
    (tmp_path / "torchlint-verify-old.lock").touch()
    (tmp_path / "torchlint-verify-alone.lock").touch()
    made(tmp_path, "torchlint-verify-mine", "other/x")
    remove_stale(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["other", "torchlint-verify-mine"]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with programs, as ``PATH`` names it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    heads = {
        "pytest": "#!/opt/my env/bin/python3.11\nimport pytest\n",
        "env": "#!/usr/bin/env python3\n",
        "long": '#!/bin/sh\n\'\'\'exec\' "/very/long/bin/python3" "$0" "$@"\n',
        "shell": "#!/bin/sh\npython train.py\n",
        "binary": "\x7fELF",
        "python": "",
        "uv": "#!/bin/sh\nexit 1\n",
    }
    for name, head in heads.items():
        (folder / name).write_text(head)
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("python train.py -v", Python(("python",), certain=True)),
        ("python3.12 -I -s -m pytest -S", Python(("python3.12", "-I", "-s"), certain=True)),
        ("/opt/bin/python -u train.py", Python(("/opt/bin/python",), certain=True)),
        ("pytest -q", Python(("/opt/my env/bin/python3.11",), certain=True)),
        ("env", Python(("python3",), certain=True)),
        ("long", Python(("/very/long/bin/python3",), certain=True)),
    ],
)
def test_the_python_of_a_command(programs: Path, words: str, expected: Python) -> None:
    assert python_of(words.split(), {"PATH": str(programs)}) == expected


@pytest.mark.parametrize("words", ["shell", "binary", "make", "./run.sh"])
def test_the_python_on_the_path_where_the_command_names_none(programs: Path, words: str) -> None:
    assert python_of([words], {"PATH": str(programs)}) == Python((str(programs / "python"),), certain=False)
    assert python_of([words], {"PATH": str(programs / "nowhere")}) is None


def test_names_under_which_files_may_be_imported(tmp_path: Path) -> None:
    paths = [tmp_path / "src" / "my-lib" / "agent.py", tmp_path / "train.py", Path("/elsewhere/x.py")]
    assert module_names(paths, tmp_path) == {"src", "agent", "train"}


def test_what_the_copy_lacks_is_told_when_the_command_fails_at_once(torchlint: CommandLine, project: Path) -> None:
    for number in range(7):
        made(project, f"data{number}/x")
    (project / ".gitignore").write_text("data*/\n")
    code = "import os; raise SystemExit(not os.path.exists('data3/x'))"
    words = ("--isolated", "--", sys.executable, "-c", code)
    done = torchlint("verify", *words, cwd=project)
    told = "the copy is without what git ignores: data0/, data1/, data2/, data3/, data4/ and 2 more (--copy or --link"
    assert told in done.stderr
    for option in ("--copy", "--link"):
        assert torchlint("verify", "--diff", option, "data3", *words, cwd=project).returncode == 0


def test_a_tool_that_makes_environments_of_its_own_is_named(
    torchlint: CommandLine, project: Path, programs: Path
) -> None:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = torchlint("verify", "--isolated", "--", "uv", "run", "pytest", cwd=project, env={"PATH": path})
    assert "uv may make an environment for the copy: give the program in yours" in done.stderr


@pytest.mark.torch
@pytest.mark.long
def test_the_example_of_the_documentation(root: Path) -> None:
    done = subprocess.run(
        ["sh", root / "examples" / "verify.sh", sys.executable],
        env={**os.environ, "PYTHONPATH": str(root), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (root / "docs" / "verify.md").read_text(encoding="utf-8")
    table = done.stdout.partition("updates per second: (.+): ")[0]
    assert table in page
    assert "11 of 12 fixes kept, 1 rejected; 3 files written." in done.stdout


COUNTED = """import numpy as np
import torch


class Agent:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def act(self, obs):
        return torch.FloatTensor(np.ravel(obs)).to(self.device)

    def mask(self):
        return torch.zeros(4).to(self.device)


def train(env, agent, obs, steps):
    for _ in range(steps):
        obs = env.step(agent.act(obs) + agent.mask())


class Env:
    def step(self, action):
        return action.cpu().numpy()


if __name__ == "__main__":
    train(Env(), Agent(), np.zeros(4), 3)
"""


@pytest.mark.third
def test_a_fix_is_kept_if_the_count_falls(
    torchlint: CommandLine, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step waits to copy the observation in, to copy the mask in, and to copy the action out."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))  # torch makes this folder
    (project / "agent.py").write_text(COUNTED)
    (project / "train.py").unlink()
    run = ("--isolated", "--", sys.executable, "agent.py")
    done = torchlint("verify", "--json", "--metric", "count:waits", *run, cwd=project)
    told = json.loads(done.stdout)
    assert told["count"] == {"what": "waits", "before": 9, "after": 6}
    assert [(fix["code"], fix["status"], fix["reason"]) for fix in told["fixes"]] == [
        ("TL101", "spares nothing", "waits: 6 without it, 6 with it"),
        ("TL102", "kept", None),
    ]
    assert done.returncode == 1
    text = (project / "agent.py").read_text()
    assert "torch.zeros(4, device=self.device)" in text and "torch.FloatTensor" in text


def test_only_events_that_are_counted(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", "--metric", "count:nothing", *command("pass"), cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not one of count:waits, count:launches, count:copies, count:bytes" in done.stderr


def test_nothing_is_counted_without_torch(torchlint: CommandLine, project: Path) -> None:
    done = torchlint("verify", "--metric", "count:waits", *command("pass"), cwd=project)
    assert done.returncode == 2
    assert "never imported torch" in done.stderr
