"""``torchlint trend``: findings over the commits of a project."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchlint.cli import OK
from torchlint.cli.checking import settings_of, start_of
from torchlint.cli.declared import declared
from torchlint.cli.failure import Failure
from torchlint.cli.output import write, write_file
from torchlint.cli.progress import counting
from torchlint.cli.terminal import look_of, write_bytes

if TYPE_CHECKING:
    from torchlint.report.trend import Point
    from torchlint.settings.model import Settings
    from torchlint.sources.history import Commit, History

_POINTS = 20


@click.command(short_help="Plot the findings over the commits.")
@click.argument("paths", nargs=-1, type=click.Path(exists=True))
@click.option(
    "--points", type=click.IntRange(min=1), default=_POINTS, metavar="N", help="Commits to lint (default: 20)."
)
@click.option("--since", metavar="REV", default="", help="Only commits after a git revision, e.g. v1.0.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write an HTML page with the plots.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Also write the plot of the findings.")
@declared("config")
@declared("isolated", help="Ignore settings files.")
def trend(
    paths: tuple[str, ...],
    points: int,
    since: str,
    as_json: bool,
    html: Path | None,
    svg: Path | None,
    config: tuple[str, ...],
    isolated: bool,
) -> int:
    """Lint earlier commits of the branch that is checked out, and show how many findings each has.

    The commits change Python files and are evenly spread over the history. All are linted with the present settings
    and rules, so that only the code differs. The working tree is not changed.

    \b
    Examples:
      torchlint trend
      torchlint trend src --since v1.0 --points 50
      torchlint trend --html trend.html --svg trend.svg
    """
    from torchlint.report.trend import as_html, as_svg, as_text
    from torchlint.report.trend import as_json as rendered
    from torchlint.sources.git import GitError
    from torchlint.sources.history import History, spread

    settings = settings_of(start_of(paths, None), config, isolated, {})
    given = [Path(os.path.realpath(path)) for path in paths or (os.curdir,)]
    try:
        history = History(settings.root)
        commits = history.commits(given, since)
        if not commits:
            raise Failure(f"there is no commit after {since}")
        found = _linted(history, spread(commits, points), given, settings)
    except GitError as error:
        raise Failure(str(error)) from error
    if html is not None:
        write_file(html, as_html(found, len(commits), settings.root.name))
    if svg is not None:
        write_file(svg, as_svg(found))
    if as_json:
        write_bytes(sys.stdout, rendered(found).encode())
        return OK
    look = look_of(sys.stdout)
    write(sys.stdout, as_text(found, len(commits), color=look.color, unicode=look.unicode, width=look.width))
    return OK


def _linted(history: History, commits: Sequence[Commit], paths: Sequence[Path], settings: Settings) -> list[Point]:
    """Lint commits one after the other in a temporary folder; what is found in each.

    Raises:
        GitError: git does not have the files of a commit.
    """
    from torchlint.engine.linting import Parsed
    from torchlint.engine.run import check
    from torchlint.report.trend import point
    from torchlint.rule import Finding
    from torchlint.sources.history import Checkout

    points: list[Point] = []
    before: list[Finding] = []
    parsed: Parsed = {}  # most files are the same in the next commit
    names = [os.path.relpath(path, settings.root) for path in paths]
    with tempfile.TemporaryDirectory(prefix="torchlint-") as made, counting(len(commits), "commits") as tell:
        folder = Path(os.path.realpath(made))
        checkout = Checkout(history, folder)
        own = dataclasses.replace(
            settings, root=folder, fix=False, diff=False, baseline=None, since=None, observations=None
        )
        for done, commit in enumerate(commits):
            tell(done, commit.name[:8])
            checkout.show(commit)
            there = [folder / name for name in names if (folder / name).exists()]
            result = check(there, own, parsed=parsed) if there else None
            findings = list(result.findings) if result is not None else []
            unread = len({problem.path for problem in result.problems}) if result is not None else 0
            points.append(point(commit.name, commit.time, commit.subject, findings, before, unread))
            before = findings
    return points
