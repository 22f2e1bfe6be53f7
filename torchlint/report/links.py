"""Links from text in a terminal to files (the sequence OSC 8)."""

from __future__ import annotations

import os
from pathlib import Path

from torchlint.report.context import Context


def url_of(context: Context, name: str) -> str:
    """Return the address of a file of the run; empty where the terminal knows no links, and for standard input."""
    if not context.links or name == "-":
        return ""
    from urllib.parse import quote  # for terminals with links alone

    source = context.sources.get(name)
    path = source.path if source is not None else context.root / name
    return f"{context.links}{quote(os.fsencode(Path(os.path.abspath(path)).as_posix()))}"


def linked(text: str, url: str) -> str:
    """Return text linked to an address; without one the text as it is."""
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if url else text
