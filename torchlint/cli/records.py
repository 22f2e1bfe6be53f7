"""The files that a run writes besides its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.cli.output import write_file
from torchlint.late import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from torchlint.cli.printing import Printer
    from torchlint.engine.result import Result


@dataclass(frozen=True, slots=True)
class Records:
    """Where to write what: ``html`` a page with the findings."""

    html: Path | None = None

    def write(self, result: Result, printer: Printer) -> None:
        """Write what was asked for.

        Raises:
            Failure: a file cannot be written.
        """
        if self.html is not None:
            write_file(self.html, printer.page(result))
