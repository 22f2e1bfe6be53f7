"""The format ``markdown``: for a comment on a pull request, or the summary page of a workflow's step.

A table of the entries, and below it the details of each, folded: its places, its hot path, its cost, and its fix as a
diff.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.report.change import acceptance, hunks_in_files
from torchlint.report.context import Context
from torchlint.report.cost import brief_cost_of, cost_of, measured_of
from torchlint.report.entries import ReportEntry, entries
from torchlint.report.escape import visible
from torchlint.report.flow import flow_of
from torchlint.report.offers import command_of, mark_of, offers
from torchlint.report.summary import count, summary
from torchlint.report.words import title_and_cure

# A comment on GitHub holds 65,536 characters, one on GitLab more. The table takes half of that at most.
_TABLE, _ALL = 30_000, 60_000
# What a name or a message may take, however long it is.
_LONGEST = 300
_MOST_GONE = 30
_HEADS = ("", "Rule", "What", "Where", "How often", "Cost", "Fix")


def render(context: Context) -> str:
    """Return a heading, the summary, what commands gain, a table of the entries, the costliest first, and details."""
    lines = ["### torchlint", "", _plain(summary(context)), "", *_gone(context)]
    found = entries(context.findings)
    if not found:
        return "\n".join(lines)
    for offer in offers(context):
        lines.append(f"- `torchlint check {offer.command}` fixes {count(len(offer.findings), 'finding')}")
    lines.append("")
    size = sum(map(len, lines))
    rows: list[str] = []
    for entry in found:
        row = _row(context, entry)
        if size + len(row) > _TABLE:
            break
        rows.append(row)
        size += len(row) + 1
    lines += [f"| {' | '.join(_HEADS)} |", f"|{' --- |' * len(_HEADS)}", *rows, ""]
    if len(rows) < len(found):
        left = len(found) - len(rows)
        lines += [f"{left} more {'entry' if left == 1 else 'entries'}.", ""]
    for entry in found[: len(rows)]:
        details = list(_details(context, entry))
        size += sum(map(len, details)) + len(details)
        if size > _ALL:
            break
        lines += details
    return "\n".join(lines)


def _gone(context: Context) -> Iterator[str]:
    """What an earlier run found and this one does not, folded."""
    if context.compared is None or not context.compared.gone:
        return
    gone = context.compared.gone
    yield f"<details><summary>{len(gone)} gone</summary>"
    yield ""
    yield from (f"- {_plain(f'{kept.path}:{kept.row}: {kept.code} {kept.title}')}" for kept in gone[:_MOST_GONE])
    if len(gone) > _MOST_GONE:
        yield f"- {len(gone) - _MOST_GONE} more"
    yield from ("", "</details>", "")


def _row(context: Context, entry: ReportEntry) -> str:
    finding = entry.lead
    command = command_of(mark) if (mark := mark_of(context, finding)) else ""
    cells = (
        _plain(finding.level.value),
        _plain(f"{finding.code} {finding.name}"),
        _with_code(title_and_cure(finding.message)[0]),
        _plain(f"{finding.path}:{finding.start.row}{_others(entry)}"),
        _plain(finding.hot.phrase if finding.hot.told else ""),
        _plain(measured_of(finding) or brief_cost_of(finding)),
    )
    return f"| {' | '.join(cells)} | {f'`{command}`' if command else ''} |"


def _others(entry: ReportEntry) -> str:
    number = len(entry.findings) - 1
    return f" and {count(number, 'more place')}" if number else ""


def _details(context: Context, entry: ReportEntry) -> Iterator[str]:
    """A folded part: places, hot path, cost and cure in a list, and the diff in a block of code."""
    finding = entry.lead
    title, cure = title_and_cure(finding.message)
    yield f"<details><summary><b>{finding.code}</b> {_with_code(title)}: {_plain(_first_place(entry))}</summary>"
    yield ""
    by_file: dict[str, list[int]] = {}
    for each in entry.findings:
        by_file.setdefault(each.path, []).append(each.start.row)
    for path, rows in by_file.items():
        yield f"- {_plain(path)}: {', '.join(map(str, rows))}"
    if finding.hot.told:
        yield f"- hot: {_plain(finding.hot.describe())}"
    if finding.flow:
        yield f"- flow: {_plain(' → '.join(flow_of(finding)))}"
    yield from (f"- cost: {_plain(cost)}" for cost in (measured_of(finding), cost_of(finding)) if cost)
    if cure:
        yield f"- help: {_with_code(cure)}"
    if finding.fix is not None:
        yield f"- fix: {_plain(acceptance(finding.fix, context.takes(finding)))}"
        yield from _diff(context, entry)
    yield ""
    yield "</details>"


def _first_place(entry: ReportEntry) -> str:
    return f"{entry.lead.path}:{entry.lead.start.row}{_others(entry)}"


def _diff(context: Context, entry: ReportEntry) -> Iterator[str]:
    """The fix of the lead as a diff; its fence is longer than any run of backticks in it."""
    lines = [
        line
        for name, changes in hunks_in_files(context, entry.lead).items()
        for line in (
            *([f"@@ {visible(name)} @@"] if name != entry.lead.path else []),
            *(
                f"{sign} {visible(line, keep=chr(9))}"
                for change in changes
                for sign, side in (("-", change.removed), ("+", change.added))
                for line in side
            ),
        )
    ]
    if lines:
        fence = "```"
        while any(fence in line for line in lines):
            fence += "`"
        yield from ("", f"{fence}diff", *lines, fence)


def _with_code(text: str) -> str:
    """A message in which code between backticks is shown as code; the code itself means nothing to Markdown or HTML."""
    parts = _short(text).split("`")
    if len(parts) % 2 == 0:  # a backtick without another
        return _plain(text)
    return "".join(f"<code>{_plain(part)}</code>" if place % 2 else _plain(part) for place, part in enumerate(parts))


def _plain(text: str) -> str:
    """Text on one line in which no character means anything to Markdown or HTML."""
    return "".join(f"&#{ord(char)};" if char in "\\`*_[]<>&|~$#@" else char for char in _short(text))


def _short(text: str) -> str:
    """Text on one line of bounded length."""
    shown = visible(text)
    return f"{shown[:_LONGEST]} ..." if len(shown) > _LONGEST else shown
