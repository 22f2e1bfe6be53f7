"""One table of options is what the command line, the replay of unchanged runs and the settings are made from."""

import inspect
from dataclasses import fields

import click
import pytest

from torchlint.cli.check import check
from torchlint.cli.checking import perform
from torchlint.cli.warm import cache_path, is_repeatable
from torchlint.settings.model import Settings
from torchlint.settings.options import COMMAND, FILE, OPTIONS, SECTIONS

# What a run is given otherwise: by the project, by a profile, by what was read.
NOT_GIVEN = {"root", "observed", "sights", "line_length", "distributed", "file", "files"}
ON_LINES = [option for option in OPTIONS if option.flags]
REPLAYED = [option for option in ON_LINES if not option.once]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    for option in OPTIONS:
        monkeypatch.delenv(option.variable or "NO_SUCH", raising=False)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "project")


def by_click(*args):
    """The parameters that click reads in a line; ``None`` when it refuses."""
    try:
        return check.make_context("check", list(args), help_option_names=["-h", "--help"]).params
    except click.ClickException:
        return None


def test_every_setting_is_a_field_and_every_other_option_a_parameter():
    settings = {option.name for option in OPTIONS if option.scope != COMMAND} - {"extend"}
    assert settings == {field.name for field in fields(Settings)} - NOT_GIVEN - {"isolated"}
    parameters = inspect.signature(perform).parameters.keys() - {"paths", "wanted", "overrides"}
    assert parameters == {option.name for option in OPTIONS if option.scope == COMMAND}


def test_every_option_has_a_heading_in_the_help_and_every_setting_an_example():
    assert {option.name for option in SECTIONS[""]} == {option.name for option in OPTIONS if not option.flags}
    assert [option.name for option in OPTIONS if bool(option.example) != (option.scope == FILE)] == []


@pytest.mark.parametrize("option", ON_LINES, ids=lambda option: option.name)
def test_click_and_the_replay_agree_on_which_options_take_a_value(option):
    (made,) = (each for each in check.params if each.name == option.name)
    assert isinstance(made, click.Option)
    assert {*made.opts, *made.secondary_opts} == set(option.spellings())
    assert made.is_flag == (option.kind == "switch")
    assert (made.envvar or "") == option.variable


@pytest.mark.parametrize("option", REPLAYED, ids=lambda option: option.name)
def test_the_value_of_an_option_is_no_path_to_lint(tmp_path, option):
    """A path outside of the project would make the cache another one."""
    expected = cache_path(["check", "a.py", "b"])
    assert expected is not None
    assert expected.startswith(str(tmp_path / "project"))
    assert cache_path(["check", "a.py", "b", "/"]) != expected
    if option.name == "cache_dir":
        assert str(cache_path(["check", "--cache-dir", str(tmp_path)])).startswith(str(tmp_path))
        return
    for word in option.spellings():
        values = [[]] if option.kind == "switch" else [["/"]]
        assert [cache_path(["check", "a.py", word, *value, "b"]) for value in values] == [expected]
        if word.startswith("--") and values != [[]]:
            assert cache_path(["check", "a.py", f"{word}=/", "b"]) == expected
            assert cache_path(["check", "a.py", word]) is None


@pytest.mark.parametrize("option", [option for option in ON_LINES if option.once], ids=lambda option: option.name)
def test_a_run_that_does_more_than_print_is_not_replayed(option, tmp_path):
    word = next(option.spellings())
    assert cache_path(["check", word, "x"]) is None
    given = by_click(*([word] if option.kind == "switch" else [f"{word}=x"]))
    assert given is not None
    assert not is_repeatable(given)
    assert is_repeatable(by_click("--statistics", "a.py"))


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["--version"],
        ["rule", "TL101"],
        ["check", "--help"],
        ["check", "--selct", "TL1"],
        ["check", "--select"],
        ["check", "@files.txt"],
        ["check", "--select", "@files.txt"],
        ["check", "--", "-x"],
        ["check", "-qe"],
        ["check", "-j4"],
        ["check", "-"],
        ["check", "--isolated=1"],
        ["check", "a\nb.py"],
    ],
)
def test_an_unusual_line_is_not_replayed(line):
    assert cache_path(line) is None


def test_a_page_to_which_every_run_adds_is_not_replayed(monkeypatch):
    given = by_click("a.py")
    assert is_repeatable(given)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "page.md")
    assert not is_repeatable(given)


@pytest.mark.parametrize(
    ("name", "value"), [("TORCHLINT_OUTPUT_FORMAT", "x"), ("TORCHLINT_JOBS", "x"), ("TORCHLINT_NO_CACHE", "maybe")]
)
def test_what_is_wrong_in_the_environment_is_told_by_its_name(monkeypatch, capsys, name, value):
    from torchlint.cli import main

    monkeypatch.setenv(name, value)
    assert main(["check"]) == 2
    assert capsys.readouterr().err.startswith(f"torchlint: error: environment variable {name}: '{value}' is ")
