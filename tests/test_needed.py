"""Why a line has to wait: what the host does with a value, and what only the host can send."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.engine.needed import reasons
from torchlint.engine.run import EngineRun
from torchlint.settings.model import Settings

SENT = "data of the host goes in"
SETUP = """\
import numpy as np
import torch
from torch import nn

net = nn.Linear(4, 2)


def update(rows, env, device):
"""
# A line, whether it was seen to send data and to read none, and why it has to wait.
LINES = {
    "x = torch.as_tensor(rows, device=device)": (True, SENT),
    "x = torch.tensor([1.0, 2.0], device=device)": (True, ""),
    "x = rows.to(device)": (True, SENT),
    "x = rows.cuda()": (True, SENT),
    "x = torch.zeros(len(rows)).to(device)": (True, ""),
    "x = torch.randperm(len(rows)).to(device)": (True, ""),
    "net.to(device)": (True, ""),
    "x = rows.to(device).float()": (False, ""),
    "x = torch.stack([torch.tensor(row, device=device) for row in rows])": (True, ""),
    "x = torch.stack([row.to(device) for row in rows])": (True, ""),
    "x = [row for row in torch.as_tensor(rows, device=device)]": (True, SENT),
    "x = {name: torch.as_tensor(row, device=device) for name, row in rows.items()}": (True, SENT),
    "env.step(net(rows).argmax().item())": (False, "it goes to the environment"),
    "print(net(rows).sum().item())": (False, ""),
}


@pytest.mark.parametrize(("line", "expected"), LINES.items())
def test_why_a_line_waits(line: str, expected: tuple[bool, str], tmp_path: Path) -> None:
    sends, why = expected
    file = tmp_path / "train.py"
    file.write_text(f"{SETUP}    {line}\n")
    row = SETUP.count("\n") + 1
    settings = Settings(root=tmp_path, isolated=True, device="cuda")
    found = reasons(EngineRun.prepare([file], settings, {}), {"train.py": {row: sends}})
    assert found.get(("train.py", row), "") == why
