"""Times two programs in interleaved blocks, with a control in the same run."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence

from torchlint.bench.program import Program
from torchlint.bench.result import Figure
from torchlint.late import dataclass

_BLOCK_SECONDS = 0.02
_WARM_UP_BLOCKS = 2
# A program that takes this long needs no more rounds than these: it is far above the noise of one call.
_SLOW_SECONDS = 0.2
_ROUNDS_OF_SLOW = 5

Clock = Callable[[Program, int], float]
"""Runs a program a number of times and gives back the seconds they took together."""


@dataclass(frozen=True, slots=True)
class TimedRound:
    """One round: seconds per call of the program before, after, and before once more, which is also the control."""

    before: float
    after: float
    again: float


def summarise(rounds: Sequence[TimedRound]) -> Figure:
    """Return median and percentiles of at least two rounds; raise ``ValueError`` for fewer."""
    if len(rounds) < 2:
        raise ValueError("percentiles need two rounds at least")
    ratios = [(r.before + r.again) / 2 / r.after for r in rounds]
    tenths = statistics.quantiles(ratios, n=10, method="inclusive")
    return Figure(
        ratio=statistics.median(ratios),
        low=tenths[0],
        high=tenths[-1],
        saves_us=statistics.median(1e6 * ((r.before + r.again) / 2 - r.after) for r in rounds),
        before_us=statistics.median(1e6 * (r.before + r.again) / 2 for r in rounds),
        after_us=statistics.median(1e6 * r.after for r in rounds),
        control=statistics.median(r.before / r.again for r in rounds),
    )


def measure(before: Program, after: Program, rounds: int, clock: Clock) -> list[TimedRound]:
    """Return the times of both programs, run in alternating blocks of equal length; slow ones run fewer rounds."""
    calls = [_calls_per_block(program, clock) for program in (before, after)]
    found: list[TimedRound] = []
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        while len(found) < rounds:
            blocks = [(before, calls[0]), (after, calls[1]), (before, calls[0])]
            order = (0, 1, 2) if len(found) % 2 else (2, 1, 0)
            seconds = {place: clock(*blocks[place]) / blocks[place][1] for place in order}
            found.append(TimedRound(seconds[0], seconds[1], seconds[2]))
            if seconds[0] > _SLOW_SECONDS:
                rounds = min(rounds, _ROUNDS_OF_SLOW)
    finally:
        if enabled:
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
