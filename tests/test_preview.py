"""Edits in a session: previews of them, cancelled analyses, and that the final findings are those of a fresh run."""

import random

import pytest

from torchlint.engine import units
from torchlint.engine.run import check
from torchlint.engine.session_state import AnalysisCancelled
from torchlint.server.session import Session
from torchlint.settings.load import load_settings

NETWORK = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, size, actions):
        super().__init__()
        self.body = nn.Linear(size, 64)
        self.head = nn.Linear(64, actions)

    def forward(self, obs):
        hidden = torch.relu(self.body(obs))
        return self.head(hidden)

    def scaled(self, obs, factor=2.0):
        scale = torch.tensor(factor)
        return self.forward(obs) * scale
"""
AGENT = """\
import numpy as np
import torch

from network import Policy


class Agent:
    def __init__(self, size, actions, device):
        self.device = device
        self.policy = Policy(size, actions).to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters())
        self.losses = []

    def act(self, obs):
        x = torch.FloatTensor(np.array([obs])).to(self.device)
        with torch.no_grad():
            return self.policy(x).argmax(dim=-1).item()

    def learn(self, batch):
        obs, actions, rewards = batch
        chosen = self.policy.scaled(obs).gather(1, actions)
        loss = ((chosen - rewards) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss)
        return self.report(loss)

    def report(self, loss):
        return {"loss": loss.item(), "size": len(self.losses)}
"""
TRAIN = """\
import torch

from agent import Agent


class Buffer:
    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row)

    def batch(self):
        columns = zip(*self.rows)
        return [torch.stack([torch.as_tensor(part) for part in column]) for column in columns]


def train(agent: Agent, env, steps):
    buffer = Buffer()
    obs, _ = env.reset()
    for step in range(steps):
        action = agent.act(obs)
        following, reward, done, _, _ = env.step(action)
        buffer.add((obs, action, reward))
        obs = following
        if step % 8 == 0:
            print(agent.learn(buffer.batch()))
        if done:
            obs, _ = env.reset()


def main(env):
    train(Agent(4, 2, torch.device("cuda")), env, 1000)
"""
TEXTS = {"network.py": NETWORK, "agent.py": AGENT, "train.py": TRAIN}
STATEMENTS = (
    *("number = 3", "print(number)", "torch.cuda.synchronize()", "value = torch.zeros(3).cuda()", "value.item()"),
    *("loss = loss.detach()", "x = torch.FloatTensor([obs])", "x = x.cpu().numpy()", "return None", "# a remark"),
    *("self.losses = []", "self.kept = x", "for _ in range(9): loss.item()", "if done: torch.cuda.empty_cache()"),
    *("import numpy as np", "from network import Policy", "def inner(x): return x.item()", "env.step(0)"),
    *("agent.report(loss)", "obs = torch.tensor(obs)", "x = ((", "with torch.no_grad(): self.policy(obs)"),
    *("global count; count = 1", "self.policy.scaled(x).sum().item()", "yield obs", "x: int = len(self.losses)"),
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "edited"\n')
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def edit(rng: random.Random, text: str) -> str:
    """A text with one line more, less, moved or changed."""
    rows = text.splitlines()
    at = rng.randrange(len(rows))
    blank = rows[at][: len(rows[at]) - len(rows[at].lstrip())]
    match rng.randrange(8):
        case 0:
            del rows[at]
        case 1:
            rows[at], rows[at - 1] = rows[at - 1], rows[at]
        case 2:
            rows[at] = rows[at].replace("loss", "cost").replace("obs", "seen")
        case 3:
            rows[at] = rows[at].replace("1", "2") + "  # torchlint: ignore"
        case _:
            rows.insert(at, blank + rng.choice(STATEMENTS))
    return "\n".join(rows) + "\n"


def told(linted):
    """What an editor shows of a document."""
    return [(each.path, *each.order, each.message, each.hot, each.fix) for each in linted.findings]


def fresh(texts):
    """What a new session finds: nothing is kept from an earlier run."""
    return {path: told(linted) for path, linted in Session().lint(texts).linted.items()}


@pytest.mark.parametrize("seed", range(4))
def test_after_any_series_of_edits_the_final_findings_are_those_of_a_fresh_run(folder, seed):
    rng = random.Random(seed)
    session, first = Session(), {folder / name: text for name, text in TEXTS.items()}
    texts = dict(first)
    session.lint(texts)
    previews = 0
    for number in range(1, 101):
        path = rng.choice(list(texts))
        texts[path] = first[path] if rng.random() < 0.1 else edit(rng, texts[path])
        previews += session.preview(path, texts) is not None
        if rng.random() < 0.2:
            left = rng.randrange(40)

            def checkpoint():
                nonlocal left
                left -= 1
                if left < 0:
                    raise AnalysisCancelled

            try:
                session.lint(texts, checkpoint)
            except AnalysisCancelled:
                assert left < 0
        if number % 20 == 0:
            outcome = session.lint(texts)
            assert not outcome.complaints
            assert {path: told(linted) for path, linted in outcome.linted.items()} == fresh(texts)
    assert previews > 10


def test_the_final_findings_are_those_of_check_on_the_saved_files(folder):
    rng = random.Random(9)
    session = Session()
    texts = {folder / name: text for name, text in TEXTS.items()}
    session.lint(texts)
    for _ in range(30):
        path = rng.choice(list(texts))
        texts[path] = edit(rng, texts[path])
        session.preview(path, texts)
    for path, text in texts.items():
        path.write_text(text)
    found = session.lint(texts).linted
    mine = [each for path in sorted(found) for each in told(found[path])]
    assert mine == told(check([folder], load_settings(folder, overrides={})))
    assert mine


# previews -------------------------------------------------------------------------------------------------------------


def seen(linted):
    return [(each.code, each.start.row) for each in linted.findings]


def test_a_preview_finds_what_an_edit_adds_and_takes_away_in_hot_code(folder):
    session = Session()
    path = folder / "agent.py"
    before = seen(session.lint({path: AGENT}).linted[path])
    assert ("TL101", 15) in before
    slow = AGENT.replace(
        "            return self.policy(x)", "            print(x.sum().item())\n            return self.policy(x)"
    )
    shown = session.preview(path, {path: slow})
    final = session.lint({path: slow}).linted[path]
    assert not shown.final
    assert final.final
    assert seen(shown) == seen(final)
    assert ("TL203", 17) in seen(shown)
    assert all(each.fix is None for each in shown.findings)
    assert any(each.fix is not None for each in final.findings)


def test_a_preview_knows_what_the_rest_of_the_project_says_of_the_new_code(folder):
    session = Session()
    path = folder / "network.py"
    session.lint({path: NETWORK})
    slow = NETWORK.replace(
        "        return self.head(hidden)", "        print(hidden.mean().item())\n        return self.head(hidden)"
    )
    (found,) = [each for each in session.preview(path, {path: slow}).findings if each.start.row == 13]
    assert [hop.path for hop in found.hot.path][:1] == ["train.py"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import numpy as np\n", "import numpy as np\nimport math\n"),
        ("def report(self, loss)", "def report(self, loss, more=1)"),
        ("self.losses = []", "self.other = []"),
        ("        obs, actions, rewards = batch", "        import math\n        obs, actions, rewards = batch"),
        ("class Agent:", "class Agent:\n    limit = 3\n"),
    ],
)
def test_what_other_files_can_see_is_left_to_the_whole_analysis(folder, old, new):
    session = Session()
    path = folder / "agent.py"
    session.lint({path: AGENT})
    assert AGENT.replace(old, new) != AGENT
    assert session.preview(path, {path: AGENT.replace(old, new)}) is None


def test_a_syntax_error_shows_at_once_and_goes_again(folder):
    session = Session()
    path = folder / "agent.py"
    session.lint({path: AGENT})
    assert seen(session.preview(path, {path: AGENT + "x = (\n"}))[0][0] == "TL000"
    assert seen(session.preview(path, {path: AGENT.replace("chosen -", "chosen  -")})) == seen(
        session.lint({path: AGENT}).linted[path]
    )


def test_a_new_document_has_no_preview(folder):
    session = Session()
    assert session.preview(folder / "agent.py", {folder / "agent.py": AGENT}) is None
    session.lint({folder / "agent.py": AGENT})
    texts = {folder / "agent.py": AGENT, folder / "new.py": AGENT}
    assert session.preview(folder / "new.py", texts) is None


def test_what_no_edit_touches_is_not_analysed_again(folder, monkeypatch):
    linked: list[int] = []
    real = units.linked
    monkeypatch.setattr(units, "linked", lambda files, *rest: linked.append(len(files)) or real(files, *rest))
    (folder / "alone.py").write_text(ALONE := NETWORK.replace("Policy", "Alone"))
    (folder / "partner.py").write_text("from alone import Alone\n\nnet = Alone(1, 2)\n")
    session = Session()
    texts = {folder / "agent.py": AGENT, folder / "alone.py": ALONE}
    session.lint(texts)
    assert sorted(linked) == [2, 3]
    session.lint(texts)
    assert len(linked) == 2
    texts[folder / "agent.py"] = AGENT.replace("chosen - rewards", "rewards - chosen")
    session.lint(texts)
    assert linked[2:] == [3]
