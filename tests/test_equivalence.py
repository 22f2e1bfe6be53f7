"""Every fix of every rule does the same as the code it replaces, whatever the inputs are, but for what it declares."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from torchlint.engine.rules import load_rules
from torchlint.rule import Change, Example, Input, Kind, Rule

if TYPE_CHECKING:
    from torchlint.bench.fixed import Fixed

pytestmark = pytest.mark.torch

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.name}") for rule in load_rules() for example in rule.examples
]
# What takes a C++ compiler says little more than the same program without it.
RUN = [
    pytest.param(*each.values, id=each.id, marks=pytest.mark.rare if "torch.compile(" in each.values[1].source else ())
    for each in EXAMPLES
]
WITH_EXCEPTIONS = [pytest.param(rule, id=rule.code) for rule in load_rules() if rule.exceptions]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Many small programs run here: more threads only wait for each other."""
    import torch

    from torchlint.bench.program import left_as_it_was

    with left_as_it_was():
        torch.set_num_threads(1)
        yield


@pytest.mark.third
@pytest.mark.parametrize(("rule", "example"), RUN)
def test_the_fix_changes_nothing_that_it_does_not_declare(rule: type[Rule], example: Example) -> None:
    from torchlint.bench.equal import judge
    from torchlint.bench.fixed import fixed

    after = fixed(rule, example)
    assert example.by_hand or after.may_change <= set(rule.may_change)
    verdict = judge(rule, example, after)
    assert verdict.tried >= (1 if after.assumes else 1 + len(example.inputs))
    assert verdict.wrong == ()


@pytest.mark.third
@pytest.mark.parametrize("rule", WITH_EXCEPTIONS)
def test_an_exception_is_real_and_stands_in_the_documentation(rule: type[Rule]) -> None:
    from torchlint.bench.equal import judge
    from torchlint.bench.fixed import fixed

    text = " ".join((inspect.getdoc(rule) or "").split())
    section = text.partition("## What the fix may change")[2].partition("##")[0]
    assert all(words in section for words in rule.exceptions.values())
    seen = {
        label.partition(": ")[2]
        for example in rule.examples
        if not example.by_hand
        for label in judge(rule, example, fixed(rule, example)).exceptions
    }
    assert seen == set(rule.exceptions)


# The one place where a fix that may be safe does otherwise, by rule: what for is told in docs/architecture.md.
OF_SAFE_FIXES = {
    "TL104": {"empty rows", "objects", "one row of foreign byte order", "large integers"},
    "TL409": {"empty"},
}


def test_safe_fixes_have_no_other_exceptions() -> None:
    from torchlint.bench.fixed import fixed

    found = {
        rule.code: set(rule.exceptions)
        for rule in load_rules()
        if rule.exceptions
        for after in [fixed(rule, example) for example in rule.examples if not example.by_hand]
        if not after.may_change and not after.assumes
    }
    assert found == OF_SAFE_FIXES


class Sums(Rule):
    """A stand-in that owns no fixer: the tests say what its fix makes."""

    code = "TL999"
    name = "sums"
    summary = "sums"


BEFORE = "import torch\n\ndef work(x):\n    return torch.tensor(x)\n"
ARRAY = Input("x", Kind.NDARRAY, (4, 3))


def judged(after: str, *changes: Change, before: str = BEFORE, given: Input = ARRAY, **more: bool) -> tuple[str, ...]:
    """What the suite says against a fix that makes ``after`` of ``before``."""
    from torchlint.bench.equal import judge
    from torchlint.bench.fixed import Fixed

    example = Example("sums", before, after, setup="", workload="work(x)", inputs=(given,), **more)
    planted: Fixed = Fixed(after, frozenset(changes), assumes=False)
    return judge(Sums, example, planted).wrong


def after(line: str) -> str:
    return f"import numpy as np\nimport torch\n\ndef work(x):\n    {line}\n"


# Wrong fixes of `torch.tensor(x)`, and on which input the suite must catch them.
PLANTED = [
    ("return torch.tensor(x) + 1", "ordinary: other results"),
    ("return torch.as_tensor(x)", "ordinary: changes aliasing"),
    ("return torch.tensor(x, dtype=torch.float32)", "x: float64: other results"),
    ("return torch.tensor(x).requires_grad_()", "ordinary: other results"),
    ("return torch.tensor(x.T.copy()).T", "ordinary: other strides"),
    ("torch.rand(1)\n    return torch.tensor(x)", "ordinary: changes rng"),
    ("x[:1] = 0\n    return torch.tensor(x)", "ordinary: other results"),
    ("y = torch.tensor(x)\n    x[:1] = 0\n    return y", "ordinary: other inputs afterwards"),
    ("return torch.tensor(x[:1].repeat(4, 0)) if x.ndim else torch.tensor(x)", "ordinary: other results"),
    ("return torch.tensor(np.nan_to_num(x))", "x: nan and inf: changes nonfinite"),
    ("return torch.tensor(x) + 0.0", "x: zeros and tiny numbers: changes nonfinite"),
    ("return torch.nn.Parameter(torch.tensor(x), requires_grad=False)", "ordinary: other results"),
    ("return torch.tensor(x if type(x) is np.ndarray else 0)", "x: an array of its own class: other results"),
    ("return torch.tensor(x.reshape(-1, 3))", "x: 0-d: raises ValueError"),
    ("return torch.tensor(x) if len(x) else torch.zeros(0)", "x: empty: other results"),
]


@pytest.mark.parametrize(("line", "complaint"), PLANTED)
def test_a_wrong_fix_is_caught(line: str, complaint: str) -> None:
    assert any(wrong.startswith(complaint) for wrong in judged(after(line))), judged(after(line))


def test_a_right_fix_passes() -> None:
    assert judged(after("return torch.tensor(x)")) == ()


def test_a_declared_change_is_no_complaint() -> None:
    line = after("return torch.as_tensor(x)")
    assert judged(line, Change.ALIASING) == ()
    assert judged(line, Change.ROUNDING) != ()


def test_a_check_that_no_longer_raises_is_validation() -> None:
    before = after("assert x.ndim, 'no rows'\n    return torch.tensor(x)")
    wrong = judged(BEFORE, before=before)
    assert wrong == ("x: 0-d: changes validation", "x: 0-d of integers: changes validation")
    assert judged(BEFORE, Change.VALIDATION, before=before) == ()


def test_rounding_and_inference_tensors_are_seen() -> None:
    assert "ordinary: changes rounding" in judged(
        after("return torch.tensor(x.sum(0) / 3)"), before=after("return torch.tensor((x / 3).sum(0))")
    )
    inference = "with torch.inference_mode():\n        return torch.tensor(x)"
    assert any(wrong.startswith("ordinary: other flags") for wrong in judged(after(inference)))


def test_gradients_of_the_inputs_are_seen() -> None:
    line = "x.requires_grad_().sum().backward()\n    return x.detach()"
    given = Input("x", Kind.TENSOR, (4, 3))
    assert judged(after(line), before=after(line), given=given) == judged(after(line), before=after(line), given=given)
    wrong = judged(after(line.replace("sum()", "mean()")), before=after(line), given=given)
    assert "ordinary: other inputs afterwards" in wrong


def test_memory_that_nobody_wrote_to_is_compared_by_its_layout() -> None:
    before = after("return torch.empty(x.shape).to(torch.float64).fill_(1)")
    good, bad = (after(f"return torch.empty(x.shape, dtype=torch.{dtype})") for dtype in ("float64", "float32"))
    assert judged(good, before=before, uninitialised=True) == ()
    assert any("other results" in wrong for wrong in judged(bad, before=before, uninitialised=True))


def test_a_rule_whose_fixer_does_nothing_is_no_success() -> None:
    from torchlint.bench.fixed import UnfixableError, fixed

    rule = load_rules()[0]
    clean = dataclasses.replace(rule.examples[0], source="import torch\n")
    with pytest.raises(UnfixableError, match="changes nothing"):
        fixed(rule, clean)


def test_what_an_example_compiles_is_forgotten():
    import torch

    from torchlint.bench.program import left_as_it_was

    graphs = []

    def backend(graph, _inputs):
        graphs.append(graph)
        return graph

    net = torch.compile(torch.nn.Sequential(torch.nn.Linear(2, 2)), backend=backend)
    with left_as_it_was():
        net(torch.ones(1, 2))
        net(torch.ones(1, 2))
        assert len(graphs) == 1
    net(torch.ones(1, 2))
    assert len(graphs) == 2
