"""Printing a result as the settings say."""

from __future__ import annotations

import dataclasses
import enum
import os
import sys
from collections import Counter
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from torchlint import __version__
from torchlint.cli.output import append_file, complain, own_costs, write, write_diff, write_file
from torchlint.cli.terminal import Look, look_of, write_bytes
from torchlint.engine.result import Problem, Result
from torchlint.late import dataclass
from torchlint.report.context import Context, seen
from torchlint.report.escape import defused, visible
from torchlint.report.formats import DESCRIBE_RULES, FOR_PEOPLE, WITH_OWN_COSTS, renderer
from torchlint.report.summary import count, summary
from torchlint.rule.versions import OLDEST_PYTHON, OLDEST_TORCH
from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from torchlint.report.state import Compared

# Where services that run torchlint keep the name of the folder into which they put the repository.
_WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")
# They say it themselves, or are read by programs that take standard error for more of the same.
_WITHOUT_SUMMARY = frozenset({"full", "agent", "markdown", "html", "json", "json-lines", "statistics"})
_MOST_REPORTS = 3
# What a reader scrolls back for.
_SCREENS = 2
_FILE = Look(terminal=False, color=False, unicode=True, width=80)


class Volume(enum.IntEnum):
    """How much is said."""

    SILENT = 0
    QUIET = 1
    NORMAL = 2
    VERBOSE = 3

    @classmethod
    def of(cls, quiet: bool, silent: bool, verbose: bool) -> Volume:
        """Return the volume that the flags ask for; at most one of them is set."""
        return cls.SILENT if silent else cls.QUIET if quiet else cls.VERBOSE if verbose else cls.NORMAL


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the findings is shown.

    Attributes:
        statistics: counts in the place of findings.
        top: the most entries of formats for people; ``None``: on a terminal what fits on two screens.
        whole: every entry and every place, on a terminal, too.
    """

    statistics: bool = False
    top: int | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints a result: to the output file where there is one, else to ``stream``."""

    settings: Settings
    stream: TextIO
    volume: Volume
    extent: Extent = field(default_factory=Extent)
    compared: Compared | None = None

    def show(self, result: Result) -> None:
        """Print problems and remarks to standard error, and the findings to the stream or the file.

        Raises:
            Failure: the output file cannot be written.
        """
        for problem in result.problems:
            kind = "internal error" if problem.internal else "error"
            complain(f"{kind}: {named(problem.path, self.settings.root)}: {problem.message}")
            if self.volume is Volume.VERBOSE and problem.trace:
                write(sys.stderr, problem.trace)
        self._ask_for_reports(result)
        if self.volume >= Volume.NORMAL:
            self._remark(result)
        if self.volume is Volume.SILENT:
            return
        if not self.settings.fix_only or self.settings.diff:
            self._print(result)
        elif self.volume >= Volume.NORMAL:
            write(sys.stderr, f"{summary(self._context(result, _FILE))}\n")

    def _ask_for_reports(self, result: Result) -> None:
        """Say how to show a crash again, for those that are likely to differ."""
        known: dict[tuple[str, bool], Problem] = {}
        for problem in result.problems:
            if problem.internal:
                known.setdefault((problem.code, problem.fixing), problem)
        for problem in list(known.values())[:_MOST_REPORTS]:
            path = os.path.relpath(self.settings.root / problem.path)
            words = ["torchlint", "check", *(["--"] if path.startswith("-") else []), path]
            if problem.code:
                words[2:2] = ["--select", problem.code]
            words[2:2] = ["--verbose", *(["--diff", "--unsafe-fixes"] if problem.fixing else [])]
            import shlex

            complain(f"this is a bug in torchlint; please report it with the output of: {shlex.join(words)}")

    def _remark(self, result: Result) -> None:
        for skipped in result.skipped:
            complain(f"warning: {named(skipped.path, self.settings.root)}: too large to be linted: {skipped.message}")
        if result.stale:
            entries = count(len(result.stale), "entry").replace("entrys", "entries")
            complain(f"warning: {entries} of the baseline {_FIT[len(result.stale) == 1]} no longer: torchlint baseline")
        if lost := result.outdated[0]:
            complain(
                f"warning: {lost} of {result.outdated[1]} observations in {self.settings.observations} are ignored, "
                "because their code has changed or is in another project: torchlint verify --observe"
            )
        if self.volume is Volume.VERBOSE:
            settings = self.settings.file or "defaults; no settings file was found"
            read = f"{count(result.files, 'file')} linted, {count(result.context, 'more file')} read for their calls"
            complain(f"settings: {settings}")
            complain(f"project: {self.settings.root}: {read}")
            complain(f"target: {_target(self.settings)}")
        if self.settings.show_fixes:
            write(sys.stderr, defused(_fixes(result, self.settings.root)))

    def _print(self, result: Result) -> None:
        look = _FILE if self.settings.output_file else look_of(self.stream, self.settings.color)
        format_name = self._format(look)
        context = self._context(result, look)
        if format_name in WITH_OWN_COSTS:
            context = self._with_own_costs(context)
        if format_name in DESCRIBE_RULES:
            from torchlint.engine.rules import load_rules

            context = dataclasses.replace(context, rules={rule.code: rule for rule in load_rules(result.plugins)})
        if format_name == "diff" and not self.settings.output_file:
            self._sum_up(format_name, context)
            write_diff(self.stream, context)
            return
        text = renderer(format_name)(context)
        if format_name in FOR_PEOPLE and not look.terminal:
            text = defused(text)
        if self.settings.output_file:
            write_file(self.settings.output_file, text)
        elif format_name not in FOR_PEOPLE and not look.terminal:
            write_bytes(self.stream, text.encode("utf-8", "surrogateescape"))
        else:
            write(self.stream, text)
        if format_name == "github":
            _append_step_summary(context)
        self._sum_up(format_name, context)

    def _with_own_costs(self, context: Context) -> Context:
        return context if self.settings.isolated else dataclasses.replace(context, own=own_costs())

    def page(self, result: Result) -> str:
        """Return the findings as an HTML page."""
        return renderer("html")(self._with_own_costs(self._context(result, _FILE)))

    def _sum_up(self, format_name: str, context: Context) -> None:
        if format_name not in _WITHOUT_SUMMARY and self.volume >= Volume.NORMAL and (line := summary(context)):
            write(sys.stderr, f"{line}\n")

    def _format(self, look: Look) -> str:
        if self.settings.diff:
            return "diff"
        if self.extent.statistics:
            return "statistics-json" if (self.settings.output_format or "").startswith("json") else "statistics"
        return self.settings.output_format or ("full" if look.terminal else "concise")

    def _context(self, result: Result, look: Look) -> Context:
        return dataclasses.replace(
            Context.of(result, self.settings.root),
            unsafe_fixes=self.settings.unsafe_fixes,
            accept=self.settings.accept,
            partial=self.settings.baseline is not None or self.settings.since is not None or self.compared is not None,
            compared=self.compared,
            narrowed=bool(self.settings.select or self.settings.ignore or self.settings.extend_ignore),
            diff=self.settings.diff,
            color=look.color,
            terminal=look.terminal,
            unicode=look.unicode,
            width=look.width,
            quiet=self.volume < Volume.NORMAL,
            docs=self.settings.docs_url or "",
            fail_level=self.settings.fail_level,
            version=__version__,
            here=Path.cwd(),
            cuts=look.terminal,
            top=self.extent.top,
            room=_SCREENS * look.height if look.terminal and self.extent == Extent() else 0,
            whole=self.extent.whole,
            links=_address() if look.links else "",
            repository=_repository(self.settings.root),
        )


_FIT = ("fit", "fits")


def _address() -> str:
    """What the addresses of files on this machine begin with: a terminal may show another one, over ssh."""
    import platform

    return f"file://{platform.node()}"


def _target(settings: Settings) -> str:
    """What the linted code has to run with."""
    torch = settings.target_torch or f"{OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} (assumed)"
    python = settings.target_version or f"py{OLDEST_PYTHON[0]}{OLDEST_PYTHON[1]} (assumed)"
    return f"torch {torch} and newer, Python {python} and newer"


def _repository(root: Path) -> Path | None:
    """The folder of the whole repository, where a service names one that holds the project."""
    folders = (Path(folder) for name in _WORKSPACES if (folder := os.environ.get(name)))
    return next((folder for folder in folders if folder in root.parents), None)


def _append_step_summary(context: Context) -> None:
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        append_file(Path(path), renderer("markdown")(context))


def named(name: str, root: Path) -> str:
    """Return the name of a project file as seen from the working folder; other names stay as they are."""
    path = root / name
    return seen(path, Path.cwd()) if name != "-" and os.path.lexists(path) else name


def _fixes(result: Result, root: Path) -> str:
    """What was fixed, file by file and rule by rule."""
    lines = []
    for name, file in sorted(result.fixed.items()):
        lines.append(f"{visible(named(name, root))}:")
        counts = Counter((finding.code, finding.name) for finding in file.applied)
        lines += [f"  {number} x {code} {rule}" for (code, rule), number in sorted(counts.items())]
    return "".join(f"{line}\n" for line in lines)
