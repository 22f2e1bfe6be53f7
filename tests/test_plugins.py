"""Rule packages of others: a stranger's package from ``pip install`` to every command, and what goes wrong with one."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import ROOT

from torchlint.engine import packages
from torchlint.engine.packages import RulePackageError
from torchlint.engine.rules import home_of, load_rules

# What finds and imports packages differs between versions; what is done with their rules does not.
versions = pytest.mark.versions

PACKAGE = "torchlint_stranger"
SMELL = """\
import torch


def train(env, policy, steps):
    obs, info = env.reset()
    for _ in range(steps):
        values = torch.relu(policy(obs))
        kept = values.clone().detach()
        obs, reward, terminated, truncated, info = env.step(kept.argmax())
"""
SETTINGS = f'[tool.torchlint]\nplugins = ["{PACKAGE}"]\n'


def environment(folder):
    """The Python of a new virtual environment that also sees what this one has, and this repository."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    there = Path(subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip())
    own = dict.fromkeys([sysconfig.get_path("purelib"), *(path for path in sys.path if path.endswith("site-packages"))])
    (there / "others.pth").write_text("\n".join([str(ROOT), *own, ""]))
    return python


def pip_install(python, *what):
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python where the stranger's package is installed with pip."""
    python = environment(tmp_path_factory.mktemp("environment") / "venv")
    source = tmp_path_factory.mktemp("source") / "stranger"
    shutil.copytree(ROOT / "tests" / "stranger", source, ignore=shutil.ignore_patterns("__pycache__"))
    pip_install(python, source)
    return python


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "train.py").write_text(SMELL)
    return tmp_path


@pytest.fixture
def torchlint_there(python, project):
    def run(*arguments, env=None, cwd=project):
        return subprocess.run(
            [python, "-m", "torchlint", *arguments],
            cwd=cwd,
            env={
                **os.environ,
                "NO_COLOR": "1",
                "COLUMNS": "80",
                "TORCHLINT_CACHE_DIR": str(project / ".c"),
                **(env or {}),
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run


# a stranger's package -------------------------------------------------------------------------------------------------


@versions
def test_a_strangers_rule_finds_and_fixes(torchlint_there, project):
    done = torchlint_there("check", "--select", "STR", "--output-format", "json")
    (finding,) = json.loads(done.stdout)
    assert (finding["code"], finding["location"]["row"], finding["cost"]["ratio"]) == ("STR101", 8, 1.4)
    assert finding["hot"]["frequency"] == "step"
    assert torchlint_there("check", "--fix", "--select", "STR1,TL").returncode == 0
    assert (project / "train.py").read_text() == SMELL.replace(".clone().detach()", ".detach().clone()")


IN_EVERY_FORMAT = """\
import contextlib, io, json
from torchlint.cli import main
from torchlint.settings.options import OUTPUT_FORMATS

said = {}
for name in OUTPUT_FORMATS:
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as out:
        code = main(["check", "--output-format", name])
        out.seek(0)
        said[name] = code, out.read()
print(json.dumps(said))
"""


def test_a_strangers_rule_is_in_the_default_set_and_in_every_format(python, project):
    done = subprocess.run([python, "-c", IN_EVERY_FORMAT], cwd=project, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert "full" in said
    assert {name: (code, "STR101" in text) for name, (code, text) in said.items()} == dict.fromkeys(said, (1, True))


@pytest.mark.parametrize(
    "comment", ["# noqa: STR101", "# torchlint: ignore[STR101] as it is", "# torchlint: ignore[STR]"]
)
def test_a_strangers_finding_can_be_silenced(torchlint_there, project, comment):
    (project / "train.py").write_text(SMELL.replace(".detach()", f".detach()  {comment}"))
    assert torchlint_there("check").returncode == 0


def test_a_strangers_rule_is_explained_with_its_figures(torchlint_there):
    done = torchlint_there("rule", "STR101")
    assert (done.returncode, done.stderr) == (0, "")
    assert "clone-before-detach" in done.stdout
    assert "1.3" in done.stdout
    assert "values 64x6" in done.stdout
    everything = json.loads(torchlint_there("rule", "--all", "--output-format", "json").stdout)
    assert {"STR101", "TL101"} <= {rule["code"] for rule in everything}


@pytest.mark.third
@pytest.mark.torch
def test_a_strangers_rule_is_benchmarked(torchlint_there):
    done = torchlint_there("bench", "STR101", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["code"], row["status"] in ("measured", "unsteady"), row["changes"]) == ("STR101", True, [])


def test_a_strangers_code_completes(torchlint_there, tmp_path_factory):
    env = {"_TORCHLINT_COMPLETE": "bash_complete", "COMP_WORDS": "torchlint check --select STR", "COMP_CWORD": "3"}
    assert "STR101" in torchlint_there(env=env).stdout
    env_of_rule = {**env, "COMP_WORDS": "torchlint rule STR", "COMP_CWORD": "2"}
    assert "STR101" in torchlint_there(env=env_of_rule).stdout
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert "STR101" not in torchlint_there(env=env, cwd=elsewhere).stdout


def test_a_strangers_rule_works_in_the_editor(python, project):
    pytest.importorskip("pygls")
    from speaking import client_of

    async def talk():
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        async with client_of(project, python=python, env=env) as client:
            uri = client.open(project / "train.py", SMELL)
            (found,) = await client.diagnostics(uri, 1)
            assert (found.code, found.range.start.line) == ("STR101", 7)
            fix, *_ = await client.actions(uri, 7)
            assert fix.title == "Detach first (STR101)"
            assert "# clone-before-detach (STR101)" in (await client.hover(uri, 7, 20)).contents.value

    asyncio.run(talk())


def test_a_nested_project_may_name_a_package_of_its_own(torchlint_there, project):
    (project / "pyproject.toml").write_text("[tool.torchlint]\n")
    (project / "inner").mkdir()
    (project / "inner" / "pyproject.toml").write_text(SETTINGS + 'select = ["STR101"]\n')
    (project / "inner" / "train.py").write_text(SMELL)
    done = torchlint_there("check", ".", "--output-format", "sarif")
    (run,) = json.loads(done.stdout)["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert places == ["inner/train.py"]


def test_settings_of_packages_are_checked(torchlint_there):
    done = torchlint_there("check", "--config", 'plugins = ["no-name"]')
    assert done.returncode == 2
    assert "plugins: 'no-name' is not the name of a package" in done.stderr
    assert torchlint_there("check", "--isolated", "--select", "STR101").returncode == 2


# nothing is imported from what is linted ------------------------------------------------------------------------------


@versions
@pytest.mark.parametrize("way", ["working folder", "PYTHONPATH", "folder of another"])
def test_nothing_is_imported_from_the_linted_tree(torchlint_there, project, way):
    inner = project / "evil_rules"
    inner.mkdir()
    (inner / "__init__.py").write_text(f"open({str(project / 'ran')!r}, 'w')\nTORCHLINT_API = 1\n")
    (project / "evil_rules.egg-info").mkdir()
    (project / "evil_rules.egg-info" / "top_level.txt").write_text("evil_rules\n")
    (project / "pyproject.toml").write_text('[tool.torchlint]\nplugins = ["evil_rules"]\n')
    env = {"PYTHONPATH": str(project)} if way == "PYTHONPATH" else None
    cwd = project.parent if way == "folder of another" else project
    done = torchlint_there("check", str(project), env=env, cwd=cwd)
    assert done.returncode == 2
    assert "plugins: no package 'evil_rules' is installed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (project / "ran").exists()


@versions
def test_the_installed_package_wins_over_one_of_the_same_name_in_the_tree(torchlint_there, project):
    (project / PACKAGE).mkdir()
    (project / PACKAGE / "__init__.py").write_text(f"open({str(project / 'ran')!r}, 'w')\n")
    assert "STR101" in torchlint_there("check").stdout
    assert not (project / "ran").exists()


# what goes wrong ------------------------------------------------------------------------------------------------------

RULE = """\
from torchlint.rule import Rule, Trigger


class Some(Rule):
    \"\"\"Some.\"\"\"

    code = "{code}"
    name = "{name}"
    summary = "some"
    trigger = Trigger()

    def check(self, site):
        return iter(())
"""


def rule(code="ODD101", name="odd-one"):
    return RULE.format(code=code, name=name)


WRONG = [
    ({}, "no package 'odd_?' is installed"),
    ({"__init__": ""}, "'odd_?' is not a rule package: it does not define TORCHLINT_API = 1"),
    ({"__init__": "TORCHLINT_API = 7"}, "'odd_?' is written for TORCHLINT_API = 7; this torchlint has 1"),
    ({"__init__": "import no_such_thing"}, "'odd_?' cannot be imported: ModuleNotFoundError: No module"),
    ({"__init__": "1 / 0"}, "'odd_?' cannot be imported: ZeroDivisionError: division by zero"),
    ({"__init__": "x ="}, "'odd_?' cannot be imported: SyntaxError: invalid syntax"),
    ({"a": "raise ValueError('one\\ntwo')"}, "'odd_?' cannot be imported (in odd_?.a): ValueError: one"),
    ({"a": rule("TL999")}, "odd_?.a.Some: codes that begin with TL are torchlint's, not TL999"),
    ({"a": rule("odd1")}, "odd_?.a.Some: a code is capital letters and three digits, not 'odd1'"),
    ({"a": rule(name="legacy-tensor-constructor")}, "share legacy-tensor-constructor"),
    ({"a": rule(), "b": rule()}, "odd_?.a.Some and odd_?.b.Some share ODD101"),
    ({"a": rule().replace('    code = "ODD101"\n', "")}, "odd_?.a.Some has no code"),
    ({"figures.json": "[]"}, "'odd_?': figures.json is not a list of figures"),
]


@pytest.fixture
def installed(tmp_path, monkeypatch, request):
    """Put a package where packages are installed, under a name that no other test uses."""
    monkeypatch.setattr(packages, "_search_path", lambda: iter([str(tmp_path)]))
    name = "odd_" + re.sub(r"\W", "_", request.node.name)

    def install(files):
        for file, text in {"__init__": "TORCHLINT_API = 1\n", **files}.items() if files else ():
            path = tmp_path / name / (file if "." in file else f"{file}.py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return name

    return install


@versions
@pytest.mark.parametrize(("files", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_a_package_is_one_error(files, message, installed, tmp_path, capsys, monkeypatch):
    from torchlint.cli import main

    monkeypatch.chdir(tmp_path)
    package = installed(files)
    (tmp_path / "train.py").write_text(SMELL)
    assert main(["check", "--isolated", "--config", f'plugins = ["{package}"]']) == 2
    _, err = capsys.readouterr()
    assert message.replace("odd_?", package) in err
    assert len(err.splitlines()) == 1


@versions
def test_codes_of_two_packages_clash(installed, tmp_path):
    first = installed({"a": rule("ODD201", "odd-first")})
    shutil.copytree(tmp_path / first, tmp_path / f"{first}_too")
    with pytest.raises(RulePackageError, match=rf"{first}\.a\.Some and {first}_too\.a\.Some share ODD201"):
        load_rules((first, f"{first}_too"))


@versions
def test_packages_in_packages_and_in_namespaces_are_loaded(installed, tmp_path):
    name = installed({"a": rule("ODD301", "odd-third")})
    (tmp_path / name / "deeper").mkdir()
    (tmp_path / name / "deeper" / "__init__.py").write_text("")
    (tmp_path / name / "deeper" / "b.py").write_text(rule("ODD302", "odd-fourth"))
    (tmp_path / f"space_{name}").mkdir()
    shutil.copytree(tmp_path / name, tmp_path / f"space_{name}" / "rules")
    for file, code in (("a.py", "301"), ("deeper/b.py", "302")):
        path = tmp_path / f"space_{name}" / "rules" / file
        path.write_text(path.read_text().replace(f"ODD{code}", f"ODE{code}").replace("odd-", "ode-"))
    found = {each.code: home_of(each) for each in load_rules((name, f"space_{name}.rules")) if home_of(each)}
    inner = f"space_{name}.rules"
    assert found == {"ODD301": name, "ODD302": name, "ODE301": inner, "ODE302": inner}


# new rules ------------------------------------------------------------------------------------------------------------


def test_a_new_package_passes_its_own_tests(python, torchlint_there, tmp_path):
    folder = tmp_path / "torchlint-acme"
    done = torchlint_there("dev", "new-rule", "ACME101", "slow-thing", "--into", str(folder), cwd=tmp_path)
    assert (done.returncode, "slow_thing.py" in done.stdout) == (0, True), done.stderr
    assert torchlint_there("dev", "new-rule", "ACME102", "other-thing", "--into", str(folder)).returncode == 0
    pip_install(python, "-e", folder)
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b3[0-9] passed", done.stdout), done.stdout
    config = 'plugins = ["torchlint_acme"]'
    done = torchlint_there("check", "--isolated", "--config", config, "--select", "ACME", "--preview", str(folder))
    assert done.returncode == 0, done.stderr


@pytest.mark.once
def test_a_new_built_in_rule_passes_the_tests_of_the_repository(tmp_path):
    for name in ("torchlint", "rules", "tests", "docs", "pyproject.toml", "README.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "torchlint", "dev", "new-rule", "TL199", "some-smell"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rules/tl1_transfer/some_smell.py" in done.stdout.splitlines()
    page = (tmp_path / "docs" / "all-rules.md").read_text()
    rows = [line[2:7] for line in page.splitlines() if line.startswith("| TL")]
    assert rows[rows.index("TL199") - 1 :][:3] == ["TL110", "TL199", "TL201"]
    tests = ["tests/test_fixtures.py", "tests/test_examples.py", "tests/test_equivalence.py"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "TL199",
        *tests,
    ]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    style = [[sys.executable, "-m", "ruff", *words, "rules"] for words in (("check",), ("format", "--check"))]
    for each in style:
        done = subprocess.run(each, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("acme1", "slow"), "a code is capital letters and three digits"),
        (("ACME101", "Slow Thing"), "a name is words in small letters"),
        (("TL199", "slow-thing"), "codes that begin with TL are torchlint's"),
        (("ACME101", "slow-thing", "--into", "."), "already exists"),
        (("ACME101", "slow-thing", "--into", "1-2"), "a package cannot be called '1-2'"),
    ],
)
def test_new_rule_says_what_it_cannot_do(torchlint, tmp_path, arguments, message):
    (tmp_path / "pyproject.toml").write_text("")
    done = torchlint("dev", "new-rule", *arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["pyproject.toml"]


def test_built_in_codes_are_for_built_in_rules(torchlint):
    done = torchlint("dev", "new-rule", "ACME101", "slow-thing", cwd=ROOT)
    assert (done.returncode, "codes begin with TL" in done.stderr) == (2, True)
