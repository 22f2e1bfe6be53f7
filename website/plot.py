"""Measured ratios as SVG: a dot for the median, a line from the 10th to the 90th percentile, on a logarithmic axis.

Colours are classes of ``docs/stylesheets/extra.css``, so that a plot follows the theme of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from torchlint.report.cost import duration, factor
from website.measured import Measured

_WIDTH = 760
_LEFT, _RIGHT = 250, 560
_TOP, _ROW = 30, 34
_STEPS = (1.0, 2.0, 5.0)
_LETTERS = 40

Name = Callable[[Measured], str]


def plot(rows: Sequence[Measured], name: Name = lambda row: row.size, title: str = "Time before by time after") -> str:
    """Draw all rows, each with the label that ``name`` returns.

    The drawing has no blank line, so that Markdown keeps it whole.
    """
    height = _TOP + _ROW * len(rows) + 8
    axis = _Axis(min(0.8, *(row.low for row in rows)) / 1.05, max(2.0, *(row.high for row in rows)) * 1.05)
    lines = [
        f'<svg class="tl-plot" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        *_grid(axis, height),
    ]
    for index, row in enumerate(rows):
        lines += _line(row, name(row), axis, _TOP + _ROW * index + _ROW / 2)
    return "\n".join([*lines, "</svg>"])


class _Axis:
    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most

    def at(self, value: float) -> float:
        """Return the position of a ratio, in units of the drawing."""
        share = math.log(value / self.least) / math.log(self.most / self.least)
        return _LEFT + share * (_RIGHT - _LEFT)

    def ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
        steps = _STEPS if len(powers) <= 3 else _STEPS[:1]
        return [tick for power in powers for step in steps if self.least <= (tick := step * 10.0**power) <= self.most]


def _grid(axis: _Axis, height: int) -> Iterator[str]:
    for tick in axis.ticks():
        x, kind = f"{axis.at(tick):.1f}", "tl-one" if tick == 1 else "tl-grid"
        yield f'<line class="{kind}" x1="{x}" x2="{x}" y1="{_TOP - 4}" y2="{height - 4}"/>'
        yield f'<text class="tl-quiet" x="{x}" y="{_TOP - 12}" text-anchor="middle">{tick:g}x</text>'


def _line(row: Measured, name: str, axis: _Axis, y: float) -> Iterator[str]:
    tone = "tl-good" if row.gains else "tl-bad" if row.high < 1 else "tl-flat"
    spread = f"{factor(row.ratio)}x ({factor(row.low)}-{factor(row.high)}x)"
    shown = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    yield f"<g><title>{escape(f'{name}: {spread} on {row.device.upper()}')}</title>"
    yield f'<text x="{_LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{escape(shown)}</text>'
    yield (
        f'<line class="{tone}" stroke-width="4" x1="{axis.at(row.low):.1f}" x2="{axis.at(row.high):.1f}" '
        f'y1="{y:.1f}" y2="{y:.1f}"/>'
    )
    yield f'<circle class="{tone}" cx="{axis.at(row.ratio):.1f}" cy="{y:.1f}" r="5.5"/>'
    yield f'<text class="tl-strong" x="{_RIGHT + 14}" y="{y + 4:.1f}">{escape(factor(row.ratio))}x</text>'
    times = f"{duration(row.before_us)} → {duration(row.after_us)}"
    yield f'<text class="tl-quiet" x="{_WIDTH - 2}" y="{y + 4:.1f}" text-anchor="end">{escape(times)}</text></g>'
