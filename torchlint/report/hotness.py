"""The answer to ``--explain-hot``: how often a line runs, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.report.escape import visible
from torchlint.report.style import ASCII, LABEL, QUIET, UNICODE
from torchlint.rule.frequency import NOT_PROVEN, Frequency, Way, Why

if TYPE_CHECKING:
    from torchlint.report.explain import Pen

_HEADING = "bold"
_BY_NAME = "where several classes have the method that is called"
_Line = tuple[str, str]
"""A line of text and its style."""


def render(place: str, why: Why, *, color: bool, unicode: bool, width: int) -> str:
    """Return all ways that make a line hot, the most frequent first, and what limits it; or why it is not hot.

    No line is wider than ``width`` cells, but for a path or name that is.
    """
    arrow = (UNICODE if unicode else ASCII).arrow
    lines = [*_title(visible(place), why), *_groups(why.ways, arrow, width), *_more(why)]
    lines += [line for reason in why.reasons for line in _wrapped("- ", visible(reason), "", width)]
    if color:
        from torchlint.report.explain import Pen

        return _painted(lines, Pen(color=True, signs=UNICODE if unicode else ASCII, width=width))
    return "".join(f"{text}\n" for text, _ in lines)


def _painted(lines: Sequence[_Line], pen: Pen) -> str:
    from rich.text import Text

    return "".join(f"{line}\n" for text, style in lines for line in pen.lines(Text(text, style)) or [""])


def _title(place: str, why: Why) -> Iterator[_Line]:
    if why.frequency is Frequency.ONCE:
        yield f"{place} is not hot.", _HEADING
    else:
        doubt = "" if any(way.proven for way in why.ways) or not why.ways else f"; it is {NOT_PROVEN}"
        yield f"{place} runs {why.phrase}{doubt}.", _HEADING


def _groups(ways: Sequence[Way], arrow: str, width: int) -> Iterator[_Line]:
    """The ways under a heading for each frequency."""
    heading = ""
    for way in ways:
        yield "", ""
        above = way.hot.phrase if way.proven else f"{way.hot.phrase}, {_BY_NAME}"
        if above != heading:
            heading = above
            yield f"{heading}:", LABEL
        yield from _way(way, arrow, width)


def _way(way: Way, arrow: str, width: int) -> Iterator[_Line]:
    for index, hop in enumerate(way.hot.path):
        sign = arrow if index else " " * len(arrow)
        origin = f", {way.origin}" if way.origin and not index else ""
        yield from _wrapped(f"  {sign} ", f"{visible(hop.path)}:{hop.row} {visible(hop.name)}{origin}", "", width)
    for limit in way.limits:
        place = f"{visible(limit.place.path)}:{limit.place.row}"
        held = f'held to {limit.frequency.phrase} by guard "{limit.guard}" at {place}'
        text = f"{held}: {visible(limit.place.name)}" if limit.place.name else held
        yield from _wrapped("      ", text, QUIET, width)


def _more(why: Why) -> Iterator[_Line]:
    if why.more:
        yield "", ""
        yield f"and {why.more} more", QUIET


def _wrapped(indent: str, text: str, style: str, width: int) -> Iterator[_Line]:
    """Text within the width; what does not fit goes on below, further in."""
    rest = " " * (len(indent) + 2)
    for line in textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    ):
        yield line, style
