"""The figures that messages quote belong to the rules as they are, and come from a steady machine."""

import importlib.resources
import json
import re
from pathlib import Path

import pytest

from torchlint.bench.judgement import section
from torchlint.bench.result import size_of
from torchlint.engine.figures import counted
from torchlint.engine.rules import load_rules
from torchlint.rule import Counts, Example, Rule
from torchlint.testing.linting import found

DATA = json.loads(importlib.resources.files("torchlint.rules").joinpath("figures.json").read_text(encoding="utf-8"))
ROWS = [pytest.param(row, id=f"{row['code']}-{row['example']}-{row['device']}") for row in DATA["figures"]]


def test_every_example_was_measured_in_the_order_of_the_rule_or_is_said_to_wait() -> None:
    measured = [(row["code"], row["example"]) for row in DATA["figures"] if row["device"] == "cpu"]
    waiting = [(row["code"], row["example"]) for row in DATA["waiting"]]
    rules = [rule for rule in load_rules() if not rule.cuda_only]
    examples = [(rule.code, example.name) for rule in rules for example in rule.examples]
    assert measured == [key for key in examples if key not in waiting]
    assert waiting == [key for key in examples if key not in measured]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_of_its_workload_what_the_example_says(row: dict[str, object]) -> None:
    rule = next(rule for rule in load_rules() if rule.code == row["code"])
    example = next(example for example in rule.examples if example.name == row["example"])
    assert (row["size"], row.get("runs", 1), row.get("unit", "call")) == (size_of(example), example.runs, example.unit)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_consistent_and_its_control_steady(row: dict[str, float]) -> None:
    assert 0 < row["low"] <= row["ratio"] <= row["high"]
    assert 0.95 <= row["control"] <= 1.05
    # A ratio that is rounded to one says nothing of the sign.
    assert row["ratio"] == 1 or (row["saves_us"] > 0) == (row["ratio"] > 1)
    assert row["size"]


def test_the_machine_is_named() -> None:
    assert set(DATA["machine"]) == {"device", "processor", "threads", "python", "torch", "numpy"}
    assert all(DATA["machine"].values())


# counts ---------------------------------------------------------------------------------------------------------------

EXAMPLES = [(rule, example) for rule in load_rules() for example in rule.examples]
COUNTS = {(row["code"], row["example"]): row for row in DATA["counts"]}
COUNTED = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}", marks=() if rule.cuda_only else pytest.mark.long)
    for rule, example in EXAMPLES
]


def test_counts_are_in_the_order_of_the_rules_and_differ() -> None:
    order = [(rule.code, example.name) for rule, example in EXAMPLES]
    assert list(COUNTS) == [key for key in order if key in COUNTS]
    assert [key for key, row in COUNTS.items() if row["before"] == row["after"]] == []
    sizes = {(rule.code, example.name): size_of(example) for rule, example in EXAMPLES}
    assert {key: row["size"] for key, row in COUNTS.items()} == {key: sizes[key] for key in COUNTS}


@pytest.mark.torch
@pytest.mark.once
@pytest.mark.parametrize(("rule", "example"), COUNTED)
def test_counts_are_those_of_today(rule: type[Rule], example: Example) -> None:
    """Counts have no noise: what is counted now is what ships."""
    from torchlint.bench.counting import count
    from torchlint.bench.fixed import fixed
    from torchlint.bench.program import left_as_it_was
    from torchlint.bench.suite import running

    with running(), left_as_it_was():
        found = count(example, fixed(rule, example).text)
    row = COUNTS.get((rule.code, example.name))
    if found is None or found[0] == found[1]:
        assert row is None
    else:
        assert row is not None
        assert [Counts(**row["before"]), Counts(**row["after"])] == list(found)


ALLOCATING = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}")
    for rule, example in EXAMPLES
    if rule.code.startswith("TL4")
]


@pytest.mark.parametrize(("rule", "example"), ALLOCATING)
def test_what_is_built_again_claims_a_wait_or_a_copy_where_its_figure_counts_one(
    rule: type[Rule], example: Example
) -> None:
    for finding in found(example.source, [rule.code], []):
        claims = {"waits": r"\bwaits\b|GPU sync", "copies": r"\bcopied to the device|\bcopies the same number"}
        claimed = {event for event, words in claims.items() if re.search(words, finding.message)}
        for name in finding.figures:
            row = COUNTS.get((rule.code, name or rule.examples[0].name))
            saved = {event for event in claims if row is not None and row["before"][event] > row["after"][event]}
            assert claimed <= saved, (finding.message, name)


def test_a_rule_whose_gain_is_on_an_accelerator_has_counts_or_says_why_not() -> None:
    for rule in load_rules():
        gains = [events for code, _, events in counted() if code == rule.code and events.gains]
        if rule.cuda_only and not gains:
            words = r"\bcount(s|ed)?\b|number stays|same kernels|about a figure|has no effect"
            assert re.search(words, section(rule, "Measured"), re.IGNORECASE), rule.code


def test_nothing_is_said_not_to_be_measured_here() -> None:
    root = Path(__file__).resolve().parent.parent
    files = [path for folder in ("rules", "torchlint", "docs") for path in (root / folder).rglob("*.*")]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".md", ".json")}
    assert [path for path, text in texts.items() if re.search(r"not (been )?measured (here|yet)", text)] == []
