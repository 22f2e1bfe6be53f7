"""Whichever way files are named, the findings in them are the same."""

import json
import os
from pathlib import Path

import pytest
from conftest import in_this_process

from torchlint.cache import place
from torchlint.settings.root import project_root

BUFFER = """\
import torch


class Buffer:
    def __init__(self, device):
        self.device = torch.device(device)
        self.rows = []

    def add(self, reward):
        self.rows.append(torch.zeros(4).to(self.device) + reward)
"""
AGENT = """\
import torch
from torch import nn

from {buffer} import Buffer


class Agent(nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        self.device = torch.device(device)
        self.net = nn.Linear(17, 6).to(self.device)
        self.buffer = Buffer(device)

    def act(self, obs):
        mask = torch.zeros(1, 6).to(self.device)
        return (self.net(obs) + mask).argmax(1).item()

    def learn(self, reward):
        self.buffer.add(reward)
"""
TRAIN = """\
from {agent} import Agent


def train(env, agent: Agent):
    obs, _ = env.reset()
    for step in range(1000):
        obs, reward, terminated, truncated, _ = env.step(agent.act(obs))
        agent.learn(reward)


if __name__ == "__main__":
    train(None, Agent())
"""


def shape(train, agent, buffer, *empty):
    """Files of a project, whose modules are given by path; ``empty`` ones besides."""
    module = {path: path.removeprefix("src/").removesuffix(".py").replace("/", ".") for path in (agent, buffer)}
    texts = {
        train: TRAIN.format(agent=module[agent]),
        agent: AGENT.format(buffer=module[buffer]),
        buffer: BUFFER,
    }
    return {**texts, **dict.fromkeys(empty, "")}


INSIDE = "runner/__init__.py", "runner/agents/__init__.py", "runner/data/__init__.py"
PACKAGE = shape("runner/train.py", "runner/agents/ppo.py", "runner/data/buffer.py", *INSIDE)
SHAPES = {
    "flat scripts": shape("train.py", "agent.py", "buffer.py"),
    "flat scripts with requirements": shape("train.py", "agent.py", "buffer.py", "requirements.txt"),
    "nested packages": PACKAGE,
    "a script above a package": shape("train.py", "runner/agent.py", "runner/buffer.py", "runner/__init__.py"),
    "two packages": shape(
        "algos/train.py", "agents/ppo.py", "data/buffer.py", *(f"{n}/__init__.py" for n in ("algos", "agents", "data"))
    ),
    "a package with setup.py": {**PACKAGE, "setup.py": ""},
    "a package with setup.cfg": {**PACKAGE, "setup.cfg": ""},
    "a package with a repository": {**PACKAGE, ".hg/requires": ""},
    "a package with settings inside": {**PACKAGE, "runner/agents/torchlint.toml": ""},
    "a package with pyproject": {**PACKAGE, "pyproject.toml": ""},
    "src layout": shape(
        "scripts/train.py", "src/runner/agent.py", "src/runner/buffer.py", "src/runner/__init__.py", "setup.py"
    ),
    "src layout without marks": shape(
        "src/runner/train.py", "src/runner/agent.py", "src/runner/buffer.py", "src/runner/__init__.py"
    ),
    "nested setup.py": {
        **shape("train.py", "envs/runner/agent.py", "envs/runner/buffer.py"),
        "envs/setup.py": "",
        "setup.py": "",
    },
    "namespace packages": shape("train.py", "agents/ppo.py", "data/buffer.py"),
    "namespace packages with pyproject": shape("train.py", "agents/ppo.py", "data/buffer.py", "pyproject.toml"),
    "scripts in a folder": shape("scripts/train.py", "agents/ppo.py", "agents/buffer.py"),
    "deep namespace packages": shape("train.py", "runner/agents/ppo.py", "runner/agents/buffer.py"),
    "namespace package around a package": shape(
        "train.py", "acme/runner/agent.py", "acme/runner/buffer.py", "acme/runner/__init__.py"
    ),
    "requirements in a package": {**PACKAGE, "runner/agents/requirements.txt": ""},
}


@pytest.fixture
def findings(capsys, monkeypatch):
    """The findings of a run by file."""
    torchlint = in_this_process(capsys, monkeypatch)

    def run(*names, cwd, flags=()):
        done = torchlint("check", "--output-format", "json", "--no-cache", *flags, *names, cwd=cwd)
        by_file = {}
        for row in json.loads(done.stdout):
            by_file.setdefault(row["filename"], []).append(json.dumps(row, sort_keys=True))
        return {file: sorted(rows) for file, rows in by_file.items()}

    return run


def put(top, files):
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def ways(top, files):
    """Folders to run in, each with the names of what is to be linted."""
    python = [top / name for name in files if name.endswith(".py") and not name.endswith("setup.py")]
    folders = {above for path in python for above in path.parents if above == top or top in above.parents}
    yield top.parent, [top.name]
    yield top.parent, [top]
    texts = [path for path in python if path.stat().st_size]
    for each in texts:
        yield top, [each.relative_to(top)]
        yield each.parent, [each.name]
    yield top.parent, [texts[1]]
    for folder in sorted(folders - {top}):
        yield folder, ["."]
        yield top, [folder.relative_to(top)]
    yield texts[-1].parent, [Path(os.path.relpath(path, texts[-1].parent)) for path in texts]


@pytest.mark.parametrize("name", SHAPES)
def test_all_ways_to_name_files_find_the_same(findings, tmp_path, name):
    files = SHAPES[name]
    top = tmp_path / "work" / "project"
    put(top, files)
    expected = findings(".", cwd=top)
    assert len(expected) == 2, "both modules with torch have findings, hot by the loop of the third"
    assert all('"frequency": "step"' in row for rows in expected.values() for row in rows)
    for cwd, names in ways(top, files):
        given = [Path(os.path.abspath(cwd / each)) for each in names]
        asked = {file: rows for file, rows in expected.items() if any(map(Path(file).is_relative_to, given))}
        assert findings(*names, cwd=cwd) == asked, (cwd, names)


@pytest.mark.parametrize("name", ["a package with pyproject", "nested packages", "namespace packages"])
def test_a_link_to_a_project_or_into_it_leads_to_the_same_findings(findings, tmp_path, name):
    files = SHAPES[name]
    top = tmp_path / "real" / "project"
    put(top, files)
    expected = findings(".", cwd=top)
    beside = tmp_path / "links"
    beside.mkdir()
    (beside / "link").symlink_to(top)
    (beside / "inner").symlink_to(top / "agents" if (top / "agents").exists() else top / "runner" / "agents")
    assert findings("link", cwd=beside) == expected
    assert findings(".", cwd=beside / "link") == expected
    inner = findings("inner", cwd=beside)
    assert inner == {file: rows for file, rows in expected.items() if "/agents/" in file} != {}
    assert findings("inner/ppo.py", cwd=beside) == inner
    assert findings(beside / "link", cwd=tmp_path) == expected


def test_what_is_beside_a_project_is_none_of_it(tmp_path):
    """A folder that nothing ties to the one above is a project of its own."""
    put(
        tmp_path / "code",
        {"one/train.py": "import torch\n", "two/train.py": "import gym\n", "gym/setup.py": "", "gym/a.py": ""},
    )
    for name in ("one", "two", "gym"):
        assert project_root(tmp_path / "code" / name / "train.py") == tmp_path / "code" / name


def test_a_place_for_many_projects_is_none(tmp_path, monkeypatch):
    """Marks of any kind in a home folder or above are no one's, but a repository is one anywhere."""
    home = tmp_path / "home"
    put(
        home,
        {"setup.py": "", "requirements.txt": "", "train.py": "import one\n", "one/agent.py": "", "two/__init__.py": ""},
    )
    monkeypatch.setenv("HOME", str(home))
    assert project_root(home / "one" / "agent.py") == home / "one"
    assert project_root(home / "two" / "agent.py") == home
    assert not place.is_whole(str(home))
    (home / ".git").mkdir()
    assert project_root(home / "one" / "agent.py") == home
    assert place.is_whole(str(home))


def test_a_folder_of_too_much_is_read_only_around_the_files(findings, tmp_path, monkeypatch):
    put(tmp_path, {**PACKAGE, "other/train.py": "x"})
    before = findings("runner/agents", cwd=tmp_path)
    monkeypatch.setattr(place, "_MOST_PARTS", 2)
    assert not place.is_whole(str(tmp_path))
    assert findings("runner/agents", cwd=tmp_path) == before != {}


def test_why_a_line_is_hot_names_the_file_from_the_working_folder(capsys, monkeypatch, tmp_path):
    torchlint = in_this_process(capsys, monkeypatch)
    put(tmp_path, PACKAGE)
    done = torchlint("check", "--explain-hot", "ppo.py:999", cwd=tmp_path / "runner" / "agents")
    assert done.stderr.startswith("torchlint: error: --explain-hot: ppo.py ends on line ")


def test_a_stray_script_above_a_package_changes_nothing(findings, tmp_path, monkeypatch):
    """In a place for many projects, nothing ties a package to a file that lies beside it, whatever that sets."""
    act = "def act(self, obs):\n        return torch.zeros(1, 6).cuda()"
    apart = {**shape("runner/train.py", "runner/ppo.py", "runner/buffer.py", "runner/__init__.py")}
    apart["runner/other.py"] = f"import torch\n\n\nclass Other:\n    {act}\n"
    apart["runner/loop.py"] = "import torch\n\n\ndef loop(env, any):\n    while True:\n        env.step(any.act(0))\n"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    put(tmp_path, apart)
    expected = findings("runner", cwd=tmp_path)
    assert len(expected) == 2, "nothing in other.py is hot: nothing ties it to the loop"
    (tmp_path / "stray.py").write_text("import torch\n\ntorch.set_default_dtype(torch.float64)\n")
    for cwd, name in ((tmp_path, "runner"), (tmp_path / "runner", "."), (tmp_path.parent, tmp_path / "runner")):
        assert findings(name, cwd=cwd) == expected
    for file, rows in expected.items():
        assert findings(file, cwd=tmp_path.parent) == {file: rows}


def test_an_environment_in_a_project_counts_for_nothing(tmp_path, monkeypatch):
    put(tmp_path, {"train.py": "", "env/pyvenv.cfg": "", **{f"env/lib/m{number}.py": "" for number in range(9)}})
    monkeypatch.setattr(place, "_MOST_PARTS", 5)
    assert place.is_whole(str(tmp_path))
