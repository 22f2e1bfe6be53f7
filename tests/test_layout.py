"""Fixes keep to the length of line that a project has, and join what they made short enough again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.linting import fixed_text
from torchlint.settings.load import load_settings
from torchlint.settings.width import width_of

PROGRAM = """\
import numpy as np
import torch
from torch import nn


class Agent:
    def __init__(self, device):
        self.device = torch.device(device)
        self.policy = nn.Linear(17, 6)

    @torch.no_grad()
    def act(self, obs: np.ndarray):
{body}


def train(agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
"""
LONG = "return self.policy(torch.FloatTensor(obs[np.newaxis, :]).to(self.device)).argmax(dim=1)"
CALL = "torch.as_tensor(obs[np.newaxis, :], dtype=torch.float32, device=self.device)"

CASES = {
    "it fits": (LONG, 140, f"return self.policy({CALL}).argmax(dim=1)"),
    "on a row of its own": (LONG, 100, f"return self.policy(\n    {CALL}\n).argmax(dim=1)"),
    "argument by argument": (
        LONG,
        60,
        "return self.policy(\n    torch.as_tensor(\n        obs[np.newaxis, :],\n        dtype=torch.float32,\n"
        "        device=self.device,\n    )\n).argmax(dim=1)",
    ),
    "no bracket helps": (
        "a_name_that_is_so_long_that_nothing_helps_it = torch.FloatTensor(obs[None])",
        40,
        "a_name_that_is_so_long_that_nothing_helps_it = torch.as_tensor(obs[None], dtype=torch.float32)",
    ),
    "a comment stays where it is": (
        "x = torch.FloatTensor(obs[None]).to(self.device)  # a batch of one",
        60,
        "x = torch.as_tensor(obs[None], dtype=torch.float32, device=self.device)  # a batch of one",
    ),
    "behind a bracket that closes": (
        "(\n    x,\n) = (torch.FloatTensor(obs[np.newaxis, :]).to(self.device),)",
        72,
        "(\n    x,\n) = (\n    torch.as_tensor(\n"
        "        obs[np.newaxis, :], dtype=torch.float32, device=self.device\n    ),\n)",
    ),
    "elements of what was split": (
        "x = torch.cat(\n    [\n        torch.FloatTensor(obs[np.newaxis, :]).to(self.device),\n    ]\n)",
        72,
        "x = torch.cat(\n    [\n        torch.as_tensor(\n"
        "            obs[np.newaxis, :], dtype=torch.float32, device=self.device\n        ),\n    ]\n)",
    ),
    "a header": (
        "while torch.FloatTensor(obs[np.newaxis, :]).to(self.device).sum() > 0:\n    pass",
        70,
        "while torch.as_tensor(\n    obs[np.newaxis, :], dtype=torch.float32, device=self.device\n).sum() > 0:\n"
        "    pass",
    ),
    "joined without parentheses": (
        "x = (\n    torch.FloatTensor(obs[np.newaxis, :])\n    .to(self.device)\n)",
        100,
        f"x = {CALL}",
    ),
    "too long to be joined": (
        "return (\n    torch.FloatTensor(obs[np.newaxis, :])\n    .to(self.device)\n)",
        80,
        f"return (\n    {CALL}\n)",
    ),
    "returned": (
        "return (\n    torch.FloatTensor(\n        obs[np.newaxis, :]\n    ).to(self.device)\n)",
        100,
        f"return {CALL}",
    ),
    "a last comma keeps its rows": (
        "x = torch.FloatTensor(\n    obs[np.newaxis, :],\n).to(self.device)",
        100,
        "x = torch.as_tensor(\n    obs[np.newaxis, :],\n    dtype=torch.float32,\n    device=self.device,\n)",
    ),
}


def _body(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines())


@pytest.mark.parametrize(("before", "width", "after"), CASES.values(), ids=CASES)
def test_a_fix_keeps_to_the_length_of_line(before: str, width: int, after: str, tmp_path: Path) -> None:
    made = fixed_text(
        tmp_path, "agent.py", PROGRAM.format(body=_body(before)), select=("TL101",), line_length=width + 8
    )
    assert made == PROGRAM.format(body=_body(after))


def test_the_longest_row_of_a_file_counts_where_no_length_is_stated(tmp_path: Path) -> None:
    text = PROGRAM.format(body=_body(LONG))
    shorter = PROGRAM.format(body=_body(CASES["on a row of its own"][2]))
    assert fixed_text(tmp_path, "agent.py", text, select=("TL101",)) == shorter
    wide = f"COUNT = {' + '.join(['1'] * 40)}\n{text}"
    assert CASES["it fits"][2] in fixed_text(tmp_path, "agent.py", wide, select=("TL101",))
    for row in (f"# {'-' * 150}\n", f'NAME = "{"-" * 150}"\n'):  # as long as formatters leave them
        assert fixed_text(tmp_path, "agent.py", f"{row}{text}", select=("TL101",)) == f"{row}{shorter}"


FILES = [
    ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n\n[tool.black]\nline-length = 90\n"}, 100),
    ({"pyproject.toml": "[tool.black]\nline_length = 90 # wide\n"}, 90),
    ({"pyproject.toml": "[tool.isort]\nline_length = 90\n"}, None),
    ({"ruff.toml": "target-version = 'py310'\nline-length=110\n"}, 110),
    ({".ruff.toml": "[lint.pycodestyle]\nmax-line-length = 99\n"}, 99),
    ({"setup.cfg": "[metadata]\nname = x\n[flake8]\nmax-line-length = 127\n"}, 127),
    ({"tox.ini": "[pycodestyle]\nmax_line_length = 79\n"}, 79),
    ({".flake8": "[flake8]\nmax-line-length: 79\n"}, 79),
    ({".flake8": "[flake8]\n# max-line-length = 79\nmax-complexity = 10\n"}, None),
    ({"setup.cfg": "[flake8]\nmax-line-length = 100000\n"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("files", "width"), FILES)
def test_a_project_says_how_long_its_lines_are(files: dict[str, str], width: int | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert width_of(tmp_path) == width


@pytest.mark.parametrize("isolated", [False, True])
def test_the_length_of_line_is_a_fact_of_the_project(isolated: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 77\n", encoding="utf-8")
    assert load_settings(tmp_path, root=tmp_path, isolated=isolated, overrides={}).line_length == 77
