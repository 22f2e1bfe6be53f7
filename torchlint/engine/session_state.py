"""What a long session keeps of a project between runs, and how a run is cancelled.

A run over open documents links their units. As long as no text of a unit changes, the next run takes it as it is; where
texts changed inside of functions alone, what is known of the rest serves for a preview (``engine/preview.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.engine.linting import Parsed
    from torchlint.engine.run import EngineRun
    from torchlint.engine.units import Unit


class AnalysisCancelled(BaseException):
    """The work is not wanted any more."""


@dataclass(eq=False, slots=True)
class SessionState:
    """The facts of texts, the units of the last whole run by the names of the files that they report on, and that run.

    ``checkpoint`` is called again and again during a run, and may raise ``AnalysisCancelled``; what was parsed by then
    stays.
    """

    checkpoint: Callable[[], None]
    parsed: Parsed = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    run: EngineRun | None = None
