"""What Python cannot read is told of, whatever it is about, and never crashes a run."""

import json
import sys

import pytest
from conftest import in_this_process

pytestmark = pytest.mark.versions

TORCH = "import torch\n"
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": ["import os\n"], "metadata": {}, "outputs": [], "execution_count": None}
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
    indent=1,
)
BROKEN_CELL = NOTEBOOK.replace("import os", "import (")
WRONG = {
    "a_bracket": "x = (\n",
    "old_python": "print 'x'\n",
    "indentation": "if x:\npass\n",
    "nul": "x = 1\0\n",
    "encoding": "# coding: nonsense\n",
    "latin": b"x = '\xe9'\n",
    "wide": "x = 1\n".encode("utf-16"),
    "notebook": NOTEBOOK,
    "notebook_after_blanks": f"\n\n {NOTEBOOK}",
    "brackets": f"x = {'(' * 5000}{')' * 5000}\n",
    "signs": f"x = {'-' * 50000}1\n",
    # Python 3.10 reads these.
    **({"attributes": f"x{'.a' * 50000}\n"} if sys.version_info >= (3, 11) else {}),
    "ifs": "".join(f"{' ' * depth}if x:\n" for depth in range(1000)) + " " * 1000 + "pass\n",
    "five_thousand_ifs": "".join(f"{' ' * depth}if x:\n" for depth in range(5000)) + " " * 5000 + "pass\n",
    "large_and_brackets": f"x = {'[' * 2_500_000}\n",
}
RIGHT = {
    "dictionary": '{"cells": [], "format": 4}\n',
    "empty": "",
    "escape": "x = '\\d'\n",
    "many_rows": "x = 1\n" * 40_000,
}


@pytest.fixture
def check(tmp_path, capsys, monkeypatch):
    torchlint = in_this_process(capsys, monkeypatch)

    def run(*names, flags=()):
        return torchlint("check", "--output-format", "concise", *flags, *names, cwd=tmp_path)

    return run


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("before", ["", TORCH], ids=["far from torch", "with torch"])
@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read_is_a_finding(check, tmp_path, name, before):
    text = WRONG[name]
    if before and name in ("notebook", "notebook_after_blanks", "encoding", "wide"):
        text = text.replace("import os", "import torch") if isinstance(text, str) else text
    else:
        text = (before.encode() if isinstance(text, bytes) else before) + text
    put(tmp_path / "broken.py", text)
    put(tmp_path / "other.py", "x = 1\n")
    expected = check()
    assert (expected.returncode, expected.stdout.count("\n")) == (1, 1), expected
    assert expected.stdout.startswith("broken.py:")
    assert " TL000 " in expected.stdout
    assert "internal error" not in expected.stderr
    assert "Traceback" not in expected.stderr
    for names, flags in ((["broken.py"], []), ([], []), ([], ["--no-cache"]), ([], ["--fix"]), ([], ["-j", "1"])):
        again = check(*names, flags=flags)
        assert (again.returncode, again.stdout) == (1, expected.stdout), (names, flags)


@pytest.mark.parametrize("name", RIGHT)
def test_what_can_be_read_is_none(check, tmp_path, name):
    put(tmp_path / "right.py", RIGHT[name])
    assert [check(flags=flags).returncode for flags in ([], [], ["--no-cache"], ["--isolated"])] == [0, 0, 0, 0]


def test_a_cell_that_cannot_be_read_is_told_of_far_from_torch_too(check, tmp_path):
    put(tmp_path / "nb.ipynb", BROKEN_CELL)
    first, second = check(), check()
    assert (first.returncode, " TL000 " in first.stdout) == (1, True)
    assert second.stdout == first.stdout
    put(tmp_path / "nb.ipynb", NOTEBOOK)
    assert check().returncode == 0


def test_only_what_is_linted_is_told_of(check, tmp_path):
    put(tmp_path / "broken.py", WRONG["a_bracket"])
    put(tmp_path / "right.py", TORCH)
    assert check("right.py").returncode == 0
    assert check("--extend-exclude", "broken.py").returncode == 0


def test_a_file_mended_or_broken_between_runs_is_read_again(check, tmp_path):
    file = tmp_path / "a.py"
    for text, code in (("x = 1\n", 0), ("x = (\n", 1), ("x = 2\n", 0), ("x = 2\n", 0), ("x = )\n", 1)):
        put(file, text)
        assert check().returncode == code
        assert check().returncode == code
