import os
import subprocess
import sys

import pytest

from torchlint.rule import Change
from torchlint.settings.check import SettingsError
from torchlint.settings.load import load_settings
from torchlint.settings.model import DEFAULT_EXCLUDE, Settings
from torchlint.settings.toml import line_of

pytestmark = pytest.mark.versions


def load(start, config=None, isolated=False, **overrides):
    config = () if config is None else (config,)
    return load_settings(start, config=config, isolated=isolated, overrides=overrides)


def pyproject(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def wrong(folder, text, name="torchlint.toml"):
    """The message about a settings file."""
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load(folder)
    return str(caught.value).replace(str(folder), "")


def test_without_a_file_the_defaults_hold(tmp_path):
    pyproject(tmp_path, "[project]\nname = 'x'\n")
    assert load(tmp_path) == Settings(root=tmp_path)


def test_every_key(tmp_path):
    pyproject(
        tmp_path,
        """
[tool.torchlint]
select = ["TL1"]
ignore = ["TL102"]
extend-select = ["legacy-tensor-constructor"]
preview = true
fix = true
unsafe-fixes = true
accept = ["rounding", "aliasing"]
exclude = ["old"]
extend-exclude = ["gen"]
force-exclude = true
respect-gitignore = false
fail-level = "note"
output-format = "json"
hot = ["agent.core:Agent.act"]
cold = ["agent.core:debug"]
device = "cuda"
[tool.torchlint.per-file-ignores]
"tests/*" = ["TL1", "TL2"]
[tool.torchlint.rules.TL401]
least-size = 3
""",
    )
    (tmp_path / "src").mkdir()
    assert load(tmp_path / "src" / "a.py") == Settings(
        distributed=False,
        root=tmp_path,
        select=("TL1",),
        ignore=("TL102",),
        extend_select=("legacy-tensor-constructor",),
        preview=True,
        fix=True,
        unsafe_fixes=True,
        accept=frozenset({Change.ROUNDING, Change.ALIASING}),
        exclude=("old",),
        extend_exclude=("gen",),
        force_exclude=True,
        respect_gitignore=False,
        fail_level="note",
        output_format="json",
        hot=("agent.core:Agent.act",),
        cold=("agent.core:debug",),
        device="cuda",
        per_file_ignores=(("tests/*", ("TL1", "TL2")),),
        rules={"TL401": {"least-size": 3}},
    )


def test_the_closest_file_that_speaks_of_torchlint_wins(tmp_path):
    pyproject(tmp_path, "[tool.torchlint]\npreview = true\nselect = ['TL1']\n")
    pyproject(tmp_path / "inner", "[tool.torchlint]\nselect = ['TL2']\n")
    pyproject(tmp_path / "inner" / "silent", "[project]\nname = 'torchlint-user'\n")
    inner = load(tmp_path / "inner" / "silent" / "a.py")
    assert inner.select == ("TL2",)
    assert not inner.preview
    assert inner.root == tmp_path / "inner" / "silent"
    assert load(tmp_path / "a.py").select == ("TL1",)


def test_own_files_come_before_pyproject(tmp_path):
    pyproject(tmp_path, "[tool.torchlint]\nselect = ['TL1']\n")
    (tmp_path / "torchlint.toml").write_text("select = ['TL2']")
    assert load(tmp_path).select == ("TL2",)
    (tmp_path / ".torchlint.toml").write_text("")
    assert load(tmp_path).select == ()


def test_extend_merges_a_parent(tmp_path):
    pyproject(
        tmp_path,
        "[tool.torchlint]\nselect=['TL1']\nignore=['TL101']\nextend-exclude=['a']\npreview=true\nrules.TL4={x=1,y=1}\n",
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "torchlint.toml").write_text(
        "extend='../pyproject.toml'\nignore=['TL102']\nextend-exclude=['b']\npreview=false\nrules.TL4.x=2\nrules.TL5={}\n"
    )
    settings = load(tmp_path / "sub")
    assert settings.select == ("TL1",)
    assert settings.ignore == ("TL101", "TL102")
    assert settings.extend_exclude == ("a", "b")
    assert settings.exclude == DEFAULT_EXCLUDE
    assert not settings.preview
    assert settings.rules == {"TL4": {"x": 2, "y": 1}, "TL5": {}}


def test_selecting_anew_forgets_what_was_selected_and_ignored(tmp_path):
    (tmp_path / "torchlint.toml").write_text("select=['TL1']\nignore=['TL101']\nextend-select=['TL2']\n")
    settings = load(tmp_path, select=("TL101",))
    assert (settings.select, settings.ignore, settings.extend_select) == (("TL101",), (), ())
    settings = load(tmp_path, ignore=("TL103",), extend_select=("TL3",))
    assert (settings.select, settings.ignore) == (("TL1",), ("TL101", "TL103"))
    assert settings.extend_select == ("TL2", "TL3")


def test_patterns_of_a_file_are_relative_to_it(tmp_path):
    pyproject(
        tmp_path / "[mono]",
        "[tool.torchlint]\nexclude=['pkg/gen/*','old','/abs/x']\nper-file-ignores={'pkg/tests/*'=['TL1']}\n",
    )
    pyproject(tmp_path / "[mono]" / "pkg", "[project]\n")
    settings = load(tmp_path / "[mono]" / "pkg")
    anchor = f"{tmp_path.as_posix()}/[[]mono]"
    assert settings.root == tmp_path / "[mono]" / "pkg"
    assert settings.exclude == (f"{anchor}/pkg/gen/*", "old", "/abs/x")
    assert settings.per_file_ignores == ((f"{anchor}/pkg/tests/*", ("TL1",)),)


def test_the_command_line_wins(tmp_path):
    (tmp_path / "torchlint.toml").write_text("preview=true\nfail-level='note'\naccept=['rounding']\n")
    out = tmp_path / "out.json"
    settings = load(
        tmp_path, preview=False, fail_level=None, accept=("order",), diff=True, exit_zero=True, output_file=out
    )
    assert not settings.preview
    assert settings.fail_level == "note"
    assert settings.accept == frozenset({Change.ORDER})
    assert (settings.diff, settings.exit_zero, settings.output_file) == (True, True, out)
    assert load(tmp_path, accept=frozenset({Change.RNG})).accept == frozenset({Change.RNG})


def test_patterns_of_the_command_line_are_relative_to_where_it_is_typed(tmp_path, monkeypatch):
    pyproject(tmp_path / "project", "[tool.torchlint]\nextend-exclude=['sub/a.py']\n")
    (tmp_path / "project" / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "project" / "sub")
    settings = load(tmp_path / "project" / "sub", extend_exclude=("gen/*.py", "old"))
    assert settings.extend_exclude == ("sub/a.py", f"{tmp_path.as_posix()}/project/sub/gen/*.py", "old")
    for folder in (tmp_path, tmp_path / "project"):
        monkeypatch.chdir(folder)
        assert load(tmp_path / "project", extend_exclude=("gen/*.py",)).extend_exclude == ("sub/a.py", "gen/*.py")


def test_wrong_values_of_the_command_line(tmp_path):
    with pytest.raises(
        SettingsError, match=r"command line: fail-level: 'warn' is not one of .* did you mean 'warning'"
    ):
        load(tmp_path, fail_level="warn")
    with pytest.raises(SettingsError, match=r"command line: accept: 'roundin' is not one of .* 'rounding'"):
        load(tmp_path, accept=("roundin",))


def test_a_named_file_takes_the_place_of_the_search(tmp_path):
    (tmp_path / "torchlint.toml").write_text("preview=true\n")
    (tmp_path / "other.toml").write_text("select=['TL2']\nexclude=['a/b']\n")
    settings = load(tmp_path, config=tmp_path / "other.toml")
    assert (settings.preview, settings.select, settings.exclude) == (False, ("TL2",), ("a/b",))
    assert load(tmp_path, config=str(tmp_path / "other.toml")) == settings
    with pytest.raises(SettingsError, match="no such file"):
        load(tmp_path, config=tmp_path / "gone.toml")
    pyproject(tmp_path, "[project]\n")
    with pytest.raises(SettingsError, match=r"no \[tool.torchlint\]"):
        load(tmp_path, config=tmp_path / "pyproject.toml")


def test_settings_on_the_command_line_come_on_top(tmp_path):
    (tmp_path / "torchlint.toml").write_text("preview=true\ndevice='cpu'\n")
    settings = load(tmp_path, config="device = 'cuda'")
    assert (settings.preview, settings.device) == (True, "cuda")
    assert load(tmp_path, config="device = 'cuda'", isolated=True).device == "cuda"
    many = tuple(f"folder-{number}" for number in range(100))
    assert load(tmp_path, config=f"exclude = {list(many)}").exclude == many
    with pytest.raises(SettingsError, match="--config: not valid TOML"):
        load(tmp_path, config="device = ")
    with pytest.raises(SettingsError, match="--config: unknown key 'devise'; did you mean 'device'"):
        load(tmp_path, config="devise = 'cpu'")
    with pytest.raises(SettingsError, match="--config: extend"):
        load(tmp_path, config="extend = 'x.toml'")


def test_isolated_reads_no_file(tmp_path):
    (tmp_path / "torchlint.toml").write_text("preview = 7")
    assert load(tmp_path, isolated=True) == Settings(root=tmp_path, isolated=True, distributed=False)
    with pytest.raises(SettingsError, match="isolated"):
        load(tmp_path, isolated=True, config=tmp_path / "torchlint.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preview = true\nselct = []\n", "/torchlint.toml:2: unknown key 'selct'; did you mean 'select'?"),
        ("extend_select = []\n", "/torchlint.toml:1: unknown key 'extend_select'; did you mean 'extend-select'?"),
        ("# a\n\nzzzzzz = 1\n", "/torchlint.toml:3: unknown key 'zzzzzz'"),
        ("select = 'TL1'\n", "/torchlint.toml:1: select: expected a list of strings, not a string"),
        (
            "select = [\n  'TL1',\n  2,\n]\n",
            "/torchlint.toml:1: select: expected a list of strings, but it holds an integer",
        ),
        ("\npreview = 'yes'\n", "/torchlint.toml:2: preview: expected true or false, not a string"),
        ("fix = 1\n", "/torchlint.toml:1: fix: expected true or false, not an integer"),
        (
            "device = 'cuda:0'\n",
            "/torchlint.toml:1: device: 'cuda:0' is not one of auto, cpu, cuda; did you mean 'cuda'?",
        ),
        ("device = ['cpu']\n", "/torchlint.toml:1: device: expected a string, not a list"),
        (
            "output-format = 'jsn'\n",
            "/torchlint.toml:1: output-format: 'jsn' is not one of full, concise, grouped, json, json-lines, github, "
            "gitlab, sarif, junit, rdjson, azure, pylint, lintrunner, markdown, html, agent; did you mean 'json'?",
        ),
        ("hot = ['train']\n", "/torchlint.toml:1: hot: 'train' is not of the form package.module:function"),
        (
            "preview = true\n[per-file-ignores]\n'a.py' = ['TL1']\n\"b.py\" = 'TL1'\n",
            "/torchlint.toml:4: per-file-ignores: b.py: expected a list of strings, not a string",
        ),
        (
            "per-file-ignores = []\n",
            "/torchlint.toml:1: per-file-ignores: expected a table of lists of strings, not a list",
        ),
        ("\n[rules]\nTL1 = 1\n", "/torchlint.toml:3: rules: TL1: expected a table, not an integer"),
        ("extend = true\n", "/torchlint.toml:1: extend: expected a string, not a boolean"),
        ("\nextend = 'gone.toml'\n", "/torchlint.toml:2: there is no file gone.toml"),
        ("extend = 'torchlint.toml'\n", "/torchlint.toml:1: torchlint.toml extends this file in turn"),
    ],
)
def test_what_is_wrong_names_file_line_and_the_nearest(tmp_path, text, message):
    assert wrong(tmp_path, text) == message


def test_lines_are_found_in_a_pyproject(tmp_path):
    text = "[project]\nselct = 1\n\n[tool.torchlint]  # ours\npreview = true\nselct = []\n"
    assert wrong(tmp_path, text, "pyproject.toml") == "/pyproject.toml:6: unknown key 'selct'; did you mean 'select'?"
    text = "[tool]\nother = 1\ntorchlint = 3\n"
    assert wrong(tmp_path, text, "pyproject.toml") == "/pyproject.toml:3: tool.torchlint is not a table"
    text = "[tool]\n[tool.torchlint.rules]\nTL1 = 1\n"
    assert wrong(tmp_path, text, "pyproject.toml") == "/pyproject.toml:3: rules: TL1: expected a table, not an integer"


def test_broken_toml_names_file_and_line(tmp_path):
    message = wrong(tmp_path, "preview = true\nselect = [\n")
    assert message.startswith("/torchlint.toml: not valid TOML: ")
    (tmp_path / "torchlint.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load(tmp_path)


def test_a_broken_pyproject_that_is_not_about_us_is_none_of_our_business(tmp_path):
    pyproject(tmp_path, "[project\n")
    assert load(tmp_path) == Settings(root=tmp_path, distributed=False)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 1),
        (("t", "b"), 4),
        (("t", "c", "d"), 5),
        (("t", "in", "line"), 6),
        (("t", "u", "e f"), 9),
        (("t", "u", "missing"), 8),
        (("list",), 12),
        (("nowhere",), 1),
    ],
)
def test_lines_of_keys(path, line):
    text = "a = 1\n# b = 2\n[t]\nb = 2\nc.d = 3\nin = {line = 1}\n\n[ t.u ]\n'e f' = 1\n\n\n[[list]]\nb = 3\n"
    assert line_of(text, path) == line


def test_the_toml_parser_is_loaded_when_it_is_needed(tmp_path):
    pyproject(tmp_path, "[project]\nname = 'x'\n")
    parser = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    program = (
        "import sys; from pathlib import Path; from torchlint.settings.load import load_settings;"
        "load_settings(Path(sys.argv[1]), config=(), isolated=False, overrides={});"
        f"print({parser!r} in sys.modules, 'difflib' in sys.modules)"
    )

    def run():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program, str(tmp_path)]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()

    assert run() == ["False", "False"]
    pyproject(tmp_path, "[tool.torchlint]\n")
    assert run() == ["True", "False"]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("".join(f"a{n}." + "b." * 4900 + "c = 1\n" for n in range(20)), "a name on line 3 has more than 50 parts"),
        ("[" + "a." * 4000 + "b]\n" + "c{}=1\n" * 9000, "a name on line 3 has more than 50 parts"),
        ("[" + '"a" . ' * 100 + "b]\n", "a name on line 3 has more than 50 parts"),
        ("# torch\n" * 200_000, "1,600,018 characters are more than 1,000,000"),
        ("x = [" + "1," * 6000 + "]\n", "a line is longer than 10,000 characters"),
    ],
    ids=["dotted keys", "keys below a dotted table", "quoted names", "bytes", "a long line"],
)
def test_a_settings_file_beyond_a_limit_is_one_clear_error(tmp_path, text, limit):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.torchlint]\n\n{text}")
    with pytest.raises(SettingsError) as error:
        load_settings(tmp_path, overrides={})
    assert str(error.value) == f"{path}: {limit}"


def test_a_name_of_fifty_parts_is_read(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n[" + "a." * 49 + "b]\nc = 1\n")
    assert load_settings(tmp_path, overrides={}).file == tmp_path / "pyproject.toml"
