"""The command line against a fake engine: what it asks for, and how it exits."""

from pathlib import Path

import pytest
from fake_engine import ERROR, LINE, NOTE, WARNING, fixed_file, install

from torchlint.cli import main
from torchlint.engine.result import Problem
from torchlint.rule import Change
from torchlint.settings.check import SettingsError
from torchlint.settings.model import Settings

pytestmark = pytest.mark.versions


@pytest.fixture
def engine(monkeypatch, tmp_path):
    return install(monkeypatch, tmp_path)


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
    "--fix-only": {"fix_only": True, "fix": True},
    "--show-fixes": {"show_fixes": True},
    "--fixable TL1": {"fixable": ("TL1",)},
    "--unfixable TL1,TL2": {"unfixable": ("TL1", "TL2")},
    "--per-file-ignores tests/*:TL1,TL2,demo.py:TL3": {
        "per_file_ignores": (("tests/*", ("TL1", "TL2")), ("demo.py", ("TL3",)))
    },
    "--ignore-noqa": {"ignore_noqa": True},
    "--since HEAD~1": {"since": "HEAD~1"},
    "--no-context": {"no_context": True},
    "--config preview=true --config fail-level='never'": {"preview": True, "fail_level": "never"},
    "--exit-zero": {"exit_zero": True},
    "-e": {"exit_zero": True},
    "--exit-non-zero-on-fix": {"exit_non_zero_on_fix": True},
    "--force-exclude": {"force_exclude": True},
    "--exclude a,b --exclude c": {"exclude": ("a", "b", "c")},
    "--extend-exclude a": {"extend_exclude": ("a",)},
    "--respect-gitignore": {"respect_gitignore": True},
    "--no-respect-gitignore": {"respect_gitignore": False},
    "--isolated": {"isolated": True},
    "--jobs 3": {"jobs": 3},
    "-j 3": {"jobs": 3},
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
    plain = Settings(engine.settings.root, distributed=False)
    others = [name for name in Settings.__slots__ if name not in (*expected, "file", "files", "target_stated")]
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
    assert (engine.settings.root, engine.settings.fail_level) == (tmp_path, "note")
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
    "xyz": "no such command: xyz\n",
    "check --slect TL1": "no such option: --slect; did you mean '--select'?",
    "check --unsafe": "no such option: --unsafe; did you mean '--unsafe-fixes'?",
    "check -x": "no such option: -x\n",
    "--vresion": "no such option: --vresion; did you mean '--version'?",
    "check --output-format ful": "'ful' is not one of full, concise, grouped, json, json-lines,",
    "check --output-format zzzz": "rdjson, azure, pylint, lintrunner, markdown, html, agent\n",
    "check --output-format ful --quiet": "did you mean 'full'?",
    "check --device gpu": "'gpu' is not one of auto, cpu, cuda; did you mean",
    "check --fail-level warnings": "did you mean 'warning'?",
    "check --accept rounding,validaton": "'validaton' is not one of",
    "check --target-torch two": "'two' is not a version of torch such as '2.2'",
    "check --target-version 3.10": "did you mean 'py310'?",
    "check --accept roundin": "did you mean 'rounding'?",
    "check --config no-such.toml": "no-such.toml",
    "check --config preveiw=true": "did you mean 'preview'?",
    "check --fix=1": "--fix",
    "check --per-file-ignores TL1": "'TL1' is not of the form PATTERN:SELECTOR",
    "check --per-file-ignores :TL1": "':TL1' is not of the form PATTERN:SELECTOR",
    "check --config a=1=": "--config: not valid TOML",
    "check --config other.toml --config more.toml": "more than one settings file: other.toml, more.toml",
    "check --config pyproject.toml --isolated": "--isolated reads no settings file",
    "check -q -s": "--quiet and --silent cannot be given together",
    "check -q -v": "--quiet and --verbose cannot be given together",
    "check --watch --show-files": "--watch and --show-files cannot be given together",
    "check --add-noqa --fix": "--add-noqa and --fix cannot be given together",
    "check --add-noqa --diff": "--add-noqa and --diff cannot be given together",
    "check --add-noqa -": "- (standard input) and --add-noqa cannot be given together",
    "check --watch -": "- (standard input) and --watch cannot be given together",
    "check --add-noqa=a#b": "--add-noqa: the reason must be one line without #",
    "check @gone.txt": "@gone.txt: cannot read arguments from gone.txt: No such file or directory",
    "config selct": "no such setting: selct; did you mean 'select'?",
    "config select --schema": "--schema takes no key: it describes all settings",
    "config --output-format xml": "'xml' is not one of text, json",
    "clean no-such-folder": "no-such-folder",
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
    "rule TL101 --output-format html": "'html' is not one of text, json, markdown\n",
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
    engine.error = SettingsError("select: no rule matches 'TL999'; did you mean 'TL101'?")
    assert main(["check", "--select", "TL999"]) == 2
    assert capsys.readouterr().err == "torchlint: error: select: no rule matches 'TL999'; did you mean 'TL101'?\n"


def test_without_a_command_the_help_is_shown(engine, capsys):
    assert main([]) == 2
    assert "Usage: torchlint" in capsys.readouterr().err


HELP = [
    "--help",
    "-h",
    *(f"{name} --help" for name in ("check", "rule", "bench", "verify", "baseline", "trend", "config", "clean", "mcp")),
]


@pytest.mark.parametrize("line", HELP)
def test_help_has_examples(engine, capsys, line):
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert "Examples:\n" in out
    assert "torchlint " in out.split("Examples:")[1]
    assert [line for line in out.splitlines() if len(line) > 80] == []


def test_the_help_lists_every_option_of_check_under_a_heading(engine, capsys):
    main(["check", "--help"])
    lines = capsys.readouterr().out.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Fixes:", "Rules:", "Measured:", "Known findings:", "Files:", "Settings:", "Speed:", "Output:", "Exit code:",
        "Other options:",
    ]  # fmt: skip
    assert [line.strip() for line in lines[lines.index("Other options:") + 1 :]] == [
        "-h, --help  Show this message and exit."
    ]


def test_version(engine, capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("torchlint")
