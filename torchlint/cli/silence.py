"""``torchlint check --add-noqa``: silence what is found, so that only new findings are shown from now on."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from torchlint.cli import FAILED, OK
from torchlint.cli.failure import Failure
from torchlint.cli.output import complain, write
from torchlint.cli.printing import Volume, named
from torchlint.report.summary import count
from torchlint.rule import Finding, Level
from torchlint.settings.ruff import removes_code
from torchlint.sources.noqa import with_noqa
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from torchlint.cli.run import CheckRun
    from torchlint.engine.result import Result
    from torchlint.sources.text import Source


# Said where a noqa would not last.
_REMARK = (
    "Comments are written as # torchlint: ignore[...], because Ruff removes unknown codes from noqa comments here "
    '(RUF100); to keep them: lint.external = ["TL"]\n'
)


def silence(run: CheckRun, reason: str) -> int:
    """Write comments behind the findings, and return 2 if a finding cannot be silenced or a file not be read.

    Raises:
        Failure: the reason would end the comment.
        Failure: as a run raises it.
    """
    if not reason.isprintable() or "#" in reason:
        raise Failure("--add-noqa: the reason must be one line without #")
    settings = dataclasses.replace(run.settings, fix=False, diff=False)
    result = run.lint(settings)
    tried: set[tuple[str, int, str]] = set()
    silenced, files, failed = 0, set(), bool(result.problems)
    own: set[str] = set()
    for problem in result.problems:
        complain(f"error: {named(problem.path, run.settings.root)}: {problem.message}")
    # A silenced finding no longer hides others at its place, so it goes on until nothing new is found.
    while by_file := _new(result, tried):
        for name, findings in sorted(by_file.items()):
            before = result.sources[name]
            ours = any(removes_code(before.path, finding.code) for finding in findings)
            left = _write(before, findings, reason, run.settings.root, ours=ours)
            silenced += len(findings) - left
            failed = failed or left > 0
            if left < len(findings):
                files.add(name)
                own.update([name] if ours else [])
        result = run.lint(settings)
    if run.volume >= Volume.NORMAL:
        write(sys.stderr, f"Silenced {count(silenced, 'finding')} in {count(len(files), 'file')}\n")
        if own:
            write(sys.stderr, _REMARK)
    run.warn_of_nothing(result)
    return FAILED if failed else OK


def _new(result: Result, tried: set[tuple[str, int, str]]) -> dict[str, list[Finding]]:
    """The findings by file that no comment was tried for yet; no comment silences a syntax error."""
    found: dict[str, list[Finding]] = {}
    for finding in result.findings:
        key = finding.path, finding.start.row, finding.code
        if finding.level is not Level.ERROR and key not in tried:
            found.setdefault(finding.path, []).append(finding)
    # Of several findings of a rule on a row each counts, though one comment silences them.
    tried.update((each.path, each.start.row, each.code) for findings in found.values() for each in findings)
    return found


def _write(before: Source, findings: list[Finding], reason: str, root: Path, *, ours: bool) -> int:
    """Write the comments into one file; how many findings are not silenced."""
    after, left = with_noqa(before, findings, reason, ours=ours)
    try:
        replace_file(before, after)
    except (ChangedMeanwhileError, UnencodableError, OSError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        complain(f"error: {named(before.name, root)}: not changed: {told}")
        return len(findings)
    for finding in left:
        complain(f"error: {named(before.name, root)}:{finding.start.row}: no comment can silence {finding.code} here")
    return len(left)
