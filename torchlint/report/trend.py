"""Findings over the commits of a project: as text, as JSON, as a drawing, and as a page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from html import escape
from textwrap import wrap

from rich.cells import cell_len, set_cell_size

from torchlint.late import dataclass
from torchlint.report.cost import duration
from torchlint.report.escape import visible
from torchlint.report.page import document, text
from torchlint.report.summary import count
from torchlint.report.total import by_loop, in_words, time_on
from torchlint.rule import Finding
from torchlint.rule.frequency import Frequency

_BAR, _PART = "█", "▌"
_MOST_BAR = 30
_UP, _DOWN, _QUIET = "31", "32", "90"
_SHORT = 8
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 900, 260, 60, 24, 40


@dataclass(frozen=True, slots=True)
class Point:
    """What is found in one commit.

    Attributes:
        commit: its name. time: in seconds of the epoch. subject: the first line of its message.
        findings: how many. new, gone: since the point before. saves: microseconds by what they are lost in, in the
        training loop that loses most, at the sizes measured on the CPU. unread: how many files could not be read.
    """

    commit: str
    time: int
    subject: str
    findings: int
    new: int
    gone: int
    saves: dict[Frequency, float]
    unread: int = 0

    @property
    def day(self) -> str:
        """Return the day, in UTC, so that the same history makes the same text everywhere."""
        return datetime.fromtimestamp(self.time, timezone.utc).strftime("%Y-%m-%d")

    @property
    def cost(self) -> str:
        """Return what the findings cost in few words, empty where nothing is known."""
        return in_words(self.saves, duration, brief=True)


def point(
    commit: str, time: int, subject: str, findings: Sequence[Finding], before: Sequence[Finding], unread: int
) -> Point:
    """Return what is found in a commit, beside what was found in the point before."""
    keys, known = ({(each.path, each.code, each.fingerprint) for each in found} for found in (findings, before))
    ranked = by_loop(findings, time_on("cpu"))
    saves = dict(ranked[0][0]) if ranked else {}
    return Point(commit, time, subject, len(findings), len(keys - known), len(known - keys), saves, unread)


def as_text(points: Sequence[Point], commits: int, *, color: bool, unicode: bool, width: int) -> str:
    """Return a bar for each commit, the first one first; no line is wider than ``width`` cells."""
    most = max((each.findings for each in points), default=0)
    digits = len(str(most))
    costs = [each.cost for each in points]
    costly = max(map(len, costs), default=0)
    changes = [_change(each, first=index == 0) for index, each in enumerate(points)]
    changed = max(map(len, changes), default=0)
    fixed = len("2000-01-01  ") + _SHORT + 2 + digits + 2 + changed + 2
    costly = costly if fixed + costly + 12 <= width else 0
    longest = max(4, min(_MOST_BAR, (width - fixed - costly - 2) // (2 if width > 100 else 1)))
    lines = []
    for each, cost, change in zip(points, costs, changes, strict=True):
        bar = _bar(each.findings, most, longest, unicode=unicode)
        row = f"{each.day}  {each.commit[:_SHORT]}  {bar:<{longest}} {each.findings:>{digits}}  "
        tone = _UP if each.new > each.gone else _DOWN if each.new < each.gone else _QUIET
        row += _painted(f"{change:<{changed}}", tone if color and change else "")
        row += f"  {cost:<{costly}}" if costly else ""
        room = width - fixed - longest - (costly + 2 if costly else 0) - 1
        subject = visible(each.subject)
        if room >= 20:
            row += "  " + _painted(_fit(subject, room - 1, "…" if unicode else "..."), _QUIET if color else "")
        lines.append(row.rstrip())
    return "".join(f"{line}\n" for line in [*lines, "", *wrap(_sum(points, commits), width)])


def _sum(points: Sequence[Point], commits: int) -> str:
    """``48 findings became 12 over 31 commits (20 shown); about 310 us per step became 54 us per step (CPU)``."""
    first, last = points[0], points[-1]
    if len(points) == 1:
        cost = f"; about {last.cost} (CPU, at the sizes measured)" if last.cost else ""
        return f"{count(last.findings, 'finding')} in {last.commit[:_SHORT]}{cost}"
    shown = f" ({len(points)} linted)" if len(points) < commits else ""
    told = f"{count(first.findings, 'finding')} became {last.findings} over {count(commits, 'commit')}{shown}"
    if first.cost or last.cost:
        told += f"; about {first.cost or 'nothing'} became {last.cost or 'nothing'} (CPU, at the sizes measured)"
    unread = sum(each.unread for each in points)
    return f"{told}; {count(unread, 'file')} could not be checked" if unread else told


def _change(each: Point, *, first: bool) -> str:
    if first or not (each.new or each.gone):
        return ""
    return " ".join(part for part in (f"+{each.new}" if each.new else "", f"-{each.gone}" if each.gone else "") if part)


def _bar(value: int, most: int, longest: int, *, unicode: bool) -> str:
    if not unicode:
        return "#" * round(longest * value / most) if most else ""
    halves = round(2 * longest * value / most) if most else 0
    return _BAR * (halves // 2) + (_PART if halves % 2 else "")


def _fit(told: str, room: int, dots: str) -> str:
    return told if cell_len(told) <= room else f"{set_cell_size(told, room - len(dots)).rstrip()}{dots}"


def _painted(told: str, style: str) -> str:
    return f"\x1b[{style}m{told}\x1b[0m" if style and told.strip() else told


def as_json(points: Sequence[Point]) -> str:
    """Return a JSON array, an object for each commit, the first one first."""
    return json.dumps([_row(each) for each in points], indent=2) + "\n"


def _row(each: Point) -> dict[str, object]:
    return {
        "commit": each.commit,
        "time": each.time,
        "subject": each.subject,
        "findings": each.findings,
        "new": each.new,
        "gone": each.gone,
        "saves_us": {when.name.lower(): round(saved, 3) for when, saved in each.saves.items()},
        "unread": each.unread,
    }


# drawings -------------------------------------------------------------------------------------------------------------

_PLAIN = """svg { font: 12px system-ui, sans-serif; } .grid { stroke: #d5dae3; } .line { fill: none; stroke: #1d5fa8;
  stroke-width: 2; } circle { fill: #1d5fa8; } text { fill: #5f6b7c; } rect.paper { fill: #ffffff; }
@media (prefers-color-scheme: dark) { .grid { stroke: #343c4a; } .line { stroke: #78b4f0; } circle { fill: #78b4f0; }
  text { fill: #98a2b3; } rect.paper { fill: #14181f; } }"""
_PAGE = """:root { color-scheme: light dark; } body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; color: light-dark(#1c2330, #e6e9ef); background: light-dark(#ffffff, #14181f); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } svg { width: 100%; height: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
td, th { text-align: left; padding: .2rem .8rem .2rem 0; }
.number { text-align: right; } td { vertical-align: top; } td:nth-child(-n+6) { white-space: nowrap; }
td { border-top: 1px solid light-dark(#d5dae3, #343c4a); }
code { font-family: ui-monospace, monospace; font-size: .88rem; }
@media (max-width: 45rem) { svg { overflow: visible; } svg text { font-size: 18px; } }
"""


def as_svg(points: Sequence[Point]) -> str:
    """Return a drawing of the findings over time that needs nothing from elsewhere, light and dark."""
    drawn = _drawing(points, "Findings", lambda each: float(each.findings), lambda value: f"{value:g}")
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(
        "\n", f"\n<style>{_PLAIN}</style>\n", 1
    )


def as_html(points: Sequence[Point], commits: int, name: str) -> str:
    """Return a page with the drawings and a table of the commits, which needs no network and no script."""
    body = [
        f"<p>{text(_sum(points, commits))}</p>",
        "<h2>Findings</h2>",
        _drawing(points, "Findings", lambda each: float(each.findings), lambda value: f"{value:g}"),
    ]
    if any(each.saves for each in points):
        body += [
            "<h2>What they cost per environment step, at the sizes measured on the CPU</h2>",
            _drawing(points, "Cost", lambda each: each.saves.get(Frequency.STEP, 0.0), duration),
        ]
    numbers = "".join(f'<th class="number">{name}</th>' for name in ("Findings", "New", "Gone"))
    head = f"<tr><th>Day</th><th>Commit</th>{numbers}<th>Cost</th><th>Subject</th></tr>"
    body += ["<h2>Commits</h2>", '<div class="wide"><table>', head, *map(_html_row, reversed(points)), "</table></div>"]
    return document(f"torchlint trend: {name}", body, _PLAIN + _PAGE)


def _html_row(each: Point) -> str:
    numbers = "".join(f'<td class="number">{value}</td>' for value in (each.findings, each.new, each.gone))
    name = f"<code>{text(each.commit[:_SHORT])}</code>"
    told = f"<td>{text(each.cost)}</td><td>{text(each.subject)}</td>"
    return f"<tr><td>{each.day}</td><td>{name}</td>{numbers}{told}</tr>"


def _drawing(
    points: Sequence[Point], title: str, value: Callable[[Point], float], words: Callable[[float], str]
) -> str:
    """A step for each commit, evenly spaced: a day with many is not wider than a month with none."""
    most = _even(max(map(value, points), default=0.0))
    places = [(_x(index, len(points)), _y(value(each), most)) for index, each in enumerate(points)]
    lines = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)} by commit">']
    lines += [f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>', *_grid(points, most, words)]
    lines.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
    for each, (x, y) in zip(points, places, strict=True):
        told = f"{each.day} {each.commit[:_SHORT]}: {words(value(each))}; {visible(each.subject)}"
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(told)}</title></circle>')
    return "\n".join([*lines, "</svg>"])


def _grid(points: Sequence[Point], most: float, words: Callable[[float], str]) -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        y = _y(share * most, most)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(words(share * most))}</text>'
    shown = sorted({0, len(points) // 2, len(points) - 1})
    for index in shown:
        anchor = "start" if index == 0 else "end" if index == len(points) - 1 else "middle"
        x = _x(index, len(points))
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 14}" text-anchor="{anchor}">{points[index].day}</text>'


def _even(most: float) -> float:
    """The upper end of an axis, so that its middle is a whole number, too."""
    return max(2.0, 2.0 * math.ceil(most / 2))


def _x(index: int, number: int) -> float:
    return _LEFT + (_WIDTH - 20 - _LEFT) * (index / (number - 1) if number > 1 else 0.5)


def _y(value: float, most: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / most)
