"""The format ``agent``: for coding agents, which pay for each token and act on what they read.

Entries, the costliest first, in as few words as say what to do; how to read them, and the options to go on with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from torchlint.report.context import Context
from torchlint.report.cost import brief_cost_of, measured_of
from torchlint.report.entries import ReportEntry, entries
from torchlint.report.escape import visible
from torchlint.report.flow import flow_of
from torchlint.report.offers import mark_of, offers
from torchlint.report.summary import count, summary
from torchlint.report.words import title_and_cure
from torchlint.rule import Finding

_BUDGET = 2000
"""Tokens that the entries take at most, where neither a number of them nor all are asked for."""
# Characters of a token of English and code, which is what tokenizers of language models come to.
_CHARACTERS = 4
# Places of an entry that are named; the command that shows all of them is.
_PLACES = 8
_LEGEND = (
    "How to read: N. CODE [mark] smell; at: places; do: the cure.",
    "Marks: [*] the fix changes nothing but the time; [rounding] or another word: all that the fix may change; "
    "[unsafe] the fix rests on an assumption; no mark: edit by hand.",
)


def render(context: Context) -> str:
    """Return one summary, the entries that have room, and options to add to the command; plain text of few tokens."""
    found = entries(context.findings)
    if not found:
        told = summary(context)
        return f"torchlint: {told}\n" if told else ""
    blocks = _fitting(found, context)
    lines = [f"torchlint: {summary(context)}", *_LEGEND, ""]
    lines += [line for block in blocks for line in block]
    left = len(found) - len(blocks)
    if left:
        lines.append(f"{count(left, 'more entry').replace('entrys', 'entries')} left out: --all, or --top N")
    lines += ["", *_next(found, context)]
    return "".join(f"{line}\n" for line in [*lines, f"(about {_tokens(lines)} tokens)"])


def _fitting(found: Sequence[ReportEntry], context: Context) -> list[list[str]]:
    """The lines of the entries that are to be shown: one at least."""
    blocks: list[list[str]] = []
    room = _BUDGET if context.top is None and not context.whole else math.inf
    for number, entry in enumerate(found[: context.top], start=1):
        block = list(_entry(number, entry, context))
        room -= _tokens(block)
        if blocks and room < 0:
            break
        blocks.append(block)
    return blocks


def _tokens(lines: Sequence[str]) -> int:
    return math.ceil(sum(len(line) + 1 for line in lines) / _CHARACTERS)


def _entry(number: int, entry: ReportEntry, context: Context) -> Iterator[str]:
    finding = entry.lead
    title, cure = title_and_cure(finding.message)
    mark = mark_of(context, finding)
    yield f"{number}. {finding.code}{f' {mark}' if mark else ''} {visible(title)}"
    yield f"   at: {_places(entry, context)}"
    told = [_hot(finding), measured_of(finding) or brief_cost_of(finding)]
    if any(told):
        yield f"   costs: {'; '.join(part for part in told if part)}"
    if finding.flow:
        yield f"   flow: {flow_of(finding)[-1]}"
    fix = finding.fix
    if cure or fix is not None:
        yield f"   do: {visible(cure or (fix.message if fix is not None else ''))}"
    if fix is not None and fix.assumes:
        yield f"   only if: {visible(fix.assumes)}"


def _places(entry: ReportEntry, context: Context) -> str:
    """``agent.py:6,9 train.py:3``: rows by file; those that are left out are counted."""
    most = len(entry.findings) if context.whole else _PLACES
    rows: dict[str, list[str]] = {}
    for finding in entry.findings[:most]:
        rows.setdefault(visible(finding.path), []).append(str(finding.start.row))
    left = len(entry.findings) - most
    more = f" and {left} more" if left > 0 else ""
    return " ".join(f"{path}:{','.join(dict.fromkeys(here))}" for path, here in rows.items()) + more


def _hot(finding: Finding) -> str:
    if not finding.hot.told:
        return ""
    root = finding.hot.path[0] if finding.hot.path else None
    return f"{finding.hot.phrase} ({visible(root.path)}:{root.row})" if root else finding.hot.describe()


def _next(found: Sequence[ReportEntry], context: Context) -> Iterator[str]:
    """What to do next, in options that are added to the command that was run, and in other commands."""
    lead = found[0].lead
    yield "Next, added to the same command:"
    for offer in offers(context):
        yield f"  {offer.command}: fix {count(len(offer.findings), 'finding')} {offer.mark}"
    if offers(context):
        yield "  --diff in place of --fix: show these fixes, write nothing"
    yield f"  --select {lead.code}: this rule alone"
    yield "Other commands:"
    yield f"  torchlint rule {lead.code}: why, what was measured, when to ignore it"
    yield f"  torchlint check --explain-hot {visible(lead.path)}:{lead.start.row}: why this line runs so often"
    yield "  torchlint verify -- TEST COMMAND: keep only the fixes with which the tests pass"
    yield f"To silence a line on purpose: # noqa: {lead.code} reason"
