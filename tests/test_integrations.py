"""Hooks, the GitHub action and the lint runner, each with the real program where it can be installed."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from sarif_pydantic import Sarif
from test_cli_flags import git
from test_cli_whole import AGENT, NEW, OLD
from test_house import SHIPPED
from test_notebooks import text_of

BIN = Path(sys.executable).parent
HEAD, TRAIN = AGENT.split("def train")


def run(*command, cwd, env=None, check=False):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def project(tmp_path):
    """A project in git; what makes the agent hot lies in another file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.torchlint]\n")
    (folder / "agent.py").write_text(HEAD)
    (folder / "train.py").write_text(f"from agent import Agent\n\n\ndef train{TRAIN}")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def path_with_torchlint(tmp_path):
    """A search path on which ``torchlint`` is this repository's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "torchlint"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}:{ROOT}/rules" exec "{sys.executable}" -m torchlint "$@"\n')
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


# what is written down -------------------------------------------------------------------------------------------------


def test_the_action_is_one():
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml", cwd=ROOT, check=True)


def test_the_hooks_are_hooks():
    run(BIN / "pre-commit", "validate-manifest", ".pre-commit-hooks.yaml", cwd=ROOT, check=True)
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert set(hooks) == {"torchlint", "torchlint-fix"}
    for hook in hooks.values():
        assert hook["types_or"] == ["python", "jupyter"]
        assert hook["require_serial"] is True
        assert (hook["language"], hook["minimum_pre_commit_version"]) == ("python", "2.9.2")
    assert hooks["torchlint"]["entry"] == "torchlint check --force-exclude"
    assert hooks["torchlint-fix"]["entry"] == "torchlint check --force-exclude --fix --exit-non-zero-on-fix"


# pre-commit -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hooks(tmp_path_factory):
    """This repository as pre-commit clones it, and a cache of its environments."""
    folder = tmp_path_factory.mktemp("hooks")
    for name in (*SHIPPED, ".pre-commit-hooks.yaml"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "hooks")
    return folder, tmp_path_factory.mktemp("cache")


@pytest.fixture
def commit(hooks, project):
    """Run one of the hooks on what is staged: ``commit("torchlint")``."""
    folder, cache = hooks
    revision = git(folder, "rev-parse", "HEAD").strip()

    def commit(hook):
        entry = {"repo": str(folder), "rev": revision, "hooks": [{"id": hook}]}
        (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [entry]}))
        git(project, "add", ".pre-commit-config.yaml")
        return run(BIN / "pre-commit", "run", "--color", "never", cwd=project, env={"PRE_COMMIT_HOME": str(cache)})

    return commit


@pytest.mark.third
@pytest.mark.packages
def test_the_hook_reads_the_project_and_reports_on_what_is_staged(commit, project):
    clean = commit("torchlint")
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert "Skipped" in clean.stdout
    (project / "agent.py").write_text(f"{HEAD}# changed\n")
    (project / "other.py").write_text(AGENT)
    git(project, "add", "agent.py")
    done = commit("torchlint")
    assert done.returncode == 1
    assert re.search(r"^agent\.py:12:16: TL102 \[\*\] .*\(train\.py:6\)$", done.stdout, re.MULTILINE), done.stdout
    assert "other.py" not in done.stdout


@pytest.mark.third
@pytest.mark.packages
def test_the_fixing_hook_fixes_and_fails_once(commit, project):
    (project / "agent.py").write_text(f"{HEAD}# changed\n")
    git(project, "add", "agent.py")
    done = commit("torchlint-fix")
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert (project / "agent.py").read_text() == f"{HEAD}# changed\n".replace(OLD, NEW)
    git(project, "add", "agent.py")
    again = commit("torchlint-fix")
    assert again.returncode == 0, again.stdout


@pytest.mark.third
@pytest.mark.packages
def test_the_hooks_take_notebooks(commit, project):
    text = text_of(HEAD.strip("\n"), f"def train{TRAIN}".strip("\n"))
    (project / "nb.ipynb").write_text(text)
    git(project, "add", "nb.ipynb")
    done = commit("torchlint")
    assert (done.returncode, "nb.ipynb:cell 1:12:16: TL102 [*] " in done.stdout) == (1, True), done.stdout
    assert commit("torchlint-fix").returncode == 1
    assert (project / "nb.ipynb").read_text() == text.replace(OLD, NEW)


# the action -----------------------------------------------------------------------------------------------------------

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
ARGUMENTS, INSTALL, SARIF, UPLOAD, LINT = ACTION["runs"]["steps"]


def value_of(expression, inputs, here):
    """What an expression of the action's own few kinds stands for."""
    known = {**{name: field.get("default", "") for name, field in ACTION["inputs"].items()}, **inputs}
    if plain := re.fullmatch(r"inputs\.([\w-]+)", expression):
        return known[plain[1]]
    if choice := re.fullmatch(r"inputs\.([\w-]+) == 'true' && '(\w+)' \|\| '(\w+)'", expression):
        return choice[2] if known[choice[1]] == "true" else choice[3]
    assert expression == "github.action_path"
    return str(here)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """A package without a need for the network; what it installs finds this repository's torchlint."""
    paths = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
    about = "torchlint-0.dist-info"
    files = {
        "torchlint_here.pth": "".join(f"{path}\n" for path in paths),
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: torchlint\nVersion: 0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    path = tmp_path_factory.mktemp("wheel") / "torchlint-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="session")
def runner(tmp_path_factory, wheel):
    """The temporary folder of a runner, into which the action installed torchlint."""
    temp = tmp_path_factory.mktemp("runner")
    done = stepped(INSTALL, temp, temp, python=sys.executable, package=str(wheel))
    assert done.returncode == 0, done.stderr
    return temp


def stepped(step, temp, cwd, *, env=None, **inputs):
    """Run a step of the action as the runner does."""
    names = {
        name: re.sub(r"\$\{\{ (.+?) \}\}", lambda found: value_of(found[1], inputs, ROOT), text)
        for name, text in step["env"].items()
    }
    script = temp / "step.sh"
    script.write_text(step["run"])
    whole = {**names, "RUNNER_TEMP": str(temp), **(env or {})}
    return run("bash", "--noprofile", "--norc", "-eo", "pipefail", script, cwd=cwd, env=whole)


@pytest.fixture
def step(project, runner, tmp_path):
    """Run a step as the runner does, with the step for arguments before it: ``step(LINT, args="--select TL1")``."""
    files = {name: tmp_path / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")

    def step(step, **inputs):
        env = {**{name: str(file) for name, file in files.items()}, "GITHUB_WORKSPACE": str(project)}
        before = stepped(ARGUMENTS, runner, project, env=env, **inputs)
        return stepped(step, runner, project, env=env, **inputs) if before.returncode == 0 else before

    step.files = files
    return step


def test_the_action_annotates_and_fails(step):
    done = step(LINT)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::warning title=TL102,file=agent.py,line=12,")
    assert "| warning | TL102 cpu-then-move |" in step.files["GITHUB_STEP_SUMMARY"].read_text()
    plain = step(LINT, annotations="false")
    assert plain.stdout.startswith("agent.py:12:16: TL102")


def test_the_action_takes_arguments_and_paths_with_blanks(step, project):
    (project / "a b.py").write_text(AGENT)
    done = step(LINT, args="--fail-level 'never'\n --select TL1", paths="a b.py\n\n")
    assert (done.returncode, done.stdout.count("file=a b.py"), done.stdout.count("::warning")) == (0, 1, 1)


@pytest.mark.parametrize("args", ["--select 'TL1", '--fail-level never "', "--select TL1 \\"])
def test_arguments_that_cannot_be_read_are_one_error_of_the_action(step, args):
    for each in (LINT, SARIF):
        done = step(each, args=args)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert done.stderr.startswith("torchlint: error: the input args cannot be read: No ")


def test_nothing_in_an_input_is_run_or_taken_for_an_option(step, project):
    done = step(LINT, paths="$(touch pwned)\n--fix", args="", since="`touch pwned`")
    assert done.returncode == 2
    assert not (project / "pwned").exists()
    assert (project / "agent.py").read_text() == HEAD


def test_the_action_reports_on_changed_lines_only(step, project):
    assert step(LINT, since="HEAD").returncode == 0
    (project / "agent.py").write_text(HEAD.replace("mask = ", "mask  = "))
    assert step(LINT, since="HEAD").returncode == 1


def test_the_action_writes_sarif(step, runner):
    done = step(SARIF, sarif="true")
    assert done.returncode == 0, done.stderr
    assert step.files["GITHUB_OUTPUT"].read_text() == f"file={runner / 'torchlint.sarif'}\n"
    (result,) = Sarif.model_validate_json((runner / "torchlint.sarif").read_text()).runs[0].results
    assert result.rule_id == "TL102"
    assert UPLOAD["if"] == SARIF["if"] == "inputs.sarif == 'true'"


HOSTILE = (
    *("venv", "pip", "ensurepip", "shlex", "runpy", "torchlint", "click", "rich", "libcst", "ast"),
    *("re", "json", "sitecustomize", "usercustomize", "setuptools"),
)


def test_the_action_runs_nothing_of_the_checkout(project, wheel, tmp_path):
    """Also where the job put the checkout on the path of modules."""
    temp, mark = tmp_path / "temp", tmp_path / "mark"
    temp.mkdir()
    trap = f"open({str(mark)!r}, 'w').close()\n"
    for name in HOSTILE[:2]:
        (project / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (project / name / file).write_text(trap)
    for name in HOSTILE:
        (project / f"{name}.py").write_text(trap)
    env = {"PYTHONPATH": f"{project}:.", "GITHUB_OUTPUT": str(tmp_path / "output")}
    local = project / wheel.name
    shutil.copy(wheel, local)
    inputs = {"python": sys.executable, "package": f"./{wheel.name}", "args": "--no-cache"}
    codes = [stepped(each, temp, project, env=env, **inputs).returncode for each in (ARGUMENTS, INSTALL, SARIF, LINT)]
    assert (codes, mark.exists()) == ([0, 0, 0, 1], False)


@pytest.mark.third
@pytest.mark.packages
def test_the_action_installs_torchlint(project, tmp_path):
    temp = tmp_path / "temp"
    temp.mkdir()
    for each in (ARGUMENTS, INSTALL):
        done = stepped(each, temp, project, python=sys.executable)
        assert done.returncode == 0, done.stderr
    assert stepped(LINT, temp, project).stdout.startswith("::warning title=TL102,")


# lintrunner -----------------------------------------------------------------------------------------------------------

RUNNER = """\
merge_base_with = "main"

[[linter]]
code = "TORCHLINT"
include_patterns = ["**/*.py"]
command = ["torchlint", "check", "--exit-zero", "--quiet", "--output-format", "lintrunner", "@{{PATHSFILE}}"]
"""


def test_lintrunner_shows_and_applies(project, path_with_torchlint, tmp_path):
    (project / ".lintrunner.toml").write_text(RUNNER)
    env = {"PATH": path_with_torchlint, "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    git(project, "add", ".")
    done = run(BIN / "lintrunner", "--all-files", "--output", "json", cwd=project, env=env)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert {message["code"] for message in messages} == {"TL102", "TORCHLINT"}, done.stdout + done.stderr
    assert done.returncode == 1
    run(BIN / "lintrunner", "--all-files", "-a", cwd=project, env=env)
    assert (project / "agent.py").read_text() == HEAD.replace(OLD, NEW)
    assert run(BIN / "lintrunner", "--all-files", cwd=project, env=env).returncode == 0


def test_arguments_from_a_file(project, path_with_torchlint):
    (project / "files.txt").write_text("--select\nTL1\nagent.py\n")
    done = run("torchlint", "check", "@files.txt", cwd=project, env={"PATH": path_with_torchlint})
    assert (done.returncode, done.stdout[:22]) == (1, "agent.py:12:16: TL102 ")
