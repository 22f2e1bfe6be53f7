"""The versions of torch and Python that a project is written for: where they are read, and what depends on them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import in_this_process
from test_cli_whole import AGENT

from torchlint.engine.rules import ListedRule, load_rules
from torchlint.rule import Fix, Method, Report, Rule, Site
from torchlint.settings.target import is_distribution, pinned_torch_of, python_of, torch_of

TORCH = [
    ("pyproject.toml", '[project]\ndependencies = ["numpy>=1.2", "torch>=2.1"]\n', "2.1"),
    ("pyproject.toml", "[project]\ndependencies = ['torch >= 2.1, <3']\n", "2.1"),
    ("pyproject.toml", "[project]\ndependencies = [\"torch[opt]==2.4.1; sys_platform == 'linux'\"]\n", "2.4"),
    ("pyproject.toml", '[project]\ndependencies = ["torch"]\n[tool.mypy]\nmodule = "torch"\n', None),
    (
        "pyproject.toml",
        '[project]\ndependencies = ["torch<2.3", "torchvision>=0.15", "pytorch-lightning>=2.0"]\n',
        None,
    ),
    ("pyproject.toml", '[project]\ndependencies = ["botorch>=0.9", "mujoco-torch>=1.2"]\n', None),
    ("pyproject.toml", '[project.optional-dependencies]\nnew = ["torch>=2.7"]\nold = ["torch>=2.0"]\n', "2.0"),
    ("pyproject.toml", '# was "torch>=1.0"\n[project]\ndependencies = ["torch>=2.6"]\n', "2.6"),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "^2.2.1"\n', "2.2"),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = { version = "~1.13", source = "cpu" }\n', "1.13"),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^1.13 || ^2.0"\n', "1.13"),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "*"\n', None),
    ("setup.py", "setup(install_requires=['torch>=1.10,!=2.0.1'])\n", "1.10"),
    ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch~=2.5\n", "2.5"),
    ("requirements.txt", "-r other.txt\ntorch==2.0.1+cu118  # pinned\n", "2.0"),
    ("requirements.txt", "torch @ https://example.org/torch.whl\n", None),
    ("requirements.txt", "torch>1.8\n", "1.8"),
    ("requirements-gpu.txt", "torch==1.8.1\n", "1.8"),
    ("requirements_dev.txt", "# for tests\ntorch>=2.2\n", "2.2"),
    ("requirements/base.txt", "numpy\ntorch>=1.13\n", "1.13"),
    ("environment-gpu.yml", "dependencies:\n  - pytorch=2.1\n", "2.1"),
    ("environment.yml", "dependencies:\n  - python=3.10\n  - pytorch=2.3\n", "2.3"),
    ("agents.yml", "name: agents\ndependencies:\n  - pytorch=1.6.0=py3.6_cuda10.1.243_cudnn7.6.3_0\n", "1.6"),
    ("conda_env.yaml", "dependencies:\n  - pip:\n    - torch==1.9.0\n", "1.9"),
    ("mkdocs.yml", "nav:\n  - torch=1.9: old.md\n", None),
    ("Pipfile", '[packages]\ntorch = ">=2.1"\n', "2.1"),
    ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.5.1"\nsource = {}\n', "2.5"),
    ("uv.lock", '[[package]]\nname = "torchrl"\nversion = "0.5"\n', None),
    ("poetry.lock", '[[package]]\nname = "torch"\nversion = "2.4.0"\n', "2.4"),
    ("pylock.toml", '[[packages]]\nname = "torch"\nversion = "2.6.0+cpu"\n', "2.6"),
    ("Pipfile.lock", '{"default": {"torch": {"hashes": ["sha256:0"], "version": "==2.1.2"}}}', "2.1"),
    ("conda-lock.yml", "- name: pytorch\n  version: 2.2.2\n", "2.2"),
]


@pytest.mark.parametrize(("name", "text", "expected"), TORCH)
def test_the_torch_of_a_project(tmp_path: Path, name: str, text: str, expected: str | None) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert torch_of(tmp_path) == expected


def test_what_is_declared_comes_before_what_is_locked(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text('name = "torch"\nversion = "2.7.0"\n')
    assert torch_of(tmp_path) == "2.7"
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch"]\n')
    assert torch_of(tmp_path) == "2.7"
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch>=2.1"]\n')
    assert torch_of(tmp_path) == "2.1"


def test_of_several_files_of_requirements_the_oldest_torch_counts(tmp_path: Path) -> None:
    (tmp_path / "requirements-gpu.txt").write_text("torch==2.4.0+cu121\n")
    (tmp_path / "requirements-old.txt").write_text("torch==1.13.1\n")
    assert torch_of(tmp_path) == "1.13"
    (tmp_path / "requirements.txt").write_text("torch>=2.0\n")
    assert torch_of(tmp_path) == "2.0"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">=3.11"\n', "py311"),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\n', "py39"),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.6"\n', "py37"),
        ("pyproject.toml", '[project]\nname = "a"\n', None),
        ("setup.cfg", "[options]\npython_requires = >=3.8, <4\n", "py38"),
        ("setup.py", 'setup(python_requires=">=3.10")\n', "py310"),
        ("pyproject.toml", b'\xff\nrequires-python = ">=3.12"\n', "py312"),
    ],
)
def test_the_python_of_a_project(tmp_path: Path, name: str, text: str | bytes, expected: str | None) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert python_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", '[project]\nname = "a"\n', True),
        ("pyproject.toml", '[tool.poetry]\nname = "a"\n', True),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", False),
        ("setup.py", "from setuptools import setup\nsetup(name='a')\n", True),
        ("setup.py", "print('nothing')\n", False),
        ("setup.cfg", "[metadata]\nname = a\n", True),
        ("setup.cfg", "[flake8]\nmax-line-length = 100\n", False),
        ("a-1.0.dist-info/METADATA", "Name: a\n", True),
        ("requirements.txt", "torch\n", False),
    ],
)
def test_whether_others_import_a_project(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert is_distribution(tmp_path) is expected


# what depends on them -------------------------------------------------------------------------------------------------

SCALER = """\
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.net = nn.Linear(8, 1).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.scaler = torch.cuda.amp.GradScaler(enabled=True)

    def update(self, obs, goal):
        loss = (self.net(obs) - goal).square().mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def train(learner, replay):
    for _ in range(1000):
        learner.update(*replay.sample(256))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    (tmp_path / "learner.py").write_text(SCALER)
    return tmp_path


@pytest.fixture
def run(capsys, monkeypatch, project):
    torchlint = in_this_process(capsys, monkeypatch)
    return lambda *flags: torchlint("check", "--select", "TL905,TL301,TL102", *flags, cwd=project)


@pytest.mark.parametrize(
    ("flags", "found", "fixable"),
    [
        ([], True, False),  # nothing says: told, but the new spelling may not be there
        (["--target-torch", "2.3"], True, True),
        (["--target-torch", "2.3.1"], True, True),
        (["--target-torch", "2.10"], True, True),
        (["--target-torch", "2.2"], False, False),  # the new spelling is not there
        (["--config", "target-torch = '2.3'"], True, True),
    ],
)
def test_rules_and_fixes_hold_for_the_target(run, flags: list[str], found: bool, fixable: bool) -> None:
    rows = json.loads(run("--output-format", "json", *flags).stdout)
    assert [row["code"] for row in rows] == ["TL905"] * found
    assert [row["fix"] is not None for row in rows] == [fixable] * found


def test_the_fix_for_the_target(run, project: Path) -> None:
    assert run("--fix", "--target-torch", "2.3").returncode == 0
    new = SCALER.replace("torch.cuda.amp.GradScaler(enabled=True)", 'torch.amp.GradScaler("cuda", enabled=True)')
    assert (project / "learner.py").read_text() == new


def test_the_project_says_what_it_runs_with(run, project: Path) -> None:
    text = "[project]\nname = 'a'\ndependencies = ['torch>=2.4']\nrequires-python = '>=3.11'\n[tool.torchlint]\n"
    (project / "pyproject.toml").write_text(text)
    shown = run("--show-settings").stdout
    assert 'target-torch = "2.4"\ntarget-version = "py311"\n' in shown
    assert "target: torch 2.4 and newer, Python py311 and newer\n" in run("-v").stderr
    assert "TL905 [*]" in run().stdout
    (project / "pyproject.toml").write_text(text.replace("2.4", "1.8"))
    assert run().stdout == ""
    # The versions are facts of the project, which an isolated run reads too; flags win.
    assert run("--isolated").stdout == ""
    (project / "pyproject.toml").write_text(text)
    assert "TL905 [*]" in run("--isolated").stdout
    assert "TL905 [*]" in run("--target-torch", "2.4").stdout


ACTING = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.net = nn.Linear(8, 2)

    def act(self, obs):
        with torch.no_grad(), torch.cuda.amp.autocast():
            q = self.net(torch.as_tensor(obs))
        with torch.no_grad():
            return self.net(torch.as_tensor(obs)).argmax().item() + int(q[0])


def train(agent, env):
    obs, _ = env.reset()
    while True:
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""


@pytest.mark.parametrize(
    ("requirement", "safe"),
    [("torch==1.8.1", set()), ("torch==1.9.0", {"TL301"}), ("torch>=1.10", {"TL301", "TL905"}), ("torch", {"TL301"})],
)
@pytest.mark.parametrize("flags", [(), ("--isolated",)])
def test_nothing_is_written_that_the_pinned_torch_lacks(
    run, project: Path, requirement: str, safe: set[str], flags: tuple[str, ...]
) -> None:
    (project / "learner.py").write_text(ACTING)
    (project / "requirements.txt").write_text(f"{requirement}\n")
    rows = json.loads(run("--output-format", "json", *flags).stdout)
    assert {row["code"] for row in rows if row["fix"] is not None} == safe
    assert ("TL905" in {row["code"] for row in rows}) == (requirement in ("torch>=1.10", "torch"))


@pytest.mark.parametrize(
    ("requirement", "flags", "warns"),
    [
        ("torch==2.2.0", (), False),
        ("torch==2.2.0", ("--target-torch", "2.4"), True),
        ("torch==2.4.1", (), True),
        ("torch>=2.2", (), True),
    ],
)
def test_an_old_spelling_is_left_where_the_pinned_torch_does_not_warn(
    run, project: Path, requirement: str, flags: tuple[str, ...], warns: bool
) -> None:
    (project / "learner.py").write_text(ACTING)
    (project / "requirements.txt").write_text(f"{requirement}\n")
    assert ("TL905" in run(*flags).stdout) is warns


@pytest.mark.parametrize(
    ("requirement", "pinned", "validates"),
    [
        ("torch==1.6.0", "1.6", False),
        ("torch == 1.7.1+cu110  # for the cluster", "1.7", False),
        ("torch==1.7.0+cu101 -f https://example.org/wheels.html", "1.7", False),
        ("torch==1.8.0", "1.8", True),
        ("torch>=1.6", None, True),
        ("torch~=1.6", None, True),
        ("torch==1.6.0,!=1.6.1", None, True),
        ("numpy==1.6.0", None, True),
        ("torchvision==0.4.0", "1.2", False),
        ("torchvision==0.8.2", "1.7", False),
        ("torchvision==0.9.1", "1.8", True),
        ("torchvision==0.15.2", None, True),
        ("torchvision==0.4.0\ntorch>=1.2", None, True),
    ],
)
def test_a_project_that_pins_an_early_torch_validates_nothing_by_default(
    capsys, monkeypatch, tmp_path: Path, requirement: str, pinned: str | None, validates: bool
) -> None:
    drawn = "torch.distributions.Categorical(logits=self.net(torch.as_tensor(obs))).sample().item()"
    (tmp_path / "learner.py").write_text(AGENT.replace("(self.net(obs) + mask).argmax(1).item()", drawn))
    (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
    assert pinned_torch_of(tmp_path) == pinned
    found = in_this_process(capsys, monkeypatch)("check", "--select", "TL205", cwd=tmp_path)
    assert ("TL205" in found.stdout) is validates


@pytest.mark.parametrize("flags", [(), ("--isolated",), ("--no-cache",)])
def test_what_a_folder_below_states_holds_for_its_files(run, project: Path, flags: tuple[str, ...]) -> None:
    for folder in ("old", "old/inner", "new"):
        (project / folder).mkdir()
        (project / folder / "learner.py").write_text(ACTING)
    (project / "learner.py").unlink()
    (project / "requirements.txt").write_text("torch>=2.4\n")
    (project / "old" / "requirements.txt").write_text("torch==2.2.0\n")

    def places() -> set[str]:
        rows = json.loads(run("--output-format", "json", *flags).stdout)
        found = (Path(row["filename"]) for row in rows if row["code"] == "TL905")
        return {path.relative_to(project).parent.as_posix() for path in found}

    assert places() == {"new"}
    assert places() == {"new"}
    (project / "old" / "inner" / "setup.cfg").write_text("[options]\ninstall_requires =\n    torch==2.5\n")
    assert places() == {"new", "old/inner"}
    (project / "old" / "requirements.txt").write_text("torch==2.6.0\n")
    assert places() == {"new", "old", "old/inner"}


def test_a_setting_of_the_user_holds_for_folders_below_too(run, project: Path) -> None:
    (project / "old").mkdir()
    (project / "learner.py").rename(project / "old" / "learner.py")
    (project / "old" / "requirements.txt").write_text("torch==2.2.0\n")
    assert "TL905" not in run().stdout
    assert "TL905" in run("--target-torch", "2.4").stdout


def test_a_new_file_of_requirements_is_seen(run, project: Path) -> None:
    (project / "learner.py").write_text(ACTING)
    assert "TL905" in run().stdout
    assert "TL905" in run().stdout
    (project / "requirements").mkdir()
    (project / "requirements" / "old.txt").write_text("torch==1.8\n")
    assert run().stdout == ""


def test_what_is_assumed_is_shown(run) -> None:
    shown = run("--show-settings").stdout
    assert "# target-torch is not set, so 2.2 holds\n# target-version is not set, so py310 holds\n" in shown
    assert "target: torch 2.2 (assumed) and newer, Python py310 (assumed) and newer\n" in run("-v").stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--target-torch", "two"], "'two' is not a version of torch such as '2.2'"),
        (["--target-torch", "2"], "'2' is not a version of torch such as '2.2'"),
        (["--target-version", "3.10"], "'3.10' is not one of py37, py38, py39, py310"),
        (["--target-version", "py3.11"], "did you mean 'py311'?"),
        (["--config", "target-torch = 2.2"], "target-torch: expected a string, not a float"),
    ],
)
def test_wrong_versions(run, flags: list[str], message: str) -> None:
    done = run(*flags)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_a_syntax_error_for_a_newer_python_says_so(run, project: Path) -> None:
    (project / "learner.py").write_text("import torch\nx = = 1\n")
    newer = f"py3{sys.version_info.minor + 1}"
    said = "the project is for a newer one"
    assert said in run("--target-version", newer).stdout
    assert said not in run("--target-version", f"py3{sys.version_info.minor}").stdout


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")
@pytest.mark.parametrize(
    "text",
    [
        "type Batch = tuple[int, int]\n",
        "class Buffer[T]:\n    pass\n",
        "def draw[T](rows: list[T]) -> T:\n    return rows[0]\n",
    ],
)
def test_a_row_that_a_newer_python_reads_says_so(run, project: Path, text: str) -> None:
    (project / "learner.py").write_text(f"import torch\n{text}")
    said = "a newer Python reads it"
    assert run().stdout.count(said) == 1
    assert run("--target-version", "py312").stdout.count("torchlint runs on") == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = = 1\n",
        "print 'a'\n",
        "if x:\npass\n",
        "def f():\nx = 1\n",
        "  x = 1\n",
        "x = (\n",
        "try:\n    x\ny = 1\n",
        "except KeyError:\n    pass\n",
        "finally:\n    pass\n",
        "if x:\n    y\n  z\n",
        f"x = = {'(' * 5000}\n",
    ],
)
def test_what_no_python_reads_is_for_none(run, project: Path, text: str) -> None:
    (project / "learner.py").write_text(f"import torch\n{text}")
    said = run().stdout
    assert "TL000" in said
    assert "a newer Python" not in said


class NewPython(Rule):
    """Says something about every ``print`` that only a newer Python can do better."""

    code = "TL102"
    name = "cpu-then-move"
    summary = "a sample"
    trigger = Method("to")
    fixable = True

    def check(self, site: Site) -> Iterator[Report]:
        yield Report(site.node, "slow", Fix("use it", ((site.node, "new()"),), python=(3, 12)))


def test_a_fix_for_a_newer_python_is_not_offered(run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = tuple(rule for rule in load_rules() if rule.code != "TL102")
    ours = (NewPython, *others)
    monkeypatch.setattr("torchlint.engine.rules.load_rules", lambda *_: ours)
    for name in ("run", "scope"):
        monkeypatch.setattr(f"torchlint.engine.{name}.listed_rules", lambda *_: tuple(map(ListedRule.of, ours)))
    (project / "learner.py").write_text(AGENT)
    assert "TL102 slow" in run().stdout
    assert "TL102 slow" in run("--target-version", "py311").stdout
    assert "TL102 [*] slow" in run("--target-version", "py312").stdout


def test_rules_name_the_torch_they_are_for(capsys, monkeypatch, tmp_path: Path) -> None:
    torchlint = in_this_process(capsys, monkeypatch)
    assert "; for torch 1.9 and newer\n" in torchlint("rule", "TL301", cwd=tmp_path).stdout
    known = {
        rule["code"]: rule["torch"]
        for rule in json.loads(torchlint("rule", "--all", "--output-format", "json", cwd=tmp_path).stdout)
    }
    assert (known["TL301"], known["TL904"], known["TL101"]) == ("1.9", "1.12", None)


def test_a_build_in_an_environment_of_conda_is_a_pin(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("nav:\n  - torch=2.1: old.md\n")
    (tmp_path / "agents.yml").write_text("dependencies:\n  - pytorch=1.6.0=py3.6_cuda10.1.243_cudnn7.6.3_0\n")
    assert pinned_torch_of(tmp_path) == "1.6"
