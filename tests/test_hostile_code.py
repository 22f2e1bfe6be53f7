"""Code that no person wrote: nested, chained, or long beyond measure. Nothing falls over, nothing takes long."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import AGENT, DEEP, HUGE, LONG, NEIGHBOUR, NESTED, SMELL, Text

from torchlint.engine.result import Result
from torchlint.engine.run import check
from torchlint.settings.model import Settings

pytestmark = pytest.mark.versions

SECONDS = 60
"""Of CPU time: whoever takes longer hangs. How long files take on a quiet machine is measured, not asserted here."""
JUST_IN = 190
"""As deep as code may be to be looked at, and a little less."""
LONG_ENOUGH = 900
"""The same for statements and functions."""


def outcome(folder: Path, text: str) -> str:
    """What became of a hostile file (``fixed``, ``broken`` or ``skipped``), its neighbour being fixed all the same."""
    for name, content in {"hostile.py": text + AGENT, "neighbour.py": NEIGHBOUR}.items():
        (folder / name).write_text(content, encoding="utf-8")
    start = time.process_time()
    result = check([folder], Settings(root=folder, isolated=True, fix=True, unsafe_fixes=True))
    assert time.process_time() - start < SECONDS
    assert result.problems == []
    assert SMELL not in (folder / "neighbour.py").read_text(encoding="utf-8")
    return fate(result, folder / "hostile.py", text)


def fate(result: Result, path: Path, text: str) -> str:
    after = path.read_text(encoding="utf-8")
    if SMELL not in after:
        assert path.name in result.fixed
        return "fixed"
    assert after == text + AGENT
    if any(skipped.path == path.name for skipped in result.skipped):
        return "skipped"
    assert [finding.code for finding in result.findings if finding.path == path.name] == ["TL000"]
    return "broken"


@pytest.mark.third
@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_deep_nesting(tmp_path: Path, text: Text) -> None:
    assert outcome(tmp_path, text(DEEP)) in ("fixed", "broken", "skipped")


@pytest.mark.third
@pytest.mark.parametrize("name", NESTED)
def test_nesting_that_is_just_not_too_deep(tmp_path: Path, name: str) -> None:
    expected = ("broken",) if name in BEYOND_PYTHON else ("fixed", "skipped") if name in CHAINS else ("fixed",)
    assert outcome(tmp_path, NESTED[name](JUST_IN)) in expected


# Python allows 99 blocks in each other, older versions fewer f-strings; some chains count two levels a link.
BLOCKS = ("if", "while", "for", "with", "def", "class", "try", "match", "else if", "mixed blocks")
BEYOND_PYTHON = frozenset({*BLOCKS, "f-strings"})
CHAINS = frozenset(
    {"keyword arguments", "starred", "comprehensions", "lambdas with defaults", "chained methods", "annotation"}
)


@pytest.mark.third
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_as_deep_as_python_allows(tmp_path: Path, name: str) -> None:
    assert outcome(tmp_path, NESTED[name](48)) == "fixed"


@pytest.mark.third
@pytest.mark.once
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_code(tmp_path: Path, text: Text) -> None:
    assert outcome(tmp_path, text(200)) == "fixed"


@pytest.mark.long
@pytest.mark.parametrize("rows", [LONG_ENOUGH // 2, LONG_ENOUGH, DEEP])
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_very_long_code(tmp_path: Path, text: Text, rows: int) -> None:
    assert outcome(tmp_path, text(rows)) in ("fixed", "skipped")


@pytest.mark.long
@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_huge_files(tmp_path: Path, text: Callable[[], str]) -> None:
    assert outcome(tmp_path, text()) in ("fixed", "broken", "skipped")


@pytest.mark.third
@pytest.mark.parametrize(
    "name", ["60,000 calls", "60,000 comments", "a million elements in a row", "a million brackets"]
)
def test_some_huge_files(tmp_path: Path, name: str) -> None:
    assert outcome(tmp_path, HUGE[name]()) in ("fixed", "broken", "skipped")


def test_a_file_that_is_too_large_is_told_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text("import torch\nx = [" + "0, " * 120_000 + "]\n", encoding="utf-8")
    result = check([tmp_path], Settings(root=tmp_path, isolated=True))
    assert [(skipped.path, skipped.message.partition(" are ")[0]) for skipped in result.skipped] == [
        ("tables.py", "120,004 parts of expressions and statements")
    ]
    assert (result.findings, result.problems, result.files) == ([], [], 1)


def test_a_file_that_is_too_large_and_not_asked_for_is_not_spoken_of(tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text("import torch\nx = [" + "0, " * 120_000 + "]\n", encoding="utf-8")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    result = check([tmp_path / "agent.py"], Settings(root=tmp_path, isolated=True))
    assert [finding.path for finding in result.findings] == ["agent.py"]
    assert (result.skipped, result.problems) == ([], [])
