"""Draws what torchlint prints for the agent in examples/: docs/assets/check.svg and docs/assets/count.svg.

    picture.py [check|count]

The commands run in a copy of the agent, on a terminal of 80 columns. Shipped figures and counts are the same on every
machine, so the pictures are, too. An SVG needs no font and nothing else from elsewhere: each piece of text stands at
the column where it stands on a terminal.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
COMMANDS = {
    "check": "torchlint check --top 3",
    "count": "torchlint count --top 8 -- python train.py --device cuda --updates 60",
}
# What stands above this line of the output is of the agent, not of torchlint.
_FIRST = {"check": "--fix", "count": " GPU syncs, "}
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


def printed(name: str) -> str:
    """What a command prints with its colours, without what the agent prints."""
    environment = {
        **{key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")},
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules"))),
        "TORCHLINT_DATA_DIR": str(ROOT / "no-results-of-this-machine"),
        "FORCE_HYPERLINK": "0",
        "TERM": "xterm-256color",
        "COLUMNS": str(_COLUMNS),
    }
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder, "agent")
        shutil.copytree(ROOT / "examples" / "agent", agent, ignore=shutil.ignore_patterns("__pycache__"))
        words = COMMANDS[name].replace("python", sys.executable).split()[1:]
        output = _on_terminal([sys.executable, "-m", "torchlint", *words], agent, environment)
    lines = output.splitlines()
    first = next(place for place, line in enumerate(lines) if _FIRST[name] in line)
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


def picture(name: str, text: str) -> str:
    """The SVG of a text with the colours of a terminal."""
    sys.path[:0] = [str(ROOT)]
    from website.terminal import pieces

    lines = Text.from_ansi(text).split("\n")
    rows = [_words(0, 0, f"$ {COMMANDS[name]}", "tl-prompt")]
    for row, line in enumerate(lines, 2):
        column = 0
        for look, part in pieces(line):
            rows += [_words(row, column + found.start(), found[0], look) for found in _WORDS.finditer(part)]
            column += len(part)
    width, height = 2 * _EDGE + round(_CELL * _COLUMNS), 2 * _EDGE + _FONT + (len(lines) + 1) * _ROW
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>What torchlint {name} prints for the agent in examples/</title>",
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
    for wanted in sys.argv[1:] or COMMANDS:
        (ASSETS / f"{wanted}.svg").write_text(picture(wanted, printed(wanted)), encoding="utf-8")
