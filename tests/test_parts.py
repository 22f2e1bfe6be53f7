"""A project too large for memory is analysed in parts: facts are found when a part is linted, and freed after it."""

import gc
import weakref

import pytest
from test_cli_whole import AGENT

from torchlint.engine import run as run_module
from torchlint.engine import units
from torchlint.engine.run import Run, check
from torchlint.engine.units import in_parts
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
    for module in (units, run_module):
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


def test_facts_of_a_part_are_gone_when_it_is_done(project, monkeypatch):
    small_memory(monkeypatch, 2 * len(AGENT) + 100)
    run = Run.prepare([project], Settings(root=project, isolated=True), {})
    found, broken = run.units(run.sources)
    assert run.large
    assert [len(unit.targets) for unit in found] == [2, 2, 1]
    assert list(broken) == ["wrong.py"]
    gc.disable()
    try:
        facts = [weakref.ref(each.tree) for each in found[0].analysis().project.files.values()]
        assert all(ref() is not None for ref in facts)
        found[0].forget()
        assert all(ref() is None for ref in facts)
    finally:
        gc.enable()
    assert found[0].lint("a.py")  # who asks again gets the same
