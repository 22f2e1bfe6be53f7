"""A project too large for memory is analysed in parts: facts are found when a part is linted, and freed after it."""

import gc
import weakref
from pathlib import Path

import pytest
from test_cli_whole import AGENT

from torchlint.engine import analysis, linking, linting, mishap, units
from torchlint.engine.memory import Memory
from torchlint.engine.run import EngineRun, check
from torchlint.engine.units import in_parts
from torchlint.facts.code.project import Project
from torchlint.settings.model import Settings


@pytest.fixture
def project(tmp_path):
    """Four agents that hang together by a file they all import, and a file that Python cannot read."""
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.py").write_text(f"import shared\n{AGENT}")
    (tmp_path / "shared.py").write_text(AGENT)
    (tmp_path / "wrong.py").write_text("import torch\nx = (\n")
    return tmp_path


def lint(folder, **more):
    return check([folder], Settings(root=folder, isolated=True, **{"jobs": 1, **more}))


def small_memory(monkeypatch, most):
    """Let projects be large from so many bytes on."""
    for module in (units, linting):
        monkeypatch.setattr(module, "MOST_BYTES", most)


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([3, 3, 3], [["0", "1"], ["2"]]),
        ([9, 1, 1], [["0"], ["1", "2"]]),
        ([1, 1, 9], [["0", "1"], ["2"]]),
        ([2, 2, 2], [["0", "1", "2"]]),
        ([], [[]]),
    ],
)
def test_a_part_is_as_large_as_it_may_be_and_never_empty_beside_others(monkeypatch, sizes, parts):
    monkeypatch.setattr(units, "MOST_BYTES", 6)
    names = [str(number) for number in range(len(sizes))]
    assert list(in_parts(names, lambda name: sizes[int(name)])) == parts


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_parts_find_what_the_whole_finds_where_files_need_nothing_of_each_other(project, monkeypatch, jobs):
    whole = lint(project)
    small_memory(monkeypatch, 2 * len(AGENT) + 100)
    parts = lint(project, jobs=jobs)
    assert parts.findings == whole.findings
    assert {finding.code for finding in parts.findings} > {"TL000"}
    assert (parts.problems, parts.unpaired, parts.files) == ([], 0, 6)


def test_fixing_a_large_project_is_as_fixing_a_small_one(project, monkeypatch):
    whole = {name: fixed.after.text for name, fixed in lint(project, diff=True).fixed.items()}
    small_memory(monkeypatch, 2 * len(AGENT) + 100)
    assert {name: fixed.after.text for name, fixed in lint(project, diff=True).fixed.items()} == whole
    assert whole


def test_facts_of_a_part_are_gone_before_those_of_the_next_are_there(project, monkeypatch):
    small_memory(monkeypatch, 2 * len(AGENT) + 100)
    run = EngineRun.prepare([project], Settings(root=project, isolated=True), {})
    found, broken = run.linting.units(run.sources)
    assert run.linting.leftovers is not None
    assert [len(unit.targets) for unit in found] == [2, 2, 1]
    assert list(broken) == ["wrong.py"]
    gc.disable()
    try:
        facts = [weakref.ref(each.tree) for each in found[0].analyses()[Project].files.values()]
        assert all(ref() is not None for ref in facts)
        found[0].forget()
        found[1].analyses()
        assert all(ref() is None for ref in facts)
    finally:
        gc.enable()
    assert found[0].lint("a.py")  # who asks again gets the same


MANY = 60


def crowd(folder: Path, name: str, text: str) -> int:
    """Put many small files into a folder, which are one file's size each; their bytes together."""
    folder.mkdir()
    (folder.parent / "pyproject.toml").touch()
    for number in range(MANY):
        (folder / name.format(number)).write_text(text)
    return MANY * len(text)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize("name", ["test_{}.py", "script_{}.py"])
def test_small_files_of_a_large_project_are_freed_together(tmp_path, monkeypatch, name, remembers, jobs):
    size = crowd(tmp_path / "tests", name, AGENT)
    most = size // 6
    small_memory(monkeypatch, most)
    collections: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: collections.append(1))
    memory = Memory("tool", 0) if remembers else None
    result = check([tmp_path], Settings(root=tmp_path, isolated=True, jobs=jobs), memory=memory)
    assert result.files == MANY
    assert not result.problems
    assert len(collections) <= 2 * size / most + 1


def test_files_without_facts_are_one_unit(tmp_path):
    crowd(tmp_path / "tests", "test_{}.py", AGENT)
    run = EngineRun.prepare([tmp_path], Settings(root=tmp_path, isolated=True), {})
    (unit,), broken = run.linting.units(run.sources)
    assert len(unit.targets) == MANY
    assert not broken


def test_what_crashes_with_many_files_is_told_once(tmp_path, monkeypatch):
    crowd(tmp_path / "agents", "m{}.py", f"import m0\n{AGENT}")
    told: list[object] = []
    of_error = mishap.row_of
    monkeypatch.setattr(mishap, "row_of", lambda error: told.append(error) or of_error(error))
    analyse = linking.analyse

    def crashing(files, settings, checkpoint):
        if len(list(files)) > MANY // 2:
            raise ValueError("too many")
        return analyse(files, settings, checkpoint)

    monkeypatch.setattr(linking, "analyse", crashing)
    result = lint(tmp_path)
    assert len(result.problems) == MANY // 2
    assert len(told) == 1


@pytest.mark.parametrize("large", [False, True])
def test_a_test_is_parsed_once(tmp_path, monkeypatch, large):
    size = crowd(tmp_path / "tests", "test_{}.py", AGENT)
    small_memory(monkeypatch, size // 6 if large else 2 * size)
    parsed: list[str] = []
    parse = analysis.tree_of
    monkeypatch.setattr(analysis, "tree_of", lambda text: (parsed.append(text), parse(text))[1])
    lint(tmp_path)
    assert len(parsed) == MANY
