"""The scoring of labelled lines, on labels and findings made up for it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from programs import benchmark

from torchlint.engine.rules import load_rules


@pytest.fixture(scope="module")
def scoring() -> ModuleType:
    return benchmark("labels")


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
    assert "| a/b | 3 | 1 | 2 | 1 | 0 |" in scoring.by_project(labels, met)
    assert "recall 0.33 at first sight, 0.67 now" in scoring.table(scores)
    new = [label(scoring, row, each.rule, each.verdict) for row, each in ((4, twice), (5, labels[2]), (9, labels[3]))]
    assert [each.first for each in scoring.noted([*new, *labels], met)] == [
        "missed",
        "",
        "missed",
        "missed",
        "missed",
        "",
        "found",
    ]


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


def test_findings_are_named_from_the_top_of_the_folder(tmp_path: Path, root: Path) -> None:
    (tmp_path / "sub").mkdir()
    hot = root / "tests" / "fixtures" / "TL101" / "hot.py"
    (tmp_path / "sub" / "hot.py").write_text(hot.read_text(encoding="utf-8"), encoding="utf-8")
    found = benchmark("linted").findings(tmp_path)
    assert {row["filename"] for row in found} == {"sub/hot.py"}
    assert "TL101" in {row["code"] for row in found}


@pytest.mark.parametrize("page", ["none", "<!-- a: begin --> <!-- a: begin --> <!-- a: end -->", "<!-- a: begin -->"])
def test_a_page_without_its_part_stays_as_it_is(page: str) -> None:
    with pytest.raises(ValueError, match="no part 'a'"):
        benchmark("marked").written(page, "a", "text")


def test_a_part_is_replaced_and_the_rest_stays() -> None:
    written = benchmark("marked").written
    page = "head\n<!-- a: begin -->\nold\n<!-- a: end -->\ntail\n"
    once = written(page, "a", "new\n")
    assert once == "head\n<!-- a: begin -->\n\nnew\n\n<!-- a: end -->\ntail\n"
    assert written(once, "a", "new") == once
