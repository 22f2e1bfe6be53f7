"""Hotness against measured runs: the counter, the comparison, and the section of the page made of the figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from programs import benchmark

from torchlint.rule import Frequency


@pytest.fixture
def hotness() -> ModuleType:
    return benchmark("hotness")


@pytest.fixture
def data(hotness: ModuleType) -> Mapping:
    return json.loads(hotness.DATA.read_text(encoding="utf-8"))


def test_the_section_is_made_of_the_figures(hotness, data, root) -> None:
    page = (root / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert hotness.written(page, "hotness", hotness.text(data, hotness.reasons())) == page
    assert hotness.kept(data) == hotness.DATA.read_text(encoding="utf-8")
    assert hotness.as_data(data["runs"], hotness.of_data(data)) == data


def test_every_gross_disagreement_is_explained(hotness, data) -> None:
    why = hotness.reasons()
    assert list(hotness.unexplained(hotness.of_data(data), why)) == []
    assert all(why.values())
    found = list(hotness.unexplained(hotness.of_data(data), {("code", "file", "gone"): "why"}))
    assert "no longer so: code file gone" in found
    assert any(line.startswith("not explained: ") for line in found)


def test_hot_or_not_is_right_for_nine_of_ten_functions_of_every_run(hotness, data) -> None:
    functions = hotness.of_data(data)
    for code, runs in data["runs"].items():
        for run in runs:
            called = [each for each in functions if each.code == code and run in each.ran]
            assert called
            assert sum(not each.misjudged(each.ran[run]) for each in called) >= 0.89 * len(called), run


STEPS, UPDATES = 100, 25
FITS = {
    # calls, steps and updates that came with one, and what may be predicted
    (100, 100, 25): {"STEP"},
    (300, 100, 25): {"STEP", "INNER"},
    (25, 25, 25): {"UPDATE"},
    (50, 25, 25): {"UPDATE", "INNER"},
    (13, 13, 13): {"UPDATE"},
    (12, 12, 12): {"ONCE", "EPISODE"},
    (9, 2, 1): {"ONCE"},
}


@pytest.mark.parametrize(("counted", "right"), FITS.items())
def test_which_predictions_fit(hotness, counted: tuple[int, int, int], right: set[str]) -> None:
    ran = hotness.Ran(*counted, STEPS, UPDATES)
    assert {frequency.name for frequency in Frequency if ran.fits(frequency)} == right


def test_where_each_step_has_an_update_both_fit(hotness) -> None:
    ran = hotness.Ran(80, 80, 80, 100, 80)
    assert ran.fits(Frequency.STEP)
    assert ran.fits(Frequency.UPDATE)


@pytest.mark.third
@pytest.mark.torch
def test_the_counter_on_an_example(hotness) -> None:
    """The project in ``examples/agent``, trained for a moment: one update a step once there is enough to learn from."""
    title = "examples/agent"
    code = hotness.CODES[title]
    (run,) = code.runs.values()
    short = hotness.Run(run.script, ("--updates", "90"), run.stepped, run.reset)
    clocks, functions = hotness.compared(title, hotness.Code(code.folder, {"short": short}, code.path))
    told = clocks["short"]
    by_name = {each.name: each.ran["short"].calls for each in functions if each.ran}
    assert told["updates"] == 90
    assert told["steps"] == 90 + 63
    assert by_name["GridWorld.reset"] == told["resets"]
    assert by_name["Agent.act"] == by_name["Agent.bonus"] == by_name["ReplayBuffer.add"] == told["steps"]
    assert by_name["Agent.update"] == by_name["ReplayBuffer.sample"] == 90
    assert by_name["QNetwork.__init__"] == by_name["train"] == by_name["main"] == 1
    wrong = {each.name for each in functions if each.misjudged(each.most)}
    assert wrong == {"ReplayBuffer.__len__"}
    assert hotness.idle(functions) == {}


@pytest.mark.third
@pytest.mark.torch
def test_a_generator_counts_once_and_only_the_folder_is_counted(hotness, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "elsewhere.py").write_text("def helper():\n    pass\n")
    (tmp_path / "env.py").write_text("class Env:\n    def step(self): pass\n    def reset(self): pass\n")
    (tmp_path / "program" / "main.py").write_text(
        "import sys, elsewhere, env, torch\n"
        "def items():\n    yield 1\n    yield 2\n"
        "def learn(*optimizers):\n    for optimizer in optimizers:\n        optimizer.step()\n"
        "optimizers = [torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]) for _ in range(2)]\n"
        "world = env.Env()\nworld.reset()\n"
        "for _ in range(int(sys.argv[1])):\n"
        "    elsewhere.helper()\n    world.step()\n    list(items())\nlearn(*optimizers)\n"
    )
    run = hotness.Run(tmp_path / "program" / "main.py", ("3",), "env:Env", "env:Env")
    told = hotness.counted(run, tmp_path / "program", [tmp_path])
    counted = {row["name"]: (row["calls"], row["steps"], row["updates"]) for row in told["functions"]}
    assert counted == {"items": (3, 3, 1), "learn": (1, 1, 1)}
    assert (told["steps"], told["updates"], told["resets"]) == (3, 1, 1)
