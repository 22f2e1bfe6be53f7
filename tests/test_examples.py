"""Every rule's examples: the smell is found, the fix makes the better version, and both compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from linting import fixed_text, lint
from torchlint.engine.rules import load_rules

from torchlint.rule import Change, Example, Input, Kind, Rule

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}") for rule in load_rules() for example in rule.examples
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
    text = fixed_text(tmp_path, "example.py", example.source, select=(rule.code,), unsafe_fixes=True)
    assert text == (example.source if example.by_hand else example.fixed)


def values_of(given: Input) -> Any:
    """Test data of the stated kind, dtype and shape, the same for the same input."""
    import numpy as np
    import torch

    random = np.random.default_rng(0)
    if given.dtype == "bool":
        array = random.random(given.shape) < 0.5
    elif given.dtype.startswith(("int", "uint")):
        array = random.integers(0, 100, given.shape).astype(given.dtype)
    else:
        array = random.standard_normal(given.shape).astype(given.dtype)
    match given.kind:
        case Kind.NDARRAY:
            return array
        case Kind.TENSOR:
            return torch.from_numpy(array)
        case Kind.LIST | Kind.NUMBER:
            return array.tolist()
    raise ValueError(f"no test data of kind {given.kind.value}")


def run(source: str, example: Example) -> Any:
    """The value of an example's workload with one version of its program."""
    import numpy as np
    import torch

    torch.manual_seed(0)
    np.random.seed(0)
    names = {"__name__": "example", "torch": torch, "np": np, "device": "cpu"}
    exec(compile(source, "example.py", "exec"), names)
    names.update((given.name, values_of(given)) for given in example.inputs)
    exec(compile(example.setup, "setup", "exec"), names)
    return eval(compile(example.workload, "workload", "eval"), names)


def assert_same(ours: Any, theirs: Any, exact: bool) -> None:
    """Compare results: tensors with dtype, device and what autograd knows, containers item by item."""
    import numpy as np
    import torch

    assert type(ours) is type(theirs)
    if isinstance(ours, torch.Tensor):
        assert (ours.shape, ours.dtype, ours.device) == (theirs.shape, theirs.dtype, theirs.device)
        assert (ours.requires_grad, ours.is_inference()) == (theirs.requires_grad, theirs.is_inference())
        tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {}
        torch.testing.assert_close(ours, theirs, equal_nan=True, **tolerance)
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs) if exact else np.testing.assert_allclose(ours, theirs)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key, value in ours.items():
            assert_same(value, theirs[key], exact)
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, exact)
    elif isinstance(ours, float) and not exact:
        assert ours == pytest.approx(theirs)
    else:
        assert ours == theirs


@pytest.mark.torch
@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_both_versions_compute_the_same(rule: type[Rule], example: Example) -> None:
    exact = Change.ROUNDING not in rule.may_change and not example.by_hand
    assert_same(run(example.source, example), run(example.fixed, example), exact)
