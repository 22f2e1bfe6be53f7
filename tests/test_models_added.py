"""Rows that a project or a rule package adds to the models of libraries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torchlint.engine import models as engine
from torchlint.engine.run import check
from torchlint.rule import Finding, Frequency
from torchlint.settings.check import SettingsError
from torchlint.settings.load import load_settings
from torchlint.settings.model import Settings

ENVIRONMENT = """\
import torch
from acme.sim import World


def act(policy, obs):
    return policy(torch.FloatTensor(obs))


def roll(policy):
    world = World()
    obs = world.begin()
    for _ in range(1000):
        obs = world.advance(act(policy, obs))
"""
FRAMEWORK = """\
import torch
from acme.core import Plugin


class Scorer(Plugin):
    def on_tick(self, obs):
        return torch.FloatTensor(obs)
"""
LOGGER = """\
import torch
from acme.logs import Board


def update(net, optimizer, batches):
    board = Board()
    for batch in batches:
        loss = net(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        board.put("loss", loss.item())
"""


def found(folder: Path, source: str, code: str, rows: str = "") -> list[Finding]:
    """The findings of a rule in a file of a project whose settings add rows."""
    (folder / "pyproject.toml").write_text(f'[tool.torchlint]\nselect = ["{code}"]\ndevice = "cuda"\n{rows}')
    (folder / "agent.py").write_text(source)
    result = check([folder / "agent.py"], replace(load_settings(folder, overrides={}), jobs=1))
    assert result.problems == []
    return list(result.findings)


def test_a_method_that_steps_an_environment_makes_its_loop_hot(tmp_path: Path) -> None:
    assert found(tmp_path, ENVIRONMENT, "TL101") == []
    rows = '[tool.torchlint.models.methods."acme.sim.World"]\nadvance = { runs = "step" }\n'
    (finding,) = found(tmp_path, ENVIRONMENT, "TL101", rows)
    assert finding.hot.frequency is Frequency.STEP


def test_a_method_that_a_framework_calls_is_hot_in_classes_that_derive_from_its_own(tmp_path: Path) -> None:
    assert found(tmp_path, FRAMEWORK, "TL101") == []
    rows = '[tool.torchlint.models.methods."acme.core.Plugin"]\non_tick = { called = "step" }\n'
    (finding,) = found(tmp_path, FRAMEWORK, "TL101", rows)
    assert finding.hot.frequency is Frequency.STEP


def test_a_method_that_logs_is_a_sink_of_values_that_are_only_logged(tmp_path: Path) -> None:
    assert found(tmp_path, LOGGER, "TL203") == []
    rows = '[tool.torchlint.models.methods."acme.logs.Board"]\nput = { logs = true }\n'
    (finding,) = found(tmp_path, LOGGER, "TL203", rows)
    assert finding.start.row == 12


def test_a_row_that_cannot_be_names_the_row_and_its_line(tmp_path: Path) -> None:
    rows = '[tool.torchlint.models.methods."acme.logs.Board"]\nput = { logs = "often" }\n'
    with pytest.raises(SettingsError) as caught:
        found(tmp_path, LOGGER, "TL203", rows)
    assert "pyproject.toml:5: models: methods.acme.logs.Board.put.logs: expected true, not 'often'" in str(caught.value)


def test_a_function_whose_row_says_what_it_returns_has_a_known_value(tmp_path: Path) -> None:
    source = """\
import torch
from acme.data import frames


def train(net, optimizer):
    for step in range(1000):
        loss = net(torch.tensor([frame for frame in frames(step)])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if frames(step):
            loss = loss * 2
"""
    assert found(tmp_path, source, "TL208") == []
    rows = '[tool.torchlint.models.functions."acme.data"]\nframes = { returns = "tensor" }\n'
    (finding,) = found(tmp_path, source, "TL208", rows)
    assert finding.start.row == 11


def test_a_rule_package_adds_rows_and_the_settings_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models.json").write_text('{"methods": {"a.Sim": {"go": {"runs": "step", "logs": true}}}}')
    monkeypatch.setattr(engine, "folder_of", lambda _: tmp_path)
    own = {"methods": {"a.Sim": {"go": {"runs": "update"}}}}
    models = engine.models_of(Settings(tmp_path, plugins=("package_with_rows",), models=own))
    assert models.method(["a.Own", "a.Sim"], "go") == {"runs": "update", "logs": True}


def test_wrong_rows_of_a_package_are_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models.json").write_text('{"methods": {"a.Sim": {"go": {"runs": "sometimes"}}}}')
    monkeypatch.setattr(engine, "folder_of", lambda _: tmp_path)
    with pytest.raises(SettingsError) as caught:
        engine.models_of(Settings(tmp_path, plugins=("package_with_a_wrong_row",)))
    message = "methods.a.Sim.go.runs: 'sometimes' is not one of step, update"
    assert str(caught.value) == f"plugins: 'package_with_a_wrong_row': models.json: {message}"
