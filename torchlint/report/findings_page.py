"""The format ``html``: a page of findings: code with costs in the margin, hot paths, fixes to copy, filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from torchlint.report.change import acceptance, hunks_in_files
from torchlint.report.context import Context
from torchlint.report.cost import brief_cost_of, cost_of, duration, measured_of, own_cost_of
from torchlint.report.entries import ReportEntry, entries
from torchlint.report.highlight import Token, as_html, highlighted
from torchlint.report.offers import mark_of, offers
from torchlint.report.page import document, resource, text
from torchlint.report.summary import count, summary
from torchlint.report.words import title_and_cure
from torchlint.rule import Finding, Frequency

# Rows of code above and below a finding.
_AROUND = 3
# Characters that code keeps.
_KEPT = "\t\n"
_MARGINS = ("Line", "How often", "Time", "Syncs", "Launches", "Code")
_OFTEN = {
    Frequency.ONCE: "",
    Frequency.EPISODE: "episode",
    Frequency.UPDATE: "update",
    Frequency.STEP: "step",
    Frequency.INNER: "inner loop",
}
_FILTERS = {
    "level": ("error", "warning", "note"),
    "often": tuple(word for word in _OFTEN.values() if word)[::-1],
    "fix": ("--fix", "to accept", "by hand"),
}


def render(context: Context) -> str:
    """Return the whole page; without its script every finding is in sight."""
    found = entries(context.findings)
    numbers = {id(finding): number for number, finding in enumerate(context.findings, 1)}
    body = [f"<p>{text(summary(context))}</p>"]
    if found:
        body += [*_commands(context), *_filters(context), *_table(found, numbers, context), *_files(context, numbers)]
    style, script = (resource("torchlint.report", f"findings.{kind}") for kind in ("css", "js"))
    return document(f"torchlint check: {context.root.name}", body, style, script)


def _commands(context: Context) -> Iterator[str]:
    """The commands that fix something, each with a button that copies it."""
    found = offers(context)
    if found:
        yield '<ul class="commands">'
        for offer in found:
            command = text(f"torchlint check {offer.command}")
            number = count(len(offer.findings), "finding")
            yield f"<li><code>{command}</code> {_copy(command)} fixes {number} <b>{text(offer.mark)}</b></li>"
        yield "</ul>"


def _copy(what: str) -> str:
    """A button that copies a text that is escaped already."""
    return f'<button type="button" class="copy" data-copy="{what}">copy</button>'


def _filters(context: Context) -> Iterator[str]:
    """Boxes for each value that a finding has, of what differs between findings."""
    facets = [_facets(context, finding) for finding in context.findings]
    codes = sorted({finding.code for finding in context.findings})
    yield '<form class="filters" id="filters" aria-label="Filters">'
    for name, values in {**_FILTERS, "code": codes}.items():
        held = [value for value in values if any(each[name] == value for each in facets)]
        if len(held) > 1:
            boxes = (
                f'<label><input type="checkbox" name="{name}" value="{text(value)}" checked> {text(value)}</label>'
                for value in held
            )
            yield f"<fieldset><legend>{name}</legend>{''.join(boxes)}</fieldset>"
    yield '<label>text <input type="search" name="text" placeholder="file, function, words"></label>'
    yield '<output id="shown"></output></form>'


def _facets(context: Context, finding: Finding) -> Mapping[str, str]:
    mark = mark_of(context, finding)
    return {
        "level": finding.level.value,
        "often": _OFTEN[finding.hot.frequency],
        "fix": "--fix" if mark == "[*]" else "to accept" if mark else "by hand",
        "code": finding.code,
    }


def _attributes(context: Context, finding: Finding) -> str:
    listed = "".join(f' data-{name}="{text(value)}"' for name, value in _facets(context, finding).items())
    return f'{listed} data-finding class="{finding.level.value}"'


def _table(found: Sequence[ReportEntry], numbers: Mapping[int, int], context: Context) -> Iterator[str]:
    """The entries, the costliest first, with links to their places."""
    yield '<h2>Costliest first</h2><div class="wide"><table class="entries"><thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in ("Rule", "What", "How often", "Cost", "Places"))
    yield "</tr></thead><tbody>"
    for entry in found:
        lead = entry.lead
        links = []
        for path, group in groupby(entry.findings, key=lambda finding: finding.path):
            rows = (f'<a href="#f{numbers[id(each)]}">{each.start.row}</a>' for each in group)
            links.append(f"{text(path)}: {', '.join(rows)}")
        mark = mark_of(context, lead)
        title = f"{f'<b>{text(mark)}</b> ' if mark else ''}{_prose(title_and_cure(lead.message)[0])}"
        often = text(lead.hot.phrase) if lead.hot.told else ""
        cost = text(measured_of(lead) or brief_cost_of(lead))
        yield f"<tr{_attributes(context, lead)}><td><span>{lead.code}</span> {text(lead.name)}</td><td>{title}</td>"
        yield f"<td>{often}</td><td>{cost}</td><td>{'<br>'.join(links)}</td></tr>"
    yield "</tbody></table></div>"


def _files(context: Context, numbers: Mapping[int, int]) -> Iterator[str]:
    for path, group in groupby(context.findings, key=lambda finding: finding.path):
        found = list(group)
        yield f'<section><h2 class="mono">{text(path)}</h2>'
        table = context.tables.get(path)
        lines = highlighted(table) if table is not None else []
        for excerpt in _excerpts(found):
            yield from _excerpt(excerpt, lines, context, numbers)
        yield "</section>"


def _excerpts(found: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Findings whose surroundings meet."""
    excerpt: list[Finding] = []
    for finding in found:
        if excerpt and finding.start.row > excerpt[-1].end.row + 2 * _AROUND:
            yield excerpt
            excerpt = []
        excerpt.append(finding)
    if excerpt:
        yield excerpt


def _excerpt(
    found: Sequence[Finding], lines: Sequence[Sequence[Token]], context: Context, numbers: Mapping[int, int]
) -> Iterator[str]:
    first = max(1, found[0].start.row - _AROUND)
    last = min(len(lines), max(finding.end.row for finding in found) + _AROUND)
    yield '<div class="wide excerpt" tabindex="0"><table class="code"><thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in _MARGINS)
    yield "</tr></thead><tbody>"
    by_row = {row: list(group) for row, group in groupby(found, key=lambda finding: finding.start.row)}
    for row in sorted({*range(first, last + 1), *by_row}):
        here = by_row.get(row, [])
        yield _line(row, lines[row - 1] if row <= len(lines) else [], here)
        for finding in here:
            yield f'<tr id="f{numbers[id(finding)]}"{_attributes(context, finding)}><td colspan="5"></td><td>'
            yield from _card(finding, context)
            yield "</td></tr>"
    yield "</tbody></table></div>"


def _line(row: int, tokens: Sequence[Token], found: Sequence[Finding]) -> str:
    """A row of code with what its findings cost together in the margin."""
    often = max((finding.hot.frequency for finding in found), default=Frequency.ONCE)
    time = sum(finding.cost.saves_us for finding in found if finding.cost is not None and finding.cost.gains)
    saved = [finding.events.saves for finding in found if finding.events is not None and finding.events.gains]
    waits, launches = max(0, sum(each.waits for each in saved)), max(0, sum(each.launches for each in saved))
    cells = [_OFTEN[often], duration(time) if time else "", str(waits or ""), str(launches or "")]
    length = sum(len(part) for _, part in tokens)
    start = min((finding.start.column - 1 for finding in found), default=0)
    ends = [finding.end.column - 1 if finding.end.row == row else length for finding in found]
    margin = "".join(f"<td>{cell}</td>" for cell in cells)
    state = ' class="found"' if found else ""
    return f'<tr{state}><td>{row}</td>{margin}<td class="line">{as_html(tokens, start, max(ends, default=0))}</td></tr>'


def _card(finding: Finding, context: Context) -> Iterator[str]:
    """What there is to say of a finding: smell and cure, the path that makes it hot, its cost, and its fix."""
    title, cure = title_and_cure(finding.message)
    mark = mark_of(context, finding)
    head = f"<b>{finding.level.value} {finding.code} {text(mark)}</b>"
    yield f'<details class="card" open><summary>{head} {_prose(title)}</summary>'
    if cure:
        yield f"<p>{_prose(cure)}</p>"
    if finding.hot.told:
        yield from _hot(finding, context)
    if finding.flow:
        yield from _flow(finding)
    costs = measured_of(finding), cost_of(finding), own_cost_of(finding, context.own)
    yield from (f'<p class="quiet">{text(cost)}</p>' for cost in costs if cost)
    if finding.fix is not None:
        yield from _fix(finding, context)
    yield "</details>"


def _prose(message: str) -> str:
    """A message, with what stands between backticks as code."""
    parts = message.split("`")
    if len(parts) % 2 == 0:
        return text(message)
    return "".join(f"<code>{text(part)}</code>" if index % 2 else text(part) for index, part in enumerate(parts))


def _hot(finding: Finding, context: Context) -> Iterator[str]:
    """How often the line runs, and the chain of calls from the loop down to it, each link with its line of code."""
    hot = finding.hot
    if not hot.path:
        yield f"<p>{text(hot.describe())}</p>"
        return
    yield f"<details><summary>{text(hot.phrase)}: call path</summary><ol>"
    for hop in hot.path:
        table = context.tables.get(hop.path)
        code = table.line(hop.row).strip() if table is not None and 1 <= hop.row <= table.rows else ""
        shown = f" <code>{text(code)}</code>" if code else ""
        yield f'<li><span class="mono">{text(hop.path)}:{hop.row}</span> {text(hop.name)}{shown}</li>'
    yield "</ol></details>"


def _flow(finding: Finding) -> Iterator[str]:
    """The statements by which the value comes to what uses it."""
    yield f"<details><summary>its value: {count(len(finding.flow), 'statement')} to its use</summary><ol>"
    for hop in finding.flow:
        place = f'<span class="mono">{text(hop.path)}:{hop.row}</span>'
        yield f"<li>{place} <code>{text(hop.name)}</code></li>"
    yield "</ol></details>"


def _fix(finding: Finding, context: Context) -> Iterator[str]:
    fix = finding.fix
    if fix is None:
        return
    by_file = hunks_in_files(context, finding)
    new = "\n".join(line for changes in by_file.values() for change in changes for line in change.added)
    button = f" {_copy(text(new, keep=_KEPT))}" if new else ""
    yield f'<p class="quiet">{text(acceptance(fix, context.takes(finding)))}{button}</p>'
    for name, changes in by_file.items():
        if name != finding.path:
            yield f'<p class="quiet">in <span class="mono">{text(name)}</span></p>'
        yield '<pre class="diff">'
        for change in changes:
            yield from (f"<del>- {text(line, keep=_KEPT)}</del>" for line in change.removed)
            yield from (f"<ins>+ {text(line, keep=_KEPT)}</ins>" for line in change.added)
        yield "</pre>"
