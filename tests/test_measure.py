"""The arithmetic of the measurements; nothing here asserts a time."""

import gc
import math

import numpy as np
import pytest
import torch

from torchlint.bench.agree import Difference, difference
from torchlint.bench.measure import TimedRound, measure, summarise
from torchlint.bench.program import build
from torchlint.rule import Example, Input, Kind


def example(source, fixed, workload="work(x)", **more):
    return Example("sums", source, fixed, setup="", workload=workload, inputs=(Input("x", Kind.TENSOR, (4,)),), **more)


def test_summary_of_known_rounds():
    rounds = [TimedRound(before=seconds, after=1.0, again=seconds) for seconds in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
    found = summarise(rounds)
    assert (found.ratio, found.low, found.high) == (3.5, 1.5, 5.5)
    assert found.saves_us == pytest.approx(2.5e6)
    assert (found.before_us, found.after_us) == (pytest.approx(3.5e6), pytest.approx(1e6))
    assert found.control == 1.0


def test_drift_inside_a_round_cancels_out():
    rounds = [TimedRound(before=1.0, after=1.1, again=1.2), TimedRound(before=1.2, after=1.1, again=1.0)]
    found = summarise(rounds)
    assert found.ratio == pytest.approx(1.0)
    assert found.saves_us == pytest.approx(0.0)


def test_the_control_compares_the_program_before_with_itself():
    assert summarise([TimedRound(1.2, 1.0, 1.0)] * 3).control == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("control", "steady"), [(0.94, False), (0.951, True), (1.0, True), (1.049, True), (1.06, False)]
)
def test_a_control_that_strays_allows_no_conclusion(control, steady):
    assert summarise([TimedRound(control, 0.5, 1.0)] * 3).steady is steady


def test_one_round_has_no_percentiles():
    with pytest.raises(ValueError, match="two rounds"):
        summarise([TimedRound(1.0, 1.0, 1.0)])


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


def test_slow_programs_get_few_rounds():
    assert len(measure(lambda: 0, lambda: 0, 21, lambda program, calls: 0.5 * calls)) == 5


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_off_meanwhile_and_then_as_before(enabled):
    seen = []

    def clock(program, calls):
        seen.append(gc.isenabled())
        return 0.02 * calls

    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        measure(lambda: 0, lambda: 0, 2, clock)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert seen[-6:] == [False] * 6


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
        (torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16), Difference.NONE),
        (torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16) * 2, Difference.OTHER),
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
