"""A profile joined to the findings as one self-contained HTML page: a flame view that the findings are marked in.

The script writes text only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from torchlint.profile.flame import Cell, cells
from torchlint.profile.join import Group
from torchlint.profile.report import HotSpot, ProfileReport
from torchlint.profile.smells import smell_of
from torchlint.profile.table import (
    APART,
    SHARED,
    SHARED_REMARK,
    agreement_of,
    belongs,
    function_of,
    headline_of,
    idle_sections,
    ran_of,
    summary,
)
from torchlint.profile.words import NO_STACKS, asked, basis, effects, frequency, places, remedy, time, what
from torchlint.report.cost import number, percent
from torchlint.report.escape import visible
from torchlint.report.page import document, resource
from torchlint.rule import Basis

_HINT = (
    "Each bar is a function of the project. Its width is the time with all callees, which are below it. Installed "
    "code in between is left out; its time counts for its caller."
)
_HINT_OPERATORS = f"These are the operators alone. {NO_STACKS}"
_LEGEND = (
    ("f", "findings take 2% of it or more"),
    ("b", "findings take less, or their own cost is not known"),
    ("o", "no findings"),
    ("r", "operators and other built-ins"),
)


def as_html(report: ProfileReport) -> str:
    """Return the whole page."""
    body = [
        f'<p class="quiet">{escape(headline_of(report))}</p>',
        f"<p>{escape(summary(report))}</p>",
        *_view(report),
        *_costs(report),
        *_shared(report),
        *_spots(report),
        *_idle(report),
        *_agreement(report),
    ]
    style, script = (resource("torchlint.profile", name) for name in ("page.css", "page.js"))
    return document(f"torchlint profile: {report.trace}", body, style, script, _data(report))


def _view(report: ProfileReport) -> Iterator[str]:
    yield "<h2>Where the time goes</h2>"
    yield f'<p class="quiet">{escape(_HINT if report.profile.stacks else _HINT_OPERATORS)}</p>'
    swatches = (f'<span><i class="{kind}"></i>{escape(words)}</span>' for kind, words in _LEGEND)
    yield f'<div class="legend">{"".join(swatches)}</div>'
    yield '<div class="tools" id="trail"></div><div id="flame"></div><div id="detail"></div>'


def _costs(report: ProfileReport) -> Iterator[str]:
    if not report.groups:
        return
    unit = report.pace.unit
    per = [f"a {unit}", f"Calls/{unit}"] if unit else ["", "Calls"]
    yield "<h2>What findings cost</h2>"
    order = f"In order of their share of the {ran_of(report)}. Click to see them in the picture above."
    yield f'<p class="quiet">{order}</p>'
    yield from _head("Time", *per, "Finding")
    for place, group in enumerate(report.groups):
        cost = group.measured
        bound = cost.basis is Basis.FUNCTION
        each = "" if report.profile.assumed_rate else time(cost.us / (report.pace.units or 1))
        calls = number(cost.pace if unit else cost.calls) if cost.calls else ""
        share = f"{'≤' if bound else ''}{percent(cost.share)}"
        bar = f'<span class="bar"><i style="width:{max(100 * cost.share, 1):.1f}%"></i></span>'
        yield f'<tr data-group="{place}"{" class=bound" if bound else ""}><td>{escape(share)}{bar}</td>'
        yield f"<td>{each}</td><td>{calls}</td><td>{_told(group)}</td></tr>"
    yield "</tbody></table></div>"


def _told(group: Group) -> str:
    lines = [
        f"<b>{escape(group.code)}</b> {escape(visible(what(group)))}",
        f'<span class="mono">{escape(visible(places(group)))}</span>',
    ]
    for line in (basis(group), effects(group.copies, group.syncs, group.launches), remedy(group.findings)):
        if line:
            lines.append(f'<span class="quiet">{escape(visible(line))}</span>')
    return "<br>".join(lines)


def _shared(report: ProfileReport) -> Iterator[str]:
    if not report.shared:
        return
    yield f'<h2>{SHARED}</h2><p class="quiet">{SHARED_REMARK[:1].upper()}{SHARED_REMARK[1:]}.</p>'
    yield from _head("Time", "", "Calls", "Operator")
    for each in report.shared:
        share = percent(each.us / report.ran_us)
        name = f'<span class="mono">{escape(visible(each.name))}</span><br><span class="quiet">{belongs(each)}</span>'
        yield f"<tr><td>{escape(share)}</td><td>{time(each.us)}</td><td>{each.calls:,}</td><td>{name}</td></tr>"
    yield "</tbody></table></div>"


def _spots(report: ProfileReport) -> Iterator[str]:
    if not report.spots:
        return
    yield f"<h2>Hot {'lines' if report.spots[0].exact else 'functions'} apart from findings</h2>"
    yield '<p class="quiet">Their own time, and that of the installed code they call.</p>'
    yield from _head("Time", "", "Calls", "Where")
    for spot in report.spots:
        each = "" if report.profile.assumed_rate else time(spot.us)
        calls = f"{spot.calls:,}" if spot.calls else ""
        yield f"<tr><td>{escape(percent(spot.share))}</td><td>{each}</td><td>{calls}</td><td>{_where(spot)}</td></tr>"
    yield "</tbody></table></div>"


def _where(spot: HotSpot) -> str:
    name = escape(visible(f"{spot.path}:{spot.row} {function_of(spot)}"))
    lines = [f'<span class="mono">{name}</span>{APART if spot.rest else ""}']
    for line in (", ".join(spot.mostly), *asked(spot.copies, spot.syncs, spot.launches, spot.inside)):
        if line and not spot.exact:
            lines.append(f'<span class="quiet">{escape(visible(line))}</span>')
    return "<br>".join(lines)


def _idle(report: ProfileReport) -> Iterator[str]:
    for kind, title, words in idle_sections(report):
        yield f'<h2>{title}</h2><p class="quiet">{words}</p><ul>'
        for group in report.idle:
            if group.measured.basis is kind:
                where = f'<span class="mono">{escape(visible(places(group)))}</span>'
                yield f"<li><b>{escape(group.code)}</b> {escape(visible(what(group)))}, {where}</li>"
        yield "</ul>"


def _agreement(report: ProfileReport) -> Iterator[str]:
    found = report.agreement
    if found is None or not found.compared:
        return
    yield f"<h2>Predicted frequencies and measured calls</h2><p>{escape(agreement_of(found))}</p>"
    if found.gross:
        yield from _head("Calls", "Predicted", "Ran", "Function")
        for each in found.gross:
            where = escape(visible(f"{each.path}:{each.row} {each.name}"))
            yield f"<tr><td>{each.calls:,}</td><td>{frequency(each.predicted)}</td><td>{frequency(each.seen)}</td>"
            yield f'<td class="mono">{where}</td></tr>'
        yield "</tbody></table></div>"


def _head(*headings: str) -> Iterator[str]:
    cells_ = "".join(f"<th>{heading}</th>" for heading in headings)
    yield f'<div class="wide"><table><thead><tr>{cells_}</tr></thead><tbody>'


def _data(report: ProfileReport) -> dict[str, object]:
    """What the script draws."""
    groups = [
        {
            "code": group.code,
            "what": visible(what(group)),
            "places": visible(places(group)),
            "share": f"{'≤' if group.measured.basis is Basis.FUNCTION else ''}{percent(group.measured.share)}",
            "us": group.measured.us,
            "bound": group.measured.basis is Basis.FUNCTION,
            "fix": visible(remedy(group.findings)),
        }
        for group in report.groups
    ]
    homes: dict[tuple[str, str], list[int]] = {}
    for place, group in enumerate(report.groups):
        homes.setdefault((group.path, group.function), []).append(place)
    functions = [
        {
            "path": visible(cost.path),
            "name": visible(cost.name),
            "row": cost.line,
            "calls": cost.calls,
            "own": cost.own_us,
            "total": cost.total_us,
            "effects": effects(cost.copies, cost.syncs, cost.launches),
            "groups": homes.get((cost.path, cost.name), []),
        }
        for cost in report.attribution.functions
    ]
    drawn = cells(report.profile, report.attribution)
    told_cells = [
        {
            "parent": cell.parent,
            "fn": cell.function,
            "op": visible(cell.operator),
            "us": cell.us,
            "calls": cell.calls,
            "groups": _shown_as(cell, drawn, report) if cell.operator else [],
        }
        for cell in drawn
    ]
    return {
        "total": report.profile.total_us or 1.0,
        "unit": report.pace.unit,
        "units": report.pace.units,
        "groups": groups,
        "functions": functions,
        "cells": told_cells,
    }


def _shown_as(cell: Cell, drawn: Sequence[Cell], report: ProfileReport) -> list[int]:
    """The groups whose smells show as an operator, of those in the function that runs it where that is known."""
    function = drawn[cell.parent].function if cell.parent >= 0 else -1
    home = report.attribution.functions[function] if function >= 0 else None
    return [
        place
        for place, group in enumerate(report.groups)
        if group.measured.basis is Basis.CALLS
        and (home is None or (home.path, home.name) == (group.path, group.function))
        and cell.operator in smell_of(group.code).operators | smell_of(group.code).calls
    ]
