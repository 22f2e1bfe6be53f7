"""Draws what torchlint prints for the agent in examples/, and what fixes gain: the SVG files in docs/assets.

    picture.py [NAME ...]

The commands run in a copy of the agent, on terminals of 80 and 200 columns, in color and without. Shipped figures and
counts are the same on every machine, so the pictures are, too. An SVG needs no font and nothing else from elsewhere:
each piece of text stands at the column where it stands on a terminal. ``gains`` plots figures of docs/benchmarks.
"""

from __future__ import annotations

import math
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from website.measured import Measured

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
sys.path.insert(0, str(ROOT))


@dataclass(frozen=True, slots=True)
class Terminal:
    """A command, the terminal that it prints to, and the words on the first line that torchlint prints."""

    command: str
    first: str
    title: str
    columns: int = 80
    color: bool = True


def _terminals() -> Iterator[tuple[str, Terminal]]:
    """The pictures by name: findings before and after the fixes, on each kind of terminal, and counts."""
    for name, command, title in (
        ("check", "torchlint check --top 3", "What torchlint check prints for the agent in examples/"),
        ("fixed", "torchlint check --fix --accept validation --top 3", "The findings that remain after the fixes"),
    ):
        for columns in (80, 200):
            for color in (True, False):
                parts = [name, *([str(columns)] if columns != 80 else []), *([] if color else ["plain"])]
                yield "-".join(parts), Terminal(command, "--fix", title, columns, color)
    command = "torchlint count --top 8 -- python train.py --device cuda --updates 60"
    yield "count", Terminal(command, " GPU syncs, ", "What torchlint count prints for the agent in examples/")


TERMINALS = dict(_terminals())
_FONT, _CELL, _ROW, _EDGE = 14, 8.7, 19, 18
_WORDS = re.compile(r"\S+(?: \S+)*")
"""Words with single spaces between them; more spaces are made by where the next words stand."""
_STYLE = """
rect { fill: #1e2127; } text { fill: #d7dae0; }
text { font: 14px "DejaVu Sans Mono", "Cascadia Mono", Menlo, Consolas, monospace; }
.tl-bold { font-weight: 700; } .tl-prompt, .tl-green { fill: #98c379; } .tl-quiet { fill: #9aa2ae; }
.tl-red { fill: #e88388; } .tl-yellow { fill: #e5c07b; } .tl-cyan { fill: #56b6c2; } .tl-blue { fill: #61afef; }
"""


def printed(terminal: Terminal) -> str:
    """What a command prints with its colors, without what the agent prints."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **{key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")},
            **({} if terminal.color else {"NO_COLOR": "1"}),
            "PYTHONPATH": str(ROOT),
            "TORCHLINT_DATA_DIR": str(Path(folder, "data")),
            "FORCE_HYPERLINK": "0",
            "TERM": "xterm-256color",
            "COLUMNS": str(terminal.columns),
            "LINES": "50",
        }
        agent = Path(folder, "agent")
        shutil.copytree(ROOT / "examples" / "agent", agent, ignore=shutil.ignore_patterns("__pycache__"))
        words = terminal.command.replace("python", sys.executable).split()[1:]
        output = _on_terminal([sys.executable, "-m", "torchlint", *words], agent, environment)
    lines = output.splitlines()
    first = next(place for place, line in enumerate(lines) if terminal.first in line)
    return "\n".join(lines[first:])


def _on_terminal(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a program writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=theirs, stderr=subprocess.DEVNULL):
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 65_536):
                written += piece
        except OSError:
            pass  # Linux says so that the other end is closed
    os.close(ours)
    return written.decode()


def picture(terminal: Terminal, text: str) -> str:
    """The SVG of a text with the colors of a terminal."""
    from website.terminal import pieces

    lines = Text.from_ansi(text).split("\n")
    rows = [_words(0, 0, f"$ {terminal.command}", "tl-prompt" if terminal.color else "")]
    for row, line in enumerate(lines, 2):
        column = 0
        for look, part in pieces(line):
            rows += [_words(row, column + found.start(), found[0], look) for found in _WORDS.finditer(part)]
            column += len(part)
    widest = max(len(terminal.command) + 2, *(len(line.plain) for line in lines), 80)
    width, height = 2 * _EDGE + round(_CELL * widest), 2 * _EDGE + _FONT + (len(lines) + 1) * _ROW
    return _svg(width, height, terminal.title, _STYLE, rows)


def _svg(width: int, height: int, title: str, style: str, rows: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<style>{style}</style><rect width="100%" height="100%" rx="8"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def _words(row: int, column: int, words: str, look: str) -> str:
    """Words at a place of a terminal, as wide as there whatever the font."""
    place = f'x="{_EDGE + _CELL * column:.1f}" y="{_EDGE + _FONT + row * _ROW}"'
    style = f' class="{look}"' if look else ""
    return f'<text {place} textLength="{_CELL * len(words):.1f}"{style}>{escape(words)}</text>'


_PLOT_STYLE = """
rect { fill: #ffffff; stroke: #d0d7de; } text { fill: #1f2328; font: 13px sans-serif; }
.quiet { fill: #59636e; } .strong { font-weight: 700; } .grid { stroke: #d0d7de; }
.before { fill: #bc4c00; } .after { fill: #1a7f37; } .gain { stroke: #1a7f37; stroke-width: 3; }
@media (prefers-color-scheme: dark) {
  rect { fill: #0d1117; stroke: #3d444d; } text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }
  .before { fill: #f0883e; } .after { fill: #3fb950; } .gain { stroke: #3fb950; }
}
"""
_PLOT, _LEFT, _RIGHT, _TOP, _STEP = 800, 262, 690, 74, 24


def gains() -> str:
    """The SVG of the time before and after the fix of each rule that runs by default and was measured to gain.

    A rule is shown by one of its examples, the one in the middle by its ratio.
    """
    from torchlint.engine.rules import load_rules
    from torchlint.rule import Level, RuleSet
    from website.measured import measurements

    names = {
        rule.code: rule.name for rule in load_rules() if rule.set is RuleSet.DEFAULT and rule.level is Level.WARNING
    }
    examples: dict[str, list[Measured]] = {}
    for row in measurements(ROOT / "docs" / "benchmarks"):
        if row.code in names and not row.by_hand and row.device == "cpu":
            examples.setdefault(row.code, []).append(row)
    middle = [sorted(rows, key=lambda row: row.ratio)[(len(rows) - 1) // 2] for rows in examples.values()]
    rows = sorted((row for row in middle if row.gains), key=lambda row: -row.ratio)
    least = math.floor(math.log10(min(row.after_us for row in rows)))
    most = math.ceil(math.log10(max(row.before_us for row in rows)))
    height = _TOP + _STEP * len(rows) + 12

    def at(time: float) -> float:
        return _LEFT + (math.log10(time) - least) / (most - least) * (_RIGHT - _LEFT)

    drawn = [
        '<text class="strong" x="16" y="26">Time of one call, before and after the fix</text>',
        f'<text class="quiet" x="16" y="46">{escape(rows[0].machine)}</text>',
        f'<circle class="before" cx="{_RIGHT - 120}" cy="22" r="5"/><text x="{_RIGHT - 108}" y="26">before</text>',
        f'<circle class="after" cx="{_RIGHT - 40}" cy="22" r="5"/><text x="{_RIGHT - 28}" y="26">after</text>',
    ]
    for power in range(least, most + 1):
        label = f"{10**power} us" if power < 3 else f"{10 ** (power - 3)} ms" if power < 6 else f"{10 ** (power - 6)} s"
        x = f"{at(10.0**power):.1f}"
        drawn.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{height - 12}"/>')
        drawn.append(f'<text class="quiet" x="{x}" y="{_TOP - 14}" text-anchor="middle">{label}</text>')
    for number, row in enumerate(rows):
        y = _TOP + _STEP * number + _STEP // 2
        before, after = f"{at(row.before_us):.1f}", f"{at(row.after_us):.1f}"
        drawn += [
            f"<g><title>{escape(f'{row.code}, {row.example}: {row.before_us:g} us, {row.after_us:g} us')}</title>",
            f'<text x="{_LEFT - 16}" y="{y + 4}" text-anchor="end">{row.code} {escape(names[row.code])}</text>',
            f'<line class="gain" x1="{after}" x2="{before}" y1="{y}" y2="{y}"/>',
            f'<circle class="before" cx="{before}" cy="{y}" r="5"/><circle class="after" cx="{after}" cy="{y}" r="5"/>',
            f'<text class="strong" x="{_PLOT - 16}" y="{y + 4}" text-anchor="end">{row.ratio:.1f}x</text></g>',
        ]
    return _svg(_PLOT, height, "Time of one call before and after the fixes of rules", _PLOT_STYLE, drawn)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*TERMINALS, "gains"]:
        found = gains() if wanted == "gains" else picture(TERMINALS[wanted], printed(TERMINALS[wanted]))
        (ASSETS / f"{wanted}.svg").write_text(found, encoding="utf-8")
