"""What ``torchlint check`` does once its command line is read: lint, print, and judge."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.cli import FAILED, FOUND, OK
from torchlint.cli.failure import Failure
from torchlint.cli.output import complain, write
from torchlint.cli.printing import Extent, Printer, Volume, named
from torchlint.cli.progress import waiting
from torchlint.cli.records import Records
from torchlint.cli.terminal import look_of, write_bytes
from torchlint.engine.result import NoCodeError, Result, UnusableError
from torchlint.late import dataclass
from torchlint.report.escape import defused, visible
from torchlint.rule import Level
from torchlint.settings.model import Settings
from torchlint.settings.root import located
from torchlint.sources.globs import Globs

if TYPE_CHECKING:
    from torchlint.cli.keeping import Cache
    from torchlint.cli.measuring import Measuring
    from torchlint.engine.memory import Memory
    from torchlint.report.state import SavedFinding
    from torchlint.settings.load import Nested


@dataclass(frozen=True, slots=True)
class Keeping:
    """Whether results are kept, and where, in place of a folder in the project.

    ``config`` is what ``--config`` gave; ``wanted`` stands for the run as a whole, empty where it is not to be repeated
    from the cache.
    """

    keeps: bool = False
    folder: Path | None = None
    config: Sequence[str] = ()
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One run of ``torchlint check``.

    Attributes:
        paths: what to lint. settings: of the run. own: gives the settings of each file.
        volume: how much to say. extent: how much of the findings is shown.
        keeping: what is kept of the run. measuring: the profile that findings are ranked by.
        records: the files that are written besides the output.
    """

    paths: Sequence[Path]
    settings: Settings
    own: Nested
    volume: Volume
    extent: Extent = field(default_factory=Extent)
    keeping: Keeping = field(default_factory=Keeping)
    measuring: Measuring | None = None
    records: Records = field(default_factory=Records)

    def check(self) -> int:
        """Lint files and folders, print what was found, and return the exit code.

        Raises:
            SettingsError: a selector fits no rule, or the settings of a file are wrong.
            Failure: the output file cannot be written, or what the settings name cannot be read.
        """
        cache = self._cache()
        before = self.records.earlier()
        if cache is None:
            return self._checked(self.lint(), before)
        with cache.listening():
            result = self.lint(memory=cache.memory)
            code = self._checked(result, before)
        self._keep(cache, result, code)
        return code

    def interact(self) -> int:
        """Ask about each group of fixes on the terminal, and return the exit code.

        Raises: as ``check``.
        """
        from torchlint.cli.interactive import converse

        result = converse(self.paths, self.settings, self.own)
        self.records.keep(result)
        printer = Printer(self.settings, sys.stdout, self.volume, self.extent)
        for problem in result.problems:
            complain(f"error: {named(problem.path, self.settings.root)}: {problem.message}")
        self.records.show(result, printer)
        self.warn_of_nothing(result)
        return exit_code(result, self.settings)

    def _checked(self, result: Result, before: Sequence[SavedFinding]) -> int:
        """Print a result, and judge it; with an earlier run what is new in it."""
        if self.measuring is not None:
            self.measuring.tell(result)
        self.records.keep(result)
        compared = self.records.compared(result, before, self.settings.root, self.paths)
        printer = Printer(self.settings, sys.stdout, self.volume, self.extent, compared)
        printer.show(result)
        self.records.show(result, printer)
        self.warn_of_nothing(result)
        return exit_code(result, self.settings)

    def _cache(self) -> Cache | None:
        """The cache, where one is of use and can be kept."""
        if not self.keeping.keeps or self.settings.fix or self.settings.diff:
            return None
        from torchlint.cli.keeping import Cache, warn

        try:
            return Cache.open(self.settings.root, self.keeping.folder, self.settings.plugins)
        except OSError as error:
            if self.volume >= Volume.NORMAL:
                warn(error)
            return None

    def _keep(self, cache: Cache, result: Result, code: int) -> None:
        from torchlint.cli.keeping import entries_of, warn

        others = set(result.plugins) - set(self.settings.plugins)
        once = self.settings.since or self.settings.output_file or self.settings.fix_only
        wanted = "" if others or result.problems or once else self.keeping.wanted
        read = (*self.settings.files, *self.own.files)
        entries = entries_of(self.settings, read, self.keeping.config, cache.memory)
        try:
            cache.keep(wanted, code, entries)
        except OSError as error:
            if self.volume >= Volume.NORMAL:
                warn(error)

    def lint(self, settings: Settings | None = None, memory: Memory | None = None) -> Result:
        """Lint files and folders, with the given settings or those of the run.

        Raises: as ``check``.
        """
        from torchlint.engine.run import check

        try:
            with waiting("torchlint: reading the project"):
                return check(self.paths, settings or self.settings, own=self.own, memory=memory)
        except UnusableError as error:
            raise Failure(str(error)) from error

    def warn_of_nothing(self, result: Result) -> None:
        """Warn if there was nothing to lint."""
        if not result.files and not result.problems and self.volume >= Volume.NORMAL:
            complain(f"warning: no Python files found in {', '.join(map(str, self.paths))}")

    def check_stdin(self, filename: Path | None) -> int:
        """Lint standard input; with fixes the fixed text goes to standard output, the findings to standard error.

        Raises: as ``check``.
        """
        from torchlint.engine.run import check
        from torchlint.sources.decode import UndecodableError, read_any, to_bytes

        if sys.stdin is None:
            raise Failure("- (standard input) is closed")
        settings = self.settings
        name = _name(filename, settings.root)
        try:
            source = read_any(sys.stdin.buffer.read(), filename or Path(name), name)
            result = Result() if _left_out(source.path, settings) else check((), settings, source, self.own)
        except UndecodableError as error:
            complain(f"error: {name}:{error.row}:{error.column}: {error.message}")
            return FAILED
        except UnusableError as error:
            raise Failure(str(error)) from error
        if settings.fix:
            fixed = result.fixed.get(name)
            write_bytes(sys.stdout, to_bytes(fixed.after if fixed else source))
        stream = sys.stderr if settings.fix else sys.stdout
        Printer(settings, stream, self.volume, self.extent).show(result)
        return exit_code(result, settings)

    def show_files(self) -> int:
        """List the files that would be linted, one a line.

        Raises: as ``check``.
        """
        from torchlint.engine.run import linted_files

        result = linted_files(self.paths, self.settings, self.own)
        for problem in result.problems:
            complain(f"error: {named(problem.path, self.settings.root)}: {problem.message}")
        names = (named(name, self.settings.root) for name in result.names)
        write(sys.stdout, defused("".join(f"{visible(name)}\n" for name in names)))
        self.warn_of_nothing(result)
        return FAILED if result.problems else OK

    def show_settings(self) -> int:
        """Show every setting that holds for the paths, as TOML, and which file they come from."""
        from torchlint.settings.describe import as_toml

        write(sys.stdout, as_toml(self.settings))
        return OK

    def add_noqa(self, reason: str) -> int:
        """Silence what is found with comments in the files.

        Raises: as ``check``.
        """
        from torchlint.cli.silence import silence

        return silence(self, reason)


def _left_out(path: Path, settings: Settings) -> bool:
    """Whether standard input stands for a file that is excluded although it is given."""
    patterns = (*settings.exclude, *settings.extend_exclude)
    return settings.force_exclude and Globs(patterns, settings.root).covers(path)


def describe_hotness(path: Path, cell: int | None, row: int, paths: Sequence[Path], settings: Settings) -> int:
    """Print how often a line of a file, or of a cell of a notebook, runs, and every path of calls that makes it so.

    ``paths`` is what is linted.

    Raises:
        Failure: there is no code on that line.
    """
    from torchlint.engine.explaining import explain_hot
    from torchlint.report.here import why_from_here
    from torchlint.report.hotness import render

    look = look_of(sys.stdout, settings.color)
    own = _name(path, settings.root)
    shown = named(own, settings.root)
    name = f"{shown}:{f'cell {cell}:' if cell else ''}{row}"
    try:
        with waiting("torchlint: reading the project"):
            why = explain_hot(path, row, settings, paths=paths, cell=cell)
    except NoCodeError as error:
        raise Failure(f"--explain-hot: {str(error).replace(own, shown)}") from error
    why = why_from_here(why, lambda each: named(each, settings.root))
    text = render(name, why, color=look.color, unicode=look.unicode, width=look.width)
    write(sys.stdout, text if look.terminal else defused(text))
    return OK


def exit_code(result: Result, settings: Settings) -> int:
    """Return the exit status: 2 after an error, 1 if findings remain, else 0.

    Only findings of the least level count; with ``diff``, changes that fixes would make.
    """
    if result.problems:
        return FAILED
    if settings.exit_zero:
        return OK
    if settings.diff:
        return FOUND if result.fixed else OK
    if settings.exit_non_zero_on_fix and result.fixed:
        return FOUND
    if settings.fail_level == "never" or settings.fix_only:
        return OK
    least = Level(settings.fail_level)
    return FOUND if any(finding.level.at_least(least) for finding in result.findings) else OK


def _name(path: Path | None, root: Path) -> str:
    """The name of a file in findings: relative to the root where it lies below it."""
    if path is None:
        return "-"
    return Path(os.path.relpath(located(path), root)).as_posix()
