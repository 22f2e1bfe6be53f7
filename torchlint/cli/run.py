"""What ``torchlint check`` does once its command line is read: lint, print, and judge."""

from __future__ import annotations

import codecs
import dataclasses
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from torchlint.cli import FAILED, FOUND, OK
from torchlint.cli.output import Look, append_file, complain, look_of, own_costs, write, write_bytes, write_file
from torchlint.cli.progress import waiting
from torchlint.engine.result import NoCodeError, Result
from torchlint.report.context import Context
from torchlint.report.summary import summary
from torchlint.rule import Finding, Level
from torchlint.settings.model import Settings
from torchlint.sources.globs import Globs

if TYPE_CHECKING:
    from torchlint.sources.text import Source

_LEVELS = (Level.NOTE, Level.WARNING, Level.ERROR)
# Formats for programs, which read UTF-8 whatever the locale says.
_EXACT = frozenset({"diff", "json", "github"})
_FILE = Look(terminal=False, color=False, unicode=True, width=80)


def check_files(paths: Sequence[Path], settings: Settings, *, quiet: bool) -> int:
    """Lint files and folders, print what was found, and return the exit code.

    Raises:
        SettingsError: a selector fits no rule.
        click.ClickException: the output file cannot be written.
    """
    from torchlint.engine.run import check

    with waiting("torchlint: reading the project"):
        result = check(paths, settings)
    _Printer(settings, sys.stdout, quiet).show(result)
    if not result.files and not result.problems and not quiet:
        complain(f"warning: no Python files found in {', '.join(map(str, paths))}")
    return exit_code(result, settings)


def check_stdin(filename: Path | None, settings: Settings, *, quiet: bool) -> int:
    """Lint standard input; with fixes the fixed text goes to standard output, and the findings to standard error.

    Raises: as ``check_files``.
    """
    from torchlint.engine.run import check
    from torchlint.sources.decode import UndecodableError, decode

    name = _name(filename, settings.root)
    try:
        source = decode(sys.stdin.buffer.read(), filename or Path(name), name)
    except UndecodableError as error:
        complain(f"error: {name}:{error.row}:{error.column}: {error.message}")
        return FAILED
    result = Result() if _left_out(source.path, settings) else check((), settings, stdin=source)
    if settings.fix:
        fixed = result.fixed.get(name)
        write_bytes(sys.stdout, _bytes(fixed.after if fixed else source))
    _Printer(settings, sys.stderr if settings.fix else sys.stdout, quiet).show(result)
    return exit_code(result, settings)


def _left_out(path: Path, settings: Settings) -> bool:
    """Whether standard input stands for a file that is excluded although it is given."""
    patterns = (*settings.exclude, *settings.extend_exclude)
    return settings.force_exclude and Globs(patterns, settings.root).covers(path)


def describe_hotness(path: Path, row: int, settings: Settings) -> int:
    """Print how often a line of a file runs, and every path of calls that makes it so.

    Raises:
        click.UsageError: there is no code on that line.
    """
    from torchlint.engine.run import explain_hot
    from torchlint.report.hotness import render

    look = look_of(sys.stdout)
    name = f"{_name(path, settings.root)}:{row}"
    try:
        with waiting("torchlint: reading the project"):
            why = explain_hot(path, row, settings)
    except NoCodeError as error:
        raise click.UsageError(f"--explain-hot: {error}") from error
    write(sys.stdout, render(name, why, color=look.color, unicode=look.unicode, width=look.width))
    return OK


def exit_code(result: Result, settings: Settings) -> int:
    """2 when something went wrong; else 1 when findings of the least level remain (with ``diff``: when fixes would
    change something); else 0."""
    if result.problems:
        return FAILED
    if settings.exit_zero:
        return OK
    if settings.diff:
        return FOUND if result.fixed else OK
    if settings.exit_non_zero_on_fix and result.fixed:
        return FOUND
    return FOUND if any(_counts(finding, settings.fail_level) for finding in result.findings) else OK


def _counts(finding: Finding, fail_level: str) -> bool:
    if fail_level == "never":
        return False
    return _LEVELS.index(finding.level) >= _LEVELS.index(Level(fail_level))


@dataclass(frozen=True, slots=True)
class _Printer:
    """Prints a result as the settings say: to the output file where there is one, else to ``stream``."""

    settings: Settings
    stream: TextIO
    quiet: bool

    def show(self, result: Result) -> None:
        for problem in result.problems:
            kind = "internal error" if problem.internal else "error"
            complain(f"{kind}: {problem.path}: {problem.message}")
        look = _FILE if self.settings.output_file else look_of(self.stream)
        format_name = "diff" if self.settings.diff else self._format(look)
        context = self._context(result, look)
        if format_name == "full" and not self.settings.isolated:
            context = dataclasses.replace(context, own=own_costs())
        text = _rendered(format_name, context)
        if self.settings.output_file:
            write_file(self.settings.output_file, text)
        elif format_name in _EXACT and not look.terminal:
            write_bytes(self.stream, text.encode("utf-8", "surrogateescape"))
        else:
            write(self.stream, text)
        if format_name == "github":
            _append_step_summary(context)
        # The format for people says it itself, and JSON is for programs.
        if format_name not in ("full", "json") and not self.quiet and (line := summary(context)):
            write(sys.stderr, f"{line}\n")

    def _format(self, look: Look) -> str:
        return self.settings.output_format or ("full" if look.terminal else "concise")

    def _context(self, result: Result, look: Look) -> Context:
        return dataclasses.replace(
            Context.of(result, self.settings.root),
            unsafe_fixes=self.settings.unsafe_fixes,
            accept=self.settings.accept,
            diff=self.settings.diff,
            color=look.color,
            terminal=look.terminal,
            unicode=look.unicode,
            width=look.width,
            quiet=self.quiet,
        )


def _rendered(format_name: str, context: Context) -> str:
    """The text of one format; only its module is imported, because that of ``full`` brings rich."""
    if format_name == "full":
        from torchlint.report import full

        return full.render(context)
    from torchlint.report import as_json, concise, diff, github

    renderers = {"json": as_json.render, "concise": concise.render, "github": github.render, "diff": diff.render}
    return renderers[format_name](context)


def _append_step_summary(context: Context) -> None:
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        from torchlint.report.github import step_summary

        append_file(Path(path), step_summary(context))


def _name(path: Path | None, root: Path) -> str:
    """The name of a file in findings: relative to the root where it lies below it."""
    if path is None:
        return "-"
    absolute = Path(os.path.abspath(path))
    return Path(os.path.relpath(absolute, root)).as_posix()


def _bytes(source: Source) -> bytes:
    mark = codecs.BOM_UTF8 if source.bom else b""
    return mark + source.text.encode(source.encoding)
