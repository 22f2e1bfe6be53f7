"""``torchlint check --add-noqa``: silence what is found, so that only new findings are shown from now on."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from torchlint.cli import FAILED, OK
from torchlint.cli.output import complain, write
from torchlint.cli.printing import Volume
from torchlint.report.summary import count
from torchlint.rule import Finding, Level
from torchlint.sources.noqa import with_noqa
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, replace_file

if TYPE_CHECKING:
    from torchlint.cli.run import Run


def silence(run: Run, reason: str) -> int:
    """Write comments behind the findings; 2 when a finding could not be silenced or a file not be read.

    Raises:
        click.UsageError: the reason would end the comment.
        click.ClickException: as a run raises it.
    """
    if not reason.isprintable() or "#" in reason:
        raise click.UsageError("--add-noqa: a reason is one line without #")
    settings = dataclasses.replace(run.settings, fix=False, diff=False)
    result = run.lint(settings)
    for problem in result.problems:
        complain(f"error: {problem.path}: {problem.message}")
    by_file: dict[str, list[Finding]] = {}
    for finding in result.findings:
        if finding.level is not Level.ERROR:
            by_file.setdefault(finding.path, []).append(finding)
    failed = bool(result.problems)
    silenced = 0
    for name, findings in sorted(by_file.items()):
        before = result.sources[name]
        after, left = with_noqa(before, findings, reason)
        try:
            replace_file(before, after)
        except (ChangedMeanwhileError, UnencodableError, OSError) as error:
            told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            complain(f"error: {name}: not changed: {told}")
            failed = True
            continue
        silenced += len(findings) - len(left)
        for finding in left:
            complain(f"error: {name}:{finding.start.row}: no comment can silence {finding.code} here")
        failed = failed or bool(left)
    if run.volume >= Volume.NORMAL:
        write(sys.stderr, f"Silenced {count(silenced, 'finding')} in {count(len(by_file), 'file')}\n")
    run.warn_of_nothing(result)
    return FAILED if failed else OK
