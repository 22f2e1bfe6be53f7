"""A counted run as one self-contained HTML page: the code, with the events of each line in the margin.

No script runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from torchlint.count.result import CountedLine, CountedRun, LineStatus
from torchlint.count.table import headline, summary, verdict
from torchlint.report.cost import amount
from torchlint.report.escape import visible
from torchlint.report.nouns import events
from torchlint.report.page import document

_AROUND = 4
"""Rows of code that are shown above and below a line with events."""
_STYLE = """
:root { color-scheme: light dark; } h1, h2, nav { overflow-wrap: anywhere; } a { color: inherit; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1d2329; }
table { border-collapse: collapse; width: 100%; font: 13px/1.45 ui-monospace, monospace; }
th { text-align: right; font-weight: 600; color: #5b6670; padding: 0 .6rem; }
th:last-child { text-align: left; }
td { padding: 0 .6rem; text-align: right; white-space: nowrap; vertical-align: top; }
td.code { text-align: left; white-space: pre-wrap; overflow-wrap: anywhere; width: 100%; min-width: 12rem; }
td.code { tab-size: 4; }
td.row, .quiet { color: #5b6670; }
tr.gap td { border-top: 1px solid #c9d1d9; padding-top: .3rem; }
tr.fixable { background: #e3f5e6; } tr.reported { background: #fdf3d0; } tr.uncovered { background: #fdefe6; }
tr.missed { background: #fde4e1; }
tr.needed, tr.library, tr.seldom { background: #edf1f5; } .why { display: block; font-style: italic; color: #3d4852; }
h2 { font: 600 15px ui-monospace, monospace; margin: 2rem 0 .4rem; } .wide { overflow-x: auto; }
@media (prefers-color-scheme: dark) {
  body { background: #14181c; color: #dde3e8; } td.row, .quiet, th { color: #93a0ab; } .why { color: #b5c0ca; }
  tr.fixable { background: #16351d; } tr.reported { background: #3b3212; } tr.uncovered { background: #3d2a1c; }
  tr.missed { background: #42201c; }
  tr.needed, tr.library, tr.seldom { background: #20272e; } tr.gap td { border-color: #39424b; }
}
"""
_WORDS = {
    LineStatus.FIXABLE: "a rule reports it and has a fix",
    LineStatus.REPORTED: "a rule reports it",
    LineStatus.NEEDED: "a GPU sync that the host needs",
    LineStatus.LIBRARY: "a GPU sync in an installed package that the line calls",
    LineStatus.SELDOM: "a GPU sync less than once a step or update",
    LineStatus.MISSED: "a GPU sync that the rules about such syncs do not report",
    LineStatus.UNCOVERED: "a GPU sync that no rule is about",
}
_HEADS = ("Line", "Syncs", "Launches", "Copies", "Bytes", "Code")


def as_html(run: CountedRun, root: Path, program: str) -> str:
    """Return the page; ``root`` is the folder that the paths of the lines are relative to, ``program`` what ran."""
    body = [f"<p>{escape(headline(run))}</p>", f"<p>{escape(summary(run))}</p>", *_legend()]
    lines = sorted(run.lines, key=lambda line: (line.path, line.row))
    files = [(path, {line.row: line for line in group}) for path, group in groupby(lines, lambda line: line.path)]
    files.sort(key=lambda file: (-sum(line.events.waits for line in file[1].values()), file[0]))
    if len(files) > 1:
        body += _contents(files)
    for number, (path, by_row) in enumerate(files, 1):
        body += _file(number, path, by_row, _text(root / path))
    return document(f"torchlint count: {program}", body, _STYLE)


def _legend() -> Iterator[str]:
    yield '<div class="wide"><table aria-label="What the colours of lines say">'
    yield from (f'<tr class="{status.value}"><td class="code">{words}</td></tr>' for status, words in _WORDS.items())
    yield "</table></div>"


def _contents(files: Sequence[tuple[str, Mapping[int, CountedLine]]]) -> Iterator[str]:
    """Return links to the files, those with most GPU syncs first."""
    yield "<nav aria-label='Files'><ul>"
    for number, (path, by_row) in enumerate(files, 1):
        link = f'<a href="#file-{number}">{escape(visible(path))}</a>'
        yield f'<li>{link} <span class="quiet">{_waits(by_row)}</span></li>'
    yield "</ul></nav>"


def _waits(by_row: Mapping[int, CountedLine]) -> str:
    return events(sum(line.events.waits for line in by_row.values()), "GPU sync")


def _text(path: Path) -> Sequence[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()


def _file(number: int, path: str, by_row: Mapping[int, CountedLine], text: Sequence[str]) -> Iterator[str]:
    """Return the heading of a file and its code; the table can be scrolled with the keyboard where it is too wide."""
    name = f"file-{number}"
    yield f'<h2 id="{name}">{escape(visible(path))} <span class="quiet">{_waits(by_row)}</span></h2>'
    yield f'<div class="wide" tabindex="0" role="region" aria-labelledby="{name}"><table><thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    yield "</tr></thead><tbody>"
    last = 0
    for row in _shown(by_row, len(text)):
        code = text[row - 1] if row <= len(text) else ""
        yield _row(row, code, by_row.get(row), gap=last not in (0, row - 1))
        last = row
    yield "</tbody></table></div>"


def _shown(by_row: Mapping[int, CountedLine], rows: int) -> list[int]:
    """The rows with events and those around them; of a file that cannot be read, only the first."""
    near = {near for row in by_row for near in range(row - _AROUND, row + _AROUND + 1) if 1 <= near <= rows}
    return sorted(near | by_row.keys())


def _row(row: int, code: str, line: CountedLine | None, *, gap: bool) -> str:
    classes = ["gap"] if gap else []
    cells, why = [""] * 4, ""
    if line is not None:
        found = line.events
        cells = [f"{count:,}" if count else "" for count in (found.waits, found.launches, found.copies)]
        cells.append(amount(found.bytes) if found.bytes else "")
        why = verdict(line)
        if found.waits or line.findings:
            classes.append(line.status.value)
    told = f'<span class="why">{escape(why)}</span>' if why else ""
    numbers = "".join(f"<td>{cell}</td>" for cell in cells)
    name = f' class="{" ".join(classes)}"' if classes else ""
    shown = escape(visible(code, keep="\t"))
    return f'<tr{name}><td class="row">{row}</td>{numbers}<td class="code">{shown}{told}</td></tr>'
