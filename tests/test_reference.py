"""The fast way finds what the slow and plain way finds: gate, triggers and cut-out statements only save time."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from test_packages import download

from torchlint.engine.lint import Linter
from torchlint.engine.reference import slow_findings
from torchlint.engine.rules import load_rules
from torchlint.engine.run import check
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode
from torchlint.sources.walk import python_files

FIXTURES = sorted(path for path in (ROOT / "tests" / "fixtures").iterdir() if path.is_dir())


def facts_of(finding: Finding) -> tuple[object, ...]:
    """All of a finding but its cost, which is looked up and not found."""
    return (*finding.order, finding.end, finding.rows, finding.hot, finding.fix, finding.fingerprint, finding.level)


def both_ways(folder: Path) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """What all rules find in a folder, the fast way and the slow way."""
    settings = Settings(root=folder, isolated=True, select=tuple(rule.code for rule in load_rules()))
    fast = check([folder], settings)
    assert fast.problems == []
    texts = {path.relative_to(folder).as_posix(): path for path in python_files(folder, settings)}
    sources = {name: decode(path.read_bytes(), path, name) for name, path in texts.items()}
    linter = Linter([rule() for rule in load_rules()])
    slow = slow_findings(sources, settings, linter)
    assert linter.problems == []
    return [facts_of(finding) for finding in fast.findings], [facts_of(finding) for finding in slow]


@pytest.mark.parametrize("folder", [*FIXTURES, ROOT / "examples" / "agent"], ids=lambda folder: folder.name)
def test_the_slow_way_finds_the_same(folder: Path) -> None:
    fast, slow = both_ways(folder)
    assert fast == slow
    assert fast


@pytest.mark.packages
def test_the_slow_way_finds_the_same_in_a_package() -> None:
    fast, slow = both_ways(download("stable-baselines3==2.9.2"))
    assert fast == slow
    assert fast
