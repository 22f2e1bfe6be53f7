"""``torchlint baseline``: take what is found today as known."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import click

from torchlint.cli import FAILED, OK
from torchlint.cli.checking import settings_of, start_of
from torchlint.cli.declared import declared
from torchlint.cli.output import complain, write, write_file
from torchlint.cli.printing import Volume
from torchlint.cli.run import CheckRun
from torchlint.report.summary import count
from torchlint.rule import Level
from torchlint.settings.load import Nested
from torchlint.settings.model import Settings
from torchlint.sources.baseline import BaselineEntry, BaselineError, read_baseline, to_text

_NAME = "torchlint-baseline.jsonl"


@click.command(short_help="Accept the current findings, to report only new ones.")
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@click.option("--baseline", "file", type=click.Path(path_type=Path, dir_okay=False), help="The file to write.")
@declared("config")
@declared("isolated", help="Ignore settings files.")
def baseline(paths: tuple[str, ...], file: Path | None, config: tuple[str, ...], isolated: bool) -> int:
    """Write the current findings to a file, so that check reports only new ones, or refresh that file.

    The file is torchlint-baseline.jsonl, unless the settings name another.

    \b
    Examples:
      torchlint baseline        accept all current findings
      torchlint baseline src    refresh the entries of the files below src alone
      torchlint check --baseline torchlint-baseline.jsonl

    Entries have no line numbers, so they stay valid when code moves. Name the file in the settings to use it in
    every run:

    \b
      baseline = "torchlint-baseline.jsonl"
    """
    overrides: dict[str, object] = {"baseline": file}
    settings = settings_of(start_of(paths, None), config, isolated, overrides)
    target = settings.baseline or settings.root / _NAME
    plain = dataclasses.replace(settings, baseline=None, fix=False)
    given = tuple(map(Path, paths)) or (Path(),)
    result = CheckRun(given, plain, Nested(plain, overrides, config), Volume.NORMAL).lint()
    for problem in result.problems:
        complain(f"error: {problem.path}: {problem.message}")
    if result.problems:
        complain("no baseline was written, because some files could not be read")
        return FAILED
    for finding in result.findings:
        if finding.level is Level.ERROR:
            complain(f"warning: {finding.path}:{finding.start.row}: not in the baseline: {finding.message}")
    kept = _kept(target, given, settings)
    text = to_text(
        {*kept, *(BaselineEntry.of(finding) for finding in result.findings if finding.level is not Level.ERROR)}
    )
    write_file(target, text)
    shown = Path(os.path.relpath(target))
    write(sys.stdout, f"{count(text.count(chr(10)), 'known finding')} in {shown}\n")
    if settings.baseline is None:
        write(sys.stdout, f'To use it: torchlint check --baseline {shown}, or baseline = "{_NAME}" in the settings\n')
    return OK


def _kept(target: Path, given: tuple[Path, ...], settings: Settings) -> set[BaselineEntry]:
    """The entries of a baseline that is there already, for files that this run did not look at.

    Raises:
        click.ClickException: the file holds something else, and is not to be overwritten.
    """
    if not os.path.exists(target):
        return set()
    try:
        entries = read_baseline(target)
    except BaselineError as error:
        raise click.ClickException(f"{error}; the file was not changed") from error
    folders = [Path(os.path.abspath(path)) for path in given]

    def looked_at(entry: BaselineEntry) -> bool:
        path = settings.root / entry.path
        return not os.path.exists(path) or any(folder == path or folder in path.parents for folder in folders)

    return {entry for entry in entries if not looked_at(entry)}
