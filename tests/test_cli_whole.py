"""The command line with the real engine and the real rules, as a user runs it."""

import json
import re

import pytest
from conftest import ROOT, in_this_process

from torchlint.engine.rules import load_rules

pytestmark = pytest.mark.versions

AGENT = """\
import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        self.device = torch.device(device)
        self.net = nn.Linear(17, 6).to(self.device)

    def act(self, obs):
        mask = torch.zeros(1, 6).to(self.device)
        return (self.net(obs) + mask).argmax(1).item()


def train(env, agent: Agent):
    obs, _ = env.reset()
    for step in range(1000):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""
OLD = "torch.zeros(1, 6).to(self.device)"
NEW = "torch.zeros(1, 6, device=self.device)"


@pytest.fixture
def here(capsys, monkeypatch):
    """The command line without a process of its own."""
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def test_check_fix_and_check_again(torchlint, project):
    found = torchlint("check", cwd=project)
    assert (found.returncode, found.stdout.split(": ")[0]) == (1, "agent.py:12:16")
    fixed = torchlint("check", "--fix", cwd=project)
    assert (fixed.returncode, fixed.stdout) == (0, "")
    assert fixed.stderr == "Fixed 1 finding in 1 file; nothing slow is left in 1 file\n"
    assert (project / "agent.py").read_text() == AGENT.replace(OLD, NEW)
    clean = torchlint("check", cwd=project)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "Nothing slow found in 1 file\n")


def test_a_diff_changes_nothing(here, project):
    done = here("check", "--diff", cwd=project)
    assert done.returncode == 1
    assert f"-        mask = {OLD}\n+        mask = {NEW}\n" in done.stdout
    assert (project / "agent.py").read_text() == AGENT


def test_every_format_names_the_place(here, project):
    full = here("check", "--output-format", "full", cwd=project)
    assert (
        "\nwarning TL102 [*] torch.zeros(...).to(...) creates the tensor twice\n  -->  agent.py:12:16\n" in full.stdout
    )
    assert "  12 - mask = torch.zeros(1, 6).to(self.device)\n" in full.stdout
    github = here("check", "--output-format", "github", cwd=project)
    assert github.stdout.startswith("::warning title=TL102,file=agent.py,line=12,col=16,endLine=12,endColumn=49::")
    (read,) = json.loads(here("check", "--output-format", "json", cwd=project).stdout)
    assert (read["location"], read["hot"]["frequency"]) == ({"row": 12, "column": 16}, "step")
    assert read["fix"]["edits"][0]["content"] == NEW


def test_explain_hot_tells_the_path(here, project):
    done = here("check", "--explain-hot", "agent.py:12", cwd=project)
    assert done.stdout.startswith("agent.py:12 runs once per environment step.\n")
    assert "→ agent.py:11 Agent.act\n" in done.stdout


def test_explain_hot_looks_where_the_linted_paths_are(here, tmp_path):
    """What nothing marks as a project is what the paths span."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").touch()
    (tmp_path / "agents" / "agent.py").write_text(
        "import torch\n\n\nclass Agent:\n    def act(self, obs):\n        return torch.zeros(6)\n"
    )
    (tmp_path / "train.py").write_text(
        "from agents.agent import Agent\n\n\ndef train(env, agent: Agent):\n    obs = env.reset()\n"
        "    while True:\n        obs = env.step(agent.act(obs))[0]\n"
    )
    told = "agents/agent.py:6 runs once per environment step.\n"
    for paths in (("agents", "train.py"), (".",), ()):
        done = here("check", *paths, "--explain-hot", "agents/agent.py:6", cwd=tmp_path)
        assert done.stdout.startswith(told)


def test_bad_files_do_not_keep_others_from_being_linted(here, project):
    (project / "broken.py").write_text("import torch\ndef f(:\n")
    (project / "latin.py").write_bytes(b"import torch\nx = '\xff'\n")
    done = here("check", ".", "gone.py", cwd=project)
    assert done.returncode == 2
    assert [line.split(" ")[1] for line in done.stdout.splitlines()] == ["TL102", "TL000", "TL000"]
    assert "torchlint: error: gone.py: no such file or folder\n" in done.stderr


def test_a_wrong_selector_names_the_nearest(here, project):
    done = here("check", "--select", "cpu-then-mve", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cpu-then-move" in done.stderr


@pytest.mark.once
def test_every_rule_is_explained(here, project):
    rules = json.loads(here("rule", "--all", "--output-format", "json", cwd=project).stdout)
    headings = {
        "What it does",
        "Why is this slow",
        "Example",
        "Use instead",
        "What the fix may change",
        "When to ignore it",
        "Measured",
        "References",
    }
    having_options = {rule.code for rule in load_rules() if rule.options}
    wanted = {rule["code"]: headings | ({"Options"} if rule["code"] in having_options else set()) for rule in rules}
    assert {rule["code"]: set(rule["sections"]) for rule in rules} == wanted
    text = here("rule", "--all", cwd=project).stdout
    for rule in rules:
        assert f"{rule['code']} {rule['name']} ─" in text


@pytest.mark.parametrize(("folder", "path"), [(".", "src/agent.py"), ("src", "agent.py")])
def test_a_message_names_files_as_seen_from_the_working_folder(here, tmp_path, folder, path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "agent.py").write_text((ROOT / "tests" / "fixtures" / "TL501" / "hot.py").read_text())
    found = here("check", "--select", "TL501", "--output-format", "concise", cwd=tmp_path / folder)
    named = re.findall(r"\S+?\.py(?=:\d)", found.stdout.replace("(", " "))
    assert len(named) >= 3
    assert set(named) == {path}
