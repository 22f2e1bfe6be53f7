"""The workflows and forms of the repository are what the service that runs them takes."""

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.once


def checked(root, schema, *files):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_workflows_fit_their_schema(root):
    done = checked(root, "vendor.github-workflows", *sorted((root / ".github" / "workflows").glob("*.yml")))
    assert done.returncode == 0, done.stdout


def test_the_workflows_run_every_python_that_is_supported(root):
    declared = re.findall(r"Python :: (3\.\d+)", (root / "pyproject.toml").read_text())
    text = (root / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r"3\.\d+", text[text.index("python: [") :].partition("]")[0]) == declared


def test_what_workflows_call_is_there(root):
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    for path in (root / ".github" / "workflows").glob("*.yml"):
        called = set(re.findall(r"run: make ([a-z-]+)", path.read_text()))
        assert called <= targets, path.name


def test_forms_have_names_and_fields_of_their_own(root):
    forms = [path for path in (root / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    names = [re.findall(r"^name: (.+)$", path.read_text(), re.MULTILINE) for path in forms]
    assert len(forms) == len({each[0] for each in names}) > 0
    for path in forms:
        ids = re.findall(r"^    id: (.+)$", path.read_text(), re.MULTILINE)
        assert len(ids) == len(set(ids)) > 0
