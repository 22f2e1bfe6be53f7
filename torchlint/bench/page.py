"""Results of the suite as one self-contained HTML page with plots: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from torchlint.bench.plots import Bar, intervals, savings
from torchlint.bench.result import CONTROL_LIMITS, ExampleStatus, ResultRow, Results, disagreements
from torchlint.bench.table import NOT_HELD, Shipped, against, events_of, held_of, is_faster, memory, summary
from torchlint.report.cost import duration, factor
from torchlint.report.page import document

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --quiet: #667085; --paper: #ffffff; --line: #d5dae3;
  --good: #12805c; --flat: #98720b; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --quiet: #98a2b3; --paper: #14181f; --line: #343c4a;
  --good: #3ccb97; --flat: #e0b13d; --bad: #ff7a6b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.quiet, td.quiet, caption { color: var(--quiet); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
pre { overflow-x: auto; border-left: 3px solid var(--bad); padding: .3rem .8rem; }
svg { display: block; width: 100%; min-width: 34rem; height: auto; }
svg text { fill: var(--ink); font-size: 12px; } svg .quiet { fill: var(--quiet); }
svg .grid { stroke: var(--line); } svg .one { stroke: var(--quiet); stroke-dasharray: 3 3; }
svg .good { fill: var(--good); stroke: var(--good); } svg .flat { fill: var(--flat); stroke: var(--flat); }
svg .bad { fill: var(--bad); stroke: var(--bad); }
svg .shipped { fill: none; stroke: var(--quiet); stroke-width: 1.5; }
.good { color: var(--good); } .flat { color: var(--flat); } .bad { color: var(--bad); }
"""
_HEADINGS = (
    "Rule, example",
    "Size",
    "Inputs",
    "Before",
    "After",
    "Ratio",
    "10th to 90th",
    "Saves",
    "Control",
    "Shipped",
    "On a GPU",
    "On CUDA",
)


def as_html(results: Results, shipped: Shipped) -> str:
    """Return the whole page."""
    machine = results.machine
    rows = results.rows
    bars = [_bar(row, shipped) for row in rows if row.status is ExampleStatus.MEASURED]
    body = [
        f'<p class="quiet">{escape(_of(results))}</p>',
        f"<p>{escape(summary(results))} The program after is the result of the fix. The results of both "
        "were compared on ordinary and on awkward inputs before they were timed.</p>",
    ]
    if bars:
        body += [
            "<h2>Time before by time after</h2>",
            "<p class='quiet'>Median and 10th to 90th percentile; right of 1 the fix is faster. A hollow circle is the "
            "figure that ships with the rule.</p>",
            f'<div class="wide">{intervals(bars)}</div>',
            "<h2>Saved in one call</h2>",
            f'<div class="wide">{savings(bars)}</div>',
        ]
    body += ["<h2>All figures</h2>", *_table(rows, shipped), *_problems(rows), *_held(rows), *_notes(rows)]
    return document(f"torchlint bench on {machine.device}", body, _STYLE)


def _of(results: Results) -> str:
    machine = results.machine
    return (
        f"torchlint {results.version}, {machine.processor}, {machine.threads} thread, "
        f"Python {machine.python}, torch {machine.torch}, numpy {machine.numpy}"
    )


def _bar(row: ResultRow, shipped: Shipped) -> Bar:
    figure = row.figure
    assert figure is not None  # it was measured
    known = shipped.get((row.code, row.example))
    tone = "good" if is_faster(row) else "bad" if figure.high < 1 else "flat"
    return Bar(
        f"{row.code} {row.example}",
        figure.ratio,
        figure.low,
        figure.high,
        figure.saves_us,
        tone,
        known.ratio if known is not None else None,
    )


def _table(rows: Sequence[ResultRow], shipped: Shipped) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
    yield "</tr></thead><tbody>"
    for row in rows:
        known = shipped.get((row.code, row.example))
        cells = [f"{row.code} {row.example}", row.size, "by hand" if row.by_hand else f"{row.inputs} same"]
        cells += _times(row)
        cells += [f"{factor(known.ratio)}x" if known is not None else "", events_of(row), held_of(row)]
        tone = _tone(row)
        yield f"<tr>{''.join(_cell(text, tone if index == 5 else '') for index, text in enumerate(cells))}</tr>"
    yield "</tbody></table></div>"


def _tone(row: ResultRow) -> str:
    if row.status is ExampleStatus.MEASURED:
        return "good" if is_faster(row) else ""
    return "flat" if row.status in (ExampleStatus.UNSTEADY, ExampleStatus.COUNTED) else "bad"


def _cell(text: str, tone: str) -> str:
    return f'<td class="{tone}">{escape(text)}</td>' if tone else f"<td>{escape(text)}</td>"


def _times(row: ResultRow) -> list[str]:
    """Before, after, ratio, percentiles, saved, control."""
    figure = row.figure
    if figure is None:
        return ["", "", row.status.value, "", "", ""]
    control = f"{figure.control:.3f}"
    if row.status is not ExampleStatus.MEASURED:
        return ["", "", row.status.value, "", "", control]
    spread = f"{factor(figure.low)}-{factor(figure.high)}x"
    times = [duration(figure.before_us), duration(figure.after_us)]
    return [*times, f"{factor(figure.ratio)}x", spread, duration(max(figure.saves_us, 0.0)), control]


def _problems(rows: Sequence[ResultRow]) -> Iterator[str]:
    for row in rows:
        if row.status in (ExampleStatus.FAILED, ExampleStatus.DIFFERENT):
            what = "failed" if row.status is ExampleStatus.FAILED else "the fix changes what it does not declare"
            yield f'<h2 class="bad">{escape(f"{row.code} {row.example}")}: {what}</h2><pre>{escape(row.detail)}</pre>'


def _held(rows: Sequence[ResultRow]) -> Iterator[str]:
    """What was counted beside what CUDA did, example by example."""
    held = [row for row in rows if row.held is not None]
    if held:
        agree = sum(not disagreements(row) for row in held)
        yield f"<h2>Counted and measured on CUDA</h2><p>{agree} of {len(held)} examples did what was counted.</p>"
        yield '<div class="wide"><table><tbody>'
        for row in held:
            tone = "bad" if disagreements(row) else "good"
            words = "<br>".join(map(escape, against(row)))
            yield f"<tr><td>{escape(f'{row.code} {row.example}')}</td>{_cell(held_of(row), tone)}<td>{words}</td></tr>"
        yield "</tbody></table></div>"


def _notes(rows: Sequence[ResultRow]) -> Iterator[str]:
    notes: list[str] = []
    for row in rows:
        title = f"{row.code} {row.example}"
        if row.bytes is not None:
            notes.append(f"{title}: memory that tensors took in a call, at most: {memory(row.bytes)}.")
        if row.syncs is not None:
            notes.append(f"{title}: {row.syncs.before} GPU syncs before, {row.syncs.after} after.")
        if row.status is ExampleStatus.UNSTEADY:
            least, most = CONTROL_LIMITS
            notes.append(f"{title}: no conclusion, for the control left {least} to {most}.")
        if row.exceptions:
            notes.append(f"{title}: does otherwise, as its documentation says, with {', '.join(row.exceptions)}.")
    without = [row for row in rows if row.held is None and row.events is not None and row.device != "cpu"]
    notes += [f"{NOT_HELD}: {', '.join(sorted({row.code for row in without}))}."] if without else []
    if notes:
        yield "<h2>Notes</h2><ul>"
        yield from (f"<li>{escape(note)}</li>" for note in notes)
        yield "</ul>"
    counted = sorted({row.code for row in rows if row.status is ExampleStatus.COUNTED})
    if counted:
        yield f'<p class="quiet">Counted and not timed, for the gain is on an accelerator: {", ".join(counted)}.</p>'
