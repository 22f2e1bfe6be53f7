"""The format ``concise``: ``path:row:col: CODE [*] message; how often (root)``, one line of at most 160 cells."""

from __future__ import annotations

from torchlint.report.context import Context
from torchlint.report.cost import measured_of
from torchlint.report.entries import ReportEntry, entries
from torchlint.report.escape import visible
from torchlint.report.links import linked, url_of
from torchlint.report.offers import mark_of
from torchlint.report.words import title_and_cure
from torchlint.rule import Finding, Level

_STYLES = {Level.ERROR: "1;31", Level.WARNING: "1;33", Level.NOTE: "1;36"}
# A line of a log, in which nothing wraps.
_WIDEST = 160
# Fewer characters of a cure than this say nothing.
_WORTH = 24
# The characters of the smell that are shown in any case.
_LEAST = 40
_DOTS, _ASCII_DOTS = "…", "..."


def render(context: Context) -> str:
    """Return one line for each finding in order; on a terminal one for each entry, the costliest first.

    ``[*]`` marks what ``--fix`` fixes, ``[rounding]`` what it fixes where that is accepted. Columns count code points.
    """
    if not context.terminal:
        found = [ReportEntry((finding,)) for finding in context.findings][: context.top]
        return "".join(f"{_line(context, entry)}\n" for entry in found)
    found = entries(context.findings)
    # The lines that sum up, and what is left, take two.
    shown = found[: context.top or max(1, context.room - 2) if context.top or context.room else None]
    lines = [_line(context, entry) for entry in shown]
    if len(shown) < len(found):
        lines.append(f"{len(found) - len(shown)} more: --all")
    return "".join(f"{line}\n" for line in lines)


def marked_code(context: Context, finding: Finding) -> str:
    """Return ``TL101 [*]``: the code, and a mark if a command would fix it, perhaps in colours."""
    mark = mark_of(context, finding)
    code = finding.code
    if context.color:
        code = f"\x1b[{_STYLES[finding.level]}m{code}\x1b[0m"
        mark = mark and f"\x1b[36m{mark}\x1b[0m"
    return f"{code} {mark}".rstrip()


def _line(context: Context, entry: ReportEntry) -> str:
    finding = entry.lead
    place = f"{visible(finding.path)}:{finding.start.row}:{finding.start.column}"
    head = len(f"{place}: {finding.code} {mark_of(context, finding)}".rstrip()) + 1
    told = _told(context, finding, entry, max(0, _WIDEST - head))
    return f"{linked(place, url_of(context, finding.path))}: {marked_code(context, finding)} {told}"


def _told(context: Context, finding: Finding, entry: ReportEntry, room: int) -> str:
    """The message and how often the line runs in at most ``room`` characters.

    Where there is no room for both, first the cure is cut, then the path to the root, and the smell last.
    """
    dots = _DOTS if context.unicode else _ASCII_DOTS
    also, measured = _also(entry), measured_of(finding)
    message = visible(finding.message)
    end = _joined(also, _hot(context, finding), measured)
    if len(message) + len(end) <= room:
        return f"{message}{end}"
    title = visible(title_and_cure(finding.message)[0])
    if len(title) + len(end) > room:
        end = _joined(also, _frequency(finding), measured)
    if len(title) + len(end) > room:
        whole_words = title[: max(_LEAST, room - len(end)) - len(dots)].rpartition(" ")[0]
        return f"{whole_words}{dots}{end}"
    clauses = message[: room - len(end) + 1].rpartition("; ")[0]
    words = message[: room - len(end) - len(dots) + 1].rpartition(" ")[0]
    if len(clauses) <= len(title) and len(words) >= len(title) + _WORTH:
        return f"{words}{dots}{end}"
    return f"{max((title, clauses), key=len)}{end}"


def _joined(*parts: str) -> str:
    """What follows the message, each part after a semicolon."""
    return "".join(f"; {visible(part)}" for part in parts if part)


def _also(entry: ReportEntry) -> str:
    number = len(entry.findings) - 1
    return f"and {number} more place{'' if number == 1 else 's'}" if number else ""


def _hot(context: Context, finding: Finding) -> str:
    """``once per step (train.py:88)``: the frequency and the root of the path that makes it so."""
    hot, frequency = finding.hot, _frequency(finding)
    if not frequency or not hot.path:
        return frequency
    return f"{frequency} ({context.name_beside(finding.path, hot.path[0].path)}:{hot.path[0].row})"


def _frequency(finding: Finding) -> str:
    """``once per step``: how often the line runs."""
    hot = finding.hot
    if not hot.told:
        return ""
    if not hot.path:
        return hot.describe()
    return hot.phrase.replace("environment step", "step").replace("gradient update", "update")
