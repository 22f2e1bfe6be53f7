"""``torchlint count`` as a user types it: real programs in processes of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from programs import benchmark

from torchlint.count.run import PREFIX
from torchlint.device.program import OLDEST

pytestmark = [pytest.mark.torch, pytest.mark.once]

TRAIN = """\
import sys

import torch
from torch import nn


class Env:
    def reset(self):
        self.time = 0
        return [0.0] * 4

    def step(self, action):
        self.time += 1
        return [float(self.time)] * 4, 1.0, self.time >= 10, {}


class Wrapper:
    def __init__(self, env):
        self.env = env

    def reset(self):
        return self.env.reset()

    def step(self, action):
        return self.env.step(action)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def act(obs):
    obs = torch.tensor(obs, device=device)
    with torch.no_grad():
        return net(obs).argmax().item()  # needed


def train(episodes):
    env = Wrapper(Env())
    for _ in range(episodes):
        obs, done, seen = env.reset(), False, []
        while not done:
            obs, reward, done, _ = env.step(act(obs))
            seen.append(obs)
        loss = net(torch.tensor(seen, device=device)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.6f} on {device.type}")


train(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


HOSTILE = "# </td><script>alert(1)</script>\nnet(torch.ones(4, device=device)).sum().item()\n"


@pytest.fixture(scope="module")
def shown(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The folder with ``page.html``, and what was printed, of one run of a program with hostile text in it."""
    folder = tmp_path_factory.mktemp("shown")
    (folder / "train.py").write_text(TRAIN + HOSTILE)
    (folder / "pyproject.toml").write_text("")
    return folder, count(root, folder, ["--html", "page.html"], [sys.executable, "train.py"])


def arguments(options: Sequence[str], command: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "torchlint", "count", *options, "--", *command]


def environment(root: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    paths = str(root)
    return {**os.environ, "PYTHONPATH": paths, "COLUMNS": "80", **(more or {})}


def count(root: Path, folder: Path, options: Sequence[str], command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments(options, command), cwd=folder, env=environment(root), capture_output=True, text=True, check=False
    )


def row_of(text: str) -> int:
    return 1 + next(number for number, line in enumerate(TRAIN.splitlines()) if text in line)


def lines_of(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    told = json.loads(done.stdout)
    return told, {line["row"]: line for line in told["lines"]}


def test_counts_of_a_program_by_line(root: Path, project: Path) -> None:
    done = count(root, project, ["--json"], [sys.executable, "train.py"])
    assert done.returncode == 0, done.stderr
    told, lines = lines_of(done)
    assert (told["steps"], told["updates"]) == (30, 3)
    act, action = lines[row_of("obs = torch.tensor")], lines[row_of("# needed")]
    assert (act["status"], act["why"]) == ("needed", "data of the host goes in")
    assert (action["status"], action["why"]) == ("needed", "it goes to the environment")
    assert (act["waits"], act["copies_in"], act["bytes"]) == (30, 30, 30 * 16)
    assert (action["waits"], action["per_step"]["waits"], action["copies_out"], action["bytes"]) == (
        30,
        1.0,
        30,
        30 * 8,
    )
    assert lines[row_of("loss.item()")]["waits"] == 3
    assert told["totals"]["waits"] == sum(line["waits"] for line in lines.values()) + told["elsewhere"]["waits"]
    assert done.stderr.count(" on cuda") == 3


def test_the_table_fits_a_terminal_and_the_results_are_those_of_the_cpu(
    shown: tuple[Path, subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py"])
    exec(compile(TRAIN, "train.py", "exec"), {"__name__": "__main__"})
    plain = capsys.readouterr().out.splitlines()
    assert len(plain) == 3
    _, done = shown
    lines = done.stdout.splitlines()
    losses = [line.split(" on ")[0] for line in lines if line.startswith("loss")]
    assert losses == [line.split(" on ")[0] for line in plain]
    table = lines[len(losses) :]
    assert "30 environment steps" in " ".join(" ".join(table).split())
    assert max(map(len, table)) <= 80
    assert any("train.py:" in line for line in table)


@pytest.mark.third
def test_a_number_of_steps_is_a_limit(root: Path, project: Path) -> None:
    done = count(root, project, ["--json", "--steps", "12"], [sys.executable, "train.py", "100000"])
    told, lines = lines_of(done)
    assert done.returncode == 0
    assert told["steps"] == 12
    assert lines[row_of("# needed")]["waits"] == 12


@pytest.mark.third
def test_seconds_are_a_limit(root: Path, project: Path) -> None:
    program = "import torch, time\nx = torch.ones(2, device='cuda').sum().item()\ntime.sleep(3600)\n"
    (project / "sleeps.py").write_text(program)
    done = count(root, project, ["--json", "--seconds", "1"], [sys.executable, "sleeps.py"])
    assert done.returncode == 0, done.stderr
    assert lines_of(done)[0]["totals"]["waits"] == 1


def interrupted(root: Path, project: Path, program: str) -> tuple[int, str, str]:
    """Run a program that makes a file ``ready`` and then sleeps, and press Ctrl-C; exit status and what is printed."""
    (project / "sleeps.py").write_text(program)
    process = subprocess.Popen(
        arguments(["--json"], [sys.executable, "sleeps.py"]),
        cwd=project,
        env=environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (project / "ready").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    return process.returncode, output, errors


SLEEP = "import time\nopen('ready', 'w')\ntime.sleep(3600)\n"


@pytest.mark.third
def test_ctrl_c_still_reports(root: Path, project: Path) -> None:
    program = f"import torch\nx = torch.ones(2, device='cuda').sum().item()\n{SLEEP}"
    code, output, _ = interrupted(root, project, program)
    assert code == 130
    assert json.loads(output)["totals"]["waits"] == 1


@pytest.mark.third
@pytest.mark.parametrize(
    ("program", "words"),
    [
        (f"{SLEEP}import torch\n", "imported torch"),
        (f"import torch\ntorch.ones(2).sum().item()\n{SLEEP}", "put anything on a device"),
    ],
    ids=["before torch", "before the device"],
)
def test_ctrl_c_before_there_is_anything_to_count(program: str, words: str, root: Path, project: Path) -> None:
    code, output, errors = interrupted(root, project, program)
    assert (code, output) == (130, "")
    told = [line for line in errors.splitlines() if line.startswith("torchlint: ")]
    assert told == [f"torchlint: interrupted before {sys.executable} {words}"]


PROGRAMS = {
    "crashes": ("import torch\ntorch.ones(2, device='cuda').sum().item()\nraise SystemExit(3)\n", 3, ""),
    "is killed": (
        "import os, torch, time\ntorch.ones(2, device='cuda').sum().item()\ntime.sleep(3)\nos.abort()\n",
        134,
        "",
    ),
    "never uses the device": ("import torch\ntorch.ones(2).sum().item()\n", 2, "put nothing on a device"),
    "never imports torch": ("print('hello')\n", 2, "never imported torch"),
    "imports torch that is not there": ("import sys\nsys.path.clear()\nimport torch\n", 2, "has no torch to import"),
    "asks for torch that is not there": (
        "import importlib.util, sys\nsys.path.clear()\nimportlib.util.find_spec('torch')\n",
        2,
        "has no torch to import",
    ),
    "asks for torch before it imports it": (
        "import importlib.util\nassert importlib.util.find_spec('torch')\nimport torch\n"
        "torch.ones(2, device='cuda').sum().item()\n",
        0,
        "",
    ),
    "uses what is not known": ("import torch\ntorch.ones(2, device='cuda').to_sparse()\n", 2, "sparse"),
    "forks": (
        "import multiprocessing, torch\n"
        "def work(x): x.sum().item()\n"
        "x = torch.ones(2, device='cuda')\n"
        "if __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('fork').Process(target=work, args=(x,))\n"
        "    child.start(); child.join(); x.sum().item()\n",
        0,
        "",
    ),
}


@pytest.mark.ninth
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that(name: str, root: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, code, words = PROGRAMS[name]
    (project / "program.py").write_text(text)
    (project / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(project / "scratch"))
    done = count(root, project, ["--json"], [sys.executable, "program.py"])
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert not list((project / "scratch").glob(f"{PREFIX}*"))
    errors = [line for line in done.stderr.splitlines() if line.startswith("torchlint: error:")]
    assert len(errors) == (1 if code == 2 else 0)
    if code != 2:
        assert lines_of(done)[0]["totals"]["waits"] == (2 if name == "forks" else 1)


WORKERS = """\
import multiprocessing, sys, time, torch

def work(number):
    return torch.ones(number, device="cuda").sum().item()  # work

def work_on(shared):
    shared.sum().item()  # shared

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        assert pool.map(work, [1, 2, 3, 4]) == [1, 2, 3, 4]
    processes = [context.Process(target=work_on, args=(torch.ones(2, device="cuda"),)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
"""


@pytest.mark.ninth
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_are_counted(how: str, root: Path, project: Path) -> None:
    """Those of a pool, which ends them by a signal, and those that get tensors of the device."""
    (project / "workers.py").write_text(WORKERS)
    done = count(root, project, ["--json"], [sys.executable, "workers.py", how])
    assert done.returncode == 0, done.stderr
    waits = {line["row"]: line["waits"] for line in lines_of(done)[0]["lines"] if line["waits"]}
    rows = {text: 1 + WORKERS[: WORKERS.index(text)].count("\n") for text in ("# work", "# shared")}
    assert waits == {rows["# work"]: 4, rows["# shared"]: 2}


VECTOR = """\
import multiprocessing, sys, torch

class Env:
    def reset(self):
        return 0

    def step(self, action):
        return action

def work(pipe):
    env = Env()
    while True:
        pipe.send(env.step(pipe.recv()))

class Vector:
    def __init__(self, size, how):
        context = multiprocessing.get_context(how)
        pairs = [context.Pipe() for _ in range(size)]
        self.pipes = [pair[0] for pair in pairs]
        for pair in pairs:
            context.Process(target=work, args=(pair[1],), daemon=True).start()

    def reset(self):
        return [0] * len(self.pipes)

    def step(self, actions):
        for pipe, action in zip(self.pipes, actions):
            pipe.send(action)
        return [pipe.recv() for pipe in self.pipes]

if __name__ == "__main__":
    vector = Vector(3, sys.argv[1])
    for _ in range(int(sys.argv[2])):
        vector.step(torch.ones(3, device="cuda").tolist())
    print("done")
"""


@pytest.mark.ninth
@pytest.mark.parametrize(("how", "limit"), [("fork", 5), ("forkserver", None)])
def test_a_step_of_environments_in_workers_is_one_step(how: str, limit: int | None, root: Path, project: Path) -> None:
    """The limit ends the program, not a worker that the program waits for."""
    (project / "vector.py").write_text(VECTOR)
    options = ["--json"] if limit is None else ["--json", "--steps", str(limit)]
    done = count(root, project, options, [sys.executable, "vector.py", how, "20"])
    assert done.returncode == 0, done.stderr
    assert ("done" in done.stderr) == (limit is None)
    told = lines_of(done)[0]
    assert (told["steps"], told["totals"]["waits"]) == (limit or 20, limit or 20)


@pytest.mark.ninth
def test_a_limit_holds_for_workers_that_step_environments(root: Path, project: Path) -> None:
    program = (
        "import multiprocessing, torch\nfrom vector import Env\n"
        "def work():\n    env = Env()\n    while True:\n        env.step(torch.ones(1, device='cuda').item())\n"
        "if __name__ == '__main__':\n"
        "    workers = [multiprocessing.get_context('fork').Process(target=work) for _ in range(2)]\n"
        "    [worker.start() for worker in workers]; [worker.join() for worker in workers]\n"
    )
    (project / "vector.py").write_text(VECTOR)
    (project / "actors.py").write_text(program)
    done = count(root, project, ["--json", "--steps", "10"], [sys.executable, "actors.py"])
    assert done.returncode == 0, done.stderr
    told = lines_of(done)[0]
    assert told["steps"] >= 10
    assert 0 <= told["totals"]["waits"] - told["steps"] <= 4


@pytest.mark.third
def test_a_loader_with_workers(root: Path, project: Path) -> None:
    program = (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, num_workers=2, pin_memory=True)\n"
        "for (batch,) in loader:\n    batch = batch.to('cuda', non_blocking=True)\n    batch.sum().item()\n"
    )
    (project / "loads.py").write_text(program)
    done = count(root, project, ["--json"], [sys.executable, "loads.py"])
    assert done.returncode == 0, done.stderr
    lines = lines_of(done)[1]
    assert (lines[5]["waits"], lines[5]["copies_in"], lines[6]["waits"]) == (0, 4, 4)


def test_a_torch_that_lacks_what_the_device_needs(root: Path, project: Path) -> None:
    (project / "torch").mkdir()
    (project / "torch" / "__init__.py").write_text("__version__ = '1.2.0'\n")
    (project / "old.py").write_text("import torch\n")
    done = count(root, project, [], [sys.executable, "old.py"])
    assert done.returncode == 2
    told = "torchlint: error: the counted device cannot run with torch 1.2.0: it needs torch 2.2 or newer\n"
    assert done.stderr == told


def test_a_torch_that_is_new_enough_and_lacks_something(root: Path, project: Path) -> None:
    (project / "torch").mkdir()
    (project / "torch" / "__init__.py").write_text("__version__ = '2.99.0a0+git1'\n")
    (project / "new.py").write_text("import torch\n")
    done = count(root, project, [], [sys.executable, "new.py"])
    assert done.returncode == 2
    assert done.stderr.startswith("torchlint: error: the counted device cannot run with torch 2.99.0a0+git1: ")
    assert done.stderr.count("\n") == 1


def test_the_oldest_torch_is_that_of_the_extra(root: Path) -> None:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"torch>={".".join(map(str, OLDEST))}"' in text


WRONG = {
    "a path": (["nowhere"], "nowhere: No such file or directory"),
    "a folder for the page": (["--html", "nowhere/page.html"], "there is no folder nowhere"),
    "a settings file": (["--config", "nowhere.toml"], "nowhere.toml"),
    "a setting": (["--config", "device = 3"], "device"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_on_the_command_line_is_told_before_the_program_runs(
    name: str, root: Path, project: Path
) -> None:
    options, words = WRONG[name]
    (project / "program.py").write_text("open('ran', 'w')\nimport torch\n")
    done = count(root, project, options, [sys.executable, "program.py"])
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (project / "ran").exists()


def test_a_program_that_is_not_there(root: Path, project: Path) -> None:
    done = count(root, project, [], ["no-such-program"])
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no-such-program" in done.stderr


def test_a_command_is_asked_for(root: Path, project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", "count"],
        cwd=project,
        env=environment(root),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "-- python train.py" in done.stderr


def test_a_page_with_the_code_and_its_counts(shown: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = shown
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    needed = next(line for line in page.splitlines() if "# needed" in line)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", needed)
    assert cells[:5] == [str(row_of("# needed")), "30", "120", "30", "240 B"]
    assert cells[5].startswith("        return net(obs).argmax().item()  # needed<span")
    assert cells[5].endswith(">needed: it goes to the environment</span>")
    assert "&lt;script&gt;" in page and "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.ninth
def test_the_page_shows_what_is_printed(root: Path, tmp_path: Path) -> None:
    """Counts have no noise: the example in the documentation is what a run prints."""
    agent = shutil.copytree(root / "examples" / "agent", tmp_path / "agent", ignore=shutil.ignore_patterns("__py*"))
    command = [sys.executable, "train.py", "--device", "cuda", "--updates", "60"]
    done = count(root, agent, ["--top", "8"], command)
    page = (root / "docs" / "count.md").read_text(encoding="utf-8")
    printed = done.stdout[done.stdout.index("2,479 GPU syncs, ") :]
    assert printed in page


def test_the_picture_shows_what_is_printed(root: Path) -> None:
    """``benchmarks/picture.py`` draws the example of the documentation, word by word."""
    page = (root / "docs" / "count.md").read_text(encoding="utf-8")
    command, printed = re.findall(r"```\n\$ (torchlint count [^\n]+)\n\.\.\.\n(.*?)```", page, re.DOTALL)[0]
    picture = (root / "docs" / "assets" / "count.svg").read_text(encoding="utf-8")
    words = [unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture)]
    assert " ".join(words).split() == ["$", *command.split(), *printed.split()]
    assert "href" not in picture and "url(" not in picture


def test_the_page_shows_what_counting_costs(root: Path) -> None:
    """The table is that of the data that ``benchmarks/counted.py`` wrote."""
    counted = benchmark("counted")
    data = json.loads((root / "docs" / "benchmarks" / "counted.json").read_text(encoding="utf-8"))
    page = (root / "docs" / "count.md").read_text(encoding="utf-8")
    assert counted.written(page, "overhead", counted.table(data)) == page
    assert len(data["programs"]) == 3


@pytest.mark.third
def test_waits_that_no_rule_should_report_are_told_apart(root: Path, tmp_path: Path) -> None:
    """What an installed package waits for, and what waits less than once a step or update."""
    installed = tmp_path / "venv" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "agents.py").write_text("def greedy(net, obs):\n    return net(obs).argmax().item()\n")
    text = TRAIN.replace("net(obs).argmax().item()  # needed", "agents.greedy(net, obs) + 0")
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(text.replace("import torch\n", "import agents\nimport torch\n", 1))
    (project / "pyproject.toml").write_text("")
    more = {"PYTHONPATH": os.pathsep.join((str(root), str(installed)))}
    done = subprocess.run(
        arguments(["--json"], [sys.executable, "train.py", "6"]),
        cwd=project,
        env=environment(root, more),
        capture_output=True,
        text=True,
        check=False,
    )
    _, lines = lines_of(done)
    told = {lines[row]["status"]: lines[row] for row in lines}
    assert (told["library"]["why"], told["library"]["libraries"]) == ("agents", {"agents": 60})
    assert told["library"]["row"] == row_of("argmax") + 1
    assert told["seldom"]["row"] == row_of("net = nn.Sequential") + 1
    assert "missed" not in told
