"""The page on precision says what the list of read findings says."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from types import ModuleType

import pytest
from programs import benchmark


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    return benchmark("accuracy")


def test_the_table_of_read_findings_is_that_of_the_list(accuracy: ModuleType, root: Path) -> None:
    page = (root / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert accuracy.written(page, "reading", accuracy.verdicts()) == page


def test_the_table_of_traps_is_that_of_the_fixtures(accuracy: ModuleType, root: Path) -> None:
    page = (root / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert accuracy.written(page, "traps", accuracy.traps()) == page


def test_every_verdict_is_one_of_two_and_says_why(root: Path) -> None:
    with (root / "docs" / "accuracy.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert {row["verdict"] for row in rows} <= {"right", "wrong"}
    assert all(row["why"] and row["line"].isdecimal() and row["file"].endswith((".py", ".ipynb")) for row in rows)


def test_a_printed_table_becomes_markdown(accuracy: ModuleType) -> None:
    text = "rule smells found\nTL101 3 2\nall 3 2\nmacro recall 0.67\n"
    assert (
        accuracy.table(text)
        == "| rule | smells | found |\n| --- | --- | --- |\n| TL101 | 3 | 2 |\n| all | 3 | 2 |\n\nmacro recall 0.67"
    )


def test_rules_with_few_labels_list_their_fixtures(root: Path) -> None:
    """Six hot functions and six look-alikes for each rule of TL1 to TL3 with fewer than eight labelled smells."""
    page = (root / "docs" / "accuracy.md").read_text(encoding="utf-8")
    scores = page.split("<!-- table: end -->")[0]
    smells = {code: int(count) for code, count in re.findall(r"^\| (TL[123]\d\d) \| (\d+) \|", scores, re.MULTILINE)}
    listed = re.findall(r"^- \*\*(TL\d{3})\*\*\n  - hot: (.+)\n  - look-alike: (.+)$", page, re.MULTILINE)
    assert {code for code, *_ in listed} >= {code for code, count in smells.items() if count < 8}
    for code, *kinds in listed:
        for text in kinds:
            items = re.split(r"; (?![^()]*\))", text)
            files = re.findall(r"\(([\w]+\.py)", text)
            assert len(items) >= 6, code
            assert files and all((root / "tests" / "fixtures" / code / name).is_file() for name in files), code
