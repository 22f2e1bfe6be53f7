"""Every rule's examples: the smell is found, the fix makes the better version, and both compute the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import fixed_text, lint
from running import assert_same, run

from torchlint.engine.rules import load_rules
from torchlint.rule import Change, Example, Rule

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}") for rule in load_rules() for example in rule.examples
]
# What takes a C++ compiler says little more than the same program without it.
RUN = [
    pytest.param(*each.values, id=each.id, marks=pytest.mark.rare if "torch.compile(" in each.values[1].source else ())
    for each in EXAMPLES
]
RULES = [pytest.param(rule, id=rule.code) for rule in load_rules()]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_examples_with_names_of_their_own(rule: type[Rule]) -> None:
    names = [example.name for example in rule.examples]
    assert names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_the_source_holds_the_smell_and_the_better_version_does_not(
    rule: type[Rule], example: Example, tmp_path: Path
) -> None:
    found = lint(tmp_path / "before", {"example.py": example.source}, select=(rule.code,)).findings
    assert {finding.code for finding in found} == {rule.code}
    better = lint(tmp_path / "after", {"example.py": example.fixed}, select=(rule.code,)).findings
    assert better == []


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_the_fix_makes_the_better_version(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    width = max([88, *map(len, example.fixed.splitlines())])  # rows as long as their author made them
    options = {"unsafe_fixes": True, "target_torch": "999.0", "line_length": width}
    text = fixed_text(tmp_path, "example.py", example.source, select=(rule.code,), **options)
    assert text == (example.source if example.by_hand else example.fixed)


@pytest.mark.third
@pytest.mark.torch
@pytest.mark.parametrize(("rule", "example"), RUN)
def test_both_versions_compute_the_same(rule: type[Rule], example: Example) -> None:
    exact = Change.ROUNDING not in rule.may_change and not example.by_hand
    assert_same(run({"example.py": example.source}, example), run({"example.py": example.fixed}, example), exact)
