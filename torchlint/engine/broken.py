"""The finding for a file that Python cannot read."""

from __future__ import annotations

from dataclasses import replace

from torchlint.engine.analysis import Unparsed
from torchlint.rule import Finding, Level, Position

SYNTAX_ERROR = "TL000"


def syntax_error(name: str, unparsed: Unparsed) -> Finding:
    """The finding for a file that Python cannot read."""
    start = Position(unparsed.row, max(1, unparsed.column))
    finding = Finding(
        code=SYNTAX_ERROR,
        name="syntax-error",
        message=unparsed.message,
        level=Level.ERROR,
        path=name,
        start=start,
        end=replace(start, column=start.column + 1),
        rows=(unparsed.row, unparsed.row),
    )
    return replace(finding, fingerprint=f"{SYNTAX_ERROR}:{name}")
