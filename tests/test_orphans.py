"""A network whose file nothing imports is not hot; alone, or imported, it is. Constants name the host and the fill."""

from __future__ import annotations

from pathlib import Path

from linting import lint

NETWORK = """\
import torch
from torch import nn


class Table(nn.Module):
    def __init__(self, length: int):
        super().__init__()
        self.length = length

    def forward(self, x):
        return x + torch.arange(self.length, device=x.device)


def build():
    return Table(8)
"""
MAIN = "import torch\nfrom {} import build\n\nnet = build()\n"
OTHER = "from torch import nn\n\n\ndef build():\n    return nn.Linear(4, 4)\n"
LOSS = """\
import torch


def train(net, optimizer, batches):
    for batch in batches:
        total = torch.tensor({})
        total = total + net(batch).mean()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
"""


def codes(folder: Path, **texts: str) -> list[str]:
    return [finding.code for finding in lint(folder, {f"{name}.py": text for name, text in texts.items()}).findings]


def message(folder: Path, arguments: str) -> str:
    found = lint(folder, {"loss.py": LOSS.format(arguments)}).findings
    assert [finding.code for finding in found] == ["TL401"]
    return found[0].message


def test_a_file_that_nobody_imports_holds_no_hot_network(tmp_path: Path) -> None:
    assert codes(tmp_path, table=NETWORK, other=OTHER, main=MAIN.format("other")) == []


def test_an_imported_network_and_one_alone_are_hot(tmp_path: Path) -> None:
    assert codes(tmp_path / "two", table=NETWORK, main=MAIN.format("table")) == ["TL401"]
    assert codes(tmp_path / "one", table=NETWORK) == ["TL401"]


def test_a_number_sent_to_a_device_names_the_fill(tmp_path: Path) -> None:
    text = message(tmp_path, '0.0, device="cuda"')
    assert "waits for the copy" in text
    assert '`torch.zeros((), device="cuda")` fills it on the device' in text
    assert '`torch.full((), 2.5, device="cuda")`' in message(tmp_path / "other", '2.5, device="cuda"')


def test_a_number_kept_on_the_host_is_copied_nowhere(tmp_path: Path) -> None:
    assert "waits for the copy" not in message(tmp_path, '0.0, device="cpu"')


CAST = """\
import torch


def train(net, optimizer, batches):
    for batch in batches:
        rows = {}
        loss = net(batch)[rows].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_cast_to_the_dtype_that_a_tensor_has_makes_nothing_twice(tmp_path: Path) -> None:
    idle, real = "torch.arange(8).long()", "torch.ones(8).bool()"
    assert not lint(tmp_path, {"a.py": CAST.format(idle)}, select=("TL102",)).findings
    (found,) = lint(tmp_path, {"a.py": CAST.format(real)}, select=("TL102",)).findings
    assert "creates the tensor twice" in found.message


POLICY = """\
import torch
from stable_baselines3.common.policies import BasePolicy


class Policy(BasePolicy):
    def evaluate_actions(self, obs, actions):
        return torch.zeros(obs.shape[0]).to(obs.device)
"""


def test_a_module_beside_a_package_of_the_same_name_is_never_imported(tmp_path: Path) -> None:
    texts = {"policy.py": POLICY, "main.py": "from policy import Policy\n\nprint(Policy)\n"}
    assert [finding.code for finding in lint(tmp_path / "one", texts).findings] == ["TL102"]
    texts["policy/__init__.py"] = POLICY
    assert [finding.path for finding in lint(tmp_path / "two", texts).findings] == ["policy/__init__.py"]
