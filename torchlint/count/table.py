"""A counted run as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from torchlint.count.as_json import by_cost
from torchlint.count.result import CountedLine, CountedRun, LineStatus
from torchlint.report.cost import amount
from torchlint.report.escape import visible
from torchlint.report.explain import Pen
from torchlint.report.nouns import events
from torchlint.report.style import ASCII, QUIET, UNICODE
from torchlint.report.summary import count

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {LineStatus.FIXABLE: "green", LineStatus.REPORTED: "yellow"}
_STYLES |= {LineStatus.NEEDED: QUIET, LineStatus.LIBRARY: QUIET, LineStatus.SELDOM: QUIET}
_STYLES |= {LineStatus.MISSED: "bold red", LineStatus.UNCOVERED: "red"}


def as_text(run: CountedRun, top: int, *, color: bool, unicode: bool, width: int) -> str:
    """Return the totals, the lines that cost most with what ``check`` says of them, and one line that sums up."""
    pen = Pen(color, UNICODE if unicode else ASCII, width)
    lines = pen.lines(Text(headline(run), "bold"))
    shown = [line for line in by_cost(run.lines) if line.events.waits or line.events.launches or line.events.copies]
    if shown:
        lines += ["", *pen.lines(_table(run, shown[:top]))]
        if len(shown) > top:
            lines += pen.lines(Text(f"and {count(len(shown) - top, 'more line')} (--top)", QUIET))
    return "".join(f"{line}\n" for line in [*lines, "", *pen.lines(Text(summary(run), "bold"))])


def headline(run: CountedRun) -> str:
    """Describe totals.

    ``1,340 GPU syncs, 8,794 launches, 1,084 copies (3.2 MB) in 256 environment steps and 8 updates``.
    """
    total = run.totals
    where = [events(run.steps, "environment step")] if run.steps else []
    where += [events(run.updates, "update")] if run.updates else []
    inside = f" in {' and '.join(where)}" if where else ""
    copies = f"{events(total.copies, 'copy')} ({amount(total.bytes)})"
    return f"{events(total.waits, 'GPU sync')}, {events(total.launches, 'launch')}, {copies}{inside}"


def summary(run: CountedRun) -> str:
    """Return how many GPU syncs there are of each status, in words."""
    waits = run.totals.waits
    if not waits:
        return "No line forces a GPU sync."
    parts = [
        f"{run.waits_of(status):,} {words}"
        for status, words in (
            (LineStatus.FIXABLE, "with a fix"),
            (LineStatus.REPORTED, "reported"),
            (LineStatus.NEEDED, "needed"),
            (LineStatus.LIBRARY, "in libraries"),
            (LineStatus.SELDOM, "seldom"),
            (LineStatus.MISSED, "missed"),
            (LineStatus.UNCOVERED, "not covered by a rule"),
        )
        if run.waits_of(status)
    ]
    parts += [f"{run.elsewhere.waits:,} outside the project"] if run.elsewhere.waits else []
    return f"{events(waits, 'GPU sync')}: {', '.join(parts)}."


def _table(run: CountedRun, lines: list[CountedLine]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style=QUIET)
    times, unit = (run.steps, "step") if run.steps else (run.updates, "update") if run.updates else (0, "")
    heads = ["Syncs", *([f"a {unit}"] if unit else []), "Launches", "Copies"]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("Line", justify="left", overflow="fold")
    for line in lines:
        found = line.events
        rate = [f"{found.waits / times:.2g}" if found.waits else ""] if unit else []
        cells = [f"{number:,}" if number else "" for number in (found.waits, found.launches, found.copies)]
        table.add_row(cells[0], *rate, *cells[1:], _where(line))
    return table


def verdict(line: CountedLine) -> str:
    """Return what ``check`` says of a line in words; empty for a line that does not wait and has no finding."""
    codes = ", ".join(sorted({finding.code for finding in line.findings}))
    return {
        LineStatus.FIXABLE: f"{codes}, with a fix",
        LineStatus.REPORTED: codes,
        LineStatus.NEEDED: f"needed: {line.why}",
        LineStatus.LIBRARY: f"in {line.why}",
        LineStatus.SELDOM: "less than once a step or update",
        LineStatus.MISSED: f"missed: {line.why}",
        LineStatus.UNCOVERED: "no rule covers this" if line.events.waits else "",
    }[line.status]


def _where(line: CountedLine) -> Text:
    text = Text(f"{visible(line.path)}:{line.row}")
    words = verdict(line)
    if words or line.waiting:
        text.append("\n")
        text.append(words, _STYLES[line.status])
    if line.waiting:
        text.append(f"  {', '.join(name.removeprefix('aten::') for name in sorted(line.waiting))}", QUIET)
    return text
