"""The text of one file, as bytes and as characters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.sources.notebook import Notebook


@dataclass(frozen=True, slots=True)
class Source:
    """One file that is linted.

    Attributes:
        path: where it lies on disk (absolute).
        name: relative to the project root, with ``/``; ``-`` for standard input without a name.
        text: decoded, without a byte order mark, newlines as they are in the file.
        utf8: ``text`` as UTF-8. ``ast`` counts columns in these bytes, and edits count in them.
        encoding: of the file on disk.
        bom: whether the file starts with a byte order mark.
        raw: the bytes of the file on disk.
        notebook: the notebook whose code cells ``text`` holds, where the file is one.
    """

    path: Path
    name: str
    text: str
    utf8: bytes
    encoding: str = "utf-8"
    bom: bool = False
    raw: bytes = b""
    notebook: Notebook | None = None
