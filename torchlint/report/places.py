"""Where an entry was found: its places by file, each a link where the terminal knows links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style
from rich.text import Text

from torchlint.report.cells import fit
from torchlint.report.context import Context
from torchlint.report.entries import ReportEntry
from torchlint.report.escape import visible
from torchlint.report.frame import Canvas
from torchlint.report.links import url_of
from torchlint.report.nouns import events as noun
from torchlint.report.style import QUIET
from torchlint.rule import Finding


def places(entry: ReportEntry, context: Context, canvas: Canvas, width: int) -> list[Text]:
    """Return lines such as ``agent.py:6:15, 9:15``: every place, those of the lead's file first.

    Where lines are cut, and not every place is wanted, those of the lead's file that fit on one line, and how many more
    there are.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in entry.findings:
        by_file.setdefault(finding.path, []).append(finding)
    listed = [
        [_place(found[0], context, canvas, width), *(_beside(finding, context) for finding in found[1:])]
        for found in by_file.values()
    ]
    if canvas.cuts and not context.whole:
        return list(_first(listed[0], len(entry.findings), len(by_file), width))
    return [line for parts in listed for line in _packed(parts, width)]


def _first(parts: Sequence[Text], total: int, files: int, width: int) -> Iterator[Text]:
    """As many places as fit on a line beside the number of those that are left."""
    for shown in range(len(parts), 0, -1):
        more = _more(total - shown, files)
        line = Text(", ").join(parts[:shown])
        if line.cell_len + len(more) <= width:
            line.append(more, QUIET)
            yield line
            return
    yield parts[0]
    if total > 1:
        yield Text(_more(total - 1, files).strip(), QUIET)


def _more(left: int, files: int) -> str:
    """`` and 14 more places in 6 files``; empty where none is left."""
    where = f" in {files} files" if files > 1 else ""
    return f" and {noun(left, 'more place')}{where}" if left else ""


def _packed(parts: Sequence[Text], width: int) -> Iterator[Text]:
    """Places in as few lines as they fit in; one that is wider than a line is left whole."""
    line = parts[0]
    for part in parts[1:]:
        line = Text.assemble(line, ",")
        if line.cell_len + 1 + part.cell_len > width:
            yield line
            line = Text.assemble("  ", part)
        else:
            line = Text.assemble(line, " ", part)
    yield line


def _place(finding: Finding, context: Context, canvas: Canvas, width: int) -> Text:
    place = f"{visible(finding.path)}:{finding.start.row}:{finding.start.column}"
    room = canvas.room(place, canvas.width - width)
    return _link(fit(place, len(place), len(place), room, canvas.signs.dots).text, finding, context)


def _beside(finding: Finding, context: Context) -> Text:
    return _link(f"{finding.start.row}:{finding.start.column}", finding, context)


def _link(text: str, finding: Finding, context: Context) -> Text:
    url = url_of(context, finding.path)
    return Text.assemble((text, Style(link=url))) if url else Text(text)
