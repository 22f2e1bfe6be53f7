"""What a user sees: names of files from where he is, words that hold, and flags that exist."""

import json
import os
import subprocess
import sys

import pytest
from conftest import in_this_process
from test_cli_whole import AGENT, NEW, OLD

from torchlint.settings.check import nearest


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path):
    top = tmp_path / "project"
    (top / "lib" / "deep").mkdir(parents=True)
    (top / "docs").mkdir()
    (top / "setup.py").write_text("")
    (top / "lib" / "deep" / "agent.py").write_text(AGENT)
    return top


# names of files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "given", "shown"),
    [
        (".", ".", "lib/deep/agent.py"),
        ("lib", ".", "deep/agent.py"),
        ("lib/deep", "agent.py", "agent.py"),
        ("..", "project", "project/lib/deep/agent.py"),
        ("docs", "../lib", "{top}/lib/deep/agent.py"),
        ("/", "{top}", "{top}/lib/deep/agent.py"),
    ],
)
def test_people_see_names_from_where_they_are(torchlint, project, folder, given, shown):
    cwd, given, shown = (project / folder).resolve(), given.format(top=project), shown.format(top=project)
    shown = shown.removeprefix("/") if str(cwd) == "/" else shown

    def run(*flags):
        return torchlint("check", *flags, given, cwd=cwd)

    concise = run("--output-format", "concise").stdout
    assert concise.startswith(f"{shown}:12:16: TL102 [*] ")
    # A line has 160 characters: where names take most of them, the root is left out.
    assert f"({shown}:18)" in concise or 2 * len(shown) > 100
    assert run("--output-format", "grouped").stdout.startswith(f"{shown}:\n  12:16 TL102")
    full = run("--output-format", "full").stdout
    assert (
        f" {shown}:12:16\n" in f" {full}".replace("\n", "\n ", 2).replace("\n ", "\n") or f"\n{shown}:12:16\n" in full
    )
    assert run("--diff").stdout.startswith(f"--- {shown}\n+++ {shown}\n")
    assert run("--show-files").stdout.splitlines()[0] == shown
    assert json.loads(run("--output-format", "json").stdout)[0]["filename"] == str(project / "lib/deep/agent.py")


def test_the_sum_names_loops_from_here(torchlint, project):
    """With several training loops each has its sum, and its place."""
    (project / "lib" / "deep" / "other.py").write_text(AGENT)
    done = torchlint("check", cwd=project / "lib" / "deep")
    assert "the loop at agent.py:18" in done.stderr
    assert "lib/deep" not in done.stderr


def test_why_a_line_is_hot_is_told_with_names_from_here(torchlint, project):
    done = torchlint("check", "--explain-hot", "agent.py:12", cwd=project / "lib" / "deep")
    assert done.stdout.startswith("agent.py:12 runs once per environment step.\n")
    assert " agent.py:18 loop" in done.stdout


def test_a_diff_can_be_applied_where_it_was_made(torchlint, project):
    folder = project / "lib"
    patch = torchlint("check", "--diff", cwd=folder).stdout
    subprocess.run(["patch", "-p0"], cwd=folder, input=patch, text=True, check=True, capture_output=True)
    assert (folder / "deep" / "agent.py").read_text() == AGENT.replace(OLD, NEW)


def test_nothing_is_cut_where_no_terminal_is(torchlint, project):
    folder = project / ("a" * 90)
    folder.mkdir()
    long = AGENT.replace("mask = ", "mask = " + "self.device and " * 20)
    (folder / "agent.py").write_text(long)
    done = torchlint("check", "--output-format", "full", cwd=project)
    assert f"{folder.name}/agent.py:12:" in done.stdout
    assert "self.device and " * 20 + OLD in done.stdout
    assert "…" not in done.stdout


# words that hold ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], "nothing slow is left in 1 file"),
        (["--select", "TL1"], "no findings are left in 1 file"),
        (["--ignore", "TL2"], "no findings are left in 1 file"),
        (["--extend-ignore", "TL2"], "no findings are left in 1 file"),
    ],
)
def test_nothing_is_left_only_if_everything_was_looked_for(torchlint, project, flags, told):
    (project / "setup.py").unlink()
    (project / "requirements.txt").touch()
    done = torchlint("check", "--fix", *flags, cwd=project)
    assert done.stderr == f"Fixed 1 finding in 1 file; {told}\n"
    told = "Nothing slow found in 1 file\n" if not flags else "No findings in 1 file\n"
    assert torchlint("check", *flags, cwd=project).stderr == told


def test_a_diff_leaves_what_it_shows(torchlint, project):
    assert torchlint("check", "--diff", cwd=project).stderr == "Would fix 1 finding in 1 file\n"


def test_nothing_slow_is_left_is_not_said_beside_a_file_that_cannot_be_read(torchlint, project):
    done = torchlint("check", "--fix", ".", "gone.py", cwd=project)
    assert "nothing slow" not in done.stderr
    assert "1 file could not be checked" in done.stderr


# --add-noqa -----------------------------------------------------------------------------------------------------------

TWICE = AGENT.replace(f"mask = {OLD}", f"mask = {OLD} + {OLD}")
REMOVING = {
    "pyproject.toml": '[tool.ruff.lint]\nselect = ["RUF"]\n',
    "ruff.toml": '[lint]\nextend-select = ["RUF100"]\n',
    ".ruff.toml": 'select = ["ALL"]\nignore = ["D", "RUF0"]\n',
}
KEEPING = {
    "pyproject.toml": '[tool.ruff.lint]\nselect = ["RUF"]\nexternal = ["TL"]\n',
    "ruff.toml": '[lint]\nselect = ["ALL"]\nignore = ["RUF1"]\n',
    ".ruff.toml": "line-length = 100\n",
}


def test_what_was_silenced_is_counted(torchlint, project):
    agent = project / "lib" / "deep" / "agent.py"
    agent.write_text(TWICE)
    before = len(json.loads(torchlint("check", "--output-format", "json", cwd=project).stdout))
    assert before == 2
    done = torchlint("check", "--add-noqa", cwd=project)
    assert (done.returncode, done.stderr) == (0, "Silenced 2 findings in 1 file\n")
    assert "  # noqa: TL102\n" in agent.read_text()
    assert torchlint("check", cwd=project).returncode == 0


@pytest.mark.parametrize(
    ("name", "text", "ours"),
    [*((n, t, True) for n, t in REMOVING.items()), *((n, t, False) for n, t in KEEPING.items())],
)
def test_comments_are_written_that_ruff_leaves(torchlint, project, name, text, ours):
    agent = project / "lib" / "deep" / "agent.py"
    (project / name).write_text(text)
    done = torchlint("check", "--add-noqa=for now", cwd=project)
    assert ("# torchlint: ignore[TL102] for now\n" in agent.read_text()) is ours
    assert ("# noqa: TL102 for now\n" in agent.read_text()) is not ours
    assert ("Comments are written as # torchlint: ignore[...]" in done.stderr) is ours
    assert torchlint("check", cwd=project).returncode == 0
    silenced = agent.read_text()
    select = ["--select", "RUF100"] if ours else []
    subprocess.run(
        [sys.executable, "-m", "ruff", "check", "-q", "--fix", "--no-cache", *select, "lib"], cwd=project, check=False
    )
    assert agent.read_text() == silenced


def test_a_code_joins_a_comment_of_ours(torchlint, project):
    agent = project / "lib" / "deep" / "agent.py"
    agent.write_text(AGENT.replace(OLD, f"{OLD}  # torchlint: ignore[TL909] as it is"))
    (project / "ruff.toml").write_text(REMOVING["ruff.toml"])
    torchlint("check", "--add-noqa", cwd=project)
    assert "# torchlint: ignore[TL909, TL102] as it is\n" in agent.read_text()


# JSON -----------------------------------------------------------------------------------------------------------------


ASSUMING = """\
import torch


def read(batch):
    return torch.Tensor(batch)


def train(env, policy, batches):
    obs, _ = env.reset()
    for batch in batches:
        obs, reward, terminated, truncated, _ = env.step(policy(obs) + torch.Tensor(batch))
        noise = torch.zeros(4).cuda()
        x = (noise + 1).item()
"""


def test_a_fix_that_is_not_safe_says_why(torchlint, project):
    (project / "lib" / "deep" / "other.py").write_text(ASSUMING)
    for name in ("json", "json-lines"):
        done = torchlint("check", "--output-format", name, "--select", "ALL", "--preview", cwd=project)
        rows = json.loads(done.stdout) if name == "json" else map(json.loads, done.stdout.splitlines())
        fixes = [row["fix"] for row in rows if row["fix"]]
        assert {"safe", "unsafe"} <= {fix["applicability"] for fix in fixes}
        for fix in fixes:
            assert (fix["applicability"] == "safe") == (not fix["may_change"] and not fix["assumes"]), fix
        assert any(fix["assumes"] and not fix["may_change"] for fix in fixes)


# did you mean ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("TL1O2", ["TL102", "TL611"], "TL102"),
        ("selct", ["select", "ignore"], "select"),
        ("cpu-then-mov", ["cpu-then-move", "legacy-tensor-constructor"], "cpu-then-move"),
        ("banana", ["check", "rule", "bench"], None),
        ("xyz", ["TL102", "TL611"], None),
        ("", ["check"], None),
        ("check", [], None),
    ],
)
def test_what_is_meant_is_guessed_only_where_something_is_near(word, known, meant):
    assert nearest(word, known) == (f"; did you mean {meant!r}?" if meant else "")


def test_a_word_that_is_near_to_nothing_is_only_refused(torchlint, project):
    done = torchlint("banana", cwd=project)
    assert (done.returncode, done.stderr.count("did you mean")) == (2, 0)
    assert "no such command: banana" in done.stderr
    assert "did you mean 'check'" in torchlint("chek", cwd=project).stderr


# flags ----------------------------------------------------------------------------------------------------------------


def test_what_the_settings_turn_on_a_flag_turns_off(torchlint, project):
    (project / "torchlint.toml").write_text("fix = true\npreview = true\n")
    agent = project / "lib" / "deep" / "agent.py"
    done = torchlint("check", "--no-fix", "--no-preview", cwd=project)
    assert (done.returncode, agent.read_text()) == (1, AGENT)
    shown = torchlint("check", "--no-fix", "--no-preview", "--show-settings", cwd=project).stdout
    assert "fix = false" in shown
    assert "preview = false" in shown
    assert torchlint("check", cwd=project).returncode == 0
    assert agent.read_text() == AGENT.replace(OLD, NEW)


def test_extend_ignore_adds_to_what_is_ignored(torchlint, project):
    (project / "torchlint.toml").write_text('ignore = ["TL2"]\nextend-ignore = ["TL3"]\n')
    shown = torchlint("check", "--extend-ignore", "TL102", "--show-settings", cwd=project).stdout
    assert 'ignore = ["TL2"]' in shown
    assert 'extend-ignore = ["TL3", "TL102"]' in shown
    assert torchlint("check", "--extend-ignore", "TL102", cwd=project).returncode == 0
    assert torchlint("check", "--select", "TL1", "--extend-ignore", "TL102", cwd=project).returncode == 0
    assert torchlint("check", "--extend-ignore", "TL2", cwd=project).returncode == 1
    wrong = torchlint("check", "--extend-ignore", "TL1O2", cwd=project)
    assert wrong.stderr.startswith("torchlint: error: extend-ignore: no rule matches 'TL1O2'")


@pytest.mark.parametrize(
    ("flags", "env", "colored"),
    [
        ([], {}, False),
        ([], {"NO_COLOR": "", "FORCE_COLOR": "1"}, True),
        (["--color", "auto"], {"NO_COLOR": "", "FORCE_COLOR": "1"}, True),
        (["--color", "never"], {"NO_COLOR": "", "FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color=always"], {"NO_COLOR": ""}, True),
    ],
)
@pytest.mark.parametrize("name", ["full", "concise", "grouped"])
def test_color(torchlint, project, flags, env, colored, name):
    for _ in range(2):  # the second is from the cache
        done = torchlint("check", *flags, "--output-format", name, cwd=project, env=env)
        assert ("\x1b[" in done.stdout) is colored
    assert "\x1b[" not in torchlint("check", *flags, "--output-format", "json", cwd=project, env=env).stdout


def test_a_color_that_is_none(torchlint, project):
    done = torchlint("check", "--color", "sometimes", cwd=project)
    assert (done.returncode, "auto, always, never" in done.stderr) == (2, True)


def test_the_working_folder_may_have_any_name(torchlint, tmp_path):
    odd = tmp_path / "a b\tc"
    odd.mkdir()
    (odd / "requirements.txt").touch()
    (odd / "agent.py").write_text(AGENT)
    assert torchlint("check", cwd=odd).stdout.startswith("agent.py:12:16: ")
    assert os.sep not in torchlint("check", cwd=odd).stdout.split(":")[0]
