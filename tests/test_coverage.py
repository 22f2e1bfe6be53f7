"""The page on coverage: every rule that it names exists, and every line that it links to is one that the rule finds.

A linked line bears the rule's mark, and its file is one of those of which ``test_fixtures`` checks that all marks hold.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from torchlint.engine.rules import load_rules
from torchlint.testing import fixtures

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
TEXT = PAGE.read_text(encoding="utf-8")
REPORTS, _, REST = TEXT.partition("## Rules without a fix")
FIXES, _, UNFIXED = REST.partition("## Findings without a fix")
TABLES = [line for line in REPORTS.splitlines() if line.startswith("| ")]
ROWS = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in TABLES]
ROWS = [row for row in ROWS if row[0] not in ("recommendation", "smell", "---")]
LINK = re.compile(r"(?P<code>TL\d{3}) \(\[line\]\((?P<path>\.\./tests/fixtures/TL\d{3}/\w+\.py)#L(?P<row>\d+)\)\)")
FIXTURES = frozenset(fixtures(ROOT / "tests" / "fixtures"))
LINKS = sorted({(link["code"], link["path"], int(link["row"])) for link in LINK.finditer(TEXT)})


def test_every_recommendation_names_a_rule_or_a_reason() -> None:
    assert len(ROWS) > 70
    assert {len(row) for row in ROWS} == {3}
    assert [row for row in ROWS if not (LINK.search(row[1]) or (row[1] == "no rule" and row[2]))] == []


def test_each_of_the_five_reports_has_its_table() -> None:
    assert len(re.findall(r"^## The \w+: ", TEXT, re.MULTILINE)) == 5
    assert TABLES.count("| recommendation | found by | remark |") == 5


def test_the_rules_without_a_fix_are_listed_with_the_better_form_and_a_reason() -> None:
    assert codes(FIXES) == [rule.code for rule in load_rules() if not rule.fixable]


def test_the_findings_without_a_fix_that_were_seen_are_listed_by_rule() -> None:
    with open(ROOT / "docs" / "fixable.csv", encoding="utf-8") as file:
        unfixed = {row["rule"] for row in csv.DictReader(file) if row["fix"] == "none"}
    named = codes(UNFIXED)
    assert named == sorted(named)
    assert set(named) <= {rule.code for rule in load_rules() if rule.fixable}
    assert unfixed - {"TL000"} <= {*named, *codes(FIXES)}


def codes(section: str) -> list[str]:
    """The rules of a table of three columns, all of them filled."""
    table = [line for line in section.splitlines() if line.startswith("| TL")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    assert [row for row in rows if len(row) != 3 or not all(row)] == []
    return [row[0] for row in rows]


def test_every_rule_that_is_named_exists() -> None:
    assert set(re.findall(r"TL\d{3}", TEXT)) <= {rule.code for rule in load_rules()}


@pytest.mark.parametrize(("code", "link", "row"), LINKS, ids=[f"{code}-{row}" for code, _, row in LINKS])
def test_the_rule_finds_the_line_that_is_linked(code: str, link: str, row: int) -> None:
    path = (PAGE.parent / link).resolve()
    assert path in FIXTURES
    assert path.parent.name == code
    mark = re.search(r"# expect: (.*)$", path.read_text(encoding="utf-8").splitlines()[row - 1])
    assert mark is not None and code in mark[1]
