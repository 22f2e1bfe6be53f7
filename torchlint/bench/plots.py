"""Plots as SVG: ratios with their intervals, and saved time, both on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from torchlint.late import dataclass
from torchlint.report.cost import duration, factor

_WIDTH = 900
_LABELS = 300
_RIGHT = 70
_ROW = 22
_TOP = 26
_STEPS = (1.0, 2.0, 5.0)

_Words = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a plot: ``tone`` is the class of its colour, ``shipped`` the ratio that came with the rule."""

    label: str
    ratio: float
    low: float
    high: float
    saves_us: float
    tone: str
    shipped: float | None = None


@dataclass(frozen=True, slots=True)
class _Axis:
    """A logarithmic axis from ``least`` to ``most``."""

    least: float
    most: float

    def at(self, value: float) -> float:
        """Return the position of a value, in units of the drawing."""
        inside = min(max(value, self.least), self.most)
        share = math.log(inside / self.least) / math.log(self.most / self.least)
        return _LABELS + share * (_WIDTH - _LABELS - _RIGHT)

    def ticks(self) -> list[float]:
        """Return round values on the axis, only powers of ten where there would be too many."""
        powers = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
        steps = _STEPS if len(powers) <= 3 else _STEPS[:1]
        found = (step * 10.0**power for power in powers for step in steps)
        return [tick for tick in found if self.least <= tick <= self.most]


def intervals(bars: Sequence[Bar]) -> str:
    """Draw ratios: the median as a dot, 10th to 90th percentile as a line, the shipped figure as a hollow circle."""
    known = [bar.shipped for bar in bars if bar.shipped is not None]
    axis = _axis([0.8, 2.0, *(bar.low for bar in bars), *(bar.high for bar in bars), *known])
    lines = [f'<line class="one" x1="{axis.at(1):.1f}" x2="{axis.at(1):.1f}" y1="{_TOP}" y2="{_height(bars) - 6}"/>']
    for index, bar in enumerate(bars):
        y = _TOP + _ROW * index + _ROW / 2
        text = f"{bar.label}: {factor(bar.ratio)}x ({factor(bar.low)}-{factor(bar.high)}x)"
        lines += [
            f"<g><title>{escape(text)}</title>",
            f'<line class="{bar.tone}" stroke-width="3" x1="{axis.at(bar.low):.1f}" x2="{axis.at(bar.high):.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<circle class="{bar.tone}" cx="{axis.at(bar.ratio):.1f}" cy="{y:.1f}" r="4"/>',
        ]
        if bar.shipped is not None:
            lines.append(f'<circle class="shipped" cx="{axis.at(bar.shipped):.1f}" cy="{y:.1f}" r="6.5"/>')
        lines += ["</g>", _value(f"{factor(bar.ratio)}x", y)]
    return _drawing("Ratio of the time before to the time after", bars, axis, lambda tick: f"{tick:g}x", lines)


def savings(bars: Sequence[Bar]) -> str:
    """Draw the time saved per call as bars; a row that saves nothing has no bar."""
    saved = [bar.saves_us for bar in bars if bar.saves_us > 0]
    axis = _axis([0.1, 10.0, *saved])
    lines: list[str] = []
    for index, bar in enumerate(bars):
        y = _TOP + _ROW * index + 4
        words = duration(bar.saves_us) if bar.saves_us > 0 else "nothing"
        if bar.saves_us > 0:
            width = max(axis.at(bar.saves_us) - _LABELS, 1)
            lines.append(
                f"<g><title>{escape(f'{bar.label}: {words}')}</title>"
                f'<rect class="{bar.tone}" x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_ROW - 8}"/></g>'
            )
        lines.append(_value(words, y + _ROW / 2 - 4))
    return _drawing("Time saved in one call", bars, axis, duration, lines)


def _axis(values: Sequence[float]) -> _Axis:
    return _Axis(min(values) / 1.1, max(values) * 1.1)


def _height(bars: Sequence[Bar]) -> int:
    return _TOP + _ROW * len(bars) + 8


def _value(text: str, y: float) -> str:
    return f'<text x="{_WIDTH - 4}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'


def _drawing(title: str, bars: Sequence[Bar], axis: _Axis, words: _Words, lines: Sequence[str]) -> str:
    height = _height(bars)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        *_grid(axis, height, words),
    ]
    for index, bar in enumerate(bars):
        y = _TOP + _ROW * index + _ROW / 2 + 4
        parts.append(f'<text x="{_LABELS - 10}" y="{y:.1f}" text-anchor="end">{escape(bar.label)}</text>')
    return "\n".join([*parts, *lines, "</svg>"])


def _grid(axis: _Axis, height: int, words: _Words) -> Iterator[str]:
    for tick in axis.ticks():
        x = f"{axis.at(tick):.1f}"
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{height - 6}"/>'
        yield f'<text class="quiet" x="{x}" y="{_TOP - 9}" text-anchor="middle">{escape(words(tick))}</text>'
