"""The suite: every example of the chosen rules, equal first, then the time."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace

import torch

from torchlint.bench.caught import Caught
from torchlint.bench.counting import count, on_accelerator
from torchlint.bench.device import BenchDevice, silence_profiler
from torchlint.bench.equal import judge
from torchlint.bench.fixed import Fixed, UnfixableError, fixed
from torchlint.bench.measure import measure, summarise
from torchlint.bench.program import build, left_as_it_was
from torchlint.bench.result import BeforeAfter, ExampleStatus, Held, ResultRow, size_of
from torchlint.late import dataclass
from torchlint.rule import Counted, Example, Rule


@dataclass(frozen=True, slots=True)
class Thoroughness:
    """How thorough a run is: rounds of each measurement, and how often an unsteady one is tried."""

    rounds: int = 21
    tries: int = 2


QUICK = Thoroughness(rounds=5, tries=1)


def examples_of(rules: Sequence[type[Rule]]) -> list[tuple[type[Rule], Example]]:
    """Return the examples of a run, in the order of the rules."""
    return [(rule, example) for rule in rules for example in rule.examples]


@contextmanager
def running() -> Iterator[None]:
    """Run the block with one thread and without standard output and warnings, those of compilers included."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    silence_profiler()
    torch._logging.set_logs(all=logging.ERROR)  # type: ignore[attr-defined]  # documented by torch, but not typed
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)
        torch._logging.set_logs()  # type: ignore[attr-defined]  # as above


def row_of(rule: type[Rule], example: Example, device: BenchDevice, plan: Thoroughness) -> ResultRow:
    """Compare and measure one example; one that fails is a row, too."""
    blank = ResultRow(
        code=rule.code,
        name=rule.name,
        example=example.name,
        size=size_of(example),
        device=device.name,
        by_hand=example.by_hand,
        status=ExampleStatus.FAILED,
        runs=example.runs,
        unit=example.unit,
    )
    with Caught() as caught, left_as_it_was():
        return _row(rule, example, device, plan, blank)
    unfixable = isinstance(caught.error, UnfixableError)
    return replace(blank, detail=str(caught.error) if unfixable else caught.story)


def _row(rule: type[Rule], example: Example, device: BenchDevice, plan: Thoroughness, blank: ResultRow) -> ResultRow:
    after = fixed(rule, example)
    verdict = judge(rule, example, after, device.name)
    row = replace(
        blank,
        inputs=verdict.tried - len(verdict.wrong) - len(verdict.exceptions),
        changes=tuple(sorted(change.value for change in verdict.changes)),
        exceptions=verdict.exceptions,
    )
    if verdict.wrong:
        return replace(row, status=ExampleStatus.DIFFERENT, detail="\n".join(verdict.wrong))
    row = _held(_with_events(row, example, after), example, after, device)
    if rule.cuda_only and device.name == "cpu":
        return replace(row, status=ExampleStatus.COUNTED, detail="the gain is on an accelerator")
    row = _timed(row, example, after, device, plan)
    return _counted(row, rule, example, after, device)


def _with_events(row: ResultRow, example: Example, after: Fixed) -> ResultRow:
    """The row with the events that an accelerator would have."""
    found = count(example, after.text)
    events = None if found is None else Counted(*found, row.size, row.example, row.runs, row.unit)
    return replace(row, events=events)


def _held(row: ResultRow, example: Example, after: Fixed, device: BenchDevice) -> ResultRow:
    """The row with what the accelerator itself did, where there is one and it says so."""
    if row.events is None or device.name == "cpu":
        return row
    sides = []
    for source in (example.source, after.text):
        with on_accelerator(example, source) as program:
            sides.append(device.record(program))
    before, then = sides
    return row if before is None or then is None else replace(row, held=Held(before, then))


def _timed(row: ResultRow, example: Example, after: Fixed, device: BenchDevice, plan: Thoroughness) -> ResultRow:
    """The row with its time; an unsteady measurement is repeated, and the last one stands."""
    for _ in range(plan.tries):
        programs = [build(example, source, device.name) for source in (example.source, after.text)]
        rounds = measure(programs[0], programs[1], plan.rounds, device.clock)
        figure = summarise(rounds)
        row = replace(
            row,
            figure=figure,
            rounds=len(rounds),
            status=ExampleStatus.MEASURED if figure.steady else ExampleStatus.UNSTEADY,
        )
        if figure.steady:
            break
    return row


def _counted(row: ResultRow, rule: type[Rule], example: Example, after: Fixed, device: BenchDevice) -> ResultRow:
    """The row with what is counted: waits of the host on an accelerator, memory for a rule about memory."""
    before, then = (build(example, source, device.name) for source in (example.source, after.text))
    waits = device.syncs(before), device.syncs(then)
    if waits[0] is not None and waits[1] is not None:
        row = replace(row, syncs=BeforeAfter(waits[0], waits[1]))
    if rule.about_memory:
        row = replace(row, bytes=BeforeAfter(device.peak(before), device.peak(then)))
    return row
