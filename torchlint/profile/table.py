"""A profile joined to the findings as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from torchlint.profile.agree import Agreement, Disagreement
from torchlint.profile.definitions import MODULE
from torchlint.profile.join import Group
from torchlint.profile.report import HotSpot, ProfileReport
from torchlint.profile.sole import Shared
from torchlint.profile.words import (
    NO_STACKS,
    asked,
    basis,
    effects,
    frequency,
    headline,
    places,
    remedy,
    sentence,
    time,
    what,
)
from torchlint.report.cost import number, percent
from torchlint.report.escape import visible
from torchlint.report.explain import Pen
from torchlint.report.style import ASCII, LABEL, QUIET, UNICODE
from torchlint.report.summary import count
from torchlint.rule import Basis

if TYPE_CHECKING:
    from rich.table import Table

_HOT = "bold red"
_WARM = "yellow"
APART = ", apart from its findings"
# Shares from which on a cost is hot, and warm.
_HOT_SHARE, _WARM_SHARE = 0.1, 0.02

_SECTIONS = (
    (Basis.NEVER, "Findings that never ran", "Their functions were not called in the profile."),
    (Basis.UNSEEN, "Findings of which nothing was seen", "That does not prove that they did not run."),
    (Basis.ELSEWHERE, "Findings with costs elsewhere", "Not on their own lines."),
)

_UNPLACED = Basis.UNSEEN, "Findings whose cost is not known", "Other code may have run their operators."
SHARED = "Operators that findings may have run"
SHARED_REMARK = "with the time of all their calls, also by other code"


def as_text(report: ProfileReport, top: int, *, color: bool, unicode: bool, width: int) -> str:
    """Return the report: what findings cost, what is hot without a finding, what never ran, and how predictions held.

    Tables have at most ``top`` rows; no line is wider than ``width`` cells.
    """
    pen = Pen(color, UNICODE if unicode else ASCII, width)
    lines = pen.lines(Text.assemble((visible(report.trace), "bold"), ": ", headline_of(report)))
    if not report.profile.stacks:
        lines += ["", *pen.lines(Text(NO_STACKS, _WARM))]
    sections = _costs(report, top, pen), _shared(report, top), _spots(report, top), _idle(report, top)
    for section in (*sections, _agreement(report, top)):
        drawn = [line for part in section for line in (pen.lines(part) if part else [""])]
        lines += ["", *drawn] if drawn else []
    lines += ["", *pen.lines(Text(summary(report), "bold"))]
    if report.groups:
        lines += pen.lines(Text(f"Costliest: {visible(sentence(report.groups[0]))}"))
    return "".join(f"{line}\n" for line in lines)


def headline_of(report: ProfileReport) -> str:
    """Return the headline: the tool, the time, the steps, the files."""
    return headline(report.profile, report.pace, report.files, report.attribution.imports_us)


def summary(report: ProfileReport) -> str:
    """Summarise the groups in one sentence: ``12 findings were measured: 43% of the time; 3 never ran.``"""
    sure = [group for group in report.groups if group.measured.basis in (Basis.LINE, Basis.CALLS)]
    parts = []
    if sure:
        size = sum(len(group.findings) for group in sure)
        share = min(sum(group.measured.share for group in sure), 1.0)
        parts.append(f"{count(size, 'finding')} measured, {percent(share)} of the time")
    bounds = sum(len(group.findings) for group in report.groups if group.measured.basis is Basis.FUNCTION)
    never = sum(len(group.findings) for group in report.idle if group.measured.basis is Basis.NEVER)
    unseen = sum(len(group.findings) for group in report.idle if group.measured.basis is Basis.UNSEEN)
    other = sum(len(group.findings) for group in report.idle if group.measured.basis is Basis.ELSEWHERE)
    parts += [f"{bounds} with an upper bound"] if bounds else []
    parts += [f"{never} never ran"] if never else []
    parts += [f"{unseen} not seen" if report.profile.stacks else f"{unseen} whose cost is not known"] if unseen else []
    parts += [f"{other} that cost{'s' if other == 1 else ''} time elsewhere"] if other else []
    return f"{'; '.join(parts) or 'No finding'}."


def _heading(text: str, rest: str = "") -> Text:
    return Text.assemble((text, LABEL), (f"  {rest}" if rest else "", QUIET))


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style=QUIET)
    for index, heading in enumerate(headings):
        last = index == len(headings) - 1
        table.add_column(heading, justify="left" if last else "right", no_wrap=not last, overflow="fold")
    return table


def _share(share: float, bound: str = "") -> Text:
    style = _HOT if share >= _HOT_SHARE and not bound else _WARM if share >= _WARM_SHARE else ""
    return Text(f"{bound}{percent(share)}", style)


def _costs(report: ProfileReport, top: int, pen: Pen) -> Iterator[Text | Table]:
    if not report.groups:
        return
    yield _heading("What findings cost", f"in order of the share of the {ran_of(report)}")
    yield Text()
    unit = report.pace.unit
    table = _table("Time", *([f"a {unit}", f"Calls/{unit}"] if unit else ["", "Calls"]), "Finding")
    for group in report.groups[:top]:
        cost = group.measured
        bound = ("≤" if pen.signs is UNICODE else "<=") if cost.basis is Basis.FUNCTION else ""
        each = time(cost.us / report.pace.units) if unit else time(cost.us)
        if report.profile.assumed_rate:
            each = ""
        calls = number(cost.pace if unit else cost.calls) if cost.calls else ""
        table.add_row(_share(cost.share, bound), each, calls, _told(group))
    yield table
    yield from _more(len(report.groups) - top)


def _told(group: Group) -> Text:
    text = Text.assemble((group.code, "bold"), f" {visible(what(group))}\n", visible(places(group)))
    for line in (basis(group), effects(group.copies, group.syncs, group.launches), remedy(group.findings)):
        text.append(f"\n{visible(line)}" if line else "", QUIET)
    return text


def ran_of(report: ProfileReport) -> str:
    """Return what shares are of."""
    return "time apart from imports" if report.attribution.imports_us else "profiled time"


def _shared(report: ProfileReport, top: int) -> Iterator[Text | Table]:
    if not report.shared:
        return
    yield _heading(SHARED, SHARED_REMARK)
    yield Text()
    table = _table("Time", "Calls", "Operator")
    for each in report.shared[:top]:
        name = Text(visible(each.name))
        name.append(f"\n{belongs(each)}", QUIET)
        table.add_row(_share(each.us / report.ran_us), f"{each.calls:,}", name)
    yield table
    yield from _more(len(report.shared) - top)


def belongs(each: Shared) -> str:
    """Describe what operators belong to.

    ``TL101 (2 findings) or TL204 (1 finding), or code without findings``.
    """
    codes = Counter(finding.code for finding in each.findings)
    told = [f"{code} ({count(size, 'finding')})" for code, size in sorted(codes.items())]
    return f"{', '.join(told)} or code without findings"


def _spots(report: ProfileReport, top: int) -> Iterator[Text | Table]:
    if not report.spots:
        return
    exact = report.spots[0].exact
    kind = "lines" if exact else "functions"
    yield _heading(f"Hot {kind} apart from findings", "with the installed code that they call")
    yield Text()
    table = _table("Time", "Calls", "Where") if not exact else _table("Time", "Where")
    for spot in report.spots[:top]:
        calls = [] if exact else [Text(f"{spot.calls:,}" if spot.calls else "")]
        table.add_row(_share(spot.share), *calls, _spot(spot))
    yield table
    yield from _more(len(report.spots) - top)


def _spot(spot: HotSpot) -> Text:
    text = Text(f"{visible(spot.path)}:{spot.row} {visible(function_of(spot))}{APART if spot.rest else ''}")
    told = [", ".join(map(visible, spot.mostly)), *asked(spot.copies, spot.syncs, spot.launches, spot.inside)]
    for words in filter(None, told if not spot.exact else ()):
        text.append(f"\n{visible(words)}", QUIET)
    return text


def function_of(spot: HotSpot) -> str:
    """Return the function of a spot in words."""
    return "module level" if spot.function == MODULE else spot.function


def _idle(report: ProfileReport, top: int) -> Iterator[Text]:
    for number_, (basis_, title, rest) in enumerate(idle_sections(report)):
        groups = [group for group in report.idle if group.measured.basis is basis_]
        if number_:
            yield Text()
        yield _heading(title, rest)
        yield Text()
        for group in groups[:top]:
            yield Text(f"- {group.code} {visible(what(group))}, {visible(places(group))}")
        yield from _more(len(groups) - top)


def idle_sections(report: ProfileReport) -> list[tuple[Basis, str, str]]:
    """Return the kinds of findings of which nothing was measured, each with a title and a remark."""
    there = {group.measured.basis for group in report.idle}
    sections = _SECTIONS if report.profile.stacks else (_UNPLACED, *_SECTIONS)
    found = {section[0]: section for section in reversed(sections) if section[0] in there}
    return [section for section in sections if found.get(section[0]) is section]


def _agreement(report: ProfileReport, top: int) -> Iterator[Text | Table]:
    if report.agreement is None or not report.agreement.compared:
        return
    yield _heading("Predicted frequencies and measured calls")
    yield Text(agreement_of(report.agreement))
    if report.agreement.gross:
        yield Text()
        table = _table("Calls", "Function")
        for each in report.agreement.gross[:top]:
            table.add_row(f"{each.calls:,}", _disagreement(each))
        yield table
        yield from _more(len(report.agreement.gross) - top)


def agreement_of(found: Agreement) -> str:
    """Return one sentence on how good the predictions were."""
    rank = "" if found.correlation is None else f" Rank correlation with the calls: {found.correlation:.2f}."
    return f"{found.near} of {count(found.compared, 'function')} ran about as often as predicted.{rank}"


def _disagreement(each: Disagreement) -> Text:
    text = Text(f"{visible(each.path)}:{each.row} {visible(each.name)}")
    text.append(f"\npredicted {frequency(each.predicted)}, ran {frequency(each.seen)}", QUIET)
    return text


def _more(left: int) -> Iterator[Text]:
    if left > 0:
        yield Text(f"and {left} more (--top)", QUIET)
