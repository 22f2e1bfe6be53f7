"""What commands print, with its colours, as HTML: the site shows real output and no copy of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

from rich.color import ColorType
from rich.text import Text

# <!-- run: check agent.py --select TL101 (first 20 lines) -->
MARK = re.compile(r"^<!-- run: (?P<command>[^(\n]+?)(?: \((?P<lines>first \d+ lines)\))? -->$", re.MULTILINE)
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def shown(text: str, folder: Path) -> str:
    """Replace each mark in a page's text by the command and what it prints when it runs in a folder.

    Raises:
        RuntimeError: a command fails otherwise than by its findings.
    """

    def block(match: re.Match[str]) -> str:
        lines = int(match["lines"].split()[1]) if match["lines"] else 0
        return _block(match["command"], folder, lines)

    return MARK.sub(block, text)


def _block(command: str, folder: Path, lines: int) -> str:
    printed = _run(command, folder)
    if lines:
        printed = "\n".join([*printed.splitlines()[:lines], "..."])
    html = "".join(_spans(Text.from_ansi(printed)))
    return (
        f'<div class="tl-terminal"><pre><span class="tl-prompt">$ torchlint {escape(command)}</span>\n\n'
        f"{_unbroken(html)}</pre></div>"
    )


def _unbroken(html: str) -> str:
    """Without empty lines, which end a block of HTML in Markdown."""
    return re.sub(r"\n(?=\n)", "\n&#8203;", html.strip("\n")).replace("*", "&#42;").replace("_", "&#95;")


@cache
def _run(command: str, folder: Path) -> str:
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", *command.split()],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "FORCE_COLOR": "1",
            "COLUMNS": "88",
            "TORCHLINT_DATA_DIR": str(root / ".no-results-of-anybody"),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"torchlint {command}: {done.stderr}")
    return done.stdout


def _spans(text: Text) -> list[str]:
    return [f'<span class="{names}">{escape(part)}</span>' if names else escape(part) for names, part in pieces(text)]


def pieces(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text that have one look each, with the names of its classes."""
    plain = text.plain
    edges = sorted({0, len(plain), *(edge for span in text.spans for edge in (span.start, span.end))})
    for start, end in pairwise(edges):
        yield " ".join(_classes(text, start)), plain[start:end]


def _classes(text: Text, offset: int) -> list[str]:
    found: set[str] = set()
    for span in text.spans:
        if not span.start <= offset < span.end or isinstance(span.style, str):
            continue
        if span.style.bold:
            found.add("tl-bold")
        color = span.style.color
        if color is not None and color.type is ColorType.STANDARD and color.number is not None:
            found.add("tl-quiet" if color.number == 8 else f"tl-{_NAMES[color.number % 8]}")
    return sorted(found)
