"""Draws what ``torchlint count`` prints for the agent in examples/ as docs/assets/count.svg, the picture of the README.

    picture.py [OUTPUT]

It runs in a copy of the agent; counts are the same on every machine, so the picture is, too. The SVG needs no font and
nothing else from elsewhere: each piece of text stands at the column where it stands on a terminal.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "assets" / "count.svg"
COMMAND = "torchlint count --top 8 -- python train.py --device cuda --updates 60"
_COLUMNS = 80
_FONT, _CELL, _ROW, _EDGE = 14, 8.7, 19, 18
_WORDS = re.compile(r"\S+(?: \S+)*")
"""Words with single spaces between them; more spaces are made by where the next words stand."""
_STYLE = """
rect { fill: #1e2127; } text { fill: #d7dae0; }
text { font: 14px "DejaVu Sans Mono", "Cascadia Mono", Menlo, Consolas, monospace; }
.tl-bold { font-weight: 700; } .tl-prompt, .tl-green { fill: #98c379; } .tl-quiet { fill: #9aa2ae; }
.tl-red { fill: #e88388; } .tl-yellow { fill: #e5c07b; } .tl-cyan { fill: #56b6c2; } .tl-blue { fill: #61afef; }
"""


def printed() -> str:
    """What the command prints with its colours, without what the agent prints."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules"))),
        "FORCE_COLOR": "1",
        "COLUMNS": str(_COLUMNS),
    }
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder, "agent")
        shutil.copytree(ROOT / "examples" / "agent", agent, ignore=shutil.ignore_patterns("__pycache__"))
        words = COMMAND.replace("python", sys.executable).split()[1:]
        done = subprocess.run(
            [sys.executable, "-m", "torchlint", *words],
            cwd=agent,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    lines = done.stdout.splitlines()
    first = next(place for place, line in enumerate(lines) if " waits, " in line)
    return "\n".join(lines[first:])


def picture(text: str) -> str:
    """The SVG of a text with the colours of a terminal."""
    sys.path[:0] = [str(ROOT)]
    from website.terminal import pieces

    lines = Text.from_ansi(text).split("\n")
    rows = [_words(0, 0, f"$ {COMMAND}", "tl-prompt")]
    for row, line in enumerate(lines, 2):
        column = 0
        for look, part in pieces(line):
            rows += [_words(row, column + found.start(), found[0], look) for found in _WORDS.finditer(part)]
            column += len(part)
    width, height = 2 * _EDGE + round(_CELL * _COLUMNS), 2 * _EDGE + _FONT + (len(lines) + 1) * _ROW
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            "<title>What torchlint count prints for the agent in examples/</title>",
            f'<style>{_STYLE}</style><rect width="100%" height="100%" rx="8"/>',
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


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    output.write_text(picture(printed()), encoding="utf-8")
