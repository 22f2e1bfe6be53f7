"""The command line against a fake engine: what it prints where."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, wait_for
from fake_engine import CODE, FIXED, LINE, NOTE, TEXT, WARNING, feed, fixed_file, install
from reporting import STEP, finding_of

from torchlint.cli import main, progress
from torchlint.engine.result import NoCodeError
from torchlint.rule import Frequency
from torchlint.rule.frequency import Way, Why


@pytest.fixture
def engine(monkeypatch, tmp_path):
    return install(monkeypatch, tmp_path)


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
    assert out.startswith("--fix  1 finding [*] gains 3.6 us per step on CPU (train.py:88)\n\nwarning TL101 [*] ")
    assert "\n1 finding, 1 fixable safely with --fix; " in out
    assert err == ""


@pytest.mark.parametrize("name", ["full", "concise"])
def test_a_terminal_gets_what_fits_and_all_if_asked(engine, capsys, monkeypatch, name):
    many = [finding_of(TEXT, CODE, code=f"TL{row}", message="it waits; read it later") for row in range(101, 200)]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", "30")

    def shown(*flags):
        engine.finds(*many)
        main(["check", "--output-format", name, *flags])
        out = capsys.readouterr().out
        return out.count(" it waits"), len(out.splitlines()), "more: --all" in out

    number, lines, more = shown()
    assert (10 if name == "concise" else 5) < number < 99
    assert lines <= 2 * 30
    assert more
    assert shown("--top", "3")[::2] == (3, True)
    assert shown("--all")[::2] == (99, False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert shown()[::2] == (99, False)
    assert shown("--top", "3")[0] == 3


def test_top_and_all_exclude_each_other(engine, capsys):
    assert main(["check", "--top", "3", "--all"]) == 2
    assert "--top and --all cannot be given together" in capsys.readouterr().err
    assert main(["check", "--top", "0"]) == 2


LINKS = {
    "": {"TERM": "xterm"},
    "iTerm": {"TERM_PROGRAM": "iTerm.app"},
    "kitty": {"TERM": "xterm-kitty"},
    "new VTE": {"VTE_VERSION": "7600"},
    "old VTE": {"VTE_VERSION": "4205"},
    "Windows": {"WT_SESSION": "0"},
    "forced": {"FORCE_HYPERLINK": "1"},
    "forbidden": {"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"},
    "no colours": {"TERM_PROGRAM": "vscode", "NO_COLOR": "1"},
}
TERMINALS = ("TERM_PROGRAM", "VTE_VERSION", "KONSOLE_VERSION", "WT_SESSION", "DOMTERM", "FORCE_HYPERLINK")


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("terminal", [True, False])
def test_links_go_to_terminals_that_know_them(engine, capsys, monkeypatch, name, terminal):
    engine.finds(WARNING)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for variable in TERMINALS:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in {"TERM": "xterm", **LINKS[name]}.items():
        monkeypatch.setenv(variable, value)
    for format_name in ("full", "concise"):
        main(["check", "--output-format", format_name])
        known = terminal and name in ("iTerm", "kitty", "new VTE", "Windows", "forced")
        assert ("\x1b]8;;file://" in capsys.readouterr().out) is known


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


def test_a_diff_is_utf_8_whatever_the_locale(engine, capfdbinary, monkeypatch):
    engine.finds(fixed=fixed_file("é = 1\n", "é = 2\n", "ä.py"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), encoding="ascii"))
    main(["check", "--diff"])
    assert capfdbinary.readouterr().out == "--- ä.py\n+++ ä.py\n@@ -1 +1 @@\n-é = 1\n+é = 2\n".encode()


def test_text_that_the_locale_cannot_write_is_escaped(engine, capfdbinary, monkeypatch):
    engine.finds(finding_of(TEXT, CODE, path="ä.py"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), encoding="ascii"))
    main(["check"])
    assert capfdbinary.readouterr().out == b"\\xe4.py:1:5: TL101 use torch.as_tensor\n"


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
    assert (engine.settings.preview, engine.stdin.name) == (True, "lib/agent.py")


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


@pytest.mark.parametrize(("flags", "linted"), [("--force-exclude", False), ("", True)])
def test_standard_input_of_an_excluded_file(engine, monkeypatch, capsys, flags, linted):
    engine.finds(WARNING)
    feed(monkeypatch, TEXT.encode())
    arguments = ["check", "-", "--fix", "--stdin-filename", "build/agent.py", *flags.split()]
    assert main(arguments) == (1 if linted else 0)
    assert (engine.stdin is not None) is linted
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
    engine.why = Why(Frequency.STEP, (Way(STEP, "steps an environment"),))
    assert main(["check", "--explain-hot", "agent.py:1"]) == 0
    assert engine.asked == (tmp_path / "agent.py", 1)
    assert capsys.readouterr().out == (
        "agent.py:1 runs once per environment step.\n\n"
        "once per environment step:\n"
        "    train.py:88 loop, steps an environment\n"
        "  → agent.py:9 Agent.act\n"
    )


def test_explain_hot_in_colour(engine, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    engine.why = Why(Frequency.STEP, (Way(STEP, "steps an environment"),))
    assert main(["check", "--explain-hot", "agent.py:1"]) == 0
    assert capsys.readouterr().out.startswith("\x1b[1magent.py:1 runs once per environment step.\x1b[0m\n\n")


def test_explain_hot_of_a_cold_line(engine, capsys):
    engine.why = Why(reasons=("no call of Agent.act was found in the project",))
    assert main(["check", "--explain-hot", "agent.py:1"]) == 0
    assert capsys.readouterr().out == "agent.py:1 is not hot.\n- no call of Agent.act was found in the project\n"


def test_explain_hot_of_no_code(engine, capsys):
    engine.error = NoCodeError("there is no statement on line 2 of agent.py")
    assert main(["check", "--explain-hot", "agent.py:2"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "torchlint: error: --explain-hot: there is no statement on line 2 of agent.py\n"


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


# progress -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_run_shows_a_sign_of_life_on_a_terminal_only(capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    said = []

    def seen():
        said.append(capsys.readouterr().err)
        return "1 s" in "".join(said)

    with progress.waiting("reading"):
        if terminal:
            wait_for(seen)
    err = "".join(said) + capsys.readouterr().err
    assert err.startswith("\r\x1b[Kreading ... 1 s") is terminal
    assert err.endswith("\r\x1b[K") is terminal
    assert bool(err) is terminal


def test_a_short_run_shows_nothing(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE", PATIENCE)
    with progress.waiting("reading"):
        pass
    assert capsys.readouterr().err == ""


# the process ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["rule --all", "check --help", "check --output-format json", "--help"])
def test_a_reader_that_leaves_is_no_error(root, tmp_path, line):
    (tmp_path / "agent.py").write_text("import torch\n")
    read, write = os.pipe()
    os.close(read)
    path = str(root)
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
