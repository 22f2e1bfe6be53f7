"""The fast way finds what the slow and plain way finds: gate, triggers, cut-out statements, units, processes and memory
only save time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from test_packages import download

from torchlint.engine.lint import Linter
from torchlint.engine.memory import Memory
from torchlint.engine.reference import slow_findings
from torchlint.engine.rules import load_rules
from torchlint.engine.run import check
from torchlint.engine.units import Unit
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode
from torchlint.sources.walk import python_files

FIXTURES = sorted(path for path in (ROOT / "tests" / "fixtures").iterdir() if path.is_dir())
PACKAGES = ("cleanrl==0.4.8", "pfrl==0.4.0", "sb3-contrib==2.9.2", "tianshou==2.0.1")


def facts_of(finding: Finding) -> tuple[object, ...]:
    """All of a finding but its cost, which is looked up and not found."""
    told = (finding.hot, finding.flow, finding.fix, finding.fingerprint, finding.level)
    return (*finding.order, finding.end, finding.rows, *told)


def found(folder: Path, jobs: int = 1, memory: Memory | None = None) -> list[tuple[object, ...]]:
    """What all rules find in a folder, the fast way."""
    fast = check([folder], all_rules(folder, jobs), memory=memory)
    assert fast.problems == []
    return [facts_of(finding) for finding in fast.findings]


def all_rules(folder: Path, jobs: int = 1) -> Settings:
    """Every rule, and every fix taken: of two forms of a fix the settings choose, and the slow way has none."""
    codes = tuple(rule.code for rule in load_rules())
    return Settings(root=folder, isolated=True, jobs=jobs, select=codes, unsafe_fixes=True)


def slowly(folder: Path) -> list[tuple[object, ...]]:
    """What all rules find in a folder, the slow way."""
    settings = all_rules(folder)
    texts = {path.relative_to(folder).as_posix(): path for path in python_files(folder, settings)}
    sources = {name: decode(path.read_bytes(), path, name) for name, path in texts.items()}
    linter = Linter([rule() for rule in load_rules()])
    slow = slow_findings(sources, settings, linter)
    assert linter.problems == []
    return [facts_of(finding) for finding in slow]


def empty() -> Memory:
    return Memory("tests", time.time_ns())


def kept(memory: Memory) -> Memory:
    """The memory of the next run."""
    return Memory.of(memory.tool, time.time_ns(), memory.to_bytes())


def in_all_ways(folder: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    """What is found by one process and by several, with no cache and with one that is cold, warm, and half warm."""
    yield from (found(folder, jobs) for jobs in (1, 8))
    cold = empty()
    yield found(folder, 2, memory=cold)
    with monkeypatch.context() as patch:
        patch.setattr(Unit, "lint", lambda _, name: pytest.fail(f"{name} is linted again"))
        yield found(folder, memory=kept(cold))
    # A tree in which the first file that matters is another, and then is what it was.
    shutil.copytree(folder, copy)
    path = copy / next(iter(cold.met))
    before = path.read_bytes()
    path.write_bytes(before + b"\n\ndef one_more():\n    pass\n")
    half = empty()
    found(copy, memory=half)
    path.write_bytes(before)
    yield found(copy, jobs=2, memory=kept(half))


@pytest.mark.rare
@pytest.mark.parametrize("folder", [*FIXTURES, ROOT / "examples" / "agent"], ids=lambda folder: folder.name)
@pytest.mark.once
def test_the_slow_way_finds_the_same(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = slowly(folder)
    assert slow
    for fast in in_all_ways(folder, tmp_path / "copy", monkeypatch):
        assert fast == slow


@pytest.mark.ninth
@pytest.mark.packages
@pytest.mark.parametrize(
    "requirement",
    ["stable-baselines3==2.9.2", *(pytest.param(name, marks=pytest.mark.long) for name in PACKAGES)],
)
@pytest.mark.once
def test_the_slow_way_finds_the_same_in_a_package(
    requirement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = download(requirement)
    slow = slowly(folder)
    assert slow
    for fast in in_all_ways(folder, tmp_path / "copy", monkeypatch):
        assert fast == slow


_LEARNER = """\
import torch
from nets import net

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def update(obs, goal):
    value = net(obs.to(device)) + torch.Tensor(goal).sum()
    optimizer.zero_grad()
    loss, error = value.square().mean(), goal.mean()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "error": error.to(device).item()}


for step in range(1000):
    print(update(*replay.sample(64)))
"""


def test_code_that_is_not_connected_changes_no_proof(tmp_path: Path) -> None:
    """A file that nothing is connected with is linked with others, and says nothing of what holds in them."""
    (tmp_path / "nets.py").write_text("from torch import nn\n\nnet = nn.Linear(4, 2).cuda()\n")
    (tmp_path / "learner.py").write_text(_LEARNER)
    alone = found(tmp_path)
    (tmp_path / "other.py").write_text("import torch\n\nwith context():\n    spectrum = torch.fft.rfft(signal)\n")
    assert [finding for finding in found(tmp_path) if finding[0] == "learner.py"] == [
        finding for finding in alone if finding[0] == "learner.py"
    ]
    assert found(tmp_path) == slowly(tmp_path)
