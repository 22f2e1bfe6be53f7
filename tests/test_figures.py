"""The figures that messages quote belong to the rules as they are, and come from a steady machine."""

import importlib.resources
import json

import pytest

from torchlint.engine.rules import load_rules

DATA = json.loads(importlib.resources.files("torchlint_rules").joinpath("figures.json").read_text(encoding="utf-8"))
ROWS = [pytest.param(row, id=f"{row['code']}-{row['example']}-{row['device']}") for row in DATA["figures"]]


def test_every_example_was_measured_in_the_order_of_the_rule() -> None:
    measured = [(row["code"], row["example"]) for row in DATA["figures"] if row["device"] == "cpu"]
    rules = [rule for rule in load_rules() if not rule.cuda_only]
    assert measured == [(rule.code, example.name) for rule in rules for example in rule.examples]


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
