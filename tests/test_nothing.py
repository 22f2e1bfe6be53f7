"""Files without torch are told of without the engine, as the engine would tell of them."""

import pytest
from conftest import in_this_process

from torchlint.cli import nothing
from torchlint.engine.rules import load_rules
from torchlint.rule import RuleSet
from torchlint.settings.defaults import MOST_BYTES
from torchlint.settings.model import DEFAULT_EXCLUDE


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def light(monkeypatch):
    """A list of the answers that were given without the engine."""
    given = []
    real = nothing.nothing_to_do

    def note(asked):
        code = real(asked)
        given.append(code)
        return code

    monkeypatch.setattr(nothing, "nothing_to_do", note)
    return given


def put(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_toml", ".toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def by_engine(monkeypatch, torchlint, *flags, cwd):
    with monkeypatch.context() as patch:
        patch.setattr(nothing, "nothing_to_do", lambda _: None)
        return torchlint("check", *flags, cwd=cwd)


ALONE = {"a_py": "import os\n"}
ANSWERED = [
    (ALONE, []),
    (ALONE, ["a.py"]),
    (ALONE, ["a.py", "a.py", "."]),
    (ALONE, ["-q"]),
    (ALONE, ["-s"]),
    (ALONE, ["-j", "2", "--no-cache"]),
    ({"a_py": "", "b__c_py": "", "b__d_py": "x = ()"}, []),
    ({"a_py": "", "b__c_py": "'\\d'"}, ["b"]),
    ({"a_py": "", "b_py": "x = ("}, ["a.py"]),
    ({"a_py": "", "build__c_py": "import torch\n"}, []),
    ({"pyproject_toml": "[project]\n", "a_py": "", "b__c_py": ""}, ["b"]),
    ({".gitignore": "a.py\n", **ALONE}, ["a.py"]),
    ({".gitignore": "b\n", "pyproject_toml": "[project]\n", "b__.gitignore": "", "b__c_py": "", **ALONE}, ["b/c.py"]),
]
LEFT = [
    ({"a_py": "", "b__c_py": "", "b__d_py": "x = ("}, []),
    ({"a_py": '{"cells": [], "nbformat": 4}'}, []),
    ({"a_py": "# coding: what\n"}, []),
    ({"a_py": "x = " + "(" * 500 + ")" * 500}, []),
    ({"a_py": "x = " + "-" * 9000 + "1"}, []),
    ({"a_py": "#" * (MOST_BYTES + 1)}, []),
    ({"a_py": "", "b.ipynb": "{}"}, []),
    ({"a_py": "x = '\0'"}, []),
    ({"a_py": "import torch\n"}, []),
    ({"a_py": "", "b_py": "import torch\n"}, ["a.py"]),
    ({"pyproject_toml": "[project]\n", "a_py": "", "b__c_py": "import torch\n"}, ["a.py"]),
    ({"pyproject_toml": "[tool.torchlint]\n", **ALONE}, []),
    ({"torchlint_toml": "", **ALONE}, []),
    ({"b__torchlint_toml": "", **ALONE}, []),
    ({".gitignore": "a.py\n", **ALONE}, []),
    ({"b__.gitignore": "", **ALONE}, []),
    ({".gitignore": "", "b__c_py": "", **ALONE}, ["a.py", "b"]),
    ({".gitignore": "b\n", "pyproject_toml": "[project]\n", "b__c_py": "import torch\n", **ALONE}, ["a.py"]),
    (ALONE, ["--output-format", "json"]),
    (ALONE, ["--select", "TL1"]),
    (ALONE, ["--select", "nonsense"]),
    (ALONE, ["-v"]),
    (ALONE, ["gone.py"]),
    (ALONE, ["b"]),
    ({"b__c_txt": ""}, []),
]


@pytest.mark.parametrize(("texts", "flags"), [*ANSWERED, *LEFT])
def test_the_engine_would_say_the_same(torchlint, tmp_path, monkeypatch, light, texts, flags):
    put(tmp_path, **texts)
    done = torchlint("check", *flags, cwd=tmp_path)
    assert (light[-1] is not None) == ((texts, flags) in ANSWERED)
    expected = by_engine(monkeypatch, torchlint, *flags, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_links_and_settings_above_are_left_to_the_engine(torchlint, tmp_path, light):
    folder = tmp_path / "below"
    put(folder, a_py="")
    (folder / "b.py").symlink_to("a.py")
    torchlint("check", cwd=folder)
    (folder / "b.py").unlink()
    torchlint("check", "../below", cwd=folder)
    put(tmp_path, pyproject_toml="[tool.torchlint]\n")
    put(folder, pyproject_toml="[project]\n")
    torchlint("check", cwd=folder)
    torchlint("check", "--isolated", cwd=folder)
    assert light == [None, None, None, 0]


def test_what_python_cannot_read_is_told_by_the_engine(torchlint, tmp_path, light):
    (tmp_path / "a.py").write_bytes("import torch\n".encode("utf-16"))
    assert torchlint("check", cwd=tmp_path).returncode == 1
    assert light == [None]


def test_many_files_are_left_to_the_engine(torchlint, tmp_path, light):
    for number in range(nothing._MOST_FILES + 1):
        (tmp_path / f"f{number}.py").touch()
    torchlint("check", cwd=tmp_path)
    assert light == [None]


def test_no_rule_of_the_default_set_looks_at_files_without_the_word():
    gate = {word.encode() for rule in load_rules() if rule.set is RuleSet.DEFAULT for word in rule.gate}
    assert [word for word in gate if nothing.WORD not in word] == []


def test_no_default_pattern_is_more_than_a_name():
    assert not [pattern for pattern in DEFAULT_EXCLUDE if set(pattern) & set("*?[/")]
