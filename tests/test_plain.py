"""The reader of command lines without click reads what click reads, and leaves to click what it cannot."""

import os

import click
import pytest
from plain_flags import LEFT_TO_CLICK, kind_of, table

from torchlint.cli import flags, main
from torchlint.cli.check import check
from torchlint.cli.plain import read

OPTIONS = [option for option in check.params if isinstance(option, click.Option)]
PLAIN = [option for option in OPTIONS if option.name not in LEFT_TO_CLICK]
# By kind, values that click takes and values that it refuses.
VALUES = {
    "on": ([], []),
    "text": (["origin/main", "", "a b", "-x"], []),
    "each": (["preview = true", "settings.toml"], []),
    "path": (["there.py", "gone.py", "folder", ""], []),
    "file": (["there.py", "gone.py"], ["folder"]),
    "folder": (["folder", "gone"], ["there.py"]),
    "count": (["1", "12"], ["0", "-1", "x", "", "1.5"]),
    "words": (["rounding", "rounding,rng", " rng , order ", ""], []),
    "choice": ([], ["nonsense", ""]),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    for name in flags.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.py").write_text("")
    (tmp_path / "folder").mkdir()


def by_click(args):
    """What click makes of a line; ``None`` when it refuses."""
    try:
        return check.make_context("check", list(args), help_option_names=["-h", "--help"]).params
    except click.ClickException:
        return None


def good_and_bad(option):
    good, bad = VALUES[kind_of(option)]
    choices = flags.CHOICES.get(option.name)
    return (list(choices), bad) if choices and kind_of(option) == "choice" else (good, bad)


def test_the_table_is_that_of_the_command():
    fresh: dict = {}
    exec(table(), fresh)
    for name in ("FLAGS", "CHOICES", "ENVIRONMENT", "START"):
        assert getattr(flags, name) == fresh[name], "run make index"


@pytest.mark.parametrize("option", PLAIN, ids=lambda option: option.name)
def test_both_read_every_option_alike(option):
    good, bad = good_and_bad(option)
    if option.is_flag:
        lines = [[name] for name in (*option.opts, *option.secondary_opts)]
    else:
        lines = [[name, value] for name in option.opts for value in good]
        lines += [[f"{name}={value}"] for name in option.opts for value in good if name.startswith("--")]
    for line in lines:
        expected = by_click(line)
        assert expected is not None, line
        assert read(["check", *line]) == expected
        assert read(["check", "a.py", *line, "b"]) == by_click(["a.py", *line, "b"])
    for name in option.opts:
        assert read(["check", f"{name}=x"]) is None or by_click([f"{name}=x"]) is not None
        for value in bad:
            assert by_click([name, value]) is None
            assert read(["check", name, value]) is None


@pytest.mark.parametrize("one", PLAIN, ids=lambda option: option.name)
def test_both_read_options_together_and_repeated_alike(one):
    for other in PLAIN[PLAIN.index(one) + 1 :]:
        parts = []
        for option in (one, other, one):
            good, _ = good_and_bad(option)
            parts += [option.opts[-1], *([] if option.is_flag else [good[len(parts) % len(good)]])]
        expected = by_click(["x", *parts, "-"])
        assert expected is not None
        assert read(["check", "x", *parts, "-"]) == expected, parts


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
        ["check", "-o=x"],
        ["check", "--fix=1"],
        ["check", "--add-noqa"],
        ["check", "--per-file-ignores", "a:TL1"],
    ],
)
def test_the_unusual_is_left_to_click(line):
    assert read(line) is None


VARIABLES = [
    ("TORCHLINT_OUTPUT_FORMAT", "json", []),
    ("TORCHLINT_OUTPUT_FORMAT", "json", ["--output-format", "full"]),
    ("TORCHLINT_JOBS", "3", []),
    ("TORCHLINT_JOBS", "", []),
    ("TORCHLINT_CACHE_DIR", "folder", []),
    ("TORCHLINT_NO_CACHE", "1", []),
    ("TORCHLINT_NO_CACHE", "0", []),
    ("TORCHLINT_NO_CACHE", "0", ["--no-cache"]),
]


@pytest.mark.parametrize(("name", "value", "line"), VARIABLES)
def test_both_read_the_environment_alike(monkeypatch, name, value, line):
    monkeypatch.setenv(name, value)
    assert read(["check", *line]) == by_click(line)


@pytest.mark.parametrize(
    ("name", "value"), [("TORCHLINT_OUTPUT_FORMAT", "x"), ("TORCHLINT_JOBS", "x"), ("TORCHLINT_NO_CACHE", "maybe")]
)
def test_click_tells_what_is_wrong_in_the_environment(monkeypatch, capsys, name, value):
    monkeypatch.setenv(name, value)
    assert read(["check"]) is None
    assert by_click([]) is None
    assert main(["check"]) == 2
    assert capsys.readouterr().err.startswith(f"torchlint: error: environment variable {name}: '{value}' is ")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_click_tells_what_cannot_be_read(tmp_path):
    (tmp_path / "there.py").chmod(0)
    assert read(["check", "--baseline", "there.py"]) is None
    assert by_click(["--baseline", "there.py"]) is None
    assert read(["check", "there.py"]) == by_click(["there.py"]) is not None  # the run tells of it
