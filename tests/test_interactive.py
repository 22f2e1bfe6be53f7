"""``torchlint check --fix --interactive`` on a pseudo-terminal: every key, and what interrupts leave."""

import sys

import pytest
from conversing import END, INTERRUPT, talk

from torchlint.cli.interactive import editor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")

ACTOR = """\
from torch.distributions import Categorical


def act(policy, obs):
    return Categorical(logits=policy(obs)).sample()
"""
CRITIC = """\
import torch
from torch.distributions import Categorical


def explore(policy, obs):
    return Categorical(logits=policy(obs)).sample()


def stacked(rows):
    return torch.FloatTensor([list(row) for row in rows])
"""
TRAIN = """\
from actor import act
from critic import explore, stacked


def train(env, policy, steps):
    obs, info = env.reset()
    rows = []
    for _ in range(steps):
        action = act(policy, obs) + explore(policy, obs)
        obs, reward, terminated, truncated, info = env.step(action)
        rows.append(obs)
        batch = stacked(rows[-8:])
"""
INTERACTIVE = ["check", "--fix", "--interactive"]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'agent'\nversion = '1'\n")
    (tmp_path / "actor.py").write_text(ACTOR)
    (tmp_path / "critic.py").write_text(CRITIC)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def texts(project):
    return (project / "actor.py").read_text(), (project / "critic.py").read_text()


def test_a_group_is_shown_with_its_diff_and_applied_at_all_its_places(project):
    said = talk(project, INTERACTIVE, ["y", "n"])
    assert "actor.py:5:12 and 1 more place" in said.text
    assert "-    return Categorical(logits=policy(obs)).sample()" in said.text
    assert "+    return Categorical(logits=policy(obs), validate_args=False).sample()" in said.text
    assert "may change validation" in said.text
    assert all("validate_args=False" in text for text in texts(project))
    assert "FloatTensor" in texts(project)[1]
    assert said.text.endswith("Applied 2 fixes in 2 files, 1 skipped\n")
    assert said.code == 1


def test_quitting_leaves_the_rest_and_says_how_much_it_is(project):
    said = talk(project, INTERACTIVE, ["q"])
    assert texts(project) == (ACTOR, CRITIC)
    assert said.text.endswith("Nothing applied, 3 not asked about\n")


def test_the_end_of_the_input_quits(project):
    said = talk(project, INTERACTIVE, ["n", END])
    assert said.text.endswith("Nothing applied, 2 skipped, 1 not asked about\n")


def test_an_unknown_key_shows_the_keys_and_asks_again(project):
    said = talk(project, INTERACTIVE, ["what", "q"])
    assert "y - apply this fix at all places" in said.text
    assert said.text.count("(1/2) Apply this fix") == 2


def test_a_change_is_accepted_for_all_that_is_left(project):
    said = talk(project, INTERACTIVE, ["a"])
    assert "Applied 3 fixes" in said.text  # a safe fix changes no more than one that may change validation
    assert "FloatTensor" not in texts(project)[1]
    assert said.code == 0


def test_accepting_all_leaves_what_was_skipped_and_what_may_change_more(project):
    said = talk(project, INTERACTIVE, ["n", "a"])
    assert "validate_args" not in "".join(texts(project))
    assert "FloatTensor" not in texts(project)[1]
    assert said.text.endswith("Applied 1 fix in 1 file, 2 skipped\n")


def test_accept_narrows_what_is_asked(project):
    said = talk(project, [*INTERACTIVE, "--accept", "rounding"], ["y"])
    assert "TL205" not in said.text
    assert "validate_args" not in "".join(texts(project))
    assert "FloatTensor" not in texts(project)[1]


def test_a_group_is_suppressed_with_a_reason(project):
    said = talk(project, INTERACTIVE, ["s", "q", "s", "a # b", "s", "the checks have found bugs", "q"])
    assert "the reason must be one line without #" in said.text
    assert all("# noqa: TL205 the checks have found bugs\n" in text for text in texts(project))
    assert said.text.endswith("Nothing applied, 2 suppressed, 1 not asked about\n")


def test_a_place_is_opened_in_the_editor_and_asked_about_again_as_it_is_then(project):
    script = project / "vi"
    script.write_text('#!/bin/sh\necho "$1 ${2##*/}" > opened\nsed -i "s/sample()/mode/" "$2"\n')
    script.chmod(0o755)
    said = talk(project, INTERACTIVE, ["o", "n", "q"], environment={"VISUAL": str(script)})
    assert (project / "opened").read_text() == "+5 actor.py\n"
    assert "-    return Categorical(logits=policy(obs)).mode" in said.text


def test_without_an_editor_the_place_is_said(project):
    said = talk(project, INTERACTIVE, ["o", "q"], environment={"VISUAL": "", "EDITOR": ""})
    assert "\nactor.py:5\n" in said.text
    assert "set VISUAL or EDITOR" in said.text


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("vim -u NONE", ["vim", "-u", "NONE", "+3", "a.py"]),
        ("code", ["code", "--goto", "a.py:3"]),
        ("ed", ["ed", "a.py"]),
    ],
)
def test_editors_get_the_row_as_they_take_it(tmp_path, monkeypatch, told, expected):
    monkeypatch.setenv("VISUAL", told)
    assert [word.replace(f"{tmp_path}/", "") for word in editor(tmp_path / "a.py", 3)] == expected


def test_an_interrupt_keeps_what_was_applied_and_says_so(project):
    said = talk(project, INTERACTIVE, ["y", INTERRUPT])
    assert all("validate_args=False" in text for text in texts(project))
    assert "FloatTensor" in texts(project)[1]
    assert "Applied 2 fixes in 2 files, 1 not asked about; the applied fixes stay\n" in said.text
    assert said.code == 130


def test_a_fix_of_several_files_is_written_whole_or_not_at_all(project):
    def change_and_agree():
        (project / "critic.py").write_text(f"{CRITIC}\n# someone else\n")
        return "y"

    said = talk(project, INTERACTIVE, [change_and_agree, "q"])
    assert "this fix was not applied" in said.text
    assert texts(project) == (ACTOR, f"{CRITIC}\n# someone else\n")


def test_without_a_terminal_it_says_what_to_do(project, torchlint):
    done = torchlint(*INTERACTIVE, cwd=project)
    assert done.returncode == 2
    assert done.stderr == (
        "torchlint: error: --interactive needs a terminal for input and output; without one, use --fix\n"
    )
    assert texts(project) == (ACTOR, CRITIC)


@pytest.mark.parametrize("other", ["--diff", "--watch", "--silent"])
def test_what_it_cannot_be_given_together_with(project, torchlint, other):
    done = torchlint(*INTERACTIVE, other, cwd=project)
    assert (done.returncode, done.stderr) == (
        2,
        f"torchlint: error: --interactive and {other} cannot be given together\n",
    )
