"""The format ``full``: what is slow, why the line is hot, what it costs, and what the fix would be; for people."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from torchlint.report.cells import fit, shown
from torchlint.report.change import Hunk, acceptance, hunks
from torchlint.report.context import Context
from torchlint.report.cost import cost_of, measured_of, own_cost_of
from torchlint.report.escape import visible
from torchlint.report.frame import Canvas, frame
from torchlint.report.rank import worst_first
from torchlint.report.style import ADDED, ASCII, LABEL, LEVELS, QUIET, REMOVED, UNDERLINES, UNICODE
from torchlint.report.summary import summary
from torchlint.rule import Finding, Hotness

# Labels and line numbers end in this column, and what they label starts in the next but one.
_LABEL = 5
_TEXT = _LABEL + 2
# More lines than this of a fix are better read with --diff.
_LINES = 8
# A line of a fix is shown whole on so many lines of the terminal, or else cropped to one.
_FOLDS = 3
_HANG = 4


def render(context: Context) -> str:
    """All findings, worst first, and a last line that sums up.

    No line but the last is wider than ``context.width`` cells; the last is for the terminal to wrap. Where the context
    says that nothing is to be cut, names of files and lines of code may be wider.
    """
    signs = UNICODE if context.unicode else ASCII
    canvas = Canvas(signs, context.width, _painter(context.color), cuts=context.cuts)
    lines: list[Text] = []
    for finding in worst_first(context.findings):
        lines += [*_finding(finding, context, canvas), Text()]
    if not context.quiet:
        lines.append(_closing(context))
    return _written(lines, context.color)


def _written(lines: list[Text], color: bool) -> str:
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        return ""
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    # Everything is given, so that nothing is taken from the environment: the same context makes the same text.
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as capture:
        console.print(Text("\n").join(lines), soft_wrap=True, highlight=False)
    return capture.get()


def _painter(color: bool) -> Callable[[str], Text]:
    if not color:
        return Text
    from rich.syntax import ANSI_DARK, ANSISyntaxTheme, Syntax

    # Half a statement is no error, and the dots where a line was cropped are none.
    theme = ANSISyntaxTheme({token: style for token, style in ANSI_DARK.items() if str(token) != "Token.Error"})
    syntax = Syntax("", "python", theme=theme)

    def paint(line: str) -> Text:
        painted = syntax.highlight(line)
        painted.rstrip()
        # The lexer normalises some input; a line that is no longer the same would not fit its underline.
        return painted if painted.plain == line.rstrip() else Text(line)

    return paint


def _closing(context: Context) -> Text:
    text = summary(context)
    if context.findings or context.problems or not text:
        return Text(text, "bold")
    return Text(f"{'✓ ' if context.unicode else ''}{text}", "bold green")


def _finding(finding: Finding, context: Context, canvas: Canvas) -> Iterator[Text]:
    yield from _header(finding, canvas)
    yield from _wrapped(visible(finding.message), canvas.width, "bold")
    table = context.tables.get(finding.path)
    width = canvas.width - _TEXT
    if table is not None:
        yield Text()
        yield from frame(finding, table, canvas, UNDERLINES[finding.level])
    if finding.hot.told:
        yield from _labelled("hot:", _hot(finding.hot, canvas))
    told = measured_of(finding), cost_of(finding), own_cost_of(finding, context.own)
    costs = [cost for cost in told if cost]
    if costs:
        yield from _labelled("cost:", [line for cost in costs for line in _wrapped(cost, width)])
    if finding.fix is not None:
        yield from _labelled("fix:", _wrapped(visible(finding.fix.message), width))
        if table is not None:
            for hunk in hunks(context.sources[finding.path].utf8, table, finding.fix.edits):
                yield from _hunk(hunk, canvas)
        yield from _labelled("", _wrapped(acceptance(finding.fix, context.takes(finding)), width, QUIET))


def _header(finding: Finding, canvas: Canvas) -> Iterator[Text]:
    """Level, code, name and place on one line; the place goes on the next where there is no room."""
    title = Text.assemble(
        (finding.level.value, LEVELS[finding.level]), " ", (finding.code, "bold"), f" {finding.name} "
    )
    place = f"{visible(finding.path)}:{finding.start.row}:{finding.start.column}"
    room = canvas.width - title.cell_len - cell_len(place) - 1
    if room >= 3:
        yield Text.assemble(title, (canvas.signs.rule * room, QUIET), f" {place}")
        return
    yield Text.assemble(title, (canvas.signs.rule * max(0, canvas.width - title.cell_len), QUIET))
    yield Text(fit(place, len(place), len(place), canvas.room(place), canvas.signs.dots).text)


def _hot(hot: Hotness, canvas: Canvas) -> list[Text]:
    """``once per environment step (train.py:88 loop → Agent.act)`` in lines, broken between links of the path only."""
    width = canvas.width - _TEXT
    if not hot.path:
        return _wrapped(hot.describe(), width)
    first, *rest = hot.path
    links = [f"({visible(first.path)}:{first.row} {visible(first.name)}", *(visible(hop.name) for hop in rest)]
    arrow = f" {canvas.signs.arrow}"
    return _packed([hot.phrase, *(f"{link}{arrow}" for link in links[:-1]), f"{links[-1]})"], width)


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


def _labelled(label: str, lines: list[Text]) -> Iterator[Text]:
    for name, line in zip_longest([label], lines, fillvalue=""):
        yield Text.assemble((f"{name:>{_LABEL}}", LABEL if name else ""), "  ", line)


def _wrapped(text: str | Text, width: int, style: str = "") -> list[Text]:
    """Lines of at most ``width`` cells, broken between words, inside of a word only where it is wider than a line."""
    measure = Console(file=io.StringIO(), width=width, _environ={})
    whole = Text(text, style) if isinstance(text, str) else text
    lines = list(whole.wrap(measure, width))
    for line in lines:
        line.rstrip()
    return lines


def _hunk(hunk: Hunk, canvas: Canvas) -> Iterator[Text]:
    focus = _difference(hunk)
    for sign, lines, style in (("-", hunk.removed, REMOVED), ("+", hunk.added, ADDED)):
        for line in lines[:_LINES]:
            yield from _changed(sign, line, style, focus, canvas)
        hidden = len(lines) - _LINES
        if hidden > 0:
            yield Text(f"{sign:>{_LABEL + 1}} {canvas.signs.dots} {hidden} more", style)


def _changed(sign: str, line: str, style: str, focus: tuple[int, int, int], canvas: Canvas) -> Iterator[Text]:
    """A line that goes or comes, wrapped so that it can be read whole; only a very long one is cropped."""
    head, tail, longest = focus
    room = canvas.width - _TEXT
    width = room * _FOLDS if len(line) <= room * _FOLDS else room if canvas.cuts else canvas.room(line)
    # Both lines are cropped around the longer difference, so that they stay under each other.
    piece = fit(line, head, head + longest, width, canvas.signs.dots)
    text = Text(piece.text, style)
    if longest:
        text.stylize("bold", piece.start, piece.start + len(shown(line[head : len(line) - tail])))
    first, *rest = _wrapped(text, room - _HANG) if cell_len(piece.text) > room else [text]
    yield Text.assemble((f"{sign:>{_LABEL + 1}} ", style), first)
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
