"""``torchlint profile``: join a measured profile to the findings, and rank them by what they cost."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchlint.cli import FAILED
from torchlint.cli.checking import settings_of, start_of
from torchlint.cli.declared import declared
from torchlint.cli.output import complain, write, write_file
from torchlint.cli.printing import Volume
from torchlint.cli.progress import waiting
from torchlint.cli.run import CheckRun, exit_code
from torchlint.cli.terminal import look_of, write_bytes
from torchlint.settings.load import Nested

if TYPE_CHECKING:
    from torchlint.profile.report import ProfileReport

_TOP = 10


@click.command(short_help="Rank findings by their cost in a profile.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--map", "mapping", metavar="FROM=TO", multiple=True, help="Map a path prefix in the profile to a local path."
)
@declared("select")
@declared("ignore")
@click.option("--preview", is_flag=True, default=None, help="Also run preview rules.")
@declared("config")
@declared("isolated", help="Ignore settings files.")
@click.option("--top", type=click.IntRange(min=1), default=_TOP, metavar="N", help="Rows of each table (default: 10).")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page with a flame graph.")
@declared("exit_zero")
def profile(
    trace: Path,
    paths: tuple[str, ...],
    mapping: tuple[str, ...],
    select: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    preview: bool | None,
    config: tuple[str, ...],
    isolated: bool,
    top: int,
    as_json: bool,
    html: Path | None,
    exit_zero: bool | None,
) -> int:
    """Join a profile of a program to what is found in its source (default: this folder).

    \b
    TRACE is a file of the torch profiler (export_chrome_trace, also gzipped),
    of cProfile, py-spy or speedscope. Profile whole iterations: what does not
    run in the profile cannot be measured.

    \b
    Examples:
      python -m cProfile -o train.prof train.py
      torchlint profile train.prof
      torchlint profile trace.json.gz src --html profile.html
      torchlint profile trace.json --map /workspace/agent=.
      torchlint profile train.prof --json | jq '.findings[0]'
      torchlint check --profile train.prof    findings ranked by this

    The exit code is that of check: 1 with findings of the failing level, 2 if
    the profile cannot be read or is not of these files.
    """
    overrides: dict[str, object] = {
        "select": select,
        "ignore": ignore,
        "preview": preview,
        "exit_zero": exit_zero,
    }
    settings = settings_of(start_of(paths, None), config, isolated, overrides)
    given = tuple(map(Path, paths)) or (Path(),)
    run = CheckRun(given, settings, Nested(settings, overrides, config), Volume.NORMAL)
    report, code = _joined(trace, mapping, run)
    if html is not None:
        from torchlint.profile.page import as_html

        write_file(html, as_html(report))
    if as_json:
        from torchlint.profile.as_json import as_json as rendered

        write_bytes(sys.stdout, rendered(report).encode())
    else:
        _show(report, top)
    return code


def _joined(trace: Path, mapping: tuple[str, ...], run: CheckRun) -> tuple[ProfileReport, int]:
    """The profile joined to what is found, and the exit code.

    Raises:
        Failure: the profile cannot be used.
    """
    import dataclasses

    from torchlint.cli.measuring import Measuring, mapping_of
    from torchlint.engine.survey import survey
    from torchlint.profile.report import report

    plain = dataclasses.replace(run.settings, fix=False, diff=False)
    measuring = Measuring.of(trace, [mapping_of(each) for each in mapping], run.paths, plain, run.own)
    result = run.lint(measuring.applied(plain, lowering=False))
    for problem in result.problems:
        complain(f"error: {problem.path}: {problem.message}")
    with waiting("torchlint: comparing frequencies"):
        functions = survey(run.paths, plain, run.own)
    shown = os.path.relpath(trace)
    joined = report(
        shown, measuring.profile, measuring.attribution, functions, result.findings, result.sources, result.files
    )
    return joined, FAILED if result.problems else exit_code(result, plain)


def _show(report: ProfileReport, top: int) -> None:
    from torchlint.profile.table import as_text

    look = look_of(sys.stdout)
    write(sys.stdout, as_text(report, top, color=look.color, unicode=look.unicode, width=look.width))
