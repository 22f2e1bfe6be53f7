"""What a safe fix rests on is asked of all files that are connected with it by imports, and of no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import lint

LEARNER = """\
import torch
import torch.nn.functional as F
from torch import nn
{imports}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Learner:
    def __init__(self):
        self.net = nn.Linear(8, 4).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, obs, goal):
        value = self.net(obs.to(device))
        loss = F.mse_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {{"loss": loss.item(), "spread": value.std().item()}}


def train(learner, replay, updates):
    for _ in range(updates):
        print(learner.update(*replay.sample(256)))
"""
SPECTRUM = "import torch\n\n\ndef spectrum(x):\n    return torch.fft.rfft(x)\n"
ACT = """\
import numpy as np
import torch
{imports}

def act(policy, obs):
    return policy(torch.{constructor}(obs))


def train(env, policy):
    obs = np.zeros(4)
    while True:
        obs, reward, done, info = env.step(act(policy, obs))
        obs = np.array(obs)
"""
LAUNCH = "import torch\n\n\ndef run(train, env, policy):\n    with torch.device('cuda'):\n        train(env, policy)\n"
IMPORTING = "import other\n"


def asks(folder: Path, texts: dict[str, str]) -> bool:
    """Whether the fixes of TL203, which assume nothing, add a function that asks the tensors for their dtypes."""
    fixes = [finding.fix for finding in lint(folder, texts, select=("TL203",)).findings if finding.fix]
    assert fixes and not any(fix.assumes for fix in fixes)
    return any("def read_at_once" in edit.text for fix in fixes for edit in fix.edits)


def acting(folder: Path, texts: dict[str, str]) -> list[str]:
    """The rows on which ``act`` returns something after the fixes of TL101."""
    result = lint(folder, texts, select=("TL101",), fix=True, unsafe_fixes=True)
    (file,) = result.fixed.values()
    return [row.strip() for row in file.after.text.splitlines() if row.startswith("    return policy")]


@pytest.mark.parametrize(
    ("imports", "other", "proven"),
    [("", SPECTRUM, True), (IMPORTING, SPECTRUM, False), (IMPORTING, "import torch\n", True)],
    ids=["complex numbers elsewhere", "complex numbers in a connected file", "no complex numbers"],
)
def test_numbers_are_real_where_no_connected_file_makes_complex_ones(
    tmp_path: Path, imports: str, other: str, proven: bool
) -> None:
    assert asks(tmp_path, {"learner.py": LEARNER.format(imports=imports), "other.py": other}) is not proven


def test_numbers_of_a_library_may_be_complex(tmp_path: Path) -> None:
    texts = {"pack/__init__.py": "from pack.learner import Learner\n", "pack/learner.py": LEARNER.format(imports="")}
    assert asks(tmp_path, texts)


@pytest.mark.parametrize(
    ("imports", "other", "proven"),
    [("", LAUNCH, True), (IMPORTING, LAUNCH, False), (IMPORTING, "import torch\n", True)],
    ids=["a device elsewhere", "a device in a connected file", "no device"],
)
def test_new_tensors_are_on_the_cpu_where_no_connected_file_enters_a_device(
    tmp_path: Path, imports: str, other: str, proven: bool
) -> None:
    text = ACT.format(imports=imports, constructor="FloatTensor")
    device = "" if proven else ', device="cpu"'
    rows = acting(tmp_path, {"act.py": text, "other.py": other})
    assert rows == [f"return policy(torch.as_tensor(obs, dtype=torch.float32{device}))"]


def test_programs_of_a_library_may_set_the_default_dtype(tmp_path: Path) -> None:
    text = ACT.format(imports="", constructor="Tensor")
    rows = acting(tmp_path, {"pack/__init__.py": "from pack.act import act\n", "pack/act.py": text})
    assert rows == ['return policy(torch.as_tensor(obs, dtype=torch.get_default_dtype(), device="cpu"))']
