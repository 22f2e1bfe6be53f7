"""``torchlint trend`` on small repositories with a known history."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import in_this_process
from conversing import talk

from torchlint.report.trend import Point, as_html, as_svg, as_text
from torchlint.rule.frequency import Frequency
from torchlint.sources.git import GitError
from torchlint.sources.history import Checkout, Commit, History, spread

SLOW = """\
import torch


def act(policy, obs):
    return policy(torch.FloatTensor([float(x) for x in obs])).argmax()


def train(env, policy, steps):
    obs, info = env.reset()
    for _ in range(steps):
        obs, reward, terminated, truncated, info = env.step(act(policy, obs))
"""
SLOWER = SLOW.replace(
    "def train", "def again(policy, obs):\n    return torch.Tensor([1.0 * x for x in obs])\n\n\ndef train"
)
FAST = SLOW.replace("torch.FloatTensor([float(x) for x in obs])", "torch.as_tensor(obs)")


def git(folder, *words, day=1):
    stamp = f"2025-01-{day:02}T12:00:00Z"
    known = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **known, "GIT_COMMITTER_DATE": stamp, "GIT_AUTHOR_DATE": stamp}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


def commit(folder, subject, day, **texts):
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", subject, day=day)


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    commit(tmp_path, "An agent", 1, agent=SLOW)
    commit(tmp_path, "Nothing of Python", 2)
    commit(tmp_path, "One more smell", 3, agent=SLOWER, other=SLOW)
    commit(tmp_path, "All gone", 4, agent=FAST, other=FAST)
    return tmp_path


def test_each_commit_that_changes_python_is_a_row(repository, torchlint):
    done = torchlint("trend", cwd=repository)
    assert (done.returncode, done.stderr) == (0, "")
    rows = done.stdout.splitlines()
    assert [row[:10] for row in rows[:3]] == ["2025-01-01", "2025-01-03", "2025-01-04"]
    assert rows[-1].startswith("1 finding became 0 over 3 commits")
    assert max(map(len, rows[:3])) <= 80
    assert (repository / "agent.py").read_text() == FAST


def test_json_says_what_came_and_went(repository, torchlint):
    found = json.loads(torchlint("trend", "--json", cwd=repository).stdout)
    assert [row["subject"] for row in found] == ["An agent", "One more smell", "All gone"]
    first, second, last = ((row["findings"], row["new"], row["gone"]) for row in found)
    assert first == (1, 1, 0)
    assert second[0] == 1 + second[1]
    assert last == (0, 0, second[0])


def test_commits_of_a_path_and_after_a_revision(repository, torchlint):
    git(repository, "tag", "v1", "HEAD~1")
    after = json.loads(torchlint("trend", "--json", "--since", "v1", cwd=repository).stdout)
    assert [row["subject"] for row in after] == ["All gone"]
    (repository / "sub").mkdir()
    (repository / "sub" / "a.py").write_text(SLOW)
    commit(repository, "A folder", 5)
    below = json.loads(torchlint("trend", "--json", "sub", cwd=repository).stdout)
    assert [(row["subject"], row["findings"]) for row in below] == [("A folder", 1)]


def test_points_are_spread_evenly_with_both_ends():
    commits = [Commit(str(number), number, "") for number in range(100)]
    assert [each.time for each in spread(commits, 4)] == [0, 33, 66, 99]
    assert [each.time for each in spread(commits, 1)] == [99]
    assert spread(commits[:3], 20) == commits[:3]


def test_a_page_and_a_drawing_are_written_without_addresses(repository, torchlint, tmp_path):
    done = torchlint("trend", "--html", "trend.html", "--svg", "trend.svg", cwd=repository)
    assert done.returncode == 0
    page = (repository / "trend.html").read_text()
    drawing = ElementTree.parse(repository / "trend.svg").getroot()
    assert len(drawing.findall(".//{http://www.w3.org/2000/svg}circle")) == 3
    assert "http:" not in page and "https:" not in page and "<script" not in page
    assert "One more smell" in page


def test_names_of_commits_are_text_and_nothing_else():
    points = [Point("a" * 40, 0, "</title><script>x</script>\x1b[31m", 1, 1, 0, {Frequency.STEP: 3.0})]
    for told in (as_html(points, 1, "<b>"), as_svg(points)):
        assert "<script>" not in told and "\x1b" not in told
    assert "\x1b" not in as_text(points, 1, color=False, unicode=True, width=120)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_row_is_wider_than_the_terminal(width, unicode):
    saves = {Frequency.STEP: 310.0, Frequency.UPDATE: 1500.0}
    points = [Point("a" * 40, day * 86400, "wörk " * 40, 400 - day, day, 1, saves) for day in range(5)]
    text = as_text(points, 50, color=False, unicode=unicode, width=width)
    assert max(map(len, text.split("\n\n")[0].splitlines())) <= width
    assert unicode or text.replace("ö", "o").isascii()
    colored = as_text(points, 50, color=True, unicode=unicode, width=width)
    assert re.sub(r"\x1b\[\d+m", "", colored) == text


def test_a_terminal_shows_how_far_it_is(repository):
    said = talk(repository, ["trend"], [], environment={"NO_COLOR": "1"})
    assert re.search(r"\[#+\.+\] 1/3 commits [0-9a-f]{8}", said.text)
    assert said.code == 0


def test_outside_of_a_repository_and_without_commits_there_is_one_clear_error(torchlint, tmp_path):
    done = torchlint("trend", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    git(tmp_path, "init", "-q")
    done = torchlint("trend", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "torchlint: error: there is no commit yet\n")


def test_an_unknown_revision_is_one_clear_error(repository, torchlint):
    for wrong in ("nothing", "--output=x"):
        done = torchlint("trend", f"--since={wrong}", cwd=repository)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert not (repository / "x").exists()


def test_a_file_may_become_a_folder_and_links_stay_out(repository, tmp_path_factory):
    (repository / "agent.py").unlink()
    (repository / "agent.py").mkdir()
    (repository / "agent.py" / "inner.py").write_text(SLOW)
    (repository / "link.py").symlink_to("/etc/passwd")
    commit(repository, "A folder in place of a file", 6)
    history, folder = History(repository), tmp_path_factory.mktemp("checkout")
    checkout = Checkout(history, folder)
    for each in history.commits([repository]):
        checkout.show(each)
    assert sorted(path.name for path in folder.rglob("*") if ".git" not in path.parts) == [
        "agent.py",
        "inner.py",
        "other.py",
    ]
    with pytest.raises(GitError):
        history.content("0" * 40)
