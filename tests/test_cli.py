"""The command line against a fake engine: what it asks for, what it prints where, and how it exits."""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from reporting import COST, STEP, finding_of, fix_of

from torchlint.cli import main
from torchlint.engine.result import FixedFile, Problem, Result
from torchlint.rule import Change, Level, Rule, Trigger
from torchlint.settings.check import SettingsError
from torchlint.settings.model import Settings
from torchlint.sources.text import Source

TEXT = "x = torch.FloatTensor(obs)\n"
FIXED = "x = torch.as_tensor(obs)\n"
CODE = "torch.FloatTensor(obs)"
WARNING = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "torch.as_tensor(obs)"), hot=STEP, cost=COST)
NOTE = finding_of(TEXT, CODE, level=Level.NOTE, code="TL301")
ERROR = finding_of(TEXT, CODE, level=Level.ERROR, code="TL000")
LINE = "agent.py:1:5: TL101 [*] use torch.as_tensor\n"


class Sample(Rule):
    """A sample.

    ## What it does
    Nothing.
    """

    code = "TL101"
    name = "legacy-tensor-constructor"
    summary = "a sample"
    trigger = Trigger()


@dataclass
class Engine:
    """Answers with one result, and remembers what it was asked."""

    result: Result = field(default_factory=Result)
    error: Exception | None = None
    hot: list = field(default_factory=list)
    paths: tuple = ()
    settings: Settings | None = None
    stdin: Source | None = None
    asked: tuple = ()

    def check(self, paths, settings, stdin=None):
        self.paths, self.settings, self.stdin = tuple(paths), settings, stdin
        if self.error:
            raise self.error
        return self.result

    def explain_hot(self, path, row, settings):
        self.asked = (path, row)
        return self.hot

    def finds(self, *findings, files=1, problems=(), fixed=None):
        source = source_at(Path.cwd() / "agent.py", "agent.py", TEXT)
        self.result = Result(list(findings), {"agent.py": source}, list(problems), fixed or {}, files)
        return self


def source_at(path, name, text, **fields):
    return Source(path, name, text, text.encode(), **fields)


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """A fake engine, in an empty project, without the settings of the environment."""
    fake = Engine()
    run, rules = ModuleType("torchlint.engine.run"), ModuleType("torchlint.engine.rules")
    run.check, run.explain_hot = fake.check, fake.explain_hot
    rules.load_rules, rules.figures = (lambda: (Sample,)), (lambda: {"TL101": (COST,)})
    monkeypatch.setitem(sys.modules, "torchlint.engine.run", run)
    monkeypatch.setitem(sys.modules, "torchlint.engine.rules", rules)
    for name in ("TORCHLINT_OUTPUT_FORMAT", "NO_COLOR", "FORCE_COLOR", "GITHUB_STEP_SUMMARY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    (tmp_path / "agent.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return fake.finds()


def feed(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# flags ----------------------------------------------------------------------------------------------------------------

FLAGS = {
    "--fix": {"fix": True},
    "--unsafe-fixes": {"unsafe_fixes": True},
    "--accept rounding,validation --accept rng": {"accept": {Change.ROUNDING, Change.VALIDATION, Change.RNG}},
    "--diff": {"diff": True},
    "--diff --fix": {"diff": True, "fix": False},
    "--select TL1,TL201 --select cpu-then-move": {"select": ("TL1", "TL201", "cpu-then-move")},
    "--ignore TL1": {"ignore": ("TL1",)},
    "--extend-select TL3": {"extend_select": ("TL3",)},
    "--preview": {"preview": True},
    "--exit-zero": {"exit_zero": True},
    "-e": {"exit_zero": True},
    "--exit-non-zero-on-fix": {"exit_non_zero_on_fix": True},
    "--force-exclude": {"force_exclude": True},
    "--exclude a,b --exclude c": {"exclude": ("a", "b", "c")},
    "--extend-exclude a": {"extend_exclude": ("a",)},
    "--respect-gitignore": {"respect_gitignore": True},
    "--no-respect-gitignore": {"respect_gitignore": False},
    "--isolated": {"isolated": True},
    "--config preview=true": {"preview": True},
    "--config other.toml": {"fail_level": "never"},
    "--fail-level note": {"fail_level": "note"},
    "--output-format json": {"output_format": "json"},
    "--device cuda": {"device": "cuda"},
    "-o out.txt": {"output_file": Path("out.txt")},
    "--output-file out.txt": {"output_file": Path("out.txt")},
}


@pytest.mark.parametrize("flags", FLAGS)
def test_flags_become_settings(engine, flags):
    Path("other.toml").write_text('fail-level = "never"\n')
    assert main(["check", *flags.split()]) == 0
    expected = FLAGS[flags]
    assert {name: getattr(engine.settings, name) for name in expected} == expected
    plain = Settings(engine.settings.root)
    others = [name for name in Settings.__slots__ if name not in expected]
    assert {name: getattr(engine.settings, name) for name in others} == {name: getattr(plain, name) for name in others}


def test_flags_win_over_files_and_absent_flags_do_not(engine):
    Path("pyproject.toml").write_text('[tool.torchlint]\npreview = true\nselect = ["TL2"]\nfix = true\n')
    main(["check", "--select", "TL1"])
    assert (engine.settings.select, engine.settings.preview, engine.settings.fix) == (("TL1",), True, True)
    main(["check", "--diff"])
    assert (engine.settings.fix, engine.settings.diff) == (False, True)


def test_paths_default_to_the_working_folder(engine, tmp_path):
    main(["check"])
    assert engine.paths == (Path(),)
    main(["check", "a.py", "b"])
    assert engine.paths == (Path("a.py"), Path("b"))
    assert engine.settings.root == tmp_path


def test_settings_are_those_closest_to_what_all_paths_share(engine, tmp_path):
    for folder, level in (("one", "note"), ("two", "never")):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "torchlint.toml").write_text(f'fail-level = "{level}"\n')
    main(["check", "one/deep"])
    assert (engine.settings.root, engine.settings.fail_level) == (tmp_path / "one", "note")
    main(["check", "one/deep", "two/deep"])
    assert (engine.settings.root, engine.settings.fail_level) == (tmp_path, "warning")


# exit codes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finding", "flags", "code"),
    [
        (None, "", 0),
        (NOTE, "", 0),
        (NOTE, "--fail-level note", 1),
        (NOTE, "--fail-level never", 0),
        (WARNING, "", 1),
        (WARNING, "--fail-level note", 1),
        (WARNING, "--fail-level never", 0),
        (WARNING, "--exit-zero", 0),
        (WARNING, "--diff", 0),
        (ERROR, "", 1),
        (ERROR, "--fail-level warning", 1),
        (ERROR, "--fail-level never", 0),
    ],
)
def test_findings_of_the_level_fail(engine, finding, flags, code):
    engine.finds(*([finding] if finding else []))
    assert main(["check", *flags.split()]) == code


def fixed_file(before=TEXT, after=FIXED, name="agent.py", **fields):
    path = Path.cwd() / name
    return {
        name: FixedFile(source_at(path, name, before, **fields), source_at(path, name, after, **fields), (WARNING,))
    }


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ("--fix", 0),
        ("--fix --exit-non-zero-on-fix", 1),
        ("--fix --exit-non-zero-on-fix --exit-zero", 0),
        ("--diff", 1),
        ("--diff --exit-zero", 0),
    ],
)
def test_what_was_fixed_fails_only_on_request(engine, flags, code):
    engine.finds(fixed=fixed_file())
    assert main(["check", *flags.split()]) == code


@pytest.mark.parametrize("flags", ["", "--exit-zero", "--diff", "--fail-level never", "-q"])
@pytest.mark.parametrize("internal", [False, True])
def test_problems_are_told_and_fail(engine, capsys, flags, internal):
    engine.finds(WARNING, problems=[Problem("bad\n.py", "cannot be read: gone", internal)])
    assert main(["check", *flags.split()]) == 2
    kind = "internal error" if internal else "error"
    assert f"torchlint: {kind}: bad\\n.py: cannot be read: gone\n" in capsys.readouterr().err


def test_the_other_files_are_still_reported(engine, capsys):
    engine.finds(WARNING, problems=[Problem("bad.py", "gone")])
    assert main(["check"]) == 2
    assert capsys.readouterr().out == LINE


def test_no_files_is_a_warning(engine, capsys):
    engine.finds(files=0)
    assert main(["check", "empty", "b"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "torchlint: warning: no Python files found in empty, b\n")


def test_a_crash_is_an_internal_error(engine, capsys):
    engine.error = ZeroDivisionError("oh\nno")
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.splitlines()[-1] == (
        r"torchlint: internal error: ZeroDivisionError: oh\nno; please report it with the lines above"
    )


def test_interrupted(engine, capsys):
    engine.error = KeyboardInterrupt()
    assert main(["check"]) == 130
    assert capsys.readouterr().err.endswith("torchlint: interrupted\n")


# wrong usage ----------------------------------------------------------------------------------------------------------

WRONG = {
    "chek": "no such command: chek; did you mean 'check'?",
    "xyz": "no such command: xyz; did you mean",
    "check --slect TL1": "no such option: --slect; did you mean '--select'?",
    "check --unsafe": "no such option: --unsafe; did you mean '--unsafe-fixes'?",
    "check -x": "no such option: -x; did you mean",
    "--vresion": "no such option: --vresion; did you mean '--version'?",
    "check --output-format ful": "'ful' is none of full, concise, json, github; did you mean 'full'?",
    "check --output-format zzzz": "'zzzz' is none of full, concise, json, github; did you mean",
    "check --device gpu": "'gpu' is none of auto, cpu, cuda; did you mean",
    "check --fail-level warnings": "did you mean 'warning'?",
    "check --accept rounding,validaton": "'validaton' is none of",
    "check --accept roundin": "did you mean 'rounding'?",
    "check --config no-such.toml": "no-such.toml",
    "check --config preveiw=true": "did you mean 'preview'?",
    "check --fix=1": "--fix",
    "check --select": "--select",
    "check - a.py": "- (standard input) cannot be given together with other paths",
    "check --stdin-filename a.py": "--stdin-filename is for standard input",
    "check --explain-hot agent.py": "--explain-hot takes FILE:LINE",
    "check --explain-hot agent.py:0": "--explain-hot takes FILE:LINE",
    "check --explain-hot agent.py:x": "--explain-hot takes FILE:LINE",
    "check --explain-hot gone.py:1": "no such file: gone.py",
    "rule": "give the code or name of one rule, or --all",
    "rule TL101 --all": "give the code or name of one rule, or --all",
    "rule TL110": "no such rule: TL110; did you mean 'TL101'?",
    "rule legacy-constructor": "did you mean 'legacy-tensor-constructor'?",
    "rule TL101 --output-format html": "'html' is none of text, json, markdown; did you mean 'text'?",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_is_one_line_and_exits_with_2(engine, capsys, tmp_path, line):
    before = sorted(tmp_path.iterdir())
    assert main(line.replace("check", "check -o out.txt", 1).split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("torchlint: error: ")
    assert WRONG[line] in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_wrong_settings_exit_with_2(engine, capsys):
    Path("pyproject.toml").write_text("[tool.torchlint]\npreveiw = true\n")
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert "pyproject.toml:2" in err
    assert "did you mean 'preview'?" in err


def test_a_selector_that_fits_no_rule_exits_with_2(engine, capsys):
    engine.error = SettingsError("select: no rule fits 'TL999'; did you mean 'TL101'?")
    assert main(["check", "--select", "TL999"]) == 2
    assert capsys.readouterr().err == "torchlint: error: select: no rule fits 'TL999'; did you mean 'TL101'?\n"


def test_without_a_command_the_help_is_shown(engine, capsys):
    assert main([]) == 2
    assert "Usage: torchlint" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["--help", "check --help", "rule --help", "-h"])
def test_help_has_examples(engine, capsys, line):
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert "Examples:\n" in out
    assert "torchlint " in out.split("Examples:")[1]


def test_version(engine, capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("torchlint")


# output ---------------------------------------------------------------------------------------------------------------


def test_concise_is_the_default_off_a_terminal(engine, capsys):
    engine.finds(WARNING)
    main(["check"])
    out, err = capsys.readouterr()
    assert out == LINE
    assert err.startswith("1 finding, 1 fixable safely with --fix; about 3.6 us per environment step")


def test_full_is_the_default_on_a_terminal(engine, capsys, monkeypatch):
    engine.finds(WARNING)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    main(["check"])
    out, err = capsys.readouterr()
    assert out.startswith("warning TL101 legacy-tensor-constructor ─")
    assert out.splitlines()[-1].startswith("1 finding, ")
    assert err == ""


def test_the_environment_names_a_format_and_the_flag_wins(engine, capsys, monkeypatch):
    engine.finds(WARNING)
    monkeypatch.setenv("TORCHLINT_OUTPUT_FORMAT", "json")
    main(["check"])
    assert json.loads(capsys.readouterr().out)[0]["code"] == "TL101"
    main(["check", "--output-format", "concise"])
    assert capsys.readouterr().out == LINE
    monkeypatch.setenv("TORCHLINT_OUTPUT_FORMAT", "jsno")
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert "TORCHLINT_OUTPUT_FORMAT" in err
    assert "did you mean 'json'?" in err


@pytest.mark.parametrize(
    ("terminal", "environment", "colored"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
@pytest.mark.parametrize("name", ["concise", "full"])
def test_colours(engine, capsys, monkeypatch, terminal, environment, colored, name):
    engine.finds(WARNING)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    main(["check", "--output-format", name])
    assert ("\x1b[" in capsys.readouterr().out) is colored


def test_quiet_prints_findings_only(engine, capsys):
    engine.finds(WARNING)
    assert main(["check", "-q"]) == 1
    assert capsys.readouterr() == (LINE, "")
    engine.finds(files=0)
    assert main(["check", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_an_output_file_takes_the_findings(engine, capsys, monkeypatch):
    engine.finds(WARNING)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["check", "-o", "out.txt"]) == 1
    assert Path("out.txt").read_bytes().decode() == LINE
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in Path().iterdir()) == ["agent.py", "out.txt", "pyproject.toml"]


def test_an_output_file_is_replaced_through_links(engine):
    engine.finds(WARNING)
    Path("real.txt").write_text("old" * 1000)
    Path("out.txt").symlink_to("real.txt")
    main(["check", "-o", "out.txt"])
    assert Path("real.txt").read_text() == LINE
    assert Path("out.txt").is_symlink()


def test_an_output_file_that_cannot_be_written_exits_with_2(engine, capsys):
    engine.finds(WARNING)
    assert main(["check", "-o", "no/such/folder/out.txt"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("torchlint: error: cannot write no/such/folder/out.txt")


def test_github_appends_a_table_to_the_summary_page(engine, capsys, monkeypatch, tmp_path):
    engine.finds(WARNING)
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    main(["check"])
    assert page.read_text() == "before\n"
    main(["check", "--output-format", "github"])
    assert capsys.readouterr().out.splitlines()[-1].startswith("::warning title=TL101,file=agent.py,line=1,")
    assert page.read_text().startswith("before\n### torchlint\n")
    assert "| warning | TL101 legacy-tensor-constructor |" in page.read_text()


def test_a_diff_goes_to_standard_output_and_its_summary_to_the_other(engine, capsys):
    engine.finds(NOTE, fixed=fixed_file())
    assert main(["check", "--diff"]) == 1
    out, err = capsys.readouterr()
    assert out == f"--- agent.py\n+++ agent.py\n@@ -1 +1 @@\n-{TEXT}+{FIXED}"
    assert err.startswith("Would fix 1 finding in 1 file")


# standard input -------------------------------------------------------------------------------------------------------


def test_standard_input_is_linted_under_its_name(engine, monkeypatch, capsys, tmp_path):
    engine.finds(WARNING)
    (tmp_path / "lib").mkdir()
    feed(monkeypatch, b"\xef\xbb\xbf" + TEXT.encode())
    assert main(["check", "-", "--stdin-filename", "lib/agent.py"]) == 1
    assert engine.paths == ()
    assert (engine.stdin.name, engine.stdin.text, engine.stdin.bom) == ("lib/agent.py", TEXT, True)
    assert engine.stdin.path == tmp_path / "lib" / "agent.py"
    assert capsys.readouterr().out == LINE


def test_standard_input_needs_no_name(engine, monkeypatch):
    feed(monkeypatch, TEXT.encode())
    assert main(["check", "-"]) == 0
    assert engine.stdin.name == "-"


def test_standard_input_takes_the_settings_of_its_name(engine, monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "torchlint.toml").write_text("preview = true\n")
    feed(monkeypatch, TEXT.encode())
    main(["check", "-", "--stdin-filename", "lib/agent.py"])
    assert (engine.settings.preview, engine.stdin.name) == (True, "agent.py")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_fixed_standard_input_goes_to_standard_output_as_it_came(engine, monkeypatch, capfdbinary, encoding):
    before, after = "# é\r\n" + TEXT, "# é\r\n" + FIXED
    engine.finds(NOTE, fixed=fixed_file(before, after, "agent.py", encoding=encoding))
    feed(monkeypatch, f"# coding: {encoding}\r\n".encode() + before.encode(encoding))
    main(["check", "-", "--fix", "--stdin-filename", "agent.py", "-q"])
    out, err = capfdbinary.readouterr()
    assert out == after.encode(encoding)
    assert err.startswith(b"agent.py:1:5: TL301 use torch.as_tensor")


def test_unfixed_standard_input_goes_to_standard_output_too(engine, monkeypatch, capsys):
    feed(monkeypatch, TEXT.encode())
    assert main(["check", "-", "--fix"]) == 0
    assert capsys.readouterr().out == TEXT


def test_the_diff_of_standard_input(engine, monkeypatch, capsys):
    engine.finds(fixed=fixed_file())
    feed(monkeypatch, TEXT.encode())
    assert main(["check", "-", "--diff", "--stdin-filename", "agent.py"]) == 1
    assert capsys.readouterr().out.startswith("--- agent.py\n+++ agent.py\n")


def test_standard_input_that_is_no_text_exits_with_2(engine, monkeypatch, capsys):
    feed(monkeypatch, b"x = '\xff'\n")
    assert main(["check", "-", "--stdin-filename", "agent.py"]) == 2
    assert capsys.readouterr().err.startswith("torchlint: error: agent.py:1:6: byte 0xff is not UTF-8")


# hotness and rules ----------------------------------------------------------------------------------------------------


def test_explain_hot(engine, capsys, tmp_path):
    engine.hot = [STEP]
    assert main(["check", "--explain-hot", "agent.py:1"]) == 0
    assert engine.asked == (tmp_path / "agent.py", 1)
    assert capsys.readouterr().out == (
        "agent.py:1 runs once per environment step.\n\n"
        "once per environment step:\n"
        "    train.py:88 loop\n"
        "  → agent.py:9 Agent.act\n"
    )


def test_explain_hot_of_a_cold_line(engine, capsys):
    assert main(["check", "--explain-hot", "agent.py:1"]) == 0
    assert capsys.readouterr().out.startswith("agent.py:1 is not hot.\n")


@pytest.mark.parametrize("word", ["TL101", "tl101", "legacy-tensor-constructor"])
def test_rule_takes_codes_and_names(engine, capsys, word):
    assert main(["rule", word]) == 0
    out = capsys.readouterr().out
    assert out.startswith("TL101 legacy-tensor-constructor ─")
    assert "17-dim observations" not in out


def test_rule_in_other_formats(engine, capsys):
    assert main(["rule", "TL101", "--output-format", "json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert one["figures"][0]["saves_us"] == 3.6
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [one]
    assert main(["rule", "--all", "--output-format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# legacy-tensor-constructor (TL101)\n")


# the process ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["rule --all", "check --help", "check --output-format json", "--help"])
def test_a_reader_that_leaves_is_no_error(root, tmp_path, line):
    (tmp_path / "agent.py").write_text("import torch\n")
    read, write = os.pipe()
    os.close(read)
    path = os.pathsep.join((str(root), str(root / "rules")))
    with os.fdopen(write) as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "torchlint", *line.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
