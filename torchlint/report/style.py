"""The few signs and colours of the format ``full``."""

from __future__ import annotations

from torchlint.late import dataclass
from torchlint.rule import Level


@dataclass(frozen=True, slots=True)
class Signs:
    """Line drawing and punctuation, in Unicode or in ASCII for terminals that know no more."""

    rule: str
    bar: str
    under: str
    dots: str
    arrow: str


UNICODE = Signs(rule="─", bar="│", under="━", dots="…", arrow="→")
ASCII = Signs(rule="-", bar="|", under="^", dots="...", arrow="->")

LEVELS = {Level.ERROR: "bold red", Level.WARNING: "bold yellow", Level.NOTE: "bold cyan"}
UNDERLINES = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
# ``bright_black`` instead of ``dim``, which some terminals do not show and others make unreadable.
QUIET = "bright_black"
LABEL = "bold blue"
REMOVED = "red"
ADDED = "green"
MARK = "bold green"
"""Of the mark that says which command applies a fix."""
