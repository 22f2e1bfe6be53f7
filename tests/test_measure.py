"""The arithmetic of the measurements; nothing here asserts a time."""

import itertools
import math

import numpy as np
import pytest
import torch

from torchlint.bench.agree import Difference, difference
from torchlint.bench.measure import Disagreement, Round, Unsteady, figure, measure, summarise
from torchlint.bench.program import build
from torchlint.rule import Change, Example, Input, Kind, Rule


def example(source, fixed, workload="work(x)", **more):
    return Example("sums", source, fixed, setup="", workload=workload, inputs=(Input("x", Kind.TENSOR, (4,)),), **more)


def test_summary_of_known_rounds():
    rounds = [Round(before=seconds, after=1.0, again=seconds) for seconds in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
    found = summarise(rounds)
    assert (found.ratio, found.low, found.high) == (3.5, 1.5, 5.5)
    assert found.saves_us == pytest.approx(2.5e6)
    assert found.control == 1.0


def test_drift_inside_a_round_cancels_out():
    rounds = [Round(before=1.0, after=1.1, again=1.2), Round(before=1.2, after=1.1, again=1.0)]
    found = summarise(rounds)
    assert found.ratio == pytest.approx(1.0)
    assert found.saves_us == pytest.approx(0.0)


def test_the_control_compares_the_program_before_with_itself():
    assert summarise([Round(1.2, 1.0, 1.0)] * 3).control == pytest.approx(1.2)


def test_one_round_has_no_percentiles():
    with pytest.raises(ValueError, match="two rounds"):
        summarise([Round(1.0, 1.0, 1.0)])


def test_measure_divides_by_the_calls_and_alternates_the_order():
    seconds = {"slow": 0.004, "fast": 0.001}
    order = []

    def clock(program, calls):
        order.append((program(), calls))
        return seconds[program()] * calls

    found = measure(lambda: "slow", lambda: "fast", 4, clock)
    assert [(r.before, r.after, r.again) for r in found] == [pytest.approx((0.004, 0.001, 0.004))] * 4
    blocks = {(name, calls) for name, calls in order[-12:]}
    assert blocks == {("slow", 5), ("fast", 20)}
    assert [name for name, _ in order[-12:]] == ["slow", "fast", "slow"] * 4


def test_inputs_are_equal_for_both_versions_and_not_shared():
    source = "def work(x):\n    y = x.clone()\n    x.zero_()\n    return y\n"
    first, second = (build(example(source, source), source) for _ in range(2))
    assert torch.equal(first(), second())
    assert torch.equal(first(), torch.zeros(4))


def test_a_workload_sees_the_seeded_random_streams():
    source = "import torch\n\ndef work(x):\n    return torch.rand(3)\n"
    first, second = (build(example(source, source), source) for _ in range(2))
    torch.manual_seed(5)
    before = first()
    torch.manual_seed(5)
    assert torch.equal(before, second())


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("bool", torch.bool), ("int64", torch.int64), ("uint8", torch.uint8), ("float64", torch.float64)],
)
def test_inputs_have_the_declared_dtype(dtype, expected):
    source = "def work(x):\n    return x\n"
    declared = Example("one", source, source, "", "work(x)", inputs=(Input("x", Kind.TENSOR, (2, 3), dtype),))
    value = build(declared, source)()
    assert value.dtype is expected
    assert value.shape == (2, 3)


def test_an_input_without_a_generator_is_refused():
    declared = Example("one", "", "", "", "None", inputs=(Input("env", Kind.ENV),))
    with pytest.raises(TypeError, match="environment"):
        build(declared, "")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, math.nan]), Difference.NONE),
        (torch.tensor([1.0]), torch.tensor([1.0 + 1e-6]), Difference.ROUNDING),
        (torch.tensor([1.0]), torch.tensor([1.1]), Difference.OTHER),
        (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), Difference.OTHER),
        (torch.tensor([1.0]), torch.tensor([1.0], requires_grad=True), Difference.OTHER),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), Difference.OTHER),
        (np.array([1, 2]), np.array([1, 2]), Difference.NONE),
        (np.array([1, 2]), torch.tensor([1, 2]), Difference.OTHER),
        ([torch.tensor(1.0), 2], [torch.tensor(1.0), 2], Difference.NONE),
        ((1.0, "a"), (1.0 + 1e-15, "a"), Difference.ROUNDING),
        ({"a": 1}, {"a": 2}, Difference.OTHER),
        ([1], [1, 2], Difference.OTHER),
        (math.nan, math.nan, Difference.NONE),
        (None, None, Difference.NONE),
    ],
)
def test_difference(before, after, expected):
    assert difference(before, after) is expected
    assert difference(after, before) is expected


class Doubles(Rule):
    code = "TL999"
    name = "doubles"
    summary = "doubles"


class DoublesWithRounding(Doubles):
    may_change = (Change.ROUNDING,)


@pytest.mark.parametrize(("rule", "factor"), [(Doubles, 1.0 + 1e-6), (DoublesWithRounding, 1.5)])
def test_a_fix_that_changes_more_than_declared_is_not_measured(rule, factor):
    wrong = example("def work(x):\n    return x * 2\n", f"def work(x):\n    return x * 2 * {factor}\n")
    with pytest.raises(Disagreement, match="TL999 sums"):
        figure(rule, wrong, rounds=2)


@pytest.mark.parametrize(("strays", "steady"), [(1.04, True), (1.06, False)])
def test_a_figure_whose_control_strays_is_refused(strays, steady):
    same = "def work(x):\n    return x * 2\n"
    drift = itertools.cycle([1.0, 1.0, strays, strays, 1.0, 1.0])
    calls_before = 2 + 2 * 2  # each program: one block to find the number of calls, two to warm up

    blocks = itertools.count()

    def clock(program, calls):
        return 0.02 * (1.0 if next(blocks) < calls_before else next(drift))

    if steady:
        assert figure(Doubles, example(same, same), rounds=4, clock=clock).control == pytest.approx(strays)
    else:
        with pytest.raises(Unsteady, match=r"control gave 1\.06"):
            figure(Doubles, example(same, same), rounds=4, clock=clock)
