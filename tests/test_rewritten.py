"""A rule package can do what the built-in rules do: three of them, written once more as a package of others.

The package imports what rule packages may import and nothing else, brings facts of its own, and finds the same.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from conftest import ROOT
from linting import lint

from torchlint.engine import packages
from torchlint.rule import Finding

PACKAGE = "torchlint_rewritten"
FOLDER = ROOT / "tests" / "rewritten"
RULES = {"TL406": "NEW406", "TL619": "NEW619", "TL705": "NEW705"}
FIXTURES = sorted(path for code in RULES for path in (ROOT / "tests" / "fixtures" / code).glob("*.py"))
PUBLIC = ("torchlint.rule", "torchlint.cst", "torchlint.facts")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the package where packages are installed."""
    monkeypatch.setattr(packages, "_search_path", lambda: iter([str(FOLDER)]))


def told(finding: Finding) -> tuple[object, ...]:
    """What a finding says besides which rule says it, and what was measured of it."""
    return finding.start, finding.end, finding.message, finding.level, finding.hot, finding.fix, finding.rows


def test_the_package_imports_what_rule_packages_may_import() -> None:
    names = [
        f"{node.module}.{alias.name}"
        for path in sorted((FOLDER / PACKAGE).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchlint")
        for alias in node.names
    ]
    assert len(names) > 10
    assert [name for name in names if not name.startswith(PUBLIC)] == []


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_rewritten_rule_finds_the_same(path: Path, tmp_path: Path) -> None:
    ours = path.parent.name
    theirs = RULES[ours]
    result = lint(
        tmp_path,
        {"code.py": path.read_text(encoding="utf-8")},
        plugins=(PACKAGE,),
        select=(ours, theirs),
        preview=True,
    )
    found = {code: [told(each) for each in result.findings if each.code == code] for code in (ours, theirs)}
    assert found[theirs] == found[ours]


def test_the_fixtures_hold_findings_of_each_rule() -> None:
    assert {path.parent.name for path in FIXTURES if "# expect: " in path.read_text(encoding="utf-8")} == {*RULES}
