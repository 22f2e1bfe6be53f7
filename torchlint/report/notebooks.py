"""Findings in notebooks: by cell for people, by the row of the file for services that show files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torchlint.report.context import Context
from torchlint.rule import Edit, Finding, Hop, PlainFix, Position
from torchlint.sources.lines import LineTable
from torchlint.sources.notebook import place_in_cells, split_cells
from torchlint.sources.text import Source


def in_cells(context: Context) -> Context:
    """Return the context with each cell as a file, ``nb.ipynb:cell 3``, whose rows count from the cell's first."""
    notebooks = _notebooks(context)
    if not notebooks:
        return context
    sources = dict(context.sources)
    cells = {}
    for name, source in notebooks.items():
        faults = dict(source.notebook.faults()) if source.notebook else {}
        for number, readable in split_cells(source.text):
            shown = _cell(name, number)
            text = source.notebook.cell(number) if source.notebook and number in faults else readable
            sources[shown] = replace(source, name=shown, text=text, utf8=text.encode(), notebook=None)
            cells[shown] = (name, number)
    by_cell = {cell: context.accepts[name] for cell, (name, _) in cells.items() if name in context.accepts}
    accepts = {**context.accepts, **by_cell}
    findings = tuple(_in_cell(finding, notebooks) for finding in context.findings)
    return replace(context, findings=findings, sources=sources, cells=cells, accepts=accepts)


def on_disk(context: Context) -> Context:
    """Return the context with the rows that an editor of the file counts and the cell in the message, without fixes."""
    notebooks = _notebooks(context)
    if not notebooks:
        return context
    findings = []
    for finding in context.findings:
        source = notebooks.get(finding.path)
        if source is None or source.notebook is None:
            findings.append(_with_hops(finding, notebooks, _hop_on_disk))
            continue
        number, row = place_in_cells(source.text, finding.start.row)
        first = source.notebook.row_on_disk(source.text, finding.start.row)
        last = max(first, source.notebook.row_on_disk(source.text, finding.end.row))
        moved = replace(
            _with_hops(finding, notebooks, _hop_on_disk),
            start=Position(first, 1),
            end=Position(last, 1),
            rows=(first, last),
            message=f"cell {number}, line {row}: {finding.message}",
            fix=None,
        )
        findings.append(moved)
    return replace(context, findings=tuple(findings))


def _notebooks(context: Context) -> dict[str, Source]:
    return {name: source for name, source in context.sources.items() if source.notebook is not None}


def _cell(name: str, number: int) -> str:
    return f"{name}:cell {number}"


def _in_cell(finding: Finding, notebooks: dict[str, Source]) -> Finding:
    finding = _with_hops(finding, notebooks, _hop_in_cell)
    source = notebooks.get(finding.path)
    if source is None:
        return finding
    number, row = place_in_cells(source.text, finding.start.row)
    above = finding.start.row - row
    return replace(
        finding,
        path=_cell(finding.path, number),
        start=replace(finding.start, row=row),
        end=replace(finding.end, row=finding.end.row - above),
        rows=(finding.rows[0] - above, finding.rows[1] - above),
        fix=_fix_in_cell(finding.fix, source, number, above),
    )


def _fix_in_cell(fix: PlainFix | None, source: Source, number: int, above: int) -> PlainFix | None:
    """The part of a fix that its cell shows; an import that goes into another cell is not in sight."""
    if fix is None:
        return None
    start = LineTable(source.utf8).offset(above + 1, 0)
    end = start + len(dict(split_cells(source.text))[number].encode())
    inside = [edit for edit in fix.edits if start <= edit.start and edit.end <= end]
    return replace(
        fix, instead=None, edits=tuple(Edit(edit.start - start, edit.end - start, edit.text) for edit in inside)
    )


def _with_hops(finding: Finding, notebooks: dict[str, Source], place: Callable[[Hop, Source], Hop]) -> Finding:
    return finding.with_hops(lambda hop: place(hop, notebooks[hop.path]) if hop.path in notebooks else hop)


def _hop_in_cell(hop: Hop, source: Source) -> Hop:
    number, row = place_in_cells(source.text, hop.row)
    return replace(hop, path=_cell(hop.path, number), row=row)


def _hop_on_disk(hop: Hop, source: Source) -> Hop:
    return hop if source.notebook is None else replace(hop, row=source.notebook.row_on_disk(source.text, hop.row))
