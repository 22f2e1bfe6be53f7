"""Results of the suite as a table for people, with notes on what went wrong below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from torchlint.bench.result import (
    CONTROL_LIMITS,
    BeforeAfter,
    ExampleStatus,
    Recorded,
    ResultRow,
    Results,
    compared,
    disagreements,
)
from torchlint.report.cost import amount, duration, factor, fewer
from torchlint.report.explain import Pen
from torchlint.report.nouns import events
from torchlint.report.style import ASCII, LABEL, QUIET, UNICODE
from torchlint.rule import Cost, Counts, Rule
from torchlint.rule.finding import NOISE

if TYPE_CHECKING:
    from rich.table import Table

_BAD = "bold red"
_GOOD = "green"
_DOUBT = "yellow"

_LEGEND = (
    "Inputs: sets of ordinary and awkward inputs with the same results. Ratio: time before by time after, with its "
    "10th to 90th percentile. Shipped: the ratio that ships with the rule. On a GPU: fewer or more events per call, "
    "as counted on the counted device."
)

_HEADINGS = ("Rule, example", "Inputs", "Ratio", "10-90 %", "Saves", "Syncs", "Shipped", "On a GPU", "On CUDA")
# On a terminal narrower than this only so many columns are shown.
_ROOM = 70
_NARROW = (0, 2, 4, 5, 8)
# Events in words want more.
_WIDE = 110

NOT_CONFIRMED = "CUDA did other than the counted device:"
NOT_HELD = "Not held against CUDA, for torch's profiler recorded nothing of the device"

Shipped = Mapping[tuple[str, str], Cost]
"""The figures that came with the rules, by code and name of the example."""


def as_text(
    results: Results, shipped: Shipped, rules: Sequence[type[Rule]], *, color: bool, unicode: bool, width: int
) -> str:
    """Return the table, notes and a summary; no line is wider than ``width`` cells.

    A narrow terminal gets fewer columns.
    """
    pen = Pen(color, UNICODE if unicode else ASCII, width)
    lines: list[str] = []
    if results.rows:
        lines += [*pen.lines(_table(results, shipped, width)), "", *pen.lines(Text(_LEGEND, QUIET)), ""]
    for note in _notes(results, rules):
        lines += [*pen.lines(note), ""]
    lines += pen.lines(Text(summary(results)))
    return "".join(f"{line}\n" for line in lines)


def summary(results: Results) -> str:
    """Summarise results in one sentence.

    ``28 of 30 measured on cpu (AMD EPYC, 1 thread, torch 2.13.0): 24 faster, 4 with no gain beyond noise; ...``
    """
    rows, machine = results.rows, results.machine
    done = [row for row in rows if row.status is ExampleStatus.MEASURED]
    faster = sum(is_faster(row) for row in done)
    threads = f"{machine.threads} thread{'s' if machine.threads > 1 else ''}"
    where = f"{machine.device} ({machine.processor}, {threads}, torch {machine.torch})"
    text = f"{len(done)} of {len(rows)} examples measured on {where}"
    parts = [f"{faster} faster", f"{len(done) - faster} with no gain beyond noise"] if done else []
    words = {
        ExampleStatus.UNSTEADY: "without conclusion",
        ExampleStatus.DIFFERENT: "whose fix changes what it does not declare",
        ExampleStatus.FAILED: "failed",
        ExampleStatus.COUNTED: "counted only",
    }
    for status, word in words.items():
        count = sum(row.status is status for row in rows)
        parts += [f"{count} {word}"] if count else []
    interrupted = "" if results.complete else "Interrupted: "
    return f"{interrupted}{text}{': ' if parts else ''}{', '.join(parts)}."


def is_faster(row: ResultRow) -> bool:
    """Return whether the gain is above noise: the 10th percentile of the ratio."""
    return row.status is ExampleStatus.MEASURED and row.figure is not None and row.figure.low > NOISE


def _table(results: Results, shipped: Shipped, width: int) -> Table:
    from rich.table import Table

    shown = set(range(len(_HEADINGS))) if width >= _ROOM else set(_NARROW)
    if not any(row.syncs is not None for row in results.rows):
        shown.discard(_HEADINGS.index("Syncs"))
    if width < _WIDE:
        shown.discard(_HEADINGS.index("On a GPU"))
    if not any(row.held is not None for row in results.rows):
        shown.discard(_HEADINGS.index("On CUDA"))
    table = Table(box=None, padding=(0, 1, 0, 0), header_style=QUIET)
    for index in sorted(shown):
        table.add_column(
            _HEADINGS[index], justify="right" if 0 < index < _HEADINGS.index("On a GPU") else "left", overflow="fold"
        )
    for (code, name), rows in groupby(results.rows, lambda row: (row.code, row.name)):
        table.add_row(Text.assemble((code, LABEL), f" {name}" if width >= _ROOM else ""))
        for row in rows:
            cells = _cells(row, shipped.get((row.code, row.example)))
            table.add_row(*(cells[index] for index in sorted(shown)))
    return table


def _cells(row: ResultRow, shipped: Cost | None) -> list[Text]:
    known = Text(f"{factor(shipped.ratio)}x" if shipped is not None else "", QUIET)
    name = Text(f"  {row.example}")
    inputs = Text("by hand" if row.by_hand else f"{row.inputs} same" if row.inputs else "")
    gpu, held = Text(events_of(row)), Text(held_of(row), _BAD if disagreements(row) else "")
    if row.figure is None:
        tone = QUIET if row.status is ExampleStatus.COUNTED else _BAD
        return [name, inputs, Text(row.status.value, tone), Text(), Text(), Text(), known, gpu, held]
    figure = row.figure
    waits = Text(_arrow(row.syncs)) if row.syncs is not None else Text()
    if row.status is ExampleStatus.UNSTEADY:
        return [name, inputs, Text("unsteady", _DOUBT), Text(), Text(), waits, known, gpu, held]
    ratio = Text(f"{factor(figure.ratio)}x", _GOOD if is_faster(row) else "")
    spread = Text(f"{factor(figure.low)}-{factor(figure.high)}x")
    return [name, inputs, ratio, spread, Text(_saved(figure.saves_us)), waits, known, gpu, held]


def _saved(microseconds: float) -> str:
    return duration(microseconds) if microseconds >= 0 else f"-{duration(-microseconds)}"


def _arrow(pair: BeforeAfter) -> str:
    return f"{pair.before} > {pair.after}"


def events_of(row: ResultRow) -> str:
    """Return the events that the better form saves on an accelerator, in words; empty where it saves none."""
    return fewer(row.events) if row.events is not None and row.events.gains else ""


def held_of(row: ResultRow) -> str:
    """Describe whether the accelerator agrees with the counts: ``as counted``, ``2 differ``.

    The result is empty if it was not asked.
    """
    found = len(disagreements(row))
    return "" if row.held is None else f"{found} differ{'' if found > 1 else 's'}" if found else "as counted"


def against(row: ResultRow) -> list[str]:
    """Describe both programs of a row: ``before: counted 3 launches, measured 3 (5 kernels)``."""
    if row.held is None or row.events is None:
        return []
    sides = ("before", row.events.before, row.held.before), ("after", row.events.after, row.held.after)
    return [f"{side}: {_against(counts, recorded)}" for side, counts, recorded in sides]


def _against(counts: Counts, recorded: Recorded) -> str:
    """Return counts beside what was measured; those that are 0 in both are left out."""
    parts = [
        f"counted {events(counted, noun)}, measured {measured:,}"
        for noun, counted, measured in compared(counts, recorded)
        if counted or measured
    ]
    kernels = f" ({events(recorded.kernels, 'kernel')})" if recorded.kernels else ""
    return "; ".join(parts) + kernels if parts else "nothing counted, nothing measured"


def memory(pair: BeforeAfter) -> str:
    """Describe the peak of memory before and after: ``134 kB before, 101 kB after``."""
    return f"{amount(pair.before)} before, {amount(pair.after)} after"


def _notes(results: Results, rules: Sequence[type[Rule]]) -> Iterator[Text]:
    for row in results.rows:
        title = f"{row.code} {row.example}"
        if row.status is ExampleStatus.FAILED:
            yield Text.assemble((f"{title} failed:\n", _BAD), row.detail.rstrip())
        elif row.status is ExampleStatus.DIFFERENT:
            yield Text.assemble((f"{title}: the fix changes what it does not declare:\n", _BAD), row.detail)
        elif row.status is ExampleStatus.UNSTEADY and row.figure is not None:
            yield Text.assemble((f"{title}: no conclusion: ", _DOUBT), _unsteady(row.figure.control))
    lines = [f"{row.code} {row.example}: {memory(row.bytes)}" for row in results.rows if row.bytes is not None]
    if lines:
        yield Text("\n".join(["Memory that tensors took in a call, at most:", *lines]))
    yield from _held_notes(results.rows)
    told = [line for rule in rules for line in _exceptions(rule, results.rows)]
    if told:
        yield Text("\n".join(["Known exceptions, which the rules' documentation names:", *told]))
    counted = sorted({row.code for row in results.rows if row.status is ExampleStatus.COUNTED})
    if counted:
        yield Text(f"Counted and not timed, for the gain is on an accelerator: {', '.join(counted)}.", QUIET)
    if any(row.by_hand for row in results.rows):
        yield Text("by hand: the rule has no fix; a better version written by hand was run.", QUIET)


def _held_notes(rows: Sequence[ResultRow]) -> Iterator[Text]:
    """What was held against the accelerator, and each count that it does not confirm."""
    held = [row for row in rows if row.held is not None]
    wrong = [f"{row.code} {row.example}, {words}" for row in held for words in disagreements(row)]
    if wrong:
        yield Text("\n".join([NOT_CONFIRMED, *wrong]), _BAD)
    if held:
        agree = sum(not disagreements(row) for row in held)
        yield Text(f"{agree} of {len(held)} examples did on CUDA what was counted.")
    without = [row.code for row in rows if row.held is None and row.events is not None and row.device != "cpu"]
    if without:
        yield Text(f"{NOT_HELD}: {', '.join(sorted(set(without)))}.", _DOUBT)


def _unsteady(control: float) -> str:
    least, most = CONTROL_LIMITS
    return f"a program timed against itself gave {control:.2f}x, outside {least} to {most}; the machine is busy"


def _exceptions(rule: type[Rule], rows: Sequence[ResultRow]) -> Iterator[str]:
    seen = {label.partition(": ")[2] for row in rows if row.code == rule.code for label in row.exceptions}
    for words in sorted({rule.exceptions[kind] for kind in seen & rule.exceptions.keys()}):
        yield f"{rule.code}: {words}"
