"""Every fix of every rule does the same as the code it replaces, whatever the inputs are, but for what it declares."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import fixed_text

from torchlint.engine.rules import load_rules
from torchlint.rule import Change, Example, Rule

FIXED = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}")
    for rule in load_rules()
    for example in rule.examples
    if not example.by_hand
]


@pytest.mark.torch
@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_the_fix_changes_nothing_that_it_does_not_declare(rule: type[Rule], example: Example, tmp_path: Path) -> None:
    from torchlint.bench.equal import outcomes

    after = fixed_text(
        tmp_path, "example.py", example.source, select=(rule.code,), preview=True, accept=frozenset(Change)
    )
    if after == example.source:
        pytest.skip("its fix assumes something, so that no hostile input can speak against it")
    declared = frozenset(rule.may_change)
    wrong = [
        f"{outcome.label}: {outcome.other or sorted(change.value for change in outcome.changes - declared)}"
        for outcome in outcomes(example, after)
        if outcome.other or outcome.changes - declared
    ]
    assert wrong == []
