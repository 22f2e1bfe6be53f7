"""The finding for a file that Python cannot read."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.engine.ahead import NEWER
from torchlint.engine.syntax import SYNTAX_ERROR
from torchlint.rule import Finding, Level, Position

if TYPE_CHECKING:
    from torchlint.engine.syntax import Unparsed
    from torchlint.rule.versions import Target


def syntax_error(name: str, unparsed: Unparsed, target: Target) -> Finding:
    """Return the finding for a file that Python cannot parse; the file may be valid for a newer Python."""
    python = sys.version_info[:2]
    told = unparsed.message.endswith(NEWER)
    newer = not told and target.python is not None and target.python > python
    doubt = f"; torchlint runs on Python {python[0]}.{python[1]}, and the project is for a newer one" if newer else ""
    start = Position(unparsed.row, max(1, unparsed.column))
    finding = Finding(
        code=SYNTAX_ERROR,
        name="syntax-error",
        message=f"{unparsed.message}{doubt}",
        level=Level.ERROR,
        path=name,
        start=start,
        end=replace(start, column=start.column + 1),
        rows=(unparsed.row, unparsed.row),
    )
    return replace(finding, fingerprint=f"{SYNTAX_ERROR}:{name}")
