"""The scoring of labelled lines, on labels and findings made up for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torchlint.engine.rules import load_rules


@pytest.fixture(scope="module")
def scoring(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("labels", root / "benchmarks" / "labels.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["labels"] = module
    spec.loader.exec_module(module)
    return module


def label(scoring: ModuleType, row: int, rule: str, verdict: str, first: str = "", mechanism: str = "") -> object:
    return scoring.Label("a/b", "0" * 40, "x.py", row, row, rule, verdict, "", "", first, mechanism)


def test_one_finding_is_one_smell_and_smells_come_before_look_alikes(scoring: ModuleType) -> None:
    twice = label(scoring, 4, "TL203", "smell", "missed", "sinks")
    labels = [twice, twice, label(scoring, 5, "TL203", "look-alike"), label(scoring, 9, "TL101", "smell", "found")]
    findings = [("TL203", "x.py", 4), ("TL203", "x.py", 5), ("TL101", "x.py", 20), ("TL101", "y.py", 9)]
    scores, met = scoring.scored(labels, {("a/b", "x.py"): "classical RL"}, {"a/b": findings})
    reads, made = scores["classical RL", "TL203"], scores["classical RL", "TL101"]
    assert (reads.smells, reads.first, reads.found, reads.alikes, reads.wrong) == (2, 0, 2, 1, 0)
    assert (made.smells, made.first, made.found, made.other) == (1, 1, 0, ["a/b x.py:20"])
    assert [hit for _, hit in scoring.answered(labels, met)] == [True, True, False, False]
    assert "| sinks | 2 | 0 |" in scoring.mechanisms(labels, met)
    assert "recall 0.33 at first sight, 0.67 now" in scoring.table(scores)
    assert [each.first for each in scoring.noted(labels, met)] == ["found", "found", "", "missed"]


def test_a_borderline_line_counts_neither_way(scoring: ModuleType) -> None:
    labels = [label(scoring, 4, "TL203", "borderline")]
    scores, _ = scoring.scored(labels, {("a/b", "x.py"): "classical RL"}, {"a/b": [("TL203", "x.py", 3)]})
    score = scores["classical RL", "TL203"]
    assert (score.smells, score.alikes, score.wrong, score.other) == (0, 0, 0, [])


def test_the_labels_are_of_files_that_were_read_and_of_rules_that_exist(scoring: ModuleType) -> None:
    labels, files = scoring.read_labels(), scoring.read_files()
    codes = {rule.code for rule in load_rules()}
    assert {label.place for label in labels} <= set(files)
    assert all(len(label.commit) == 40 and label.rule in codes and label.row <= label.end_row for label in labels)
    assert {label.verdict for label in labels} == {"smell", "look-alike", "borderline"}
    assert all((label.first in ("found", "missed")) is (label.verdict == "smell") for label in labels)
    assert all(bool(label.mechanism) is (label.first == "missed") for label in labels)


def test_every_field_has_projects_of_its_own(scoring: ModuleType) -> None:
    fields = scoring.read_files()
    projects = {
        field: {project for project, path in fields if fields[project, path] == field} for field in fields.values()
    }
    assert sorted(projects) == ["RL of language models", "classical RL"]
    assert all(len(names) >= 4 for names in projects.values())
    assert len(fields) >= 25
