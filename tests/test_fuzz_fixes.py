"""Random programs around every rule with a safe fix do the same before and after it.

``make fuzz-fixes`` tries others, and more of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

pytestmark = pytest.mark.torch
PROGRAMS = 272
INPUTS = 3


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Many small programs run here: more threads only wait for each other."""
    import torch

    from torchlint.bench.program import left_as_it_was

    with left_as_it_was():
        torch.set_num_threads(1)
        yield


@pytest.mark.third
@pytest.mark.once
def test_safe_fixes_change_nothing_in_random_programs() -> None:
    from fuzz.fixes.campaign import campaign, missing, tasks

    told = campaign(tasks("test", PROGRAMS, INPUTS))
    assert told.differences == []
    assert missing(told) == []


def test_a_wrong_fix_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix that shares memory where there was a copy, one that rounds, and one that draws a number."""
    from fuzz.fixes import running
    from fuzz.fixes.program import Given, Program

    text = "import torch\n\ndef work(x):\n    found = torch.tensor(x)\n    return found\n"
    program = Program("TL101", text, "", "work", (Given("x", "array"),))
    for after in ("torch.as_tensor(x)", "torch.tensor(x) * 1.0000001", "torch.tensor(x + 0 * torch.rand(1).item())"):
        wrong = running.Fixed(text.replace("torch.tensor(x)", after), ("TL101",))
        monkeypatch.setattr(running, "fixed", lambda *_, wrong=wrong: wrong)
        assert running.tried(program, 8, random.Random(1)).differences, after
    monkeypatch.setattr(running, "fixed", lambda *_: running.Fixed(text, ("TL101",)))
    assert running.tried(program, 8, random.Random(1)).differences == []


def test_the_same_seed_writes_the_same_program() -> None:
    from fuzz.fixes.campaign import Task, program
    from fuzz.fixes.generators import GENERATORS

    for code in GENERATORS:
        one, other, another = (program(Task(seed, code, 1, 3))[0] for seed in ("a", "a", "b"))
        assert one == other != another


def test_every_rule_with_a_safe_fix_has_a_generator() -> None:
    from fuzz.fixes.campaign import Told, missing, safe_rules

    lacking = missing(Told())
    assert len(lacking) == len(safe_rules())
    assert not [line for line in lacking if "no generator" in line]


def test_programs_reach_a_fix_that_changes_validation() -> None:
    """Distributions with valid arguments give the same without their validation; a fix that draws more is seen."""
    from fuzz.fixes import running
    from fuzz.fixes.campaign import Task, campaign, program

    told = campaign(Task("test", "TL205", number, 2) for number in range(10))
    assert told.differences == []
    assert told.row("TL205").fixes > 5
    found = []
    for number in range(8):
        written, choice = program(Task("test", "TL205", number, 1))
        drawing = written.text.replace(
            "        return loss.item()", "        torch.rand(1)\n        return loss.item()"
        )
        one = running.chosen(written.inputs, choice)
        before, after = (running.run(written, text, one) for text in (written.text, drawing))
        found.append(running.compared(before, after, written.accept))
    assert any("rng" in told for told in found)
    assert "" in found  # where the arguments are not valid
