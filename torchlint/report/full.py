"""The format ``full``: what is slow, where, why it is hot, what it costs, and what the fix would be; for people.

Findings with one cure are one entry, the costliest entry first.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from torchlint.report.cells import fit, shown
from torchlint.report.change import Hunk, acceptance, effects, hunks_in_files
from torchlint.report.context import Context
from torchlint.report.cost import brief_cost_of, cost_of, measured_of, own_cost_of
from torchlint.report.entries import ReportEntry, entries
from torchlint.report.escape import visible
from torchlint.report.flow import brief_flow_of, flow_of
from torchlint.report.frame import DIGITS, Canvas, frame
from torchlint.report.gains import header
from torchlint.report.links import linked
from torchlint.report.nouns import events as noun
from torchlint.report.offers import mark_of
from torchlint.report.places import places
from torchlint.report.style import ADDED, ASCII, LABEL, LEVELS, MARK, QUIET, REMOVED, UNDERLINES, UNICODE
from torchlint.report.summary import summary
from torchlint.report.words import title_and_cure
from torchlint.rule import Applicability, Finding, Level

# Labels and line numbers end in this column, and what they label starts in the next but one.
_LABEL = 5
_TEXT = _LABEL + 2
_POINTER = "-->"
# More lines than this of a fix are better read with --diff.
_LINES = 8
# A line of a fix is shown whole on so many lines of the terminal, or else cropped to one.
_FOLDS = 3
_HANG = 4
# Findings of an earlier run that a terminal shows as gone.
_GONE = 5
# The part of the room by which all entries together may be too long.
_MORE = 0.1
# Lines that stand above and below the entries: what commands gain, what is left out, and the sum.
_AROUND = 8


def render(context: Context) -> str:
    """Return what commands would gain, the entries, the costliest first, and a last line that sums up.

    No line is wider than ``context.width`` cells, but for the last where the text does not go to a terminal. Where the
    context says that nothing is to be cut, names of files and lines of code may be wider.
    """
    signs = UNICODE if context.unicode else ASCII
    canvas = Canvas(signs, context.width, _painter(context.color), context.cuts, context.color)
    lines: list[Text] = []
    if not context.quiet:
        for offered in map(_offered, header(context, context.width)):
            lines += _wrapped(offered, context.width, hang=2)
        lines += [Text()] if lines else []
    found = entries(context.findings)
    blocks = _fitting(found, context, canvas)
    for block in blocks:
        lines += [*block, Text()]
    if len(blocks) < len(found):
        lines += [Text(_left(found[len(blocks) :]), QUIET), Text()]
    if gone := _gone(context, canvas):
        lines += [*gone, Text()]
    if not context.quiet:
        lines += _closing(context)
    return _written(lines, context.color)


def heading(entry: ReportEntry, context: Context) -> str:
    """Return the head of an entry: what is slow, where, how often it runs and what it costs, without its code."""
    signs = UNICODE if context.unicode else ASCII
    canvas = Canvas(signs, context.width, _painter(context.color), context.cuts, context.color)
    finding, width = entry.lead, canvas.width - _TEXT
    title, _ = title_and_cure(finding.message)
    lines = [*_title(finding, title, mark_of(context, finding), canvas, _page_link(finding, context))]
    lines += _labelled(_POINTER, places(entry, context, canvas, width))
    lines += _labelled("hot:", _hot(entry, canvas)) if finding.hot.told else []
    if cost := _cost(finding, width, canvas):
        lines += _labelled("cost:", _wrapped(cost, width))
    told = f"{visible(finding.fix.message)}; {effects(finding.fix)}" if finding.fix is not None else ""
    return _written([*lines, *_labelled("fix:", _wrapped(told, width) if told else [])], context.color)


def _gone(context: Context, canvas: Canvas) -> list[Text]:
    """What an earlier run found and this one does not; on a terminal the first ones."""
    gone = context.compared.gone if context.compared is not None else ()
    most = _GONE if canvas.cuts and not context.whole else len(gone)
    told = [visible(f"{kept.path}:{kept.row} {kept.code} {kept.title}") for kept in gone[:most]]
    told += [f"{len(gone) - most} more: --all"] if len(gone) > most else []
    return list(_labelled("gone:", [line for each in told for line in _wrapped(each, canvas.width - _TEXT, QUIET)]))


def _fitting(found: Sequence[ReportEntry], context: Context, canvas: Canvas) -> list[list[Text]]:
    """The lines of the entries that are to be shown: one at least, and as many as there is room for.

    A few lines more than there is room for are better than entries that are left out.
    """
    blocks: list[list[Text]] = []
    room = context.room - _AROUND if context.room else sys.maxsize
    fitting = used = 0
    for entry in found[: context.top]:
        blocks.append(list(_entry(entry, context, canvas)))
        used += len(blocks[-1]) + 1
        fitting += used <= room
        if used > room + context.room * _MORE:
            return blocks[: max(1, fitting)]
    return blocks


def _left(entries_left: Sequence[ReportEntry]) -> str:
    """``31 more, 2 of them warnings: --all``."""
    levels = [entry.lead.level for entry in entries_left]
    worse = sum(level is not Level.NOTE for level in levels)
    of_them = f", {noun(worse, 'warning')} among them" if 0 < worse < len(levels) else ""
    return f"{len(levels)} more{of_them}: --all"


def _written(lines: list[Text], color: bool) -> str:
    while lines and not lines[-1]:
        lines.pop()
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    # Everything is given, so that nothing is taken from the environment: the same context makes the same text.
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", _environ={})
    return "".join(f"{_painted(line, console)}\n" for line in lines)


def _painted(line: Text, console: Console) -> str:
    """A line with its colours and links; a link of rich would have another number in each run."""
    line.rstrip()
    return "".join(
        linked(
            style.update_link(None).render(segment.text, color_system=ColorSystem.STANDARD),
            style.link or "",
        )
        for segment in line.render(console)
        for style in [segment.style or Style()]
    )


def _painter(color: bool) -> Callable[[str], Text]:
    if not color:
        return Text
    from rich.syntax import ANSI_DARK, ANSISyntaxTheme, Syntax

    # Half a statement is not an error, and the dots where a line was cropped are none.
    theme = ANSISyntaxTheme({token: style for token, style in ANSI_DARK.items() if str(token) != "Token.Error"})
    syntax = Syntax("", "python", theme=theme)

    def paint(line: str) -> Text:
        painted = syntax.highlight(line)
        painted.rstrip()
        # The lexer normalises some input; a line that is no longer the same would not fit its underline.
        return painted if painted.plain == line.rstrip() else Text(line)

    return paint


def _offered(line: str) -> Text:
    """A line of the header: the command stands out, as it is to be typed."""
    command, gap, rest = line.partition("  ")
    mark = rest[rest.index("[") : rest.index("]") + 1]
    before, _, after = rest.partition(mark)
    return Text.assemble((command, "bold"), gap, before, (mark, MARK), after)


def _closing(context: Context) -> list[Text]:
    """What sums up; on a terminal broken between words, elsewhere one line."""
    text = summary(context)
    if context.findings or context.problems or not text:
        return _wrapped(text, context.width, "bold") if context.terminal else [Text(text, "bold")]
    return [Text(f"{'✓ ' if context.unicode else ''}{text}", "bold green")]


def _entry(entry: ReportEntry, context: Context, canvas: Canvas) -> Iterator[Text]:
    finding, width = entry.lead, canvas.width - _TEXT
    title, cure = title_and_cure(finding.message)
    yield from _title(finding, title, mark_of(context, finding), canvas, _page_link(finding, context))
    yield from _labelled(_POINTER, places(entry, context, canvas, width))
    by_file = hunks_in_files(context, finding)
    changes = by_file.pop(finding.path, [])
    covered = _covers(changes, finding) or finding.path not in context.tables
    for hunk in changes:
        if not covered and hunk.row > finding.start.row:
            yield from frame(finding, context.tables[finding.path], canvas, UNDERLINES[finding.level])
            covered = True
        yield from _hunk(hunk, canvas)
    if not covered:
        yield from frame(finding, context.tables[finding.path], canvas, UNDERLINES[finding.level])
    for name, others in by_file.items():
        yield Text.assemble(" " * _TEXT, (f"in {visible(name)}:", QUIET))
        yield from (line for hunk in others for line in _hunk(hunk, canvas))
    changes += [hunk for others in by_file.values() for hunk in others]
    if finding.hot.told:
        yield from _labelled("hot:", _hot(entry, canvas))
    if finding.flow:
        yield from _labelled("flow:", _flow(finding, canvas))
    costs = [measured_of(finding), _cost(finding, width, canvas), own_cost_of(finding, context.own)]
    yield from _labelled("cost:", [line for cost in costs if cost for line in _wrapped(cost, width)])
    if cure and not (changes and canvas.cuts):
        yield from _labelled("help:", _wrapped(visible(cure), width))
    yield from _labelled("fix:", [line for told in _fix(finding, context, changes) for line in _wrapped(told, width)])


def _page_link(finding: Finding, context: Context) -> str:
    """The address that the code leads to, where the terminal knows links."""
    return context.page_of(finding) if context.links else ""


def _title(finding: Finding, title: str, mark: str, canvas: Canvas, page: str) -> Iterator[Text]:
    """Level, code, what a command would do, and the smell."""
    line = Text.assemble(
        (finding.level.value, LEVELS[finding.level]), " ", (finding.code, Style(bold=True, link=page or None)), " "
    )
    if mark:
        line.append_text(Text.assemble((mark, MARK), " "))
    line.append(visible(title), "bold")
    yield from _wrapped(line, canvas.width, hang=_TEXT)


def _hot(entry: ReportEntry, canvas: Canvas) -> list[Text]:
    """``once per environment step (train.py:88 loop → Agent.act)``: on a terminal the most of it that fits on one line,
    else all of it, broken between links of the path."""
    width, hot = canvas.width - _TEXT, entry.lead.hot
    others = _other_roots(entry)
    if not hot.path:
        return _wrapped(f"{hot.describe()}{others}", width)
    first, *rest = hot.path
    root = f"{visible(first.path)}:{first.row} {visible(first.name)}"
    names = [visible(hop.name) for hop in rest]
    arrow = f" {canvas.signs.arrow}"
    if canvas.cuts:
        dots = [canvas.signs.dots]
        ways = [[root, *names], *([root, *dots, *names[cut:]] for cut in range(1, len(names)))]
        ways += [[root, *dots], [root], [f"{visible(first.path)}:{first.row}"]]
        told = [f"{hot.phrase} ({f'{arrow} '.join(way)}){others}" for way in ways]
        return next(([Text(line)] for line in told if cell_len(line) <= width), _wrapped(told[-1], width))
    links = [f"({root}", *names]
    return _packed([hot.phrase, *(f"{link}{arrow}" for link in links[:-1]), f"{links[-1]}){others}"], width)


def _flow(finding: Finding, canvas: Canvas) -> list[Text]:
    """The statements by which the value comes to its use: on a terminal one line, else all of them."""
    width = canvas.width - _TEXT
    if canvas.cuts:
        return [Text(brief_flow_of(finding, width, canvas.signs))]
    *between, use = flow_of(finding)
    return _packed([*(f"{each} {canvas.signs.arrow}" for each in between), use], width)


def _other_roots(entry: ReportEntry) -> str:
    left = len(entry.roots) - 1
    noun = "loop" if all(root.name == "loop" for root in entry.roots) else "caller"
    return f" and {left} other {noun}{'s' if left > 1 else ''}" if left > 0 else ""


def _packed(parts: list[str], width: int) -> list[Text]:
    """Parts in as few lines as they fit in; a part that is wider than a line is broken."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} {part}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return [wrapped for line in lines for wrapped in _wrapped(line, width)]


def _cost(finding: Finding, width: int, canvas: Canvas) -> str:
    """What it costs; on a terminal without the sizes that were measured where these do not fit on the line."""
    whole = cost_of(finding)
    return brief_cost_of(finding) if canvas.cuts and cell_len(whole) > width else whole


def _covers(changes: Sequence[Hunk], finding: Finding) -> bool:
    """Whether the code of a finding is among the lines that a fix takes away, and so in sight without a frame."""
    return any(hunk.row <= finding.start.row < hunk.row + len(hunk.removed) for hunk in changes)


def _fix(finding: Finding, context: Context, changes: Sequence[Hunk]) -> Iterator[str]:
    """What is to be said of a fix besides its lines and the mark in the title."""
    fix = finding.fix
    if fix is None:
        return
    if not (changes and context.cuts):
        yield visible(fix.message)
    if fix.assumes or fix.applicability is Applicability.DISPLAY or not context.cuts:
        yield acceptance(fix, context.takes(finding))


def _labelled(label: str, lines: list[Text]) -> Iterator[Text]:
    for name, line in zip_longest([label] if lines else [], lines, fillvalue=""):
        yield Text.assemble((f"{name:>{_LABEL}}", LABEL if name else ""), "  ", line)


def _wrapped(text: str | Text, width: int, style: str = "", hang: int = 0) -> list[Text]:
    """Lines of at most ``width`` cells, broken between words, inside of a word only where it is wider than a line.

    All lines but the first begin with ``hang`` blanks.
    """
    measure = Console(file=io.StringIO(), width=width, _environ={})
    whole = Text(text, style) if isinstance(text, str) else text
    if whole.cell_len <= width:
        whole.rstrip()
        return [whole]
    lines = list(whole.wrap(measure, width))
    if hang and len(lines) > 1:
        first = lines[0]
        rest = whole[len(first.plain) :] if whole.plain.startswith(first.plain) else None
        if rest is not None:
            first.rstrip()
            rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]  # the blank at which the line was broken
            indented = [Text.assemble(" " * hang, line) for line in _wrapped(rest, width - hang)]
            return [first, *indented]
    for line in lines:
        line.rstrip()
    return lines


def _hunk(hunk: Hunk, canvas: Canvas) -> Iterator[Text]:
    focus = _difference(hunk)
    row = f"{hunk.row:>{DIGITS}}"
    for sign, lines, style in (("-", hunk.removed, REMOVED), ("+", hunk.added, ADDED)):
        for line in lines[:_LINES]:
            yield from _changed(row, sign, line, style, focus, canvas)
            row = " " * len(row)
        hidden = len(lines) - _LINES
        if hidden > 0:
            yield Text(f"{row} {sign} {canvas.signs.dots} {hidden} more", style)


def _changed(row: str, sign: str, line: str, style: str, focus: tuple[int, int, int], canvas: Canvas) -> Iterator[Text]:
    """A line that goes or comes, whole: on a terminal wrapped, and only a very long one is cropped."""
    head, tail, longest = focus
    room = canvas.room(line, _TEXT)
    width = room * _FOLDS if len(line) <= room * _FOLDS else room
    # Both lines are cropped around the longer difference, so that they stay under each other.
    piece = fit(line, head, head + longest, width, canvas.signs.dots)
    text = Text(piece.text, style)
    if longest:
        text.stylize("bold", piece.start, piece.start + len(shown(line[head : len(line) - tail])))
    first, *rest = _wrapped(text, room - _HANG) if cell_len(piece.text) > room else [text]
    yield Text.assemble((row, "bold"), (f" {sign} ", style), first)
    # The rest of a line stands out by its indentation, and by having no sign.
    yield from (Text.assemble(" " * (_TEXT + _HANG), part) for part in rest)


def _difference(hunk: Hunk) -> tuple[int, int, int]:
    """Of two single lines: how many characters they share at the start and at the end, and the longer rest."""
    if len(hunk.removed) != 1 or len(hunk.added) != 1:
        return 0, 0, 0
    old, new = hunk.removed[0], hunk.added[0]
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return head, tail, max(len(old), len(new)) - head - tail
