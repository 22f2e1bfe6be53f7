"""The files that a run writes besides its output, and the earlier run that it is compared with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cli.failure import Failure
from torchlint.cli.output import write_file
from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.cli.printing import Printer
    from torchlint.engine.result import Result
    from torchlint.report.state import Compared, SavedFinding


@dataclass(frozen=True, slots=True)
class Records:
    """Files of a run.

    Attributes:
        html: where to write a page with the findings. save: where to keep them for a later comparison.
        badge: where to write a badge. compare: what an earlier run kept.
    """

    html: Path | None = None
    save: Path | None = None
    badge: Path | None = None
    compare: Path | None = None

    def earlier(self) -> tuple[SavedFinding, ...]:
        """Return what the earlier run found; read before this run, which may write the same file.

        Raises:
            Failure: it cannot be read.
        """
        if self.compare is None:
            return ()
        from torchlint.report.state import StateError, read

        try:
            return read(self.compare.read_text(encoding="utf-8"))
        except OSError as error:
            raise Failure(f"cannot read {self.compare}: {error.strerror or error}") from error
        except (StateError, UnicodeDecodeError) as error:
            reason = error if isinstance(error, StateError) else "not UTF-8"
            raise Failure(f"{self.compare}: {reason}; torchlint check --save writes such a file") from error

    def keep(self, result: Result) -> None:
        """Write all findings, for a later comparison and as a badge.

        Raises:
            Failure: a file cannot be written.
        """
        if self.save is None and self.badge is None:
            return
        from torchlint import __version__
        from torchlint.report.state import badge, to_text

        if self.save is not None:
            write_file(self.save, to_text(result.findings, __version__))
        if self.badge is not None:
            write_file(self.badge, badge(result.findings))

    def compared(
        self, result: Result, before: Sequence[SavedFinding], root: Path, paths: Sequence[Path]
    ) -> Compared | None:
        """Leave only new findings in the result, and return what became of the others, if there is a comparison."""
        if self.compare is None:
            return None
        from torchlint.report.state import compare

        folders = [Path(os.path.abspath(path)) for path in paths]

        def looked_at(name: str) -> bool:
            path = root / name
            return any(folder == path or folder in path.parents for folder in folders)

        result.findings, compared = compare(result.findings, before, looked_at, str(self.compare))
        return compared

    def show(self, result: Result, printer: Printer) -> None:
        """Write the page.

        Raises:
            Failure: it cannot be written.
        """
        if self.html is not None:
            write_file(self.html, printer.page(result))
