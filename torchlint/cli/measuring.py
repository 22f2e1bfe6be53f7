"""A profile read for a run: what it says of the functions that the run looks at."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cli.failure import Failure
from torchlint.cli.output import complain
from torchlint.late import dataclass
from torchlint.profile.attribute import attribute
from torchlint.profile.elsewhere import elsewhere
from torchlint.profile.errors import ProfileError
from torchlint.profile.join import Join, measured
from torchlint.profile.model import Attribution, Profile
from torchlint.profile.pace import observed
from torchlint.profile.read import read
from torchlint.profile.stream import Progress
from torchlint.profile.words import NO_STACKS
from torchlint.report.escape import visible
from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from torchlint.engine.result import Result
    from torchlint.settings.load import Nested

Mapping = tuple[str, str]
"""A prefix of recorded paths, and what takes its place."""


def mapping_of(text: str) -> Mapping:
    """Parse ``FROM=TO`` into a pair.

    Raises:
        Failure: it does not read so.
    """
    recorded, equals, own = text.partition("=")
    if not recorded or not equals:
        raise Failure(f"--map takes FROM=TO, e.g. --map /workspace/agent=. , not {text!r}")
    return recorded, own or "."


@dataclass(frozen=True, slots=True)
class Measuring:
    """A profile, and what it says of the functions of a project."""

    profile: Profile
    attribution: Attribution

    @classmethod
    def of(
        cls, trace: Path, mapping: Sequence[Mapping], paths: Sequence[Path], settings: Settings, own: Nested
    ) -> Measuring:
        """Read a profile, and map it onto the files that would be linted.

        Raises:
            Failure: it is not a profile, it is broken, none of its functions is in these files, or there are none.
        """
        from torchlint.engine.run import linted_files

        linted = linted_files(paths, settings, own)
        for problem in linted.problems:
            raise Failure(f"{problem.path}: {problem.message}")
        if not linted.names:
            raise Failure(f"no Python files found in {', '.join(map(str, paths))}")
        try:
            with _progress(trace) as progress:
                profile = read(trace, progress)
            files = [settings.root / name for name in linted.names]
            found = cls(profile, attribute(profile, settings.root, files, mapping))
        except ProfileError as error:
            raise Failure(str(error)) from error
        moved = elsewhere(profile, found.attribution, settings.root, files)
        if moved is not None:
            those = f"{moved.files[0]}{f' and {len(moved.files) - 1} more' if len(moved.files) > 1 else ''}"
            complain(f"warning: {those} would match with --map {'='.join(moved.mapping)}")
        return found

    def applied(self, settings: Settings, *, lowering: bool) -> Settings:
        """Return the settings with the observed frequencies of functions.

        Without ``lowering``, an observation makes no function colder.
        """
        return replace(settings, observed=observed(self.profile, self.attribution, lowering=lowering))

    def tell(self, result: Result) -> None:
        """Add to each finding what it costs, and sort them by cost."""
        if not self.profile.stacks:
            complain(f"warning: {NO_STACKS}")
        result.findings = measured(Join(self.profile, self.attribution, result.sources).groups(result.findings))


@contextmanager
def _progress(trace: Path) -> Iterator[Progress | None]:
    """A bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(bar_width=20), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(trace.name), total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
