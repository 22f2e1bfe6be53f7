"""Folders of things that are no clean Python files: encodings, newlines, pipes, odd names, files that vanish."""

from __future__ import annotations

import ast
import json
import os
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import CommandLine, in_this_process
from hostile import AGENT, NEIGHBOUR, SMELL

from torchlint.engine.result import Result
from torchlint.engine.run import check
from torchlint.report.formats import FORMATS, IN_PLACE_OF_FINDINGS
from torchlint.settings.model import Settings

pytestmark = pytest.mark.versions

ACCENT = AGENT.replace("        return", "        s = 'é'; return")
FIXED, BROKEN, LEFT = "fixed", "broken", "left alone"

BYTES: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + ACCENT.encode(), FIXED),
    "latin-1": (b"# coding: latin-1\n" + ACCENT.encode("latin-1"), FIXED),
    "cp1252 below a shebang": (b"#!/usr/bin/env python\n# coding: cp1252\n" + ACCENT.encode("cp1252"), FIXED),
    "gbk": (b"# -*- coding: gbk -*-\n" + ACCENT.replace("é", "速度").encode("gbk"), FIXED),
    "shift-jis": (b"# coding: shift-jis\n" + ACCENT.replace("é", "速度").encode("shift-jis"), FIXED),
    "another declaration in a string": (b'x = """\n# coding: latin-1\n"""\n' + ACCENT.encode(), FIXED),
    "utf-7 that does not come back": (b"# coding: utf-7\nx = '+AGE-'\n" + AGENT.encode(), LEFT),
    "latin-1 without a declaration": (ACCENT.encode("latin-1"), BROKEN),
    "UTF-16": (ACCENT.encode("utf-16"), BROKEN),
    "UTF-16 without a mark": (ACCENT.encode("utf-16-le"), BROKEN),
    "a byte order mark and latin-1": (b"\xef\xbb\xbf# coding: latin-1\n" + ACCENT.encode(), BROKEN),
    "UTF-32": (ACCENT.encode("utf-32"), BROKEN),
    "unknown encoding": (b"# coding: klingon\n" + AGENT.encode(), BROKEN),
    "rot13": (b"# coding: rot13\n" + AGENT.encode(), BROKEN),
    "punycode": (b"# coding: punycode\n" + AGENT.encode(), BROKEN),
    "NUL": (AGENT.encode() + b"\0", BROKEN),
    "NUL in a string": (AGENT.encode() + b"x = '\0'\n", BROKEN),
    "invalid UTF-8": (AGENT.encode() + b"# \xff\n", BROKEN),
    "overlong UTF-8": (AGENT.encode() + b"# \xc0\xaf\n", BROKEN),
    "a surrogate": (AGENT.encode() + b"# \xed\xa0\x80\n", BROKEN),
    "CRLF": (AGENT.replace("\n", "\r\n").encode(), FIXED),
    "CR": (AGENT.replace("\n", "\r").encode(), FIXED),
    "CRLF in a string": (AGENT.encode() + b'x = """\r\n\r"""\r\n', FIXED),
    "mixed newlines": (AGENT.replace("\n", "\r\n", 4).encode(), FIXED),
    "form feeds": (b"\f" + AGENT.replace("\n\n", "\n\f\n").replace("    def", "\f    def").encode(), FIXED),
    "line separators in a string": (
        AGENT.replace("        return", "        s = '\u2028\x85\x0b\x1c'; return").encode(),
        FIXED,
    ),
    "no newline at the end": (AGENT.rstrip("\n").encode(), FIXED),
    "tabs": (AGENT.replace("    ", "\t").encode(), FIXED),
    "tabs and spaces": (AGENT.encode() + b"if 1:\n\tx = 1\n        y = 2\n", BROKEN),
    "backslash at the end": (AGENT.encode() + b"x = 1 + \\", BROKEN),
    "backslashes": (AGENT.replace("return ", "return \\\n\\\n").encode(), FIXED),
    "a vertical tab": (AGENT.encode() + b"\x0bx = 1\n", BROKEN),
    "a bad dedent": (AGENT.encode() + b"if x:\n        y\n    z\n", BROKEN),
    "control Z": (AGENT.encode() + b"\x1a", BROKEN),
    "a no-break space": (AGENT.encode() + "x\u00a0= 1\n".encode(), BROKEN),
    "right to left": (AGENT.replace("        return", "        s = '\u202e'; return").encode(), FIXED),
    "an emoji for a name": (AGENT.encode() + "🚀 = 1\n".encode(), BROKEN),
    "names of other scripts": (AGENT.replace("obs", "ｏｂｓ").encode(), FIXED),
    "Python 2": (AGENT.encode() + b"print 'x'\nexec 'y' in z\n", BROKEN),
    "backticks": (AGENT.encode() + b"x = `1`\n", BROKEN),
    "merge markers": (AGENT.encode() + b"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", BROKEN),
    "syntax of the future": (AGENT.encode() + b"lazy import x from y unless z\n", BROKEN),
    "an open string": (AGENT.encode() + b'x = """', BROKEN),
    "an open bracket": (AGENT.encode() + b"x = (", BROKEN),
    "a bad escape": (AGENT.encode() + rb"x = '\N{NOTHING OF THAT NAME}'" + b"\n", BROKEN),
    "an odd escape": (AGENT.encode() + rb"x = '\d'" + b"\n", FIXED),
    "an octal of old": (AGENT.encode() + b"x = 0777\n", BROKEN),
    "a number of 5,000 digits": (AGENT.encode() + b"x = " + b"1" * 5000 + b"\n", BROKEN),
    "ANSI escapes and commands": (AGENT.encode() + b"\x1b[2J = '::error::'\n", BROKEN),
    "a shell script": (b"#!/bin/sh\nimport torch\nrm -rf /\n", BROKEN),
    "an image": (b"\x89PNG\r\n\x1a\ntorch\xff\xfe\x00", BROKEN),
}


@pytest.mark.parametrize(("raw", "expected"), BYTES.values(), ids=BYTES)
def test_bytes(tmp_path: Path, raw: bytes, expected: str) -> None:
    (tmp_path / "odd.py").write_bytes(raw)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
    result = fixed(tmp_path)
    assert SMELL not in (tmp_path / "neighbour.py").read_text()
    after = (tmp_path / "odd.py").read_bytes()
    if expected == FIXED:
        assert result.problems == []
        assert differs_in_one_row(raw, after)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(after, "odd.py", "exec")
    else:
        assert after == raw
        assert [(p.path, p.internal) for p in result.problems] == ([("odd.py", False)] if expected == LEFT else [])
        assert [f.code for f in result.findings if f.path == "odd.py"] == (
            ["TL000"] if expected == BROKEN else ["TL101"]
        )


SYNTAX = {
    "match": "match x:\n    case [1, *_] | {'a': _, **y} if y: pass\n    case A(b=1) as c: pass\n",
    "groups of exceptions": "try: pass\nexcept* (A, B) as c: pass\n",
    "a starred index": "x[*y] = x[0, *y]\ndef f(*args: *y): pass\n",
    "soft keywords": "match = case = type = _ = 1\nmatch(case)\nprint(type[_])\n",
    "positional parameters": "def f(a, /, b, *, c=(d := 1)): return d\n",
    "async": "async def f():\n    async with a as b, c: return [x async for x in y if await z]\n",
    "parameters of types": "type A[T: (int, str), *Ts, **P] = B[T]\ndef f[T](x: T) -> T: ...\nclass C[T](D): ...\n",
    "defaults of parameters of types": "class C[T = int, *Ts = *tuple[int], **P = [int]]: ...\n",
    "quotes in f-strings": "x = f'{f'{y!r:>{'5'}}'}'\nz = f'{\n    x  # why\n}'\n",
    "templates": "x = t'{y!r:>{z}}'\n",
    "exceptions without brackets": "try: pass\nexcept A, B: pass\n",
    "lazy imports": "lazy import a\nlazy from b import c\n",
}


@pytest.mark.parametrize("more", SYNTAX.values(), ids=SYNTAX)
def test_syntax_of_some_versions_alone(tmp_path: Path, more: str) -> None:
    """What the running Python reads is fixed, and the rest is a finding."""
    (tmp_path / "odd.py").write_text(AGENT + more)
    result = fixed(tmp_path)
    assert result.problems == []
    assert (SMELL in (tmp_path / "odd.py").read_text()) == (not is_read(more))
    assert [finding.code for finding in result.findings] == ([] if is_read(more) else ["TL000"])


def is_read(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("raw", [b"", b"\n", b"# torch", b"# torch\r\n", b"\xef\xbb\xbf", b"\f", b"\\\n", b" \t "])
def test_files_of_next_to_nothing(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "odd.py").write_bytes(raw)
    result = fixed(tmp_path)
    found = [] if is_read(raw.decode("utf-8-sig")) else ["TL000"]
    assert ([finding.code for finding in result.findings], result.problems, result.files) == (found, [], 1)
    assert (tmp_path / "odd.py").read_bytes() == raw


def fixed(folder: Path) -> Result:
    return check([folder], Settings(root=folder, isolated=True, fix=True, unsafe_fixes=True))


def differs_in_one_row(before: bytes, after: bytes) -> bool:
    """Whether one row was changed, nothing added, and each newline kept."""
    rows, new = (raw.splitlines(keepends=True) for raw in (before, after))
    changed = [(one, other) for one, other in zip(rows, new, strict=True) if one != other]
    ends = [len(row) - len(row.rstrip(b"\r\n")) for pair in changed for row in pair]
    return len(changed) == 1 and ends[0] == ends[1]


NOTEBOOKS = {
    "nothing": b"",
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "deep cells": b'{"cells": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a number of 10,000 digits": b'{"cells": [], "import torch": ' + b"1" * 10_000 + b"}",
    "cells of no kind": b'{"cells": [{"source": "import torch"}]}',
    "cells that are none": b'{"cells": [1, null, "import torch"]}',
    "sources of numbers": b'{"cells": [{"cell_type": "code", "source": [1, "import torch"]}]}',
    "a lone surrogate": b'{"cells": [{"cell_type": "code", "source": "import torch\\ud800"}]}',
    "NUL": b'{"cells": [{"cell_type": "code", "source": "import torch\\u0000"}]}',
    "metadata of a list": b'{"cells": [], "metadata": ["import torch"]}',
    "twice the same key": b'{"cells": [], "cells": [{"cell_type": "code", "source": "(", "source": "import torch"}]}',
    "UTF-16": '{"cells": []}'.encode("utf-16"),
    "NaN": b'{"cells": [], "import": NaN}',
}


@pytest.mark.parametrize("raw", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_broken_notebooks(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "odd.ipynb").write_bytes(raw)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
    result = fixed(tmp_path)
    assert (tmp_path / "odd.ipynb").read_bytes() == raw
    assert SMELL not in (tmp_path / "neighbour.py").read_text()
    assert [problem for problem in result.problems if problem.internal] == []


SETTINGS = {
    "no TOML": b"[",
    "deep": b"select = " + b"[" * 100_000,
    "deep on many rows": b"select = [\n" + b"[\n" * 5_000,
    "deep tables": b"[" + b"a." * 100_000 + b"a]",
    "not UTF-8": b"\xff",
    "UTF-16": "select = []".encode("utf-16"),
    "NUL": b"select = ['\0']",
    "wrong kinds": b"select = 1\nexclude = [[1]]",
    "unknown": b"selekt = ['TL1']",
    "a number of 10,000 digits": b"select = " + b"1" * 10_000,
}


@pytest.mark.parametrize("raw", SETTINGS.values(), ids=SETTINGS)
def test_broken_settings(
    tmp_path: Path, raw: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torchlint.toml").write_bytes(raw)
    (tmp_path / "agent.py").write_text(AGENT)
    done = in_this_process(capsys, monkeypatch)("check", "--fix", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("torchlint: error: ") and "torchlint.toml" in done.stderr
    assert "Traceback" not in done.stderr and "internal" not in done.stderr
    assert (tmp_path / "agent.py").read_text() == AGENT


# special files ------------------------------------------------------------------------------------------------------

posix = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[Path]:
    """A folder with pipes, a socket, devices by link, circles of links, and one agent."""
    folder = tmp_path / "strange"
    (folder / "inner").mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT)
    for name in ("pipe.py", "pipe.ipynb", ".gitignore", "pyproject.toml", "inner/torchlint.toml", "inner/.gitignore"):
        os.mkfifo(folder / name)
    (folder / "zero.py").symlink_to("/dev/zero")
    (folder / "self.py").symlink_to("self.py")
    (folder / "one.py").symlink_to("two.py")
    (folder / "two.py").symlink_to("one.py")
    (folder / "gone.py").symlink_to("nothing.py")
    (folder / "again.py").symlink_to("agent.py")
    (folder / "inner" / "up").symlink_to("..")
    (folder / "inner" / "folder.py").mkdir()
    listening = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(folder)
    try:
        listening.bind("socket.py")
    finally:
        os.chdir(here)
    yield folder
    listening.close()


@posix
def test_special_files_are_passed_by(strange: Path, torchlint: CommandLine) -> None:
    done = torchlint("check", "--fix", "--unsafe-fixes", ".", cwd=strange)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert SMELL not in (strange / "agent.py").read_text()
    assert (strange / "again.py").is_symlink()


@posix
@pytest.mark.parametrize("name", ["pipe.py", "socket.py", "zero.py", "self.py", "gone.py"])
def test_special_files_that_are_given_are_told(
    strange: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = in_this_process(capsys, monkeypatch)("check", name, "agent.py", "--isolated", cwd=strange)
    assert done.returncode == 2
    assert "agent.py:7" in done.stdout
    assert done.stderr.startswith(f"torchlint: error: {name}: ")


NAMES = (
    "new\nline.py",
    "cr\rret.py",
    "esc\x1b[2J.py",
    "::error::x.py",
    "-rf.py",
    "--fix.py",
    "@args.py",
    "sp ace.py",
    "quo'te\".py",
    "dollar$(x).py",
    "{braces}.py",
    "100%0A.py",
    "rtl\u202e.py",
    "日本.py",
    "\udcff\udcfe.py",
    ".hidden.py",
    "a" * 250 + ".py",
    "..py",
    "*.py",
    "[a].py",
    "back\\slash.py",
)


@posix
@pytest.mark.once
@pytest.mark.parametrize("form", sorted(FORMATS.keys() - IN_PLACE_OF_FINDINGS))
def test_odd_names(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        (tmp_path / name).write_text(AGENT)
    done = in_this_process(capsys, monkeypatch)("check", "--isolated", "--output-format", form, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    for text in (done.stdout, done.stderr):
        assert "\x1b" not in text and "\u202e" not in text and "Traceback" not in text
    assert "\n::error::" not in done.stdout
    if form == "json":
        assert len({finding["filename"] for finding in json.loads(done.stdout)}) == len(NAMES)


@posix
def test_odd_names_are_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        (tmp_path / name).write_text(AGENT)
    torchlint = in_this_process(capsys, monkeypatch)
    assert torchlint("check", "--isolated", "--fix", "--unsafe-fixes", cwd=tmp_path).returncode == 0
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)
    assert all(SMELL not in (tmp_path / name).read_text() for name in NAMES)


# files that change during the run -------------------------------------------------------------------------------------


def swapped(change: Callable[[Path], None]) -> Callable[[Path], bytes]:
    """A way to read files that does something to ``odd.py`` before it is read."""
    read = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name == "odd.py":
            change(path)
        return read(path)

    return read_bytes


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def made_garbage(path: Path) -> None:
    path.write_bytes(b"import torch\n\xff(")


@pytest.mark.parametrize("change", [Path.unlink, emptied, made_a_folder, made_garbage])
def test_files_that_change_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    (tmp_path / "odd.py").write_text(AGENT)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
    monkeypatch.setattr(Path, "read_bytes", swapped(change))
    result = fixed(tmp_path)
    assert SMELL not in (tmp_path / "neighbour.py").read_text()
    assert not any(problem.internal for problem in result.problems)


def test_one_pass_for_all_files_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder on a full disk must not be linted again for each of its files."""
    from torchlint.engine import run, writing

    for number in range(5):
        (tmp_path / f"agent{number}.py").write_text(AGENT)
    rounds = []
    lint = run.EngineRun.lint

    def refuse(before: object, after: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.Staged, "of", refuse)
    monkeypatch.setattr(run.EngineRun, "lint", lambda self, sources: rounds.append(1) or lint(self, sources))
    result = fixed(tmp_path)
    assert (len(result.problems), len(rounds)) == (5, 3)
    assert {finding.path for finding in result.findings} == {f"agent{number}.py" for number in range(5)}
