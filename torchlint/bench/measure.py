"""Times an example before and after its fix in interleaved blocks, with a control in the same run."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from torchlint.bench.agree import Difference, difference
from torchlint.bench.program import Program, build, seed
from torchlint.rule import Change, Example, Rule

CONTROL_LIMITS = (0.95, 1.05)
_BLOCK_SECONDS = 0.02
_WARM_UP_BLOCKS = 2

Clock = Callable[[Program, int], float]
"""Runs a program a number of times and gives back the seconds they took together."""


class Unsteady(Exception):
    """The machine was too busy: the same program, timed against itself, gave different times."""


class Disagreement(Exception):
    """The results before and after the fix differ by more than the rule says they may."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round: seconds per call of the program before, after, and before once more, which is also the control."""

    before: float
    after: float
    again: float


@dataclass(frozen=True, slots=True)
class Figure:
    """What the rounds say.

    ``ratio`` is time before divided by time after (above 1: the fix is faster), its median, with ``low`` and ``high``,
    the 10th and 90th percentile. ``saves_us`` is the median of microseconds saved in one call, ``control`` the median
    ratio of the program before to itself.
    """

    ratio: float
    low: float
    high: float
    saves_us: float
    control: float


def summarise(rounds: Sequence[Round]) -> Figure:
    """Median and percentiles of rounds. Needs two rounds at least (``ValueError``)."""
    if len(rounds) < 2:
        raise ValueError("percentiles need two rounds at least")
    ratios = [(r.before + r.again) / 2 / r.after for r in rounds]
    tenths = statistics.quantiles(ratios, n=10, method="inclusive")
    return Figure(
        ratio=statistics.median(ratios),
        low=tenths[0],
        high=tenths[-1],
        saves_us=statistics.median(1e6 * ((r.before + r.again) / 2 - r.after) for r in rounds),
        control=statistics.median(r.before / r.again for r in rounds),
    )


def figure(
    rule: type[Rule], example: Example, rounds: int, device: str = "cpu", clock: Clock | None = None
) -> Figure:
    """Measure an example of a rule on one thread, by processor time on the CPU, by device events on CUDA.

    Raises:
        Disagreement: the results differ by more than the rule declares.
        Unsteady: the control left its limits.
    """
    torch.set_num_threads(1)
    before, after = build(example, example.source, device), build(example, example.fixed, device)
    _hold_results(rule, example, before, after)
    clock = clock or (_device_clock if device.startswith("cuda") else _process_clock)
    found = summarise(measure(before, after, rounds, clock))
    low, high = CONTROL_LIMITS
    if not low <= found.control <= high:
        raise Unsteady(f"{rule.code} {example.name}: the control gave {found.control:.3f}")
    return found


def measure(before: Program, after: Program, rounds: int, clock: Clock) -> list[Round]:
    """Time both programs in alternating blocks of about the same length."""
    calls = [_calls_per_block(program, clock) for program in (before, after)]
    found: list[Round] = []
    gc.collect()
    gc.disable()
    try:
        for index in range(rounds):
            blocks = [(before, calls[0]), (after, calls[1]), (before, calls[0])]
            order = (0, 1, 2) if index % 2 else (2, 1, 0)
            seconds = {place: clock(*blocks[place]) / blocks[place][1] for place in order}
            found.append(Round(seconds[0], seconds[1], seconds[2]))
    finally:
        gc.enable()
    return found


def _calls_per_block(program: Program, clock: Clock) -> int:
    """How many calls last about as long as a block should; warms the program up on the way."""
    calls = 1
    while (seconds := clock(program, calls)) < _BLOCK_SECONDS / 4:
        calls *= 2
    calls = max(1, round(calls * _BLOCK_SECONDS / seconds))
    for _ in range(_WARM_UP_BLOCKS):
        clock(program, calls)
    return calls


def _process_clock(run: Program, calls: int) -> float:
    """Seconds of processor time of this process: other programs on the machine do not count."""
    start = time.process_time()
    for _ in range(calls):
        run()
    return time.process_time() - start


def _device_clock(run: Program, calls: int) -> float:
    """Seconds between two events on the device's stream; waits for the host count."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]  # torch's
    torch.cuda.synchronize()
    start.record()
    for _ in range(calls):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def _hold_results(rule: type[Rule], example: Example, before: Program, after: Program) -> None:
    """Run both once from the same random state and compare. A version written by hand may round differently."""
    if Change.RNG in rule.may_change and not example.by_hand:
        return
    seed()
    expected = before()
    seed()
    found = difference(expected, after())
    rounds = example.by_hand or Change.ROUNDING in rule.may_change
    if found > (Difference.ROUNDING if rounds else Difference.NONE):
        raise Disagreement(f"{rule.code} {example.name}: the results differ ({found.name.lower()})")
