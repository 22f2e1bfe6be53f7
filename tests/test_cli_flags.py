"""Flags and commands with the real engine and the real rules, as a user types them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, in_this_process, wait_for
from jsonschema import Draft7Validator
from test_cli_whole import AGENT, NEW, OLD

from torchlint.settings.describe import KEYS, schema_text
from torchlint.settings.toml import read_toml


@pytest.fixture
def torchlint(torchlint, capsys, monkeypatch):
    """The command line in this process; completion ends the process, so it needs one of its own."""
    here = in_this_process(capsys, monkeypatch)
    return lambda *words, cwd, env=None: (torchlint if "_TORCHLINT_COMPLETE" in (env or {}) else here)(
        *words, cwd=cwd, env=env
    )


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def codes(done):
    return [row["code"] for row in json.loads(done.stdout)]


@pytest.fixture
def found(torchlint, project):
    """The codes that a run with some flags finds."""

    def run(*flags):
        return codes(torchlint("check", "--output-format", "json", *flags, cwd=project))

    return run


# selecting ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], ["TL102"]),
        (["--select", "TL1"], ["TL102"]),
        (["--select", "cpu-then-move"], ["TL102"]),
        (["--select", "ALL", "--ignore", "TL102"], []),
        (["--select", "TL2"], []),
        (["--select", "TL2", "--extend-select", "TL102"], ["TL102"]),
        (["--per-file-ignores", "agent.py:TL1"], []),
        (["--per-file-ignores", "other.py:TL1"], ["TL102"]),
        (["--per-file-ignores", "*.py:cpu-then-move"], []),
        (["--config", "ignore = ['TL102']"], []),
        (["--config", "ignore = ['TL102']", "--select", "TL102"], ["TL102"]),
    ],
)
def test_selectors(found, expected, flags):
    assert found(*flags) == expected


@pytest.mark.parametrize("flag", ["--select", "--ignore", "--extend-select", "--fixable", "--unfixable"])
def test_a_selector_that_fits_no_rule_names_the_nearest(torchlint, project, flag):
    done = torchlint("check", flag, "TL1O2", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    wrong = flag.strip("-")
    assert done.stderr.startswith(f"torchlint: error: {wrong}: no rule matches 'TL1O2'; did you mean 'TL102'?")


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        (
            '[tool.torchlint]\nselect = [\n  "TL1O2"]\n',
            "pyproject.toml:2: select: no rule matches 'TL1O2'; did you mean 'TL102'?",
        ),
        (
            "[tool.torchlint]\n\nunfixable = ['cpu-then-mov']\n",
            "pyproject.toml:3: unfixable: no rule matches 'cpu-then-mov'",
        ),
        (
            "[tool.torchlint.per-file-ignores]\n'a' = ['TLX']\n",
            "pyproject.toml:1: per-file-ignores: no rule matches 'TLX'",
        ),
        ("[tool.torchlint.rules.TL404]\nsize = 3\n", "pyproject.toml:2: rules: TL404 has no option 'size'"),
        (
            "[tool.torchlint.rules.TL4O4]\nsize = 3\n",
            "pyproject.toml:1: rules: no rule matches 'TL4O4'; did you mean 'TL404'?",
        ),
        ("[tool.torchlint]\nextend = 'base.toml'\n", "base.toml:2: ignore: no rule matches 'TL77'"),
    ],
)
def test_a_wrong_word_in_the_settings_is_found_where_it_stands(torchlint, project, settings, place):
    (project / "base.toml").write_text('preview = true\nignore = ["TL77"]\n')
    (project / "pyproject.toml").write_text(settings)
    done = torchlint("check", cwd=project)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"torchlint: error: {project}/{place}")
    # What the command line says is not a fault of the file.
    done = torchlint("check", "--select", "TL9X", "--isolated", cwd=project)
    assert done.stderr.startswith("torchlint: error: select: no rule matches 'TL9X'; did you mean ")


# fixing ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "fixed"),
    [
        ([], True),
        (["--fixable", "TL1"], True),
        (["--fixable", "TL2"], False),
        (["--unfixable", "TL1"], False),
        (["--fixable", "ALL", "--unfixable", "cpu-then-move"], False),
    ],
)
def test_fixable_and_unfixable(torchlint, project, flags, fixed):
    marked = torchlint("check", *flags, cwd=project).stdout
    assert ("TL102 [*]" in marked) is fixed
    assert torchlint("check", "--fix", *flags, cwd=project).returncode == (0 if fixed else 1)
    assert ((project / "agent.py").read_text() == AGENT.replace(OLD, NEW)) is fixed


@pytest.mark.parametrize(
    "flags",
    [
        ["--select", "TL2"],
        ["--ignore", "TL102"],
        ["--per-file-ignores", "agent.py:TL102"],
        ["--exclude", "agent.py"],
        ["--since", "HEAD"],
        ["--baseline", "torchlint-baseline.jsonl"],
        ["--config", "cold = ['agent:Agent.act']"],
    ],
)
def test_only_what_is_shown_is_fixed(torchlint, project, flags):
    torchlint("baseline", cwd=project)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    assert torchlint("check", *flags, cwd=project).stdout == ""
    assert torchlint("check", "--diff", *flags, cwd=project).returncode == 0
    assert torchlint("check", "--fix", *flags, cwd=project).returncode == 0
    assert (project / "agent.py").read_text() == AGENT


def test_fixes_that_are_accepted_and_all_of_them(torchlint, project):
    check = "        if torch.isnan(obs).any():\n            raise ValueError\n"
    text = AGENT.replace("        mask", f"{check}        mask").replace(
        "def act(self, obs)", "def act(self, obs: torch.Tensor)"
    )
    for flags in (["--accept", "validation"], ["--unsafe-fixes"], ["--config", "accept = ['validation']"]):
        (project / "agent.py").write_text(text)
        torchlint("check", "--fix", "--select", "TL201", cwd=project)
        assert (project / "agent.py").read_text() == text
        torchlint("check", "--fix", "--select", "TL201", *flags, cwd=project)
        assert "if __debug__" in (project / "agent.py").read_text() or "DEBUG" in (project / "agent.py").read_text()
    (project / "agent.py").write_text(text)
    torchlint("check", "--fix", "--select", "TL201", "--accept", "rounding", cwd=project)
    assert (project / "agent.py").read_text() == text


def test_fix_only_reports_nothing_else(torchlint, project):
    (project / "other.py").write_text(AGENT.replace(OLD, f"{OLD}  # kept\n        mask = {OLD}"))
    done = torchlint("check", "--fix-only", "--unfixable", "TL102", cwd=project)
    assert (done.returncode, done.stdout) == (0, "")
    done = torchlint("check", "--fix-only", cwd=project)
    assert (done.returncode, done.stdout) == (0, "")
    assert "Fixed " in done.stderr
    assert OLD not in (project / "agent.py").read_text()


def test_show_fixes_lists_what_was_fixed(torchlint, project):
    done = torchlint("check", "--fix", "--show-fixes", cwd=project)
    assert done.stderr.startswith("agent.py:\n  1 x TL102 cpu-then-move\nFixed 1 finding in 1 file")
    assert "agent.py:\n" not in torchlint("check", "--fix", cwd=project).stderr


# known findings -------------------------------------------------------------------------------------------------------


def test_a_baseline_hides_what_is_known_and_shows_what_is_new(torchlint, project):
    written = torchlint("baseline", cwd=project)
    assert (written.returncode, written.stderr) == (0, "")
    assert written.stdout.startswith("1 known finding in torchlint-baseline.jsonl\n")
    file = project / "torchlint-baseline.jsonl"
    (entry,) = map(json.loads, file.read_text().splitlines())
    assert (entry["path"], entry["code"], set(entry)) == ("agent.py", "TL102", {"path", "code", "fingerprint"})
    clean = torchlint("check", "--baseline", file.name, cwd=project)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "Nothing new found in 1 file\n")
    (project / "pyproject.toml").write_text('[tool.torchlint]\nbaseline = "torchlint-baseline.jsonl"\n')
    # Lines move, and a new finding comes.
    moved = "# moved\n\n" + AGENT.replace(OLD, f"{OLD}\n        more = torch.ones(1, 6).to(self.device)")
    (project / "agent.py").write_text(moved)
    done = torchlint("check", cwd=project)
    assert (done.returncode, done.stdout.split(": ")[0]) == (1, "agent.py:15:16")
    assert done.stdout.count("\n") == 1
    fixed = torchlint("check", "--fix", cwd=project)
    assert fixed.returncode == 0
    assert OLD in (project / "agent.py").read_text()
    assert "torch.ones(1, 6, device=self.device)" in (project / "agent.py").read_text()


def test_entries_that_no_longer_fit_are_told_and_go_when_the_baseline_is_refreshed(torchlint, project):
    (project / "sub").mkdir()
    (project / "sub" / "b.py").write_text(AGENT)
    assert torchlint("baseline", cwd=project).stdout.startswith("2 known findings in ")
    (project / "agent.py").write_text(AGENT.replace(OLD, NEW))
    flags = ("--baseline", "torchlint-baseline.jsonl")
    warning = "torchlint: warning: 1 entry of the baseline fits no longer: torchlint baseline\n"
    assert warning in torchlint("check", *flags, cwd=project).stderr
    # What was not looked at, or not looked for, is not called stale.
    assert "baseline" not in torchlint("check", *flags, "sub", cwd=project).stderr
    assert "baseline" not in torchlint("check", *flags, "--select", "TL2", cwd=project).stderr
    (project / "agent.py").unlink()
    assert warning in torchlint("check", *flags, "sub", cwd=project).stderr
    assert torchlint("baseline", "sub", cwd=project).stdout.startswith("1 known finding in ")
    assert "baseline" not in torchlint("check", *flags, cwd=project).stderr


def test_refreshing_a_folder_keeps_the_entries_of_others(torchlint, project):
    (project / "sub").mkdir()
    (project / "sub" / "b.py").write_text(AGENT)
    torchlint("baseline", cwd=project)
    before = (project / "torchlint-baseline.jsonl").read_bytes()
    assert torchlint("baseline", "sub", cwd=project).returncode == 0
    assert (project / "torchlint-baseline.jsonl").read_bytes() == before
    assert before.splitlines() == sorted(before.splitlines())


def test_no_baseline_is_written_from_half_a_project(torchlint, project):
    torchlint("baseline", cwd=project)
    before = (project / "torchlint-baseline.jsonl").read_bytes()
    done = torchlint("baseline", "gone", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "gone: no such file or folder" in done.stderr
    assert (project / "torchlint-baseline.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such baseline file; write one with torchlint baseline"),
        (b"<<<<<<< HEAD\n", ":1: not a baseline entry: '<<<<<<< HEAD'"),
        (b'\n{"path": 1, "code": "TL102", "fingerprint": "a"}\n', ":2: an entry holds the strings path, code and"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_broken_baseline_is_one_clear_error(torchlint, project, content, message):
    if content is not None:
        (project / "b.jsonl").write_bytes(content)
    done = torchlint("check", "--baseline", "b.jsonl", cwd=project)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
    if content is not None:
        refreshed = torchlint("baseline", "--baseline", "b.jsonl", cwd=project)
        assert (refreshed.returncode, (project / "b.jsonl").read_bytes()) == (2, content)


def git(folder, *words):
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(project):
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


def test_since_reports_on_changed_lines_only(torchlint, repository):
    def rows(*flags):
        done = torchlint("check", "--since", "HEAD", *flags, cwd=repository)
        assert done.returncode in (0, 1), done.stderr
        return [line.split(": ")[0] for line in done.stdout.splitlines()]

    assert rows() == []
    new = AGENT.replace(OLD, f"{OLD}\n        more = torch.ones(1, 6).to(self.device)")
    (repository / "agent.py").write_text(f"# moved\n{new}")
    assert rows() == ["agent.py:14:16"]
    (repository / "new.py").write_text(AGENT)
    assert rows() == ["agent.py:14:16", "new.py:12:16"]
    git(repository, "add", ".")
    assert rows() == ["agent.py:14:16", "new.py:12:16"]
    assert rows("--fix") == []
    text = (repository / "agent.py").read_text()
    assert OLD in text
    assert "torch.ones(1, 6, device=self.device)" in text
    assert OLD not in (repository / "new.py").read_text()


def test_since_another_branch_means_where_the_two_parted(torchlint, repository):
    git(repository, "switch", "-qc", "topic")
    (repository / "agent.py").write_text(AGENT + "\n# mine\n")
    git(repository, "commit", "-qam", "topic")
    git(repository, "switch", "-q", "main")
    (repository / "agent.py").write_text(AGENT.replace(OLD, NEW))
    git(repository, "commit", "-qam", "main goes on")
    git(repository, "switch", "-q", "topic")
    done = torchlint("check", "--since", "main", cwd=repository)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("no-such", "--since: unknown git revision 'no-such'"),
        ("--output=x", "--since: '--output=x' is not a revision"),
        ("", "--since: '' is not a revision"),
    ],
)
def test_since_what_git_does_not_know(torchlint, repository, revision, message):
    done = torchlint("check", f"--since={revision}", cwd=repository)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"torchlint: error: {message}\n")
    assert not (repository / "x").exists()


def test_since_outside_of_a_repository(torchlint, project):
    done = torchlint("check", "--since", "HEAD", cwd=project, env={"GIT_CEILING_DIRECTORIES": str(project.parent)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"torchlint: error: --since: {project} is not in a git repository\n"
    done = torchlint("check", "--since", "HEAD", cwd=project, env={"PATH": "/nowhere"})
    assert done.stderr == "torchlint: error: --since: git is not installed\n"


def test_add_noqa_silences_what_is_found(torchlint, project):
    done = torchlint("check", "--add-noqa", ".", cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Silenced 1 finding in 1 file\n")
    assert (project / "agent.py").read_text() == AGENT.replace(OLD, f"{OLD}  # noqa: TL102")
    assert torchlint("check", cwd=project).stdout == ""
    assert torchlint("check", "--ignore-noqa", cwd=project).stdout.startswith("agent.py:12:16: TL102")
    again = torchlint("check", "--add-noqa", cwd=project)
    assert again.stderr == "Silenced 0 findings in 0 files\n"


def test_add_noqa_with_a_reason(torchlint, project):
    torchlint("check", "--add-noqa=see the issue", cwd=project)
    assert f"{OLD}  # noqa: TL102 see the issue\n" in (project / "agent.py").read_text()
    assert torchlint("check", cwd=project).stdout == ""


@pytest.mark.parametrize(
    ("code", "silenced"),
    [
        (f"mask = {OLD}  # why", f"mask = {OLD}  # why  # noqa: TL102"),
        (f"mask = {OLD}  # noqa: E501", f"mask = {OLD}  # noqa: E501, TL102"),
        (f"mask = {OLD}  # noqa:E501,W1 long", f"mask = {OLD}  # noqa:E501,W1, TL102 long"),
        (f"mask = ({OLD}\n                )", f"mask = ({OLD}\n                )  # noqa: TL102"),
        (f"mask = {OLD} + \\\n            0", f"mask = {OLD} + \\\n            0  # noqa: TL102"),
        (f'mask = {OLD}; s = """\n  é"""', f'mask = {OLD}; s = """\n  é"""  # noqa: TL102'),
        (f"mask = {OLD}   ", f"mask = {OLD}  # noqa: TL102"),
    ],
)
def test_add_noqa_finds_the_place(torchlint, project, code, silenced):
    text = AGENT.replace(f"mask = {OLD}", code)
    (project / "agent.py").write_text(text)
    assert torchlint("check", cwd=project).returncode == 1
    done = torchlint("check", "--add-noqa", cwd=project)
    assert done.returncode == 0, done.stderr
    assert (project / "agent.py").read_text() == text.replace(code, silenced)
    assert torchlint("check", cwd=project).returncode == 0


def test_add_noqa_goes_on_where_a_finding_hid_another(torchlint, tmp_path):
    shutil.copytree(ROOT / "examples" / "agent", tmp_path, dirs_exist_ok=True)
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    done = torchlint("check", "--add-noqa", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    clean = torchlint("check", cwd=tmp_path)
    assert (clean.returncode, clean.stdout) == (0, "")


def test_explain_hot_asks_for_no_baseline(torchlint, project):
    (project / "pyproject.toml").write_text('[tool.torchlint]\nbaseline = "gone.jsonl"\n')
    done = torchlint("check", "--explain-hot", "agent.py:12", "--since", "no-such", cwd=project)
    assert (done.returncode, done.stdout[:18]) == (0, "agent.py:12 runs o")


def test_add_noqa_leaves_broken_files_alone(torchlint, project):
    (project / "broken.py").write_text("import torch\ndef f(:\n")
    done = torchlint("check", "--add-noqa", cwd=project)
    assert (done.returncode, done.stderr) == (0, "Silenced 1 finding in 1 file\n")
    assert (project / "broken.py").read_text() == "import torch\ndef f(:\n"


# output ---------------------------------------------------------------------------------------------------------------


def test_statistics(torchlint, project):
    (project / "b.py").write_text(AGENT.replace(OLD, f"{OLD}\n        more = {OLD}"))
    (project / "broken.py").write_text("import torch\ndef f(:\n")
    done = torchlint("check", "--statistics", cwd=project)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "3  TL102  [3]  cpu-then-move\n1  TL000       syntax-error\n[n]: fixable with --fix\n"
    rows = json.loads(torchlint("check", "--statistics", "--output-format", "json", cwd=project).stdout)
    assert rows[0] == {"code": "TL102", "name": "cpu-then-move", "count": 3, "fixable": 3}
    empty = torchlint("check", "--statistics", "--select", "TL2", "agent.py", cwd=project)
    assert (empty.returncode, empty.stdout) == (0, "")


def test_silent_prints_nothing_but_errors(torchlint, project):
    done = torchlint("check", "-s", cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    done = torchlint("check", "-s", "gone.py", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "gone.py" in done.stderr


def test_verbose_says_what_was_read(torchlint, project):
    (project / "b.py").write_text("import torch\n")
    done = torchlint("check", "-v", "agent.py", cwd=project)
    assert done.stdout.count("\n") == 1
    assert done.stderr.splitlines()[:2] == [
        f"torchlint: settings: {project / 'pyproject.toml'}",
        f"torchlint: project: {project}: 1 file linted, 1 more file read for their calls",
    ]


def test_show_files_lists_what_would_be_linted(torchlint, project):
    (project / "build").mkdir()
    (project / "build" / "x.py").write_text("")
    (project / "a\nb.py").write_text("")
    done = torchlint("check", "--show-files", cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\\nb.py\nagent.py\n", "")
    assert torchlint("check", "--show-files", "--exclude", "a*", cwd=project).stdout == "build/x.py\n"
    gone = torchlint("check", "--show-files", "gone", cwd=project)
    assert (gone.returncode, gone.stdout) == (2, "")


def test_show_settings_is_a_settings_file(torchlint, project):
    flags = ("--accept", "rounding", "--per-file-ignores", 'a"b/*:TL1', "--fail-level", "note")
    done = torchlint("check", "--show-settings", *flags, cwd=project)
    assert done.returncode == 0
    assert done.stdout.startswith(f"# root: {project}\n# file: {project / 'pyproject.toml'}\n")
    shown = read_toml(done.stdout, "shown")
    assert (shown["accept"], shown["per-file-ignores"], shown["fail-level"]) == (
        ["rounding"],
        {'a"b/*': ["TL1"]},
        "note",
    )
    (project / "torchlint.toml").write_text(done.stdout)
    again = torchlint("check", "--show-settings", cwd=project)
    assert again.stdout.splitlines()[2:] == done.stdout.splitlines()[2:]


def test_no_context_reads_the_given_files_alone(torchlint, project):
    head, train = AGENT.split("def train")
    (project / "agent.py").write_text(head)
    (project / "train.py").write_text(f"from agent import Agent\n\n\ndef train{train}")
    assert torchlint("check", "agent.py", cwd=project).returncode == 1
    assert torchlint("check", "agent.py", "--no-context", cwd=project).returncode == 0
    assert torchlint("check", "agent.py", "train.py", "--no-context", cwd=project).returncode == 1


@pytest.mark.parametrize("workspace", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"])
def test_services_get_paths_of_the_whole_repository(torchlint, project, workspace):
    env = {workspace: str(project.parent)}
    done = torchlint("check", "--output-format", "gitlab", cwd=project, env=env)
    assert json.loads(done.stdout)[0]["location"]["path"] == f"{project.name}/agent.py"


# watching -------------------------------------------------------------------------------------------------------------


def test_watch_lints_again_when_a_file_changes(project):
    path = str(ROOT)
    out, err = project / "out.txt", project / "err.txt"
    command = [sys.executable, "-m", "torchlint", "check", "--watch"]
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen(
            command, cwd=project, stdout=stdout, stderr=stderr, env={**os.environ, "PYTHONPATH": path}
        )

    def told(text, times=1):
        wait_for(lambda: err.read_text().count(text) == times or process.poll() is not None)
        assert process.poll() is None, err.read_text()

    try:
        told("watching")
        assert out.read_text().count("TL102") == 1
        put(project / "agent.py", AGENT.replace(OLD, f"{OLD}\n        more = {OLD}"))
        told("watching", 2)
        assert out.read_text().count("TL102") == 3
        put(project / "pyproject.toml", "[tool.torchlint]\nselct = []\n")
        told("unknown key 'selct'")
        put(project / "pyproject.toml", "[tool.torchlint]\nselect = ['TL2']\n")
        told("watching", 3)
        assert out.read_text().count("TL102") == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    finally:
        process.kill()
    assert "Traceback" not in err.read_text()
    assert err.read_text().splitlines()[-1] == "torchlint: interrupted"


def put(path, text):
    """Write a file at once: who watches it sees no half of it."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


# nested settings ------------------------------------------------------------------------------------------------------


def test_the_settings_closest_to_a_file_hold_for_it(torchlint, project):
    for name in ("plain", "quiet", "quiet/deep", "extends"):
        (project / name).mkdir()
        (project / name / "a.py").write_text(AGENT)
    (project / "pyproject.toml").write_text('[tool.torchlint]\nignore = ["TL101"]\nextend-exclude = ["gone.py"]\n')
    (project / "quiet" / "torchlint.toml").write_text('ignore = ["TL102"]\n')
    (project / "extends" / "torchlint.toml").write_text('extend = "../pyproject.toml"\nunfixable = ["TL102"]\n')
    (project / "plain" / "torchlint.toml").write_text('exclude = ["b.py"]\n')
    (project / "plain" / "b.py").write_text(AGENT)
    done = torchlint("check", ".", cwd=project)
    assert done.returncode == 1
    assert [line.split(" ")[0] + line[line.index("TL") + 5 :][:4] for line in done.stdout.splitlines()] == [
        "agent.py:12:16: [*]",
        "extends/a.py:12:16: tor",
        "plain/a.py:12:16: [*]",
    ]
    # A file that is given is linted, unless exclusion is forced.
    assert torchlint("check", "plain/b.py", cwd=project).stdout.startswith("plain/b.py:12:16: TL102")
    assert torchlint("check", "plain/b.py", "--force-exclude", cwd=project).stdout == ""
    # Flags hold for every file, and a settings file that is given takes the place of all others.
    assert torchlint("check", ".", "--ignore", "TL102", cwd=project).stdout == ""
    assert torchlint("check", ".", "--isolated", "--statistics", cwd=project).stdout.startswith("6  TL102")
    shown = torchlint("check", ".", "--config", "quiet/torchlint.toml", "--statistics", cwd=project)
    assert (shown.returncode, shown.stdout) == (0, "")


def test_broken_nested_settings_are_one_clear_error(torchlint, project):
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text(AGENT)
    (project / "sub" / "torchlint.toml").write_text("\nselct = []\n")
    done = torchlint("check", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    message = f"torchlint: error: {project}/sub/torchlint.toml:2: unknown key 'selct'; did you mean 'select'?\n"
    assert done.stderr == message


def test_settings_inside_a_project_do_not_cut_it_off(torchlint, project):
    """What makes a line hot may lie outside of the folder that has settings of its own."""
    head, train = AGENT.split("def train")
    (project / "agent.py").unlink()
    (project / "lib").mkdir()
    (project / "lib" / "agent.py").write_text(head)
    (project / "lib" / "torchlint.toml").write_text("preview = true\n")
    (project / "train.py").write_text(f"from lib.agent import Agent\n\n\ndef train{train}")
    done = torchlint("check", "lib", cwd=project)
    assert done.stdout.startswith("lib/agent.py:12:16: TL102")


# config, clean, completion --------------------------------------------------------------------------------------------


# Options that say what one run does, and keys that only a project has.
FOR_ONE_RUN = {
    *("add-noqa", "cache-dir", "config", "diff", "exit-non-zero-on-fix", "exit-zero", "explain-hot", "help"),
    *("color", "ignore-noqa", "isolated", "no-cache", "no-context", "output-file", "paths", "quiet", "show-files"),
    *("show-settings", "silent", "since", "statistics", "stdin-filename", "verbose", "watch", "profile", "mapping"),
    *("top", "show-all", "html", "save", "compare", "badge", "interactive"),
}
FOR_A_PROJECT = {"cold", "docs-url", "extend", "hot", "ignore-guards", "models", "plugins", "rules"}


def test_keys_mirror_the_flags():
    from torchlint.cli.check import check

    options = {str(param.name).replace("_", "-") for param in check.params}
    assert options - FOR_ONE_RUN == set(KEYS) - FOR_A_PROJECT


def test_what_costs_nothing_on_the_cpu_is_silent_there(torchlint, project):
    text = AGENT.replace(f"mask = {OLD}", "mask = obs[obs > 0].sum()").replace("self, obs)", "self, obs: torch.Tensor)")
    (project / "agent.py").write_text(text)
    flags = ("check", "--select", "TL202", "--fail-level", "note")
    assert torchlint(*flags, "--device", "cuda", cwd=project).returncode == 1
    assert torchlint(*flags, "--device", "cpu", cwd=project).returncode == 0
    assert torchlint(*flags, "--config", "device = 'cpu'", cwd=project).returncode == 0


def test_config_lists_and_explains_every_key(torchlint, project):
    done = torchlint("config", cwd=project)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith("   ")] == list(KEYS)
    assert max(map(len, lines)) <= 80
    one = torchlint("config", "fail-level", cwd=project).stdout
    assert one == (
        "fail-level\n  Lowest level of finding that makes the exit code 1.\n"
        '  default: "warning"\n  one of:  note, warning, never\n  example: fail-level = "note"\n'
    )
    described = json.loads(torchlint("config", "--output-format", "json", cwd=project).stdout)
    assert described["device"]["default"] == "auto"
    assert set(described) == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_examples_of_settings_are_valid_and_so_says_the_schema(torchlint, project, key):
    text = f"{key} = {KEYS[key].example}\n"
    Draft7Validator(json.loads(schema_text())).validate(read_toml(text, key))
    if key == "extend":
        (project / "torchlint.toml").write_text("")
        (project / "sub").mkdir()
        (project / "sub" / "torchlint.toml").write_text(text)
        done = torchlint("check", "sub", "--show-settings", cwd=project)
    else:
        (project / "torchlint.toml").write_text(text)
        done = torchlint("check", "--show-settings", cwd=project)
    assert done.returncode == 0, done.stderr


WRONG = [
    "selct = []",
    "select = 'TL1'",
    "preview = 1",
    "device = 'gpu'",
    "accept = ['all']",
    "hot = ['f']",
    "rules = 1",
]


@pytest.mark.parametrize("text", WRONG)
def test_the_schema_refuses_what_torchlint_refuses(torchlint, project, text):
    assert not Draft7Validator(json.loads(schema_text())).is_valid(read_toml(text, "x"))
    (project / "torchlint.toml").write_text(text)
    assert torchlint("check", cwd=project).returncode == 2


def test_the_schema_is_a_schema_and_the_shipped_one_is_current(torchlint, project, root):
    done = torchlint("config", "--schema", cwd=project)
    schema = json.loads(done.stdout)
    Draft7Validator.check_schema(schema)
    Draft7Validator(schema).validate(
        {k: known["default"] for k, known in schema["properties"].items() if "default" in known}
    )
    assert (root / "torchlint.schema.json").read_text() == done.stdout


def test_clean_removes_the_cache_and_nothing_else(torchlint, project):
    assert torchlint("clean", cwd=project).stdout == f"There is no {project}/.torchlint_cache\n"
    (project / ".torchlint_cache").mkdir()
    (project / ".torchlint_cache" / "x").write_text("")
    (project / "sub").mkdir()
    done = torchlint("clean", "sub", cwd=project)
    assert (done.returncode, done.stdout) == (0, f"Removed {project}/.torchlint_cache\n")
    assert sorted(path.name for path in project.iterdir()) == ["agent.py", "pyproject.toml", "sub"]
    (project / "kept").mkdir()
    (project / "kept" / "mine").write_text("")
    for target in ("kept", "nowhere"):
        (project / ".torchlint_cache").symlink_to(target)
        done = torchlint("clean", cwd=project)
        assert (done.returncode, done.stdout) == (0, f"Removed the link {project}/.torchlint_cache\n")
        assert not (project / ".torchlint_cache").is_symlink()
    assert (project / "kept" / "mine").is_file()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("torchlint ch", "check"),
        ("torchlint check --output-for", "--output-format"),
        ("torchlint check --output-format gi", "gitlab"),
        ("torchlint check --accept rounding,va", "rounding,validation"),
        ("torchlint check --select TL1,TL50", "TL1,TL501"),
        ("torchlint rule tl50", "TL501"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(torchlint, project, typed, completed, shell):
    words = typed.split()
    env = {"_TORCHLINT_COMPLETE": f"{shell}_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    done = torchlint(cwd=project, env={**env, "COMP_CWORD": words[-1]} if shell == "fish" else env)
    assert completed in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script(torchlint, project, shell):
    done = torchlint(cwd=project, env={"_TORCHLINT_COMPLETE": f"{shell}_source"})
    assert (done.returncode, "_TORCHLINT_COMPLETE" in done.stdout) == (0, True)


# every combination that prints ----------------------------------------------------------------------------------------


def test_width_and_colours_are_kept_by_every_format(torchlint, project):
    from torchlint.settings.options import OUTPUT_FORMATS

    for name in OUTPUT_FORMATS:
        done = torchlint("check", "--output-format", name, cwd=project)
        assert done.returncode == 1, name
        assert "\x1b" not in done.stdout, name
        assert "TL102" in done.stdout, name
        file = Path(project, "out.txt")
        torchlint("check", "--output-format", name, "-o", "out.txt", cwd=project, env={"FORCE_COLOR": "1"})
        assert file.read_text() == done.stdout or name == "full", name
