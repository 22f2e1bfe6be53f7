"""``torchlint mcp`` through the client of the package that it is built on, and the command lines of its tools."""

import os
import subprocess
import sys

import pytest

from torchlint.agents import commands

pytest.importorskip("mcp.server.mcpserver")

import anyio
from conftest import HAS_TORCH, ROOT
from mcp import Client, StdioServerParameters

AGENT = """\
import torch
from torch.distributions import Categorical


def act(policy, obs):
    return Categorical(logits=policy(torch.FloatTensor([float(x) for x in obs]))).sample()


def train(env, policy, steps):
    obs, info = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(act(policy, obs))
"""
COUNTED = """\
import torch

x = torch.ones(3, device="cuda")
for _ in range(5):
    x = x + 1
    x.sum().item()
"""
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'agent'\nversion = '1'\n")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def called(folder, *calls, options=()):
    """The names of the tools, and what calls of tools answer: text, and whether it is an error."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "torchlint", "mcp", *options, str(folder)], env=ENV
    )

    async def talk():
        async with Client(server) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
            return names, [(answer.content[0].text, answer.is_error) for answer in answers]

    return anyio.run(talk)


def test_the_tools_are_listed_and_without_commands_where_only_reading_is_wanted(project):
    assert called(project)[0] == ["check", "explain", "fix", "rule", "count", "verify"]
    assert called(project, options=["--read-only"])[0] == ["check", "explain", "fix", "rule"]


def test_findings_explanations_diffs_and_rules(project):
    _, answers = called(
        project,
        ("check", {}),
        ("check", {"select": ["TL205"], "paths": ["agent.py"]}),
        ("explain", {"file": "agent.py", "row": 6}),
        ("fix", {"select": ["TL101"]}),
        ("fix", {"select": ["TL205"]}),
        ("fix", {"select": ["TL205"], "accept": ["validation"]}),
        ("rule", {"code": "TL205"}),
    )
    assert [error for _, error in answers] == [False] * 7
    check, selected, explain, safe, none, accepted, rule = (text for text, _ in answers)
    assert "TL101" in check and "TL205 [validation]" in check and "Next, added to the same command:" in check
    assert "TL101" not in selected and "TL205" in selected
    assert explain.startswith("agent.py:6 runs once per environment step.")
    assert "\n-    return Categorical(" in safe and "torch.as_tensor(" in safe
    assert none == "No fix to apply.\n"
    assert "validate_args=False" in accepted
    assert rule.startswith("# distribution-validation (TL205)")
    assert (project / "agent.py").read_text() == AGENT


def test_what_goes_wrong_is_an_error_that_says_what(project):
    _, answers = called(
        project,
        ("rule", {"code": "TL9999"}),
        ("check", {"select": ["nothing"]}),
        ("explain", {"file": "agent.py", "row": 999}),
        ("count", {"command": []}),
    )
    assert [error for _, error in answers] == [True] * 4
    assert "no such rule: TL9999" in answers[0][0]
    assert "nothing" in answers[1][0]
    assert "line 999" in answers[2][0]
    assert "give a command" in answers[3][0]


@pytest.mark.third
@pytest.mark.torch
@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_programs_are_counted_and_fixes_are_tried(project):
    (project / "counted.py").write_text(COUNTED)
    (project / "passes.py").write_text("import agent\n")
    _, answers = called(
        project,
        ("count", {"command": [sys.executable, "counted.py"]}),
        ("verify", {"command": [sys.executable, "passes.py"], "paths": ["agent.py"]}),
        ("verify", {"command": [sys.executable, "passes.py"], "paths": ["agent.py"], "write": True}),
    )
    assert [error for _, error in answers] == [False] * 3
    assert "counted.py:6" in answers[0][0]
    assert "as_tensor" in answers[1][0]
    assert "as_tensor" in (project / "agent.py").read_text()


def test_no_value_becomes_an_option():
    assert commands.check(["--fix"], ["--fix"], "--fix", 0, everything=False)[4:] == [
        "--select=--fix",
        "--since=--fix",
        "--",
        "--fix",
    ]
    assert commands.rule("--all")[-2:] == ["--", "--all"]
    assert commands.count(["python", "x.py"], ["--html=x", "@x"], 3, 0, 20) == [
        *("count", "--top=20", "--steps=3", "./--html=x", "./@x", "--", "python", "x.py"),
    ]


def test_without_the_extra_there_is_one_clear_error(tmp_path):
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ImportError('No module named mcp')\n")
    env = {**ENV, "PYTHONPATH": os.pathsep.join((str(tmp_path), ENV["PYTHONPATH"]))}
    command = [sys.executable, "-m", "torchlint", "mcp"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "pip install 'torchlint[mcp]'" in done.stderr
