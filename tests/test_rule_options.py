"""Options of rules from the settings file to the findings."""

import pytest
from conftest import in_this_process

HOARD = """\
import torch


class Recorder:
    def __init__(self):
        self.episode_returns = []
        self.losses = []

    def record(self, value):
        self.episode_returns.append(value)
        self.losses.append(torch.as_tensor(value))


def train(env, recorder: Recorder, steps):
    obs, info = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(0)
        recorder.record(reward)


def main(env):
    train(env, Recorder(), 1000)
"""
WAIT = """\
import time

import torch


def wait(flag):
    while not flag.ready:
        time.sleep(0.02)
"""


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "recorder.py").write_text(HOARD)
    (tmp_path / "wait.py").write_text(WAIT)
    return tmp_path


def found(torchlint, project, settings, **env):
    (project / "torchlint.toml").write_text(f'select = ["TL404", "TL703"]\n{settings}')
    done = torchlint("check", "--exit-zero", "--output-format", "concise", cwd=project, env=env)
    assert done.returncode == 0, done.stderr
    return [line.split(": ")[1].split()[0] + " " + line.partition(":")[0] for line in done.stdout.splitlines()]


def test_without_options_the_defaults_hold(torchlint, project):
    assert found(torchlint, project, "") == ["TL404 recorder.py"] * 2


def test_lists_that_may_grow_are_left_alone(torchlint, project):
    assert found(torchlint, project, '[rules.TL404]\nallow = ["episode_*"]\n') == ["TL404 recorder.py"]
    assert found(torchlint, project, '[rules.unbounded-growth]\nallow = ["episode_*", "losses"]\n') == []


def test_a_longer_sleep_counts_as_asking_again_and_again(torchlint, project):
    assert "TL703 wait.py" in found(torchlint, project, "[rules.TL703]\nshortest-sleep = 0.05\n")


def test_a_few_workers_are_left_alone(torchlint, project):
    (project / "load.py").write_text(
        "from torch.utils.data import DataLoader\n\n\ndef load(rows):\n    return DataLoader(rows, num_workers=4)\n"
    )
    settings = 'extend-select = ["TL702"]\n'
    assert "TL702 load.py" in found(torchlint, project, settings)
    assert "TL702 load.py" not in found(torchlint, project, f"{settings}[rules.TL702]\nmost = 4\n")


def test_the_flag_of_a_fix_reads_the_variable_that_is_set(torchlint, project):
    (project / "train.py").write_text(
        """import torch


def train(net: torch.nn.Linear, batches, optimizer):
    for batch in batches:
        loss = net(batch).mean()
        if torch.isnan(loss).any():
            raise ValueError("NaN")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    )
    (project / "torchlint.toml").write_text('[rules.TL201]\nvariable = "CHECKED"\n')
    torchlint("check", "--fix", "--accept", "validation", "--select", "TL201", cwd=project)
    assert '_DEBUG_CHECKS = os.environ.get("CHECKED") == "1"' in (project / "train.py").read_text()


def test_a_cached_run_knows_that_an_option_changed(torchlint, project):
    kept = {"TORCHLINT_NO_CACHE": "0"}
    assert len(found(torchlint, project, "", **kept)) == 2
    assert found(torchlint, project, '[rules.TL404]\nallow = ["*"]\n', **kept) == []
    assert len(found(torchlint, project, "", **kept)) == 2


@pytest.mark.parametrize(
    ("settings", "row", "told"),
    [
        ("[rules.TL404]\nlimit = 3\n", 2, "rules: TL404 has no option 'limit'; it has allow"),
        ("[rules.TL404]\nalow = []\n", 2, "did you mean 'allow'?"),
        ("[rules.TL404]\nallow = 3\n", 2, "rules: TL404: allow takes a list of strings, not 3"),
        ("[rules.TL4044]\n", 1, "no rule matches 'TL4044'; did you mean 'TL404'?"),
        ("[rules.TL101]\nlimit = 3\n", 2, "rules: TL101 has no option 'limit'; it has none"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(torchlint, project, settings, row, told):
    (project / "torchlint.toml").write_text(settings)
    done = torchlint("check", cwd=project)
    assert done.returncode == 2
    assert f"torchlint.toml:{row}: " in done.stderr and told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_options_are_shown_by_config_and_rule(torchlint, project):
    listed = torchlint("config", "rules", cwd=project).stdout
    assert "[tool.torchlint.rules.TL703]  # busy-wait\nshortest-sleep = 0.01  # " in listed
    assert "shortest-sleep" in torchlint("rule", "TL703", cwd=project).stdout
    (project / "torchlint.toml").write_text("[rules.TL703]\nshortest-sleep = 0.05\n")
    shown = torchlint("check", "--show-settings", cwd=project).stdout
    assert 'rules = { "TL703" = { "shortest-sleep" = 0.05 } }' in shown
